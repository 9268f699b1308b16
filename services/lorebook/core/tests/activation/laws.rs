//! Laws that hold for any world and any chat.

use std::collections::HashSet;

use lorebook_core::{
    EntryBody, SelectiveLogic,
    activation::{
        Activation, MacroExpander, Request, SeededRolls, Source, SourceKind, Tools, Words, activate,
    },
    matcher::HitCache,
};
use proptest::prelude::*;

use crate::scene::{Scene, compiled, constant, entry, rows, uids};

const WORDS: [&str; 6] = ["cat", "dog", "Elf", "дом", "c++", "red cat"];

fn body() -> impl Strategy<Value = EntryBody> {
    let words = || prop::collection::vec(prop::sample::select(&WORDS[..]), 0..3);
    let keys = prop_oneof![4 => words().prop_map(strings), 1 => Just(vec!["/d.g/".to_owned()])];
    let groups = prop::sample::select(vec!["", "", "a", "b", "a,b", "b, c"]);
    let flags = prop::collection::vec(any::<bool>(), 8);
    let numbers = (0..4u8, 0..4u32, 0..3u32, prop::sample::select(vec![0.0, 50.0, 100.0]));
    (keys, words(), words(), groups, flags, numbers).prop_map(
        |(keys, secondary, content, group, flags, (logic, depth, level, probability))| EntryBody {
            keys,
            secondary_keys: strings(secondary),
            content: content.join(" "),
            selective_logic: SelectiveLogic::from_number(i64::from(logic)),
            group: group.to_owned(),
            constant: flags[0] && flags[1],
            prevent_recursion: flags[2] && flags[3],
            exclude_recursion: flags[4] && flags[5],
            ignore_budget: flags[6] && flags[7],
            match_whole_words: flags[1].then_some(flags[2]),
            case_sensitive: flags[3].then_some(flags[4]),
            use_group_scoring: flags[5].then_some(flags[6]),
            group_override: flags[0] && flags[7],
            scan_depth: (depth > 0).then_some(depth),
            delay_until_recursion: level.saturating_sub(1),
            probability,
            ..EntryBody::default()
        },
    )
}

fn strings(words: Vec<&str>) -> Vec<String> {
    words.into_iter().map(str::to_owned).collect()
}

fn request() -> impl Strategy<Value = Request> {
    let texts =
        prop::collection::vec(prop::collection::vec(prop::sample::select(&WORDS[..]), 0..4), 1..5);
    (texts, any::<[bool; 4]>(), 0..4u32, 0..3u32, 5..40u32).prop_map(
        |(texts, flags, depth, min_activations, budget)| {
            let texts: Vec<String> = texts.into_iter().map(|words| words.join(" ")).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let mut request = Scene::new([], "").chat(&texts).request;
            request.settings.recursive = flags[0];
            request.settings.match_whole_words = flags[1];
            request.settings.case_sensitive = flags[2];
            request.settings.use_group_scoring = flags[3];
            request.settings.scan_depth = depth;
            request.settings.min_activations = min_activations;
            request.settings.budget_cap = budget;
            request
        },
    )
}

fn run(request: &Request, sources: &[Source], cache: Option<&HitCache>) -> Activation {
    let mut variables = macros::Variables::default();
    let environment = macros::Environment::default();
    activate(
        request,
        sources,
        &mut Tools {
            expander: &mut MacroExpander { environment, variables: &mut variables },
            rolls: &mut SeededRolls::new(7),
            tokens: &Words,
            cache,
        },
    )
}

#[test]
fn a_key_may_reach_over_the_end_of_a_line_whatever_is_remembered() {
    let bodies = [constant("a dog"), constant("cat naps"), entry(&["dog\ncat"], "both")];
    let world = compiled("world", Default::default(), rows(bodies));
    let (sources, request) =
        ([Source { world, kind: SourceKind::Global }], Scene::new([], "").request);
    let cache = HitCache::new(1 << 16, [3, 4]);
    for cache in [None, Some(&cache), Some(&cache)] {
        assert_eq!(uids(&run(&request, &sources, cache)), [0, 1, 2]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_scan_keeps_the_laws(bodies in prop::collection::vec(body(), 0..14), request in request()) {
        let world = compiled("world", Default::default(), rows(bodies.clone()));
        let sources = [Source { world, kind: SourceKind::Global }];
        let activation = run(&request, &sources, None);

        // The same seed gives the same lore, whatever is remembered and whether or not it explains.
        let cache = HitCache::new(1 << 16, [3, 4]);
        prop_assert_eq!(&run(&request, &sources, Some(&cache)), &activation);
        prop_assert_eq!(&run(&request, &sources, Some(&cache)), &activation);
        let explained = run(&Request { explain: true, ..request.clone() }, &sources, None);
        prop_assert_eq!(&explained.entries, &activation.entries);
        prop_assert_eq!(explained.entries.len() + explained.skipped.len(), bodies.len());

        let body = |uid: i64| &bodies[uid as usize];
        let mut taken = HashSet::new();
        for one in &activation.entries {
            prop_assert!(body(one.uid).probability > 0.0, "nought percent never fires");
            for group in body(one.uid).group.split(',').map(str::trim).filter(|g| !g.is_empty()) {
                prop_assert!(taken.insert(group), "two members of {} fired", group);
            }
        }
        let spent: u32 = activation
            .entries
            .iter()
            .filter(|one| !body(one.uid).ignore_budget && !body(one.uid).prevent_recursion)
            .map(|one| one.tokens)
            .sum();
        prop_assert!(u64::from(spent) <= activation.stats.budget_tokens);
        prop_assert!(activation.stats.passes as usize <= bodies.len() + 12, "passes are bounded");
    }
}

//! The profile's budget: whole entries by rank, honest counts, nothing cut in the middle (seed 001).

use loader_core::compile::{CompileError, LorePosition::BeforeCharacter, compile};
use proptest::prelude::*;

use crate::support::{Scene, contract, in_chat, journal, lore};

fn with_lore(scene: Scene, lengths: &[usize]) -> Scene {
    scene.card(|c| c.description = "D".into()).with(|input| {
        let content = |n: usize| format!("{}.", "x".repeat(n));
        input.lore = lengths
            .iter()
            .enumerate()
            .map(|(at, &length)| {
                lore(u32::try_from(at).expect("few"), &content(length), BeforeCharacter)
            })
            .collect();
    })
}

fn kept(scene: &Scene) -> Vec<usize> {
    let audit = scene.profile().audit;
    (0..audit.lore.len()).filter(|&at| audit.lore[at].kept).collect()
}

#[test]
fn lower_ranked_lore_is_left_out_whole() {
    let scene =
        with_lore(contract(), &[300, 300, 300]).with(|input| input.profile_bytes_max = Some(900));
    assert_eq!(kept(&scene), [0, 1]);
    let profile = scene.profile();
    let said = profile.diagnostics.iter().find(|d| d.code.name() == "TAVERN_PROFILE_LORE_LIMITED");
    let details = &said.expect("is diagnosed").details;
    assert_eq!(details["retained_lore_entries"], "2");
    assert_eq!(details["omitted_lore_entries"], "1");
    let keys: Vec<_> = profile.active_lore_keys().collect();
    assert_eq!(keys, ["lore:w:e0", "lore:w:e1"]);
}

#[test]
fn rank_is_order_before_activation() {
    let scene = with_lore(journal(), &[300, 300]).with(|input| {
        input.lore[1].order = 200.0;
        input.profile_bytes_max = Some(600);
    });
    assert_eq!(kept(&scene), [1]);
}

#[test]
fn a_profile_too_large_without_lore_is_refused() {
    for scene in [contract(), journal(), in_chat()] {
        let scene = scene
            .order(&["charDescription"])
            .card(|c| c.description = "d".repeat(2_000))
            .with(|input| input.profile_bytes_max = Some(1_000));
        let refused = compile(&scene.input());
        assert!(matches!(refused, Err(CompileError::ProfileTooLarge { max: 1_000, .. })));
    }
}

#[test]
fn no_more_than_4096_entries_are_considered() {
    let scene = with_lore(contract(), &[0; 4_100])
        .with(|input| input.profile_bytes_max = Some(2 * 1024 * 1024));
    let profile = scene.profile();
    let said = profile.diagnostics.iter().find(|d| d.code.name() == "TAVERN_PROFILE_LORE_LIMITED");
    assert_eq!(said.expect("is diagnosed").details["omitted_lore_entries"], "4");
}

#[test]
fn the_budget_has_a_default_and_a_hard_limit() {
    let scene = |bytes| {
        with_lore(contract(), &[400_000, 400_000, 400_000, 400_000, 400_000, 400_000])
            .with(move |input| input.profile_bytes_max = bytes)
    };
    assert_eq!(kept(&scene(None)).len(), 1);
    assert_eq!(kept(&scene(Some(0))).len(), 1);
    assert_eq!(kept(&scene(Some(usize::MAX))).len(), 5);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_kept_is_the_longest_prefix_that_fits(
        lengths in prop::collection::vec(0usize..400, 0..12),
        max in 200usize..3_000,
        mode in 0usize..3,
    ) {
        let base = [contract(), journal(), in_chat()][mode].clone().order(&["worldInfoBefore"]);
        let scene = with_lore(base, &lengths).with(|input| input.profile_bytes_max = Some(max));
        let bytes = |count: usize| -> usize {
            let all = with_lore(scene.clone(), &lengths[..count])
                .with(|input| input.profile_bytes_max = Some(2 * 1024 * 1024));
            all.texts().iter().map(String::len).sum()
        };
        let count = kept(&scene).len();
        prop_assert_eq!(kept(&scene), (0..count).collect::<Vec<_>>());
        prop_assert!(bytes(count) <= max);
        let raw: usize = lengths.iter().take(count + 1).map(|length| length + 1).sum();
        prop_assert!(count == lengths.len() || bytes(count + 1) > max || raw > 2 * max);
    }
}

//! JOURNAL: keyed segments, hashes that move only with their sources, and what is withdrawn.

use kernel::{Timestamp, digest};
use loader_core::{
    character::DepthPrompt,
    compile::LorePosition::{AtDepth, BeforeCharacter},
};
use prompt::{Placement, ProfileMode, Role, Segment};

use crate::support::{Scene, contract, journal};

fn segment(scene: &Scene, key: &str) -> Segment {
    let found = scene.profile().segments.into_iter().find(|segment| segment.key == key);
    found.unwrap_or_else(|| panic!("no segment {key}"))
}

fn keys(scene: &Scene) -> Vec<String> {
    scene.profile().segments.into_iter().map(|segment| segment.key).collect()
}

/// The same scene an hour later, with another seed and another chat.
fn later(scene: &Scene) -> Scene {
    scene.clone().chat(&["something new"]).with(|input| {
        input.now = Timestamp::from_micros(3_600_000_000);
        input.seed = 7;
    })
}

#[test]
fn keys_name_the_place_and_not_the_resource() {
    let scene = journal()
        .prompt("main", "M")
        .card(|c| c.description = "D".into())
        .user("Bob", "U")
        .lore("L", BeforeCharacter);
    assert_eq!(
        keys(&scene),
        ["prompt:main", "user:description", "lore:w:e0", "character:description"]
    );
}

#[test]
fn segments_keep_where_they_want_to_be() {
    let depth_prompt = DepthPrompt { text: "DP".into(), depth: 3, role: Role::User };
    let scene = journal()
        .prompt("main", "M")
        .order(&["chatHistory"])
        .prompt("jailbreak", "J")
        .card(|c| c.depth_prompt = Some(depth_prompt.clone()))
        .lore("L", AtDepth { depth: 2, role: Role::System });
    assert_eq!(segment(&scene, "prompt:main").placement, Placement::Before);
    assert_eq!(segment(&scene, "prompt:jailbreak").placement, Placement::After);
    assert_eq!(segment(&scene, "lore:w:e0").placement, Placement::InChat { depth: 2 });
    let depth = segment(&scene, "character:depth-prompt");
    assert_eq!((depth.placement, depth.role), (Placement::InChat { depth: 3 }, Role::User));
    scene.says_not("CHARACTER_DEPTH_PROMPT_POSITION_APPROXIMATED");
}

#[test]
fn a_segments_hash_moves_with_its_text_and_with_nothing_else() {
    let scene = journal().prompt("p", "Hello {{user}}").prompt("q", "Q").user("Bob", "");
    let before = segment(&scene, "prompt:p").source_hash;
    assert_eq!(segment(&later(&scene), "prompt:p").source_hash, before);
    let renamed = scene.clone().user("Eve", "");
    assert_ne!(segment(&renamed, "prompt:p").source_hash, before);
    assert_eq!(segment(&renamed, "prompt:q"), segment(&scene, "prompt:q"));
}

#[test]
fn time_chance_and_messages_freeze_at_landing() {
    for text in ["at {{time}}", "{{random::a::b::c::d::e::f}}", "{{roll::1000}}", "{{lastMessage}}"]
    {
        let scene = journal().prompt("p", text).chat(&["hi"]);
        scene.says("VOLATILE_MACRO_FROZEN");
        let (now, then) = (segment(&scene, "prompt:p"), segment(&later(&scene), "prompt:p"));
        assert!(now.volatile, "{text}");
        assert_eq!(now.source_hash, then.source_hash, "{text}");
    }
}

#[test]
fn volatile_values_do_not_leak_into_hashes_through_variables_and_fields() {
    let scene = journal()
        .prompt("a", "{{setvar::t::{{time}}}}x")
        .prompt("b", "it is {{getvar::t}}")
        .prompt("c", "card: {{description}}")
        .card(|c| c.description = "seen {{lastMessage}}".into())
        .chat(&["hi"]);
    let moved = later(&scene);
    assert_ne!(segment(&scene, "prompt:b").text, segment(&moved, "prompt:b").text);
    for key in ["prompt:a", "prompt:b", "prompt:c"] {
        assert_eq!(segment(&scene, key).source_hash, segment(&moved, key).source_hash, "{key}");
    }
}

#[test]
fn a_variable_is_a_stable_input() {
    let scene = |value: &str| {
        let value = value.to_owned();
        journal().prompt("p", "{{getvar::gold}} coins").with(move |input| {
            input.variables.set(macros::Scope::Local, "gold", value.clone());
        })
    };
    let (ten, eleven) = (segment(&scene("10"), "prompt:p"), segment(&scene("11"), "prompt:p"));
    assert_ne!(ten.source_hash, eleven.source_hash);
}

#[test]
fn quoted_messages_are_named() {
    let scene = journal()
        .prompt("p", "said {{lastMessage}}")
        .prompt("q", "card {{description}}")
        .card(|c| c.description = "{{lastUserMessage}}".into())
        .chat(&["hi"]);
    assert_eq!(segment(&scene, "prompt:p").quotes, ["m0"]);
    assert_eq!(segment(&scene, "prompt:q").quotes, ["m0"]);
}

#[test]
fn dynamic_lore_lands_behind_everything_authored() {
    let scene = journal()
        .lore("new", BeforeCharacter)
        .card(|c| c.description = "D".into())
        .with(|input| input.lore[0].dynamic = true);
    assert_eq!(keys(&scene), ["character:description", "lore:w:e0"]);
    assert!(segment(&scene, "lore:w:e0").dynamic);
}

#[test]
fn what_is_no_longer_in_effect_is_withdrawn() {
    let live = digest(b"landed");
    let scene = journal().prompt("here", "x").with(|input| {
        for key in ["prompt:here", "prompt:gone", "character:description"] {
            input.live.insert(key.to_owned(), live);
        }
    });
    assert_eq!(scene.profile().withdrawn, ["character:description", "prompt:gone"]);
    let other = scene.with(|input| input.mode = ProfileMode::Contract);
    assert_eq!(other.profile().withdrawn, Vec::<String>::new());
}

#[test]
fn lore_that_only_does_not_fire_stays_while_its_entry_says_the_same() {
    let fired = journal().lore("L", BeforeCharacter);
    let landed = segment(&fired, "lore:w:e0").source_hash;
    let entry = fired.input.lore[0].source_hash;
    let quiet = journal().with(|input| {
        input.live.insert("lore:w:e0".to_owned(), landed);
    });
    let in_effect = |now| {
        quiet.clone().with(move |input| {
            input.live_lore.insert("lore:w:e0".to_owned(), now);
        })
    };
    assert_eq!(in_effect(entry).profile().withdrawn, Vec::<String>::new());
    assert_eq!(in_effect(digest(b"edited")).profile().withdrawn, ["lore:w:e0"]);
    assert_eq!(quiet.profile().withdrawn, ["lore:w:e0"]);
}

#[test]
fn a_note_that_landed_stays_between_its_intervals() {
    use loader_core::selection::{AuthorsNote, NotePosition};
    let note = AuthorsNote {
        text: "AN".into(),
        depth: 4,
        role: Role::System,
        position: NotePosition::InChat,
        interval: 3,
    };
    let scene = journal().with(|input| input.options.authors_note = Some(note.clone()));
    assert_eq!(keys(&scene), Vec::<String>::new());
    let due = scene.clone().with(|input| input.user_message_count = 3);
    let landed = segment(&due, "author-note").source_hash;
    let after = scene.with(move |input| {
        input.live.insert("author-note".to_owned(), landed);
        input.user_message_count = 4;
    });
    assert_eq!(segment(&after, "author-note").source_hash, landed);
    assert_eq!(after.profile().withdrawn, Vec::<String>::new());
}

#[test]
fn prepared_fields_are_evaluated_once() {
    let scene =
        contract().prompt("p", "{{getvar::n}}").card(|c| c.description = "{{incvar::n}}".into());
    let mut input = scene.input();
    let prepared = loader_core::compile::prepare(&input);
    assert_eq!(prepared.description(), "1");
    input.variables = prepared.variables().clone();
    input.prepared = Some(prepared);
    let profile = loader_core::compile::compile(&input).expect("compiles");
    assert_eq!(profile.variables.get(macros::Scope::Local, "n"), Some("1"));
    assert_eq!(profile, scene.profile());
}

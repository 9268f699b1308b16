//! IN_CHAT sends what SillyTavern 1.19 sends (reference B1–B3).

use loader_core::{
    character::DepthPrompt,
    compile::{
        GenerationType,
        LorePosition::{
            AfterCharacter, AtDepth, AuthorNoteBottom, AuthorNoteTop, BeforeCharacter,
            ExamplesBottom, ExamplesTop,
        },
    },
    preset::{Injection, NamesBehavior, Prompt},
    selection::{AuthorsNote, NotePosition},
};
use prompt::Role;

use crate::support::{Scene, in_chat};

#[track_caller]
fn check(scene: &Scene, expected: &[&str]) {
    assert_eq!(scene.sent(), expected);
}

fn note(position: NotePosition, interval: u32) -> Option<AuthorsNote> {
    Some(AuthorsNote { text: "AN".into(), depth: 1, role: Role::System, position, interval })
}

fn empty_order() -> Scene {
    in_chat().preset(|preset| preset.order.clear())
}

// --- order ---

#[test]
fn variables_flow_from_prompt_to_prompt_and_disabled_ones_are_not_evaluated() {
    let scene = in_chat()
        .prompt("a", "{{setvar::x::1}}")
        .order(&["-off"])
        .prompt("b", "x is {{getvar::x}}");
    check(&scene, &["system: x is 1"]);
}

#[test]
fn fields_without_a_place_come_at_the_very_end() {
    let scene = empty_order()
        .order(&["chatHistory"])
        .prompt("jailbreak", "PHI")
        .card(|c| {
            c.description = "D".into();
            c.personality = "P".into();
            c.scenario = "S".into();
        })
        .user("Bob", "U")
        .lore("before", BeforeCharacter)
        .lore("after", AfterCharacter)
        .chat(&["hi"]);
    for code in
        ["WORLD_INFO_NOT_PLACED", "CHARACTER_FIELD_NOT_PLACED", "USER_DESCRIPTION_NOT_PLACED"]
    {
        scene.says(code);
    }
    check(
        &scene,
        &[
            "user: hi",
            "system: PHI",
            "system: before",
            "system: after",
            "system: D",
            "system: P",
            "system: S",
            "system: U",
        ],
    );
}

#[test]
fn a_disabled_marker_drops_its_field() {
    let scene = in_chat().order(&["-charDescription"]).card(|c| c.description = "D".into());
    scene.says("MARKER_DISABLED");
    check(&scene, &[]);
}

#[test]
fn a_marker_gives_its_field_role_and_depth() {
    let scene = in_chat()
        .prompt_with("charDescription", "", |p| {
            p.marker = true;
            p.role = Some(Role::User);
            p.injection = Injection::Absolute { depth: Some(1), order: 100 };
        })
        .card(|c| c.description = "D".into())
        .chat(&["hi"]);
    check(&scene, &["user: D", "user: hi"]);
}

#[test]
fn an_override_without_main_is_lost_as_in_sillytavern() {
    for scene in [in_chat(), in_chat().order(&["-main"])] {
        let scene = scene.card(|c| c.system_prompt = "card".into());
        scene.says("CHARACTER_SYSTEM_NOT_PLACED");
        check(&scene, &[]);
    }
}

#[test]
fn relative_custom_prompts_need_system_prompt_false() {
    for (says, expected) in [(None, 0), (Some(true), 0), (Some(false), 1)] {
        let scene = in_chat().prompt_with("c", "custom", |p| p.system_prompt = says);
        assert_eq!(scene.sent().len(), expected, "{says:?}");
        if expected == 0 {
            scene.says("PROMPT_NOT_SENT");
        }
    }
}

#[test]
fn an_absolute_prompt_without_a_depth_is_never_sent() {
    let scene = in_chat().prompt_with("c", "custom", |p| {
        p.injection = Injection::Absolute { depth: None, order: 100 };
    });
    scene.says("PROMPT_DEPTH_INVALID");
    check(&scene, &[]);
}

#[test]
fn triggers_choose_generation_types() {
    let scene = in_chat().prompt_with("c", "only swipes", |p| p.triggers = vec!["swipe".into()]);
    check(&scene, &[]);
    check(&scene.with(|i| i.generation = GenerationType::Swipe), &["system: only swipes"]);
}

#[test]
fn a_lore_format_without_a_place_loses_the_lore_and_a_blank_one_keeps_it() {
    let scene = |format: &str| {
        let format = format.to_owned();
        in_chat()
            .preset(move |p| p.formats.world_info = format.as_str().into())
            .order(&["worldInfoBefore"])
            .lore("lore", BeforeCharacter)
    };
    scene("Lore").says("WORLD_INFO_FORMAT_WITHOUT_PLACE");
    check(&scene("Lore"), &["system: Lore"]);
    check(&scene(" "), &["system: lore"]);
    check(&scene("<{0}>"), &["system: <lore>"]);
}

#[test]
fn without_a_preset_the_shipped_one_is_sent() {
    let mut scene = in_chat().card(|c| c.description = "D".into()).user("Bob", "");
    scene.preset = None;
    scene.says("PRESET_DEFAULT_USED");
    check(
        &scene,
        &[
            "system: Write Mira's next reply in a fictional chat between Mira and Bob.",
            "system: D",
            "system: [Start a new Chat]",
        ],
    );
}

// --- depth ---

#[test]
fn one_depth_is_ordered_by_order_then_role_and_merged() {
    let scene = in_chat()
        .at_depth("s", "sys ", 0, 100, Role::System)
        .at_depth("u", "usr", 0, 100, Role::User)
        .at_depth("a", "asst", 0, 100, Role::Assistant)
        .at_depth("low", "low", 0, 50, Role::System)
        .at_depth("s2", " sys2", 0, 100, Role::System)
        .chat(&["hi"]);
    check(
        &scene,
        &["user: hi", "system: low", "assistant: asst", "user: usr", "system: sys \n sys2"],
    );
}

#[test]
fn extensions_come_behind_prompts_in_the_order_of_their_keys() {
    let depth_prompt = DepthPrompt { text: "DP".into(), depth: 1, role: Role::System };
    let scene = in_chat()
        .at_depth("p", "P", 1, 100, Role::System)
        .card(|c| c.depth_prompt = Some(depth_prompt.clone()))
        .lore("WI", AtDepth { depth: 1, role: Role::System })
        .with(|i| i.options.authors_note = note(NotePosition::InChat, 1))
        .chat(&["hi"]);
    check(&scene, &["system: P\nAN\nDP\nWI", "user: hi"]);
}

#[test]
fn what_is_ordered_behind_the_history_stays_below_depth_0() {
    let scene =
        in_chat().prompt("jailbreak", "PHI").at_depth("d", "D", 0, 100, Role::System).chat(&["hi"]);
    check(&scene, &["user: hi", "system: D", "system: PHI"]);
}

#[test]
fn depth_lore_is_ascending_and_ties_come_out_reversed() {
    let at = || AtDepth { depth: 0, role: Role::System };
    let scene = in_chat()
        .lore("e0", at())
        .lore("e1", at())
        .lore("e2", at())
        .lore("low", at())
        .with(|input| input.lore[3].order = 1.0);
    check(&scene, &["system: low\ne2\ne1\ne0"]);
}

// --- author's note ---

#[test]
fn a_note_stands_right_before_or_behind_main() {
    let scene = |position| {
        empty_order().prompt("main", "M").order(&["chatHistory"]).with(move |i| {
            i.options.authors_note = note(position, 1);
        })
    };
    check(&scene(NotePosition::AfterMain), &["system: M", "system: AN"]);
    check(&scene(NotePosition::BeforeMain), &["system: AN", "system: M"]);
    let absent = in_chat().with(|i| i.options.authors_note = note(NotePosition::AfterMain, 1));
    absent.says("AUTHOR_NOTE_NOT_PLACED");
    let disabled = absent.order(&["-main"]);
    check(&disabled, &["system: AN"]);
}

#[test]
fn a_note_takes_its_lore_around_it() {
    let scene = in_chat()
        .lore("top", AuthorNoteTop)
        .lore("bottom", AuthorNoteBottom)
        .with(|i| i.options.authors_note = note(NotePosition::InChat, 1))
        .chat(&["hi"]);
    check(&scene, &["system: top\nAN\nbottom", "user: hi"]);
}

#[test]
fn an_interval_counts_the_users_messages() {
    let scene = in_chat().with(|i| i.options.authors_note = note(NotePosition::InChat, 2));
    scene.says("AUTHOR_NOTE_NOT_DUE");
    check(&scene, &[]);
    check(&scene.with(|i| i.user_message_count = 2), &["system: AN"]);
}

// --- examples, fixed lines, names, squashing ---

#[test]
fn examples_are_blocks_of_named_system_messages_with_lore_around() {
    let scene = in_chat()
        .preset(|p| p.formats.new_example_chat = "[{{char}}]".into())
        .order(&["dialogueExamples"])
        .card(|c| c.message_example = "<START>\nBob: a\nMira: b".into())
        .user("Bob", "")
        .lore("Mira: top", ExamplesTop)
        .lore("Mira: bottom", ExamplesBottom);
    check(
        &scene,
        &[
            "system: [Mira]",
            "system(example_assistant): top",
            "system: [Mira]",
            "system(example_user): a",
            "system(example_assistant): b",
            "system: [Mira]",
            "system(example_assistant): bottom",
        ],
    );
}

#[test]
fn an_example_without_a_speaker_is_not_sent() {
    let scene =
        in_chat().order(&["dialogueExamples"]).card(|c| c.message_example = "just prose".into());
    scene.says("DIALOGUE_EXAMPLE_SPEAKER_UNKNOWN");
    check(&scene, &[]);
}

#[test]
fn examples_without_a_place_are_lost() {
    let scene =
        in_chat().card(|c| c.message_example = "Mira: a".into()).lore("Mira: top", ExamplesTop);
    scene.says("DIALOGUE_EXAMPLES_NOT_PLACED");
    scene.says("WORLD_INFO_NOT_PLACED");
    check(&scene, &[]);
}

#[test]
fn names_are_written_as_the_preset_says() {
    let scene = |names| {
        in_chat().user("Bob", "").card(|_| {}).chat(&["hi"]).preset(move |p| p.chat.names = names)
    };
    check(&scene(NamesBehavior::None), &["user: hi"]);
    check(&scene(NamesBehavior::Default), &["user: hi"]);
    check(&scene(NamesBehavior::Completion), &["user(Bob): hi"]);
    check(&scene(NamesBehavior::Content), &["user: Bob: hi"]);
    let foreign = scene(NamesBehavior::Default).with(|i| i.messages[0].name = "Éva".into());
    check(&foreign, &["user: Éva: hi"]);
    let foreign = foreign.preset(|p| p.chat.names = NamesBehavior::Completion);
    check(&foreign, &["user(_va): hi"]);
}

#[test]
fn squashing_joins_neighbours_and_leaves_fixed_lines_alone() {
    let scene = empty_order()
        .preset(|p| {
            p.chat.squash_system_messages = true;
            p.formats.new_chat = "[start]".into();
        })
        .prompt("a", "A")
        .prompt("b", "B")
        .order(&["chatHistory"])
        .prompt("c", "C")
        .at_depth("d", "D", 0, 100, Role::System)
        .chat(&["hi"]);
    check(&scene, &["system: A\nB", "system: [start]", "user: hi", "system: D\nC"]);
}

#[test]
fn a_preset_without_a_history_sends_none() {
    let scene =
        empty_order().prompt("a", "A").at_depth("d", "D", 0, 100, Role::System).chat(&["x"]);
    scene.says("CHAT_HISTORY_NOT_PLACED");
    check(&scene, &["system: A"]);
}

#[test]
fn continuing_nudges_or_moves_the_message_to_the_end() {
    let scene = in_chat()
        .preset(|p| p.formats.continue_nudge = "[go on, {{char}}: {{lastChatMessage}}]".into())
        .card(|_| {})
        .prompt("jailbreak", "PHI")
        .chat(&["hi", "I was"])
        .with(|i| i.generation = GenerationType::Continue);
    check(&scene, &["user: hi", "system: PHI", "assistant: I was", "system: [go on, Mira: I was]"]);
    let prefilled = scene.preset(|p| p.chat.continue_prefill = true);
    check(&prefilled, &["user: hi", "system: PHI", "assistant: I was"]);
}

#[test]
fn impersonating_asks_last() {
    let scene = in_chat()
        .prompt("jailbreak", "PHI")
        .preset(|p| p.formats.impersonation = "Write as {{user}}".into())
        .user("Bob", "")
        .with(|i| i.generation = GenerationType::Impersonate);
    check(&scene, &["system: PHI", "system: Write as Bob"]);
}

#[test]
fn an_empty_turn_is_filled_where_the_preset_says_so() {
    let scene =
        in_chat().preset(|p| p.chat.send_if_empty = "({{char}} goes on)".into()).card(|_| {});
    check(&scene.clone().chat(&["hi"]), &["user: hi"]);
    check(&scene.chat(&["hi", "hello"]), &["user: hi", "assistant: hello", "user: (Mira goes on)"]);
}

#[test]
fn prompts_of_one_depth_are_joined_as_they_are_and_trimmed_as_a_whole() {
    let scene = in_chat()
        .at_depth("a", " a ", 0, 100, Role::System)
        .at_depth("b", "  b\n", 0, 100, Role::System)
        .lore(" l ", AtDepth { depth: 0, role: Role::System });
    assert_eq!(scene.sent(), ["system: a \n  b\nl"]);
}

#[test]
fn a_main_prompt_that_is_not_triggered_can_still_be_replaced() {
    let quiet = |prompt: &mut Prompt| prompt.triggers = vec!["quiet".to_owned()];
    let scene = in_chat().prompt_with("main", "M", quiet);
    assert_eq!(scene.sent(), Vec::<String>::new());
    let scene = scene.card(|card| card.system_prompt = "S{{original}}".to_owned());
    assert_eq!(scene.sent(), ["system: S"]);
}

#[test]
fn carriage_returns_of_the_history_are_not_sent() {
    assert_eq!(in_chat().chat(&["a\r\nb"]).sent(), ["user: a\nb"]);
}

//! Publicly reported bugs, each with the right value (reference E, and the list of reports by number).

use loader_core::{
    compile::LorePosition::{AtDepth, AuthorNoteBottom, AuthorNoteTop, BeforeCharacter},
    format::{Report, preset},
};
use prompt::Role;

use crate::support::{contract, in_chat, journal};

#[test]
fn b39_only_the_greeting_in_use_has_side_effects() {
    let scene = in_chat()
        .prompt("probe", "{{getvar::route}}")
        .card(|c| {
            c.first_message = "{{setvar::route::A}}".into();
            c.alternate_greetings = vec!["{{setvar::route::B}}".into()];
        })
        .with(|input| input.options.greeting_index = 1);
    assert_eq!(scene.sent(), ["system: B"]);
    assert_eq!(scene.input.variables, macros::Variables::default());
}

#[test]
fn b40_variables_cross_prompts_even_from_those_that_render_empty() {
    for scene in [in_chat(), contract(), journal()] {
        let scene = scene
            .card(|_| {})
            .prompt("a", "{{setvar::t::}}")
            .prompt("b", "{{addvar::t::one }}")
            .prompt("c", "{{addvar::t::two}}")
            .prompt("d", "{{getvar::t}}");
        let texts = scene.texts();
        assert_eq!(texts.len(), 1);
        assert!(texts[0].contains("onetwo"), "{texts:?}");
    }
}

#[test]
fn b44_a_presets_parameters_are_used_or_carried() {
    let document = serde_json::json!({
        "assistant_prefill": "P", "continue_postfix": " ", "reasoning_effort": "max",
        "custom_include_body": "a: 1", "prompts": [], "prompt_order": []
    });
    let (preset, _) = preset::read_document(document, &mut Report::default()).expect("is a preset");
    let scene = in_chat().preset(|p| *p = preset.clone());
    scene.says("ASSISTANT_PREFILL_NOT_SENT");
    assert_eq!(scene.profile().call_config.reasoning_effort.as_deref(), Some("max"));
}

#[test]
fn b45_a_prompt_deeper_than_the_chat_stays_inside_it() {
    let scene = in_chat()
        .preset(|p| p.order.clear())
        .prompt("main", "main")
        .order(&["chatHistory"])
        .at_depth("d", "D", 10, 100, Role::System)
        .chat(&["u1", "a1"]);
    assert_eq!(scene.sent(), ["system: main", "system: D", "user: u1", "assistant: a1"]);
}

#[test]
fn b46_one_depth_reads_assistant_then_user_then_system() {
    let scene = in_chat()
        .lore("Q", AtDepth { depth: 1, role: Role::User })
        .lore("A", AtDepth { depth: 1, role: Role::Assistant })
        .with(|input| (input.lore[0].order, input.lore[1].order) = (1.0, 2.0))
        .chat(&["hi"]);
    assert_eq!(scene.sent(), ["assistant: A", "user: Q", "user: hi"]);
}

#[test]
fn e11_lore_without_a_marker_is_diagnosed_and_sent() {
    let scene = in_chat().lore("L", BeforeCharacter);
    scene.says("WORLD_INFO_NOT_PLACED");
    assert_eq!(scene.sent(), ["system: L"]);
    let scene = contract().prompt("p", "x").lore("L", BeforeCharacter);
    scene.says("MARKER_ABSENT_FALLBACK");
    assert!(scene.body().contains("\nL\n"));
}

#[test]
fn e12_lore_around_a_note_that_is_not_there_still_goes_out() {
    for scene in [in_chat(), contract(), journal()] {
        let scene = scene.lore("top", AuthorNoteTop).lore("bottom", AuthorNoteBottom);
        scene.says("AUTHOR_NOTE_ABSENT");
        let texts = scene.texts().concat();
        assert!(texts.contains("top") && texts.contains("bottom"), "{texts}");
    }
}

#[test]
fn e38_main_may_be_in_the_chat_and_what_stands_next_to_it_follows() {
    use loader_core::selection::{AuthorsNote, NotePosition};
    let note = AuthorsNote {
        text: "AN".into(),
        depth: 4,
        role: Role::System,
        position: NotePosition::AfterMain,
        interval: 1,
    };
    let scene = in_chat()
        .at_depth("main", "M", 1, 100, Role::System)
        .with(|input| input.options.authors_note = Some(note.clone()))
        .chat(&["hi"]);
    assert_eq!(scene.sent(), ["system: M\nAN", "user: hi"]);
}

#[test]
fn e39_original_outside_of_an_override_stays_and_is_diagnosed() {
    let scene = in_chat().prompt("p", "x {{original}}");
    scene.says("MACRO_ORIGINAL_UNAVAILABLE");
    assert_eq!(scene.sent(), ["system: x {{original}}"]);
}

#[test]
fn e40_an_override_that_is_blank_after_macros_is_none() {
    let scene = in_chat().prompt("main", "M").card(|c| c.system_prompt = "{{noop}}".into());
    assert_eq!(scene.sent(), ["system: M"]);
}

#[test]
fn e41_a_pipe_is_plain_text() {
    let scene = in_chat().prompt("p", "{{setvar::x::a|b}}{{getvar::x}}");
    assert_eq!(scene.sent(), ["system: a|b"]);
}

#[test]
fn e43_and_e45_values_are_inserted_and_not_looked_at_again() {
    let scene = in_chat()
        .order(&["charDescription"])
        .prompt("p", r"\{\{user\}\} {{getvar::x}}")
        .card(|c| c.description = r"{{setvar::x::\{\{char\}\}}}D".into())
        .lore("{{user}}", BeforeCharacter)
        .order(&["worldInfoBefore"]);
    let sent = scene.sent().join("\n");
    assert!(sent.contains("system: {{user}}\n") || sent.ends_with("system: {{user}}"), "{sent}");
    assert!(!sent.contains("User") && !sent.contains("Mira"), "{sent}");
}

#[test]
fn e44_a_plain_word_is_no_variable() {
    let scene = in_chat()
        .prompt("p", "{{setvar::x::1}}{{if .x}}yes{{else}}no{{/if}} {{if .y}}yes{{else}}no{{/if}}");
    assert_eq!(scene.sent(), ["system: yes no"]);
}

#[test]
fn e46_utility_prompts_are_expanded() {
    let scene = in_chat()
        .preset(|p| {
            p.formats.new_chat = "[new {{char}}]".into();
            p.formats.new_example_chat = "[example {{char}}]".into();
            p.chat.send_if_empty = "{{user}}".into();
        })
        .order(&["dialogueExamples"])
        .card(|c| c.message_example = "Mira: x".into())
        .chat(&["hi", "ho"]);
    let sent = scene.sent().join("\n");
    for expected in ["[new Mira]", "[example Mira]", "user: Bob"] {
        assert!(sent.contains(expected), "{expected} is not in {sent}");
    }
}

#[test]
fn e47_nested_random_leaks_nothing() {
    for seed in 0..20 {
        let scene = in_chat()
            .prompt("p", "{{random::None::{{random::Alice::Bob}} appears.::The world ends.}}")
            .with(move |input| input.seed = seed);
        let sent = scene.sent().concat();
        let all = ["None", "Alice appears.", "Bob appears.", "The world ends."];
        assert!(all.iter().any(|one| sent == format!("system: {one}")), "{sent}");
    }
}

#[test]
fn e48_stop_sequences_reach_the_request() {
    let stop: Vec<String> = (0..20).map(|n| format!("stop{n}")).collect();
    let scene = in_chat().preset(|p| p.sampling.stop.clone_from(&stop));
    scene.says("STOP_LIMITED");
    assert_eq!(scene.profile().call_config.stop, stop[..16]);
}

#[test]
fn e49_nothing_is_left_over_from_another_preset() {
    let hot = in_chat().preset(|p| p.sampling.temperature = Some(1.9));
    assert_eq!(hot.profile().call_config.temperature, Some(1.9));
    let config = in_chat().profile().call_config;
    assert_eq!((config.temperature, config.max_tokens), (None, Some(300)));
}

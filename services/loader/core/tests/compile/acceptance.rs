//! The acceptance lines of seed 001 that concern compiling, and seeds-notes 1.3 and 1.9.

use loader_core::{
    compile::LorePosition::{AfterCharacter, AtDepth, BeforeCharacter, Outlet},
    preset::PresetMode,
};
use prompt::{ProfileMode, Role};

use crate::support::{Scene, contract, in_chat, journal};

fn prompt(identifier: &str, role: &str, text: &str) -> String {
    format!("<st-prompt identifier=\"{identifier}\" role=\"{role}\">\n{text}\n</st-prompt>")
}

fn field(name: &str, text: &str) -> String {
    format!("<st-character-field name=\"{name}\">\n{text}\n</st-character-field>")
}

fn persona(text: &str) -> String {
    format!("<st-user-field name=\"persona-description\">\n{text}\n</st-user-field>")
}

fn lore(entry: &str, position: &str, text: &str) -> String {
    format!("<st-world-info entry=\"w:{entry}\" position=\"{position}\">\n{text}\n</st-world-info>")
}

#[track_caller]
fn check(scene: Scene, expected: &[String]) {
    assert_eq!(scene.body(), expected.join("\n\n"));
}

// --- "preset-only output and model parameters do not regress" ---

#[test]
fn a_preset_alone_keeps_its_shape() {
    let scene = contract()
        .prompt("main", "Hello {{char}}.")
        .order(&["charDescription", "chatHistory"])
        .prompt_with("u", "As user", |p| p.role = Some(Role::User))
        .prompt("gone", "{{// nothing}}");
    let profile = scene.profile();
    let expected = [
        "[skald selected preset]\nname: Pre\nid: p1".to_owned(),
        prompt("main", "system", "Hello Assistant."),
        prompt("u", "user", "As user"),
    ];
    assert_eq!(profile.system_text(), Some(expected.join("\n\n").as_str()));
    assert_eq!(profile.segments.len(), 1);
}

#[test]
fn model_parameters_are_sent_as_stored() {
    let scene = contract().prompt("main", "x").preset(|preset| {
        preset.sampling.temperature = Some(0.7);
        preset.sampling.max_tokens = Some(512);
        preset.sampling.reasoning_effort = Some("max".to_owned());
        preset.sampling.stop = vec!["END".to_owned(), String::new()];
        preset.sampling.seed = Some(-1);
    });
    let config = scene.profile().call_config;
    assert_eq!((config.temperature, config.max_tokens), (Some(0.7), Some(512)));
    assert_eq!(config.reasoning_effort.as_deref(), Some("max"));
    assert_eq!((config.stop, config.seed), (vec!["END".to_owned()], None));
}

#[test]
fn a_session_without_a_preset_has_no_prompts() {
    check(contract().card(|c| c.description = "D".into()), &[field("description", "D")]);
    assert_eq!(contract().profile().segments, []);
}

// --- "marker filling, overrides, {{original}}, lore before/after and no copied chatHistory" ---

#[test]
fn markers_are_filled_in_place_and_the_history_is_not_copied() {
    let scene = contract()
        .prompt("main", "M")
        .order(&["worldInfoBefore", "personaDescription", "charDescription"])
        .order(&["charPersonality", "scenario", "worldInfoAfter", "dialogueExamples"])
        .order(&["chatHistory", "jailbreak"])
        .card(|c| {
            c.description = "D".into();
            c.personality = "P".into();
            c.scenario = "S".into();
            c.message_example = "E".into();
            c.post_history_instructions = "PHI".into();
        })
        .user("Bob", "U")
        .lore("before", BeforeCharacter)
        .lore("after", AfterCharacter)
        .chat(&["secret words"]);
    check(
        scene,
        &[
            prompt("main", "system", "M"),
            lore("e0", "before", "before"),
            persona("U"),
            field("description", "D"),
            field("personality", "P"),
            field("scenario", "S"),
            lore("e1", "after", "after"),
            field("message-example", "E"),
            prompt("jailbreak", "system", "PHI"),
        ],
    );
}

#[test]
fn the_heading_names_what_takes_part() {
    let scene = contract().prompt("main", "M").card(|_| {}).user("Bob", "U");
    let profile = scene.profile();
    let heading = "[skald profile]\npreset-name: Pre\npreset-id: p1\ncharacter-name: Mira\n\
                   character-id: c1\nuser-name: Bob\nuser-id: u1\n\n";
    assert!(profile.system_text().is_some_and(|text| text.starts_with(heading)));
}

#[test]
fn a_card_replaces_main_and_original_keeps_dollar_sequences() {
    let scene = contract()
        .prompt("main", "costs $& and $1 $$")
        .card(|c| c.system_prompt = "A {{original}} B {{original}}".into());
    check(scene, &[prompt("main", "system", "A costs $& and $1 $$ B ")]);
}

#[test]
fn a_blank_override_is_no_override() {
    let scene = contract().prompt("main", "kept").card(|c| c.system_prompt = "{{noop}} ".into());
    check(scene, &[prompt("main", "system", "kept")]);
}

#[test]
fn forbidden_overrides_keep_the_preset_and_are_sent_nowhere_else() {
    let scene = contract()
        .prompt_with("main", "M", |p| p.forbid_overrides = true)
        .prompt_with("jailbreak", "J", |p| p.forbid_overrides = true)
        .card(|c| {
            c.system_prompt = "card system".into();
            c.post_history_instructions = "card phi".into();
        });
    scene.says("CHARACTER_SYSTEM_OVERRIDE_FORBIDDEN");
    scene.says("CHARACTER_POST_HISTORY_OVERRIDE_FORBIDDEN");
    check(scene, &[prompt("main", "system", "M"), prompt("jailbreak", "system", "J")]);
}

#[test]
fn switched_off_card_prompts_are_suppressed_and_not_moved() {
    for scene in [contract(), contract().prompt("main", "M").prompt("jailbreak", "J")] {
        let scene = scene
            .card(|c| {
                c.system_prompt = "card system".into();
                c.post_history_instructions = "card phi".into();
            })
            .with(|input| {
                input.options.ignore_character_system_prompt = true;
                input.options.ignore_character_post_history = true;
            });
        scene.says("CHARACTER_SYSTEM_SUPPRESSED");
        scene.says("CHARACTER_POST_HISTORY_SUPPRESSED");
        assert!(!scene.body().contains("card"), "{}", scene.body());
    }
}

// --- "each field at most once", fallbacks, {{persona}} ---

#[test]
fn what_the_preset_has_no_place_for_falls_back_in_the_fixed_order() {
    let scene = contract()
        .prompt("main2", "M")
        .card(|c| {
            c.description = "D".into();
            c.personality = "P".into();
            c.scenario = "S".into();
            c.message_example = "E".into();
            c.system_prompt = "SYS{{original}}".into();
            c.post_history_instructions = "PHI".into();
            c.first_message = "Hi {{user}}".into();
            c.depth_prompt = Some(loader_core::character::DepthPrompt {
                text: "DP".into(),
                depth: 4,
                role: Role::System,
            });
        })
        .user("Bob", "U of {{user}}")
        .lore("before", BeforeCharacter)
        .lore("after", AfterCharacter);
    scene.says("MARKER_ABSENT_FALLBACK");
    scene.says("CHARACTER_POST_HISTORY_POSITION_APPROXIMATED");
    scene.says("CHARACTER_DEPTH_PROMPT_POSITION_APPROXIMATED");
    check(
        scene,
        &[
            prompt("main2", "system", "M"),
            persona("U of Bob"),
            lore("e0", "before", "before"),
            field("system-prompt", "SYS"),
            field("description", "D"),
            field("personality", "P"),
            field("scenario", "S"),
            lore("e1", "after", "after"),
            field("message-example", "E"),
            field("depth-prompt", "DP"),
            field("greeting-reference", "Hi Bob"),
            field("post-history-instructions", "PHI"),
        ],
    );
}

#[test]
fn a_disabled_marker_drops_its_field_and_says_so() {
    let scene = contract()
        .order(&["-charDescription", "-worldInfoBefore", "-main"])
        .card(|c| {
            c.description = "D".into();
            c.scenario = "S".into();
            c.system_prompt = "SYS".into();
        })
        .lore("before", BeforeCharacter)
        .lore("deep", AtDepth { depth: 2, role: Role::System });
    let dropped: Vec<_> = scene
        .profile()
        .diagnostics
        .into_iter()
        .filter(|said| said.code.name() == "MARKER_DISABLED")
        .map(|said| said.place)
        .collect();
    assert_eq!(dropped, ["charDescription", "worldInfoBefore", "main"]);
    check(scene, &[field("scenario", "S"), lore("e1", "after", "deep")]);
}

#[test]
fn each_field_is_used_once() {
    let scene = contract()
        .order(&["charDescription", "charDescription", "worldInfoBefore"])
        .prompt("again", "{{description}}|")
        .card(|c| c.description = "D".into());
    scene.says("PROMPT_DUPLICATED");
    scene.says("FIELD_ALREADY_USED");
    check(scene, &[field("description", "D"), prompt("again", "system", "|")]);
}

#[test]
fn a_field_that_a_macro_placed_leaves_its_marker_empty() {
    let scene = contract()
        .prompt("p", "I am {{persona}} and {{description}}")
        .order(&["personaDescription", "charDescription"])
        .card(|c| c.description = "D".into())
        .user("Bob", "U");
    check(scene.clone(), &[prompt("p", "system", "I am U and D")]);
    let second = scene.prompt("q", "again {{persona}}");
    check(second, &[prompt("p", "system", "I am U and D"), prompt("q", "system", "again ")]);
}

#[test]
fn a_format_may_read_its_own_field() {
    let scene = contract()
        .order(&["charPersonality", "scenario"])
        .preset(|p| {
            p.formats.personality = "[{{char}}: {{personality}}]".into();
            p.formats.scenario = "no field".into();
        })
        .card(|c| {
            c.personality = "brave".into();
            c.scenario = "S".into();
        });
    check(scene, &[field("personality", "[Mira: brave]"), field("scenario", "S")]);
}

#[test]
fn relative_custom_prompts_are_sent_whatever_system_prompt_says() {
    for says in [None, Some(true), Some(false)] {
        let scene = contract().prompt_with("c", "custom", |p| p.system_prompt = says);
        check(scene, &[prompt("c", "system", "custom")]);
    }
}

#[test]
fn a_lore_format_without_a_place_keeps_the_lore() {
    let scene = contract()
        .order(&["worldInfoBefore"])
        .preset(|p| p.formats.world_info = "Lore:".into())
        .lore("kept", BeforeCharacter);
    scene.says("WORLD_INFO_FORMAT_WITHOUT_PLACE");
    check(scene, &[lore("e0", "before", "kept")]);
    let scene = contract()
        .order(&["worldInfoBefore"])
        .preset(|p| p.formats.world_info = "[{{char}}: {0}]".into())
        .lore("costs $1", BeforeCharacter);
    check(scene, &[lore("e0", "before", "[Assistant: costs $1]")]);
}

// --- greeting ---

#[test]
fn the_greeting_is_a_reference_until_the_first_reply() {
    let greeted = |scene: Scene| scene.body().contains("greeting-reference");
    let scene = contract().card(|c| {
        c.first_message = "first".into();
        c.alternate_greetings = vec!["second".into()];
    });
    check(scene.clone(), &[field("greeting-reference", "first")]);
    check(
        scene.clone().with(|i| i.options.greeting_index = 1),
        &[field("greeting-reference", "second")],
    );
    scene.clone().with(|i| i.options.greeting_index = 2).says("GREETING_OUT_OF_RANGE");
    assert!(!greeted(scene.clone().with(|i| i.has_real_reply = true)));
    assert!(!greeted(scene.clone().with(|i| i.has_authored_opening = true)));
    assert!(scene.with(|i| i.mode = ProfileMode::InChat).texts().iter().all(|t| t != "first"));
}

#[test]
fn creator_notes_are_never_sent() {
    for scene in [contract(), journal(), in_chat()] {
        let scene = scene
            .prompt("p", "notes: {{creatorNotes}}")
            .card(|c| c.creator_notes = "only for people".into());
        scene.says("CREATOR_NOTES_NOT_SENT");
        assert!(scene.texts().iter().all(|text| !text.contains("people")));
    }
}

#[test]
fn a_field_that_names_another_one_says_that_it_gets_nothing() {
    for scene in [contract(), journal(), in_chat()] {
        let scene = scene.card(|c| {
            c.description = "Mira, {{personality}}, {{scenario}}.".into();
            c.personality = "quiet".into();
            c.scenario = String::new();
        });
        let told = scene.diagnostics("FIELD_MACRO_EMPTY");
        assert_eq!(told.len(), 1, "an empty field loses nothing: {told:?}");
        assert_eq!(told[0].place, "character:description");
    }
}

// --- honest approximation ---

#[test]
fn contract_flattens_positions_and_says_so() {
    let scene = contract()
        .at_depth("d", "deep", 3, 100, Role::Assistant)
        .lore("at depth", AtDepth { depth: 1, role: Role::User })
        .lore("outlet", Outlet { name: "x".into() });
    for code in [
        "PROMPT_POSITION_APPROXIMATED",
        "PROMPT_ROLE_APPROXIMATED",
        "WORLD_BOOK_POSITION_APPROXIMATED",
        "WORLD_BOOK_OUTLET_SKIPPED",
    ] {
        scene.says(code);
    }
    check(scene, &[prompt("d", "assistant", "deep"), lore("e0", "after", "at depth")]);
}

#[test]
fn an_outlet_that_a_prompt_reads_is_not_skipped() {
    let scene = contract()
        .prompt("p", "[{{outlet::x}}]")
        .lore("one", Outlet { name: "x".into() })
        .lore("two", Outlet { name: "x".into() });
    scene.says_not("WORLD_BOOK_OUTLET_SKIPPED");
    check(scene, &[prompt("p", "system", "[one\ntwo]")]);
}

#[test]
fn dynamic_lore_stands_under_its_heading_behind_authored_lore() {
    let scene = contract()
        .lore("new", BeforeCharacter)
        .lore("old", BeforeCharacter)
        .with(|input| input.lore[0].dynamic = true);
    check(
        scene,
        &[
            lore("e1", "before", "old"),
            "Dynamic World State".to_owned(),
            lore("e0", "before", "new"),
        ],
    );
}

// --- the rest ---

#[test]
fn the_policy_is_a_second_section_in_every_mode() {
    for scene in [contract(), journal(), in_chat()] {
        let scene = scene.card(|c| c.description = "D".into());
        let keys = |scene: &Scene| -> Vec<String> {
            scene.profile().segments.into_iter().map(|segment| segment.key).collect()
        };
        assert!(!keys(&scene).contains(&"rp:policy".to_owned()));
        let blank = scene.clone().with(|input| input.rp_policy = Some(" ".into()));
        assert!(!keys(&blank).contains(&"rp:policy".to_owned()));
        let on = scene.with(|input| input.rp_policy = Some("locked".into()));
        assert_eq!(keys(&on).last().map(String::as_str), Some("rp:policy"));
    }
}

#[test]
fn replace_is_not_applied_in_journal() {
    let scene = |scene: Scene| scene.prompt("main", "M").preset(|p| p.mode = PresetMode::Replace);
    scene(journal()).says("PRESET_REPLACE_NOT_APPLIED");
    assert_eq!(scene(journal()).profile().preset_mode, PresetMode::Append);
    assert_eq!(scene(contract()).profile().preset_mode, PresetMode::Replace);
}

#[test]
fn names_come_from_user_and_card_and_have_defaults() {
    let text = |scene: Scene| scene.prompt("p", "{{user}}/{{char}}").texts().concat();
    assert!(text(contract()).contains("User/Assistant"));
    assert!(text(contract().user("Bob", "").card(|_| {})).contains("Bob/Mira"));
    let nicknamed = |c: &mut loader_core::Character| c.nickname = Some("Mi".into());
    assert!(text(contract().card(nicknamed)).contains("User/Mi\n"));
    assert!(text(in_chat().card(nicknamed)).contains("User/Mira"));
}

#[test]
fn equal_inputs_have_equal_fingerprints_and_another_revision_has_another_one() {
    let scene = contract().prompt("p", "{{random::a::b}} {{roll::d20}}").card(|_| {});
    assert_eq!(scene.profile(), scene.profile());
    let mut moved = scene.input();
    if let Some(card) = &mut moved.character {
        card.revision = "r2".to_owned();
    }
    let moved = loader_core::compile::compile(&moved).expect("compiles");
    assert_ne!(moved.fingerprint, scene.profile().fingerprint);
}

#[test]
fn the_audit_says_where_each_segment_comes_from() {
    let scene = in_chat()
        .at_depth("a", "A", 0, 100, Role::System)
        .lore("L", AtDepth { depth: 0, role: Role::System });
    let audit = scene.profile().audit;
    let from: Vec<_> = audit.segments.iter().map(|origin| origin.from.join("+")).collect();
    assert_eq!(from, ["prompt:a+lore:w:e0"]);
    assert!(audit.lore[0].kept && audit.lore[0].reason == "key");
}

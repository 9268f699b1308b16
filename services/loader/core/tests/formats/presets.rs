//! Presets of every age (reference B1, B2; bug B44).

use loader_core::{
    format::preset::{self, ImportedPreset},
    preset::{Injection, NamesBehavior, OrderSource, Preset, PresetMode},
};
use prompt::Role;

use crate::repairs;

fn read(json: &str) -> ImportedPreset {
    preset::read(json.as_bytes()).expect("is a preset")
}

#[track_caller]
fn check(json: &str, expected_repairs: &[(&str, &str)], proof: impl Fn(&Preset) -> bool) {
    let imported = read(json);
    assert_eq!(repairs(&imported.report), expected_repairs);
    assert!(proof(&imported.preset), "{:?}", imported.preset);
}

#[track_caller]
fn refused(json: &str, expected: &str) {
    let error = preset::read(json.as_bytes()).expect_err("should be refused");
    assert_eq!(error.to_string(), expected);
}

fn content<'a>(preset: &'a Preset, identifier: &str) -> &'a str {
    preset.prompt(identifier).map_or("", |prompt| prompt.content.as_str())
}

#[test]
fn absent_keys_have_their_defaults() {
    check(r#"{"prompts":[]}"#, &[], |preset| *preset == Preset::default());
}

#[test]
fn the_global_order_wins_over_the_leftover() {
    let json = r#"{"prompts":[{"identifier":"x","content":"X"}],"prompt_order":[
        {"character_id":100000,"order":[{"identifier":"main","enabled":true}]},
        {"character_id":100001,"order":[{"identifier":"x","enabled":true},{"identifier":"main"}]}]}"#;
    check(json, &[], |preset| {
        let order: Vec<_> =
            preset.order.iter().map(|e| (e.identifier.as_str(), e.enabled)).collect();
        preset.order_source == OrderSource::Global && order == [("x", true), ("main", false)]
    });
}

#[test]
fn only_the_leftover_order_is_used_and_said() {
    let json = r#"{"prompts":[],"prompt_order":[{"character_id":"100000","order":[{"identifier":"main","enabled":true}]}]}"#;
    check(json, &[("PRESET_ORDER_FALLBACK", "prompt_order[0]")], |preset| {
        preset.order_source == OrderSource::Legacy && preset.order.len() == 1
    });
}

#[test]
fn a_plain_list_is_an_order() {
    let json = r#"{"prompts":[],"prompt_order":[{"identifier":"main","enabled":1}]}"#;
    let expected = [("OLD_KEY", "prompt_order"), ("VALUE_COERCED", "prompt_order[0].enabled")];
    check(json, &expected, |preset| preset.order[0].enabled);
}

#[test]
fn prompts_that_no_order_names_are_counted() {
    let json = r#"{"prompts":[{"identifier":"x"},{"identifier":"y"}]}"#;
    check(json, &[("PROMPT_NOT_IN_ORDER", "prompt_order")], |preset| {
        preset.order_source == OrderSource::BuiltIn
    });
}

#[test]
fn repeated_and_unknown_names_are_said() {
    let json = r#"{"prompts":[{"identifier":"main","content":"1"},{"identifier":"main","content":"2"}],
        "prompt_order":[{"character_id":100001,"order":[{"identifier":"main","enabled":true},
        {"identifier":"main","enabled":false},{"identifier":"gone","enabled":true},{"enabled":true}]}]}"#;
    let expected = [
        ("PROMPT_REPEATED", "prompts[1].identifier"),
        ("ORDER_ENTRY_UNUSABLE", "prompt_order[0].order[3].identifier"),
        ("PROMPT_DUPLICATED", "prompt_order"),
        ("PROMPT_UNKNOWN", "prompt_order"),
    ];
    check(json, &expected, |preset| content(preset, "main") == "1" && preset.order.len() == 3);
}

#[test]
fn identifiers_are_found_or_made() {
    let json = r#"{"prompts":[{"id":"a","role":"model","content":5},{"content":"b"}]}"#;
    let expected = [
        ("OLD_KEY", "prompts[0].id"),
        ("VALUE_COERCED", "prompts[0].role"),
        ("VALUE_COERCED", "prompts[0].content"),
        ("PROMPT_IDENTIFIER_MADE", "prompts[1].identifier"),
        ("PROMPT_NOT_IN_ORDER", "prompt_order"),
    ];
    check(json, &expected, |preset| {
        preset.prompts[0].role == Some(Role::Assistant)
            && content(preset, "a") == "5"
            && content(preset, "prompt-1") == "b"
    });
}

#[test]
fn injections_are_read_as_written() {
    let json = r#"{"prompts":[
        {"identifier":"main","injection_position":1,"injection_depth":0,"injection_order":5,"injection_trigger":["swipe"]},
        {"identifier":"nsfw","injection_position":1},
        {"identifier":"jailbreak","injection_position":0,"injection_depth":9,"forbid_overrides":true}]}"#;
    check(json, &[], |preset| {
        let prompts = &preset.prompts;
        prompts[0].injection == Injection::Absolute { depth: Some(0), order: 5 }
            && prompts[0].triggers == ["swipe"]
            && prompts[1].injection == Injection::Absolute { depth: None, order: 100 }
            && prompts[2].injection == Injection::Relative
            && prompts[2].forbid_overrides
    });
}

#[test]
fn a_preset_from_before_the_prompt_manager_fills_the_built_in_prompts() {
    let json = r#"{"temp_openai":0.7,"max_tokens":"250","main_prompt":"M","nsfw_prompt":"","jailbreak_prompt":"J",
        "names_in_completion":true,"claude_use_sysprompt":true,"nsfw_toggle":true,"jailbreak_system":false}"#;
    let expected = [
        ("OLD_KEY", "temp_openai"),
        ("OLD_KEY", "max_tokens"),
        ("OLD_KEY", "names_in_completion"),
        ("OLD_KEY", "claude_use_sysprompt"),
        ("OLD_KEY", "main_prompt"),
        ("OLD_KEY", "jailbreak_prompt"),
        ("VALUE_COERCED", "openai_max_tokens"),
        ("SETTING_NOT_HONOURED", "nsfw_toggle"),
    ];
    check(json, &expected, |preset| {
        content(preset, "main") == "M"
            && content(preset, "jailbreak") == "J"
            && preset.sampling.temperature == Some(0.7)
            && preset.sampling.max_tokens == Some(250)
            && preset.chat.names == NamesBehavior::Completion
            && preset.chat.use_system_prompt
    });
}

#[test]
fn the_prompt_managers_export_is_a_preset() {
    let json = r#"{"version":1,"type":"full","data":{"prompts":[{"identifier":"main","content":"M"}],"prompt_order":[]}}"#;
    check(json, &[], |preset| content(preset, "main") == "M");
}

#[test]
fn nothing_is_dropped_b44() {
    let json = r#"{"assistant_prefill":"P","continue_postfix":" ","reasoning_effort":"max","custom_include_body":"a: 1","stop":["x"],"prompts":[],"prompt_order":[]}"#;
    check(json, &[("CONNECTION_NOT_HONOURED", "custom_include_body")], |preset| {
        preset.chat.assistant_prefill == "P"
            && preset.chat.continue_postfix == " "
            && preset.sampling.reasoning_effort.as_deref() == Some("max")
            && preset.sampling.stop == ["x"]
    });
}

#[test]
fn what_has_no_effect_is_said_unless_it_is_switched_off() {
    let json = r#"{"prompts":[],"openai_model":"m","stream_openai":true,"function_calling":false,
        "extensions":{"regex_scripts":[{},{}]},"mystery":0}"#;
    let expected = [
        ("EXTENSION_NOT_HONOURED", "extensions.regex_scripts"),
        ("CONNECTION_NOT_HONOURED", "openai_model"),
        ("SETTING_NOT_HONOURED", "stream_openai"),
        ("UNKNOWN_FIELD", "mystery"),
    ];
    check(json, &expected, |_| true);
}

#[test]
fn sampling_that_cannot_be_used_is_said() {
    check(
        r#"{"prompts":[],"top_k":-3,"stop":["","x",null]}"#,
        &[
            ("VALUE_UNUSABLE", "top_k"),
            ("VALUE_UNUSABLE", "stop[2]"),
            ("VALUE_UNUSABLE", "stop[0]"),
        ],
        |preset| preset.sampling.top_k.is_none() && preset.sampling.stop == ["x"],
    );
}

#[test]
fn replace_is_named_by_the_file() {
    let json = r#"{"prompts":[],"systemPromptMode":"replace","name":"N"}"#;
    check(json, &[("OLD_KEY", "systemPromptMode")], |preset| preset.mode == PresetMode::Replace);
    assert_eq!(read(json).name.as_deref(), Some("N"));
}

#[test]
fn other_files_are_refused_by_name() {
    refused("[]", "root: a preset is a JSON object");
    refused("{}", "root: has neither prompts nor any setting of a chat-completion preset");
    refused(
        r#"{"temp":1,"rep_pen":1}"#,
        "root: is a text-completion preset: only chat-completion presets are read",
    );
    refused(
        r#"{"spec":"chara_card_v2"}"#,
        "root: is a character card, not a preset: import it as a character",
    );
    refused(r#"{"entries":{}}"#, "root: is a world book, not a preset: import it as a world");
    refused(
        r#"{"input_sequence":""}"#,
        "root: is an instruct template, which chat completion does not use",
    );
}

#[test]
fn a_file_of_another_kind_is_named_before_anything_is_counted() {
    let picture = crate::fixture("card_png_ccv3_over_chara_min.png");
    let refusal = |bytes: &[u8]| preset::read(bytes).expect_err("is no preset").to_string();
    assert_eq!(refusal(&picture), "file: is a PNG picture, not JSON");
    assert_eq!(refusal(b"PK\x03\x04rest"), "file: is a zip archive, not JSON");
    assert_eq!(refusal(b"\x1F\x8B\x08"), "file: is compressed with gzip, not JSON");
}

#[test]
fn no_control_character_of_a_key_reaches_a_refusal() {
    let deep = format!("{{\"a\u{1b}[31m\u{0}\":{}", "[".repeat(40));
    let refusal = preset::read(deep.as_bytes()).expect_err("is too deep").to_string();
    assert!(refusal.starts_with("a\u{fffd}[31m\u{fffd}"), "{refusal}");
    assert!(!refusal.contains(char::is_control), "{refusal:?}");
}

#[test]
fn two_mebibytes_are_the_most() {
    refused(
        &" ".repeat((2 << 20) + 1),
        "file: a preset of 2097153 bytes, at most 2097152 are allowed",
    );
}

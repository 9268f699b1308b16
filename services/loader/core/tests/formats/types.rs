//! A field of the wrong JSON type is said or refused at its place; it never empties a file in silence.

use loader_core::format::{FormatError, Report, card, persona, preset};
use serde_json::{Value, json};

/// One value of each JSON type but null, which is the same as absent.
fn values() -> [Value; 7] {
    let list_of_one = json!([{}]);
    [json!(true), json!(7), json!("text"), json!([]), list_of_one, json!({}), json!({"x": 1})]
}

/// The card, with `value` at the pointer.
fn with(document: &Value, pointer: &str, value: &Value) -> String {
    let mut document = document.clone();
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    let parent = document.pointer_mut(parent).expect("is there");
    match parent {
        Value::Array(items) => items[key.parse::<usize>().expect("an index")] = value.clone(),
        parent => parent[key] = value.clone(),
    }
    document.to_string()
}

/// `/data/tags` as a report names it.
fn place(pointer: &str) -> String {
    let mut place = String::new();
    for part in pointer.split('/').skip(1) {
        match part.parse::<usize>() {
            Ok(index) => place.push_str(&format!("[{index}]")),
            Err(_) if place.is_empty() => place.push_str(part),
            Err(_) => place.push_str(&format!(".{part}")),
        }
    }
    place
}

/// Puts each value that is none of `fit` at each pointer; the reading names the place.
#[track_caller]
fn check(
    document: &Value,
    fit: fn(&Value) -> bool,
    pointers: &[&str],
    read: impl Fn(&[u8]) -> Result<Report, FormatError>,
) {
    for pointer in pointers {
        for value in values().iter().filter(|value| !fit(value)) {
            let file = with(document, pointer, value);
            let place = place(pointer);
            let named = match read(file.as_bytes()) {
                Ok(report) => report.findings.iter().any(|found| found.path.starts_with(&place)),
                Err(error) => error.to_string().starts_with(&place),
            };
            assert!(named, "{place} is not named in {file}");
        }
    }
}

fn card(file: &[u8]) -> Result<Report, FormatError> {
    card::read(file, None).map(|read| read.report)
}

fn preset(file: &[u8]) -> Result<Report, FormatError> {
    preset::read(file).map(|read| read.report)
}

fn personas(file: &[u8]) -> Result<Report, FormatError> {
    persona::read(file).map(|read| read.report)
}

fn a_card() -> Value {
    let depth_prompt = json!({"prompt": "p", "depth": 4, "role": "system"});
    json!({
        "spec": "chara_card_v2",
        "spec_version": "2.0",
        "data": {
            "name": "A",
            "alternate_greetings": ["a"],
            "character_book": {"entries": []},
            "extensions": {"depth_prompt": depth_prompt},
        },
    })
}

fn a_preset() -> Value {
    json!({
        "prompts": [{"identifier": "x", "content": "c"}],
        "prompt_order": [{
            "character_id": 100001,
            "order": [{"identifier": "x", "enabled": true}],
        }],
    })
}

#[test]
fn texts_of_a_card() {
    let pointers = [
        "/data/name",
        "/data/description",
        "/data/personality",
        "/data/scenario",
        "/data/first_mes",
        "/data/mes_example",
        "/data/system_prompt",
        "/data/post_history_instructions",
        "/data/creator_notes",
        "/data/creator",
        "/data/character_version",
        "/data/nickname",
        "/data/alternate_greetings/0",
        "/data/extensions/world",
        "/data/extensions/depth_prompt/prompt",
    ];
    check(&a_card(), Value::is_string, &pointers, card);
}

#[test]
fn lists_of_a_card() {
    let pointers =
        ["/data/alternate_greetings", "/data/group_only_greetings", "/data/tags", "/data/assets"];
    check(&a_card(), |value| *value == json!([]), &pointers, card);
}

#[test]
fn objects_of_a_card() {
    let pointers = ["/data/extensions", "/data/extensions/depth_prompt"];
    check(&a_card(), Value::is_object, &pointers, card);
    check(&a_card(), |_| false, &["/data/character_book"], card);
    let entries = |value: &Value| value.is_array() || value.is_object();
    check(&a_card(), entries, &["/data/character_book/entries"], card);
}

#[test]
fn data_that_is_no_card_is_refused() {
    check(&a_card(), |_| false, &["/data"], card);
    for data in values() {
        let file = with(&a_card(), "/data", &data);
        assert!(card::read(file.as_bytes(), Some("a.json")).is_err(), "{file}");
    }
    let error = card::read(br#"{"spec":"chara_card_v2","data":7}"#, Some("a.json"));
    let expected = "data: is a number, not an object, and the root holds no field of a character \
                    card either";
    assert_eq!(error.expect_err("is refused").to_string(), expected);
}

#[test]
fn data_of_another_type_beside_a_flat_card_is_said() {
    let imported = card::read(br#"{"spec":"chara_card_v3","data":"x","name":"A"}"#, None);
    let imported = imported.expect("is a card");
    assert_eq!(imported.character.name, "A");
    assert_eq!(crate::repairs(&imported.report), [("FIELD_AT_ROOT", "data")]);
}

#[test]
fn a_specification_that_is_no_text_is_said() {
    check(&a_card(), |_| false, &["/spec"], card);
}

#[test]
fn texts_of_a_preset() {
    let pointers = [
        "/name",
        "/wi_format",
        "/scenario_format",
        "/personality_format",
        "/new_chat_prompt",
        "/new_example_chat_prompt",
        "/continue_nudge_prompt",
        "/impersonation_prompt",
        "/send_if_empty",
        "/assistant_prefill",
        "/continue_postfix",
        "/main_prompt",
        "/reasoning_effort",
        "/prompts/0/identifier",
        "/prompts/0/name",
        "/prompts/0/content",
        "/prompts/0/role",
        "/prompt_order/0/order/0/identifier",
    ];
    check(&a_preset(), Value::is_string, &pointers, preset);
}

#[test]
fn numbers_and_flags_of_a_preset() {
    let numbers = [
        "/temperature",
        "/top_p",
        "/openai_max_context",
        "/openai_max_tokens",
        "/seed",
        "/names_behavior",
        "/prompts/0/injection_depth",
        "/prompts/0/injection_order",
        "/prompts/0/injection_position",
    ];
    let number = |value: &Value| value.is_number() && *value != json!(7);
    check(&a_preset(), Value::is_number, &numbers, preset);
    check(&a_preset(), number, &["/names_behavior", "/prompts/0/injection_position"], preset);
    let flags = [
        "/squash_system_messages",
        "/continue_prefill",
        "/prompts/0/system_prompt",
        "/prompts/0/marker",
        "/prompts/0/forbid_overrides",
        "/prompt_order/0/order/0/enabled",
    ];
    check(&a_preset(), Value::is_boolean, &flags, preset);
}

#[test]
fn lists_of_a_preset() {
    let pointers = ["/prompts/0/injection_trigger", "/stop"];
    check(&a_preset(), |value| *value == json!([]), &pointers, preset);
    check(&a_preset(), Value::is_array, &["/prompts"], preset);
    check(&a_preset(), |value| *value == json!([]), &["/prompt_order"], preset);
    check(&a_preset(), Value::is_object, &["/prompts/0", "/prompt_order/0/order/0"], preset);
    check(&a_preset(), Value::is_array, &["/prompt_order/0/order"], preset);
    // One that is for nobody: the order as a whole is named.
    for value in values() {
        let report = preset(with(&a_preset(), "/prompt_order/0", &value).as_bytes());
        let report = report.expect("is a preset");
        assert!(report.findings.iter().any(|found| found.path == "prompt_order"), "{value}");
    }
}

#[test]
fn personas_of_an_export() {
    let export = json!({
        "personas": {"a": "Ann"},
        "persona_descriptions": {"a": {"description": "d", "position": 0}},
    });
    let texts = ["/personas/a", "/persona_descriptions/a/description", "/default_persona"];
    check(&export, Value::is_string, &texts, personas);
    check(&export, Value::is_object, &["/personas", "/persona_descriptions"], personas);
    check(&export, Value::is_number, &["/persona_descriptions/a/position"], personas);
    check(&export, |v| v.is_object() || v.is_string(), &["/persona_descriptions/a"], personas);
}

#[test]
fn a_user_of_another_form_is_refused() {
    let user = json!({"name": "Ann", "description": "d"});
    check(&user, Value::is_string, &["/id", "/name", "/description"], personas);
}

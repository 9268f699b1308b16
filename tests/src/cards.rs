//! Files that people bring, made here so that a test can change them.

use serde_json::{Value, json};
use skald::demo::samples;

/// A V2 card with an embedded book.
pub fn v2() -> Value {
    json!({
        "spec": "chara_card_v2",
        "spec_version": "2.0",
        "data": data(),
    })
}

/// The same as a V3 card.
pub fn v3() -> Value {
    let mut data = data();
    data["group_only_greetings"] = json!([]);
    data["nickname"] = json!("Ma");
    json!({ "spec": "chara_card_v3", "spec_version": "3.0", "data": data })
}

fn data() -> Value {
    json!({
        "name": "Maren",
        "description": "{{char}} keeps the light on Grey Skerry.",
        "personality": "dry, patient",
        "scenario": "An evening in late autumn.",
        "first_mes": "Mind the stairs, they are wet.",
        "mes_example": "",
        "creator_notes": "",
        "system_prompt": "",
        "post_history_instructions": "",
        "alternate_greetings": [],
        "tags": [],
        "creator": "",
        "character_version": "1",
        "extensions": {},
        "character_book": {
            "name": "Grey Skerry Light",
            "extensions": {},
            "entries": [{
                "id": 1,
                "keys": ["lamp"],
                "content": "The lamp burns whale oil.",
                "enabled": true,
                "insertion_order": 50,
                "extensions": {},
            }],
        },
    })
}

/// The sample world, to be changed.
pub fn world() -> Value {
    serde_json::from_slice(samples::WORLD).expect("JSON")
}

/// The sample preset, to be changed.
pub fn preset() -> Value {
    serde_json::from_slice(samples::PRESET).expect("JSON")
}

/// A world of entries of which each is a key and a text.
pub fn world_of(entries: &[(&str, &str)]) -> Value {
    let entries = entries.iter().enumerate().map(|(uid, (key, content))| {
        let keys = if key.is_empty() { json!([]) } else { json!([key]) };
        let entry = json!({
            "uid": uid, "key": keys, "keysecondary": [], "comment": format!("entry {uid}"),
            "content": content, "constant": key.is_empty(), "selective": false, "order": 100,
            "position": 0, "disable": false,
        });
        (uid.to_string(), entry)
    });
    json!({ "name": "A world", "entries": entries.collect::<serde_json::Map<_, _>>() })
}

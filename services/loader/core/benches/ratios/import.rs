//! Reading a large card.

use std::hint::black_box;

use loader_core::format::card;
use serde_json::{Value, json};

use crate::figure;

pub fn measure() {
    let document = large_card();
    println!("a card of {} KiB, parsed, checked and normalised", document.len() / 1024);
    figure(
        "card_import_over_json_parse",
        3.0,
        || drop(black_box(serde_json::from_slice::<Value>(&document).expect("is JSON"))),
        || drop(black_box(card::read(&document, None).expect("is a card"))),
    );
}

/// A V3 card of three megabytes: long fields, many greetings, a book of 2,000 entries.
fn large_card() -> Vec<u8> {
    let prose =
        "The lighthouse keeper counts \"ships\" and écrit des lettres — 灯台守は眠らない。\n";
    let entry = |number: usize| {
        json!({
            "id": number,
            "keys": [format!("key {number}"), format!("other {number}")],
            "secondary_keys": [],
            "content": prose.repeat(8),
            "enabled": true,
            "insertion_order": number,
            "position": "before_char",
            "extensions": {"depth": 4, "probability": 100, "role": 0, "selectiveLogic": 0},
        })
    };
    let card = json!({
        "spec": "chara_card_v3",
        "spec_version": "3.0",
        "data": {
            "name": "Mira",
            "description": prose.repeat(4_000),
            "first_mes": prose.repeat(500),
            "alternate_greetings": (0..100).map(|_| prose.repeat(50)).collect::<Vec<_>>(),
            "character_book": {"entries": (0..2_000).map(entry).collect::<Vec<_>>()},
            "extensions": {},
        },
    });
    card.to_string().into_bytes()
}

//! What a profile is made of, and what of it is shown.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use prost::Message as _;
use serde_json::{Value, json};
use tests::prelude::*;

use super::{Bench, body, card, field, persona, preset, profile, prompt};
use common::ProfileMode;

/// Seed 001, acceptance line 1: "preset-only output and model parameters do not regress".
#[tokio::test]
async fn a_preset_alone_keeps_its_shape_and_its_parameters_are_sent() {
    let bench = Bench::near().await;
    let mut alone = preset(&[
        ("main", "Hello {{char}}, I am {{user}}."),
        ("charDescription", ""),
        ("chatHistory", ""),
    ]);
    let parameters = json!({
        "temperature": 0.7, "top_p": 0.9, "top_k": 40, "top_a": 0.1, "min_p": 0.05,
        "frequency_penalty": 0.2, "presence_penalty": 0.3, "repetition_penalty": 1.1,
        "openai_max_tokens": 512, "reasoning_effort": "high", "verbosity": "low", "n": 3,
        "seed": 9_007_199_254_740_993_i64, "stop": ["END", ""],
    });
    for (key, value) in parameters.as_object().expect("parameters") {
        alone[key] = value.clone();
    }
    alone["prompts"].as_array_mut().expect("prompts").push(json!({
        "identifier": "style", "name": "Style", "role": "user", "content": "Be brief.",
        "system_prompt": false,
    }));
    let order = alone["prompt_order"][0]["order"].as_array_mut().expect("an order");
    order.push(json!({ "identifier": "style", "enabled": true }));
    let preset_id = bench.preset("Quiet", &alone).await;
    let selection = loader::Selection { preset_id: preset_id.clone(), ..Default::default() };
    let session = bench.session(Some(selection)).await;
    let sent = bench.say(&session, "Well?").await;
    let style = "<st-prompt identifier=\"style\" role=\"user\">\nBe brief.\n</st-prompt>";
    let main = prompt("main", "Hello Assistant, I am User.");
    let expected =
        format!("[skald selected preset]\nname: Quiet\nid: {preset_id}\n\n{main}\n\n{style}");
    assert_eq!(profile(&sent), expected);
    let config: Value = serde_json::from_str(&sent.record.call_config_json).expect("JSON");
    let expected = json!({
        "temperature": 0.7, "top_p": 0.9, "top_k": 40, "top_a": 0.1, "min_p": 0.05,
        "frequency_penalty": 0.2, "presence_penalty": 0.3, "repetition_penalty": 1.1,
        "max_tokens": 512, "reasoning_effort": "high", "verbosity": "low",
        "seed": 9_007_199_254_740_993_i64, "stop": ["END"],
    });
    assert_eq!(config, expected);
    let codes: Vec<_> = sent.record.diagnostics.iter().map(|said| said.code.as_str()).collect();
    let expected = ["CHOICES_NOT_SENT", "PROMPT_POSITION_APPROXIMATED", "PROMPT_ROLE_APPROXIMATED"];
    assert_eq!(codes, expected, "one reply is asked for, and that is said");
}

/// A card with every field that a marker stands for.
fn mira() -> Value {
    let fields = json!({
        "description": "D", "personality": "P", "scenario": "S", "mes_example": "E",
        "system_prompt": "A {{original}} Z costs $1", "post_history_instructions": "PHI {{original}}",
        "creator_notes": "only for people",
    });
    card("Mira", fields)
}

/// Seed 001, acceptance line 4: "marker filling, card overrides, {{original}}, lore before and after, and no copy
/// of the chatHistory".
#[tokio::test]
async fn markers_are_filled_in_place_and_the_chat_is_there_once() {
    let bench = Bench::near().await;
    let mut book = tests::cards::world_of(&[("", "Before."), ("", "After.")]);
    book["entries"]["1"]["position"] = json!(1);
    let world = bench.book(&book).await;
    let entries = bench.clients.entries(&world, lorebook::WorldView::Authored).await;
    let entries = entries.expect("read");
    let lore = |uid: i64, position: &str, text: &str| {
        let entry = entries.iter().find(|entry| entry.uid == uid).expect("one");
        let entry = &entry.entry_id;
        format!(
            "<st-world-info entry=\"{world}:{entry}\" position=\"{position}\">\n{text}\n</st-world-info>"
        )
    };
    let everything = preset(&[
        ("main", "M $& for {{char}}"),
        ("worldInfoBefore", ""),
        ("personaDescription", ""),
        ("charDescription", ""),
        ("charPersonality", ""),
        ("scenario", ""),
        ("worldInfoAfter", ""),
        ("dialogueExamples", ""),
        ("chatHistory", ""),
        ("jailbreak", "J"),
    ]);
    let selection = loader::Selection {
        preset_id: bench.preset("P", &everything).await,
        character_id: bench.card(&mira()).await.character_id,
        user_id: bench.user("Bob", "U").await,
        world_ids: vec![world.clone()],
        ..Default::default()
    };
    let session = bench.session(Some(selection.clone())).await;
    bench.say(&session, "the first secret").await;
    let sent = bench.say(&session, "the second secret").await;
    let expected = [
        prompt("main", "A M $& for Mira Z costs $1"),
        lore(0, "before", "Before."),
        persona("U"),
        field("description", "D"),
        field("personality", "P"),
        field("scenario", "S"),
        lore(1, "after", "After."),
        field("message-example", "E"),
        prompt("jailbreak", "PHI J"),
    ];
    assert_eq!(body(&sent), expected.join("\n\n"));
    let loader::Selection { preset_id, character_id, user_id, .. } = selection;
    let heading = format!(
        "[skald profile]\npreset-name: P\npreset-id: {preset_id}\ncharacter-name: Mira\n\
         character-id: {character_id}\nuser-name: Bob\nuser-id: {user_id}\n\n"
    );
    assert!(profile(&sent).starts_with(&heading), "{}", profile(&sent));
    let said = sent.text();
    for (text, times) in [("the first secret", 2), ("the second secret", 1)] {
        assert_eq!(said.matches(text).count(), times, "{text}: the message and the echo of it");
    }
    assert!(!profile(&sent).contains("secret"), "the history is no part of the profile");
}

/// Seed 001, acceptance line 5: "`replace` removes only the host's system sections; tools, contexts, variables and
/// the whole Tavern profile are kept".
#[tokio::test]
async fn replace_leaves_out_what_callers_added_and_nothing_else() {
    let bench = Bench::near().await;
    for mode in [ProfileMode::Contract, ProfileMode::InChat] {
        for (replaces, kept) in [("append", true), ("replace", false)] {
            let mut document = preset(&[
                ("main", "{{setvar::tone::dry}}M"),
                ("charDescription", ""),
                ("chatHistory", ""),
                ("late", "Tone: {{getvar::tone}}"),
            ]);
            document["system_prompt_mode"] = json!(replaces);
            let selection = loader::Selection {
                preset_id: bench.preset(replaces, &document).await,
                character_id: bench.card(&mira()).await.character_id,
                rp: Some(loader::RpSelection { active: true, ..Default::default() }),
                ..Default::default()
            };
            let session = bench.session_in(mode, Some(selection)).await;
            for (key, content) in [(Some("weather".to_owned()), "Fog."), (None, "A ship is due.")] {
                let request = ledger::AddContextRequest {
                    session_id: session.clone(),
                    request_id: format!("{key:?}-of-{session}"),
                    key,
                    content: content.to_owned(),
                    expected_head: 0,
                };
                bench.clients.contexts.clone().add_context(request).await.expect("added");
            }
            let sent = bench.say(&session, "Well?").await;
            assert_eq!(sent.contains("Fog."), kept, "{mode:?} {replaces}: {}", sent.text());
            for text in ["A ship is due.", "Well?", "Z costs $1", "Tone: dry", "Role-play"] {
                assert!(sent.contains(text), "{mode:?} {replaces}: {text}: {}", sent.text());
            }
            assert!(sent.messages().iter().any(|(_, text)| text.contains('D')));
        }
    }
}

/// Seed 001, acceptance line 6: "the active view shows selection, resources, diagnostics and audit, and not the whole
/// compiled prompt".
#[tokio::test]
async fn the_preview_shows_everything_but_the_texts() {
    let bench = Bench::near().await;
    let document = preset(&[("main", "MAIN-TEXT {{nosuchmacro}}"), ("charDescription", "")]);
    let world = bench.lore(&[("bell", "LORE-TEXT")]).await;
    let fields = json!({ "description": "DESCRIPTION-TEXT", "system_prompt": "SYSTEM-TEXT" });
    let selection = loader::Selection {
        preset_id: bench.preset("P", &document).await,
        character_id: bench.card(&card("Mira", fields)).await.character_id,
        user_id: bench.user("Bob", "USER-TEXT").await,
        world_ids: vec![world.clone()],
        ..Default::default()
    };
    let session = bench.session(Some(selection.clone())).await;
    let shown = bench.previewed(&session, "the bell").await;
    let audit: Value = serde_json::from_str(&shown.audit_json).expect("JSON");
    assert_eq!(audit["preset"]["id"], selection.preset_id);
    assert_eq!(audit["character"]["id"], selection.character_id);
    assert_eq!(
        (&audit["user"]["id"], &audit["user"]["name"]),
        (&json!(selection.user_id), &json!("Bob"))
    );
    assert_eq!(audit["worlds"][0]["id"], world);
    assert_eq!(
        (&audit["lore"][0]["reason"], &audit["lore"][0]["kept"]),
        (&json!("key"), &json!(true))
    );
    let codes: Vec<_> = shown.diagnostics.iter().map(|said| said.code.as_str()).collect();
    assert!(codes.contains(&"MARKER_ABSENT_FALLBACK"), "{codes:?}");
    assert!(shown.segments.iter().any(|segment| segment.bytes > 0), "sizes are shown");
    assert_eq!(shown.fingerprint.len(), 64);
    let read = bench.selection(&session).await;
    assert_eq!(read.selection.as_ref().map(|read| &read.preset_id), Some(&selection.preset_id));
    let everything = [shown.encode_to_vec(), read.encode_to_vec()].concat();
    let everything = String::from_utf8_lossy(&everything);
    for text in ["MAIN-TEXT", "LORE-TEXT", "DESCRIPTION-TEXT", "SYSTEM-TEXT", "USER-TEXT"] {
        assert!(!everything.contains(text), "{text} is shown");
    }
    let sent = bench.say(&session, "the bell").await;
    let same: Value = serde_json::from_str(&sent.record.audit_json).expect("JSON");
    assert_eq!((&same["worlds"], &same["preset"]), (&audit["worlds"], &audit["preset"]));
}

/// A picture that holds a card in a text chunk.
fn picture(keyword: &str, card: &Value) -> Vec<u8> {
    let mut text = keyword.as_bytes().to_vec();
    text.push(0);
    text.extend(STANDARD.encode(card.to_string()).into_bytes());
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, data) in [(b"tEXt", &text[..]), (b"IEND", &[])] {
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(kind);
        checksum.update(data);
        png.extend(u32::try_from(data.len()).expect("small").to_be_bytes());
        png.extend(kind);
        png.extend(data);
        png.extend(checksum.finalize().to_be_bytes());
    }
    png
}

/// Seed 001, acceptance line 8: "V1, V2 and V3 cards, JSON and PNG, enter the profile, and creator notes are not sent".
#[tokio::test]
async fn cards_of_every_version_and_container_enter_the_profile_without_their_notes() {
    let bench = Bench::near().await;
    let data = json!({
        "name": "Mira", "description": "{{char}} keeps the light.", "personality": "dry",
        "scenario": "An evening.", "first_mes": "Hello.", "mes_example": "",
        "creator_notes": "NOTES-FOR-PEOPLE", "extensions": {},
    });
    let mut old = data.clone();
    old["creatorcomment"] = json!("NOTES-FOR-PEOPLE");
    let v2 = json!({ "spec": "chara_card_v2", "spec_version": "2.0", "data": data });
    let v3 = json!({ "spec": "chara_card_v3", "spec_version": "3.0", "data": data });
    let document = preset(&[("main", "M {{creatorNotes}}"), ("charDescription", "")]);
    let preset_id = bench.preset("P", &document).await;
    let json = |card: &Value| card.to_string().into_bytes();
    for (file, bytes, spec) in [
        ("a.json", json(&old), "v1"),
        ("a.json", json(&v2), "v2"),
        ("a.json", json(&v3), "v3"),
        ("a.png", picture("chara", &old), "v1"),
        ("a.png", picture("chara", &v2), "v2"),
        ("a.png", picture("ccv3", &v3), "v3"),
    ] {
        let character = bench.card_file(file, &bytes).await;
        assert_eq!((character.spec.as_str(), &*character.container), (spec, &file[2..]));
        assert_eq!(character.creator_notes, "NOTES-FOR-PEOPLE", "kept, and shown to people");
        let selection = loader::Selection {
            preset_id: preset_id.clone(),
            character_id: character.character_id,
            ..Default::default()
        };
        for mode in MODES {
            let session = bench.session_in(mode, Some(selection.clone())).await;
            let sent = bench.say(&session, "Well?").await;
            assert!(sent.contains("Mira keeps the light."), "{file} {spec} {mode:?}");
            assert!(!sent.contains("NOTES-FOR-PEOPLE"), "{file} {spec} {mode:?}");
            let codes: Vec<_> = sent.record.diagnostics.iter().map(|said| &*said.code).collect();
            assert!(codes.contains(&"CREATOR_NOTES_NOT_SENT"), "{codes:?}");
        }
    }
}

//! The rest of the seed's integration checklist, and what it says of third parties' files.

use std::{fs, path::Path};

use serde_json::json;
use tests::{cards::world_of, prelude::*};

use super::{Bench, body, book_entry, card, preset, profile};
use common::ProfileMode;

/// Seed 001, checklist, characters 1: "store, API and UI keep documents and the intent to choose, no more": importing,
/// making and editing change no session's choice.
#[tokio::test]
async fn importing_and_editing_resources_changes_no_selection() {
    let bench = Bench::near().await;
    let session = bench.session(Some(loader::Selection::default())).await;
    let before = bench.selection(&session).await;
    bench.preset("P", &preset(&[("main", "M")])).await;
    let character = bench.card(&card("Mira", json!({ "description": "D" }))).await;
    bench.user("Bob", "U").await;
    bench.lore(&[("", "LORE")]).await;
    let edit = loader::UpdateCharacterRequest {
        character: Some(loader::Character { scenario: "A storm.".to_owned(), ..character }),
        update_mask: Some(prost_types::FieldMask { paths: vec!["scenario".to_owned()] }),
        ..Default::default()
    };
    bench.clients.characters.clone().update_character(edit).await.expect("edited");
    assert_eq!(bench.selection(&session).await, before);
    let sent = bench.say(&session, "Well?").await;
    assert_eq!(profile(&sent), "", "{}", sent.text());
}

/// Seed 001, checklist, characters 4 and world books 4: "no system section of its own".
#[tokio::test]
async fn one_profile_is_in_the_request_whatever_it_is_made_of() {
    let bench = Bench::near().await;
    let book = json!({ "entries": [book_entry("bell", "BOOK", 100)], "extensions": {} });
    let fields = json!({ "description": "D", "system_prompt": "SYS", "character_book": book });
    let selection = loader::Selection {
        preset_id: bench.preset("P", &preset(&[("main", "M")])).await,
        character_id: bench.card(&card("Mira", fields)).await.character_id,
        user_id: bench.user("Bob", "U").await,
        world_ids: vec![bench.lore(&[("", "LORE")]).await],
        rp: Some(loader::RpSelection { active: true, ..Default::default() }),
        ..Default::default()
    };
    let session = bench.session(Some(selection)).await;
    let sent = bench.say(&session, "the bell").await;
    let system: Vec<_> = sent.blocks.iter().filter(|block| block.role == "system").collect();
    let keys = |block: &ledger::BlockPart| {
        block.origins.iter().map(|origin| origin.key.clone()).collect::<Vec<_>>().join("+")
    };
    let keys: Vec<_> = system.iter().map(|block| keys(block)).collect();
    assert_eq!(system.len(), 2, "the profile and the policy: {keys:?}");
    for text in ["D", "SYS", "U", "LORE", "BOOK"] {
        assert!(body(&sent).contains(text), "{text}: {}", body(&sent));
    }
    assert_eq!(keys[1], "rp:policy");
}

/// Seed 001, checklist, characters 5: "marker, replace, … and the request's header": what the record of a request says is
/// what the loader compiled.
#[tokio::test]
async fn the_requests_record_holds_what_was_compiled() {
    let bench = Bench::near().await;
    let selection = loader::Selection {
        preset_id: bench.preset("P", &preset(&[("main", "M"), ("charDescription", "")])).await,
        character_id: bench.card(&card("Mira", json!({ "description": "D" }))).await.character_id,
        ..Default::default()
    };
    for mode in MODES {
        let session = bench.session_in(mode, Some(selection.clone())).await;
        let sent = bench.say(&session, "Well?").await;
        assert!(sent.is_exact() && sent.contains("M") && sent.contains("D"), "{}", sent.text());
        let audit: serde_json::Value = serde_json::from_str(&sent.record.audit_json).expect("JSON");
        let from: Vec<&str> = audit["segments"]
            .as_array()
            .expect("segments")
            .iter()
            .flat_map(|segment| segment["from"].as_array().expect("pieces"))
            .filter_map(|piece| piece.as_str())
            .collect();
        for piece in ["prompt:main", "character:description"] {
            assert!(from.contains(&piece), "{mode:?}: {piece} is not in {from:?}");
        }
        let verified = bench.clients.verified(&session).await.expect("verified");
        assert_eq!((verified.first_bad_offset, verified.drifted_requests.len()), (0, 0));
    }
}

/// Seed 001, checklist, world books 5: "deterministic tests of the scan window, regexes, recursion and the budget".
#[tokio::test]
async fn window_patterns_recursion_and_budget_give_the_same_lore_each_time() {
    let bench = Bench::near().await;
    let mut world = world_of(&[
        ("bell", "The bell calls the ferry."),
        ("ferry", "FERRY"),
        ("/har+bour/i", "HARBOUR"),
        ("oldest", "OLDEST"),
        ("", "CONSTANT"),
    ]);
    world["entries"]["3"]["scanDepth"] = json!(8);
    world["entries"]["4"]["order"] = json!(200);
    let world = bench.book(&world).await;
    let settings = |activation| loader::Selection {
        world_ids: vec![world.clone()],
        options: Some(loader::SelectionOptions {
            activation: Some(activation),
            ..Default::default()
        }),
        ..Default::default()
    };
    let plain = loader::ActivationSettings::default();
    let flat = loader::ActivationSettings { recursive: Some(false), ..plain };
    let narrow = loader::ActivationSettings { scan_depth: Some(1), ..plain };
    let poor = loader::ActivationSettings { budget_cap: Some(4), ..plain };
    for (activation, expected) in [
        (plain, [true, true, true, true]),
        (flat, [false, true, true, true]),
        (narrow, [false, false, true, true]),
        (poor, [false, false, false, true]),
    ] {
        let mut requests = Vec::new();
        for _ in 0..2 {
            let session = bench.session(Some(settings(activation))).await;
            for text in ["the oldest stone", "hush", "the bell in the HARBOUR"] {
                bench.say(&session, text).await;
            }
            requests.push(bench.say(&session, "and now?").await);
        }
        let found = ["FERRY", "HARBOUR", "OLDEST", "CONSTANT"]
            .map(|text| profile(&requests[0]).contains(text));
        assert_eq!(found, expected, "{activation:?}: {}", profile(&requests[0]));
        assert_eq!(profile(&requests[0]), profile(&requests[1]), "{activation:?}");
    }
}

/// Seed 001, acceptance line 18: "no preset, card or world book of a third party is copied into the fixtures", but for
/// those whose licence allows it and is named beside them.
#[test]
fn every_file_among_the_fixtures_is_ours_or_says_whose_it_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let folder = root.join("services/loader/core/tests/fixtures");
    let sources = fs::read_to_string(folder.join("SOURCES.md")).expect("a list of sources");
    let mut cards = 0;
    for file in fs::read_dir(&folder).expect("a folder") {
        let name = file.expect("listed").file_name().into_string().expect("a name");
        if name == "SOURCES.md" || name.ends_with("-cases.json") {
            continue;
        }
        let row = sources.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("{name} has no source"));
        assert!(row.contains("| MIT |") || row.contains("| CC0 |"), "{row}");
        cards += 1;
    }
    assert!(cards > 10, "{cards} files were looked at");
}

/// A session that speaks in the mode that SillyTavern's users expect sees the same single profile.
///
/// Seed 001, checklist, users 5: "one copy in the final profile", in every mode.
#[tokio::test]
async fn each_text_is_sent_once_in_every_mode() {
    let bench = Bench::near().await;
    let fields = json!({ "description": "DESCRIPTION", "scenario": "SCENARIO" });
    let document = preset(&[
        ("main", "MAIN"),
        ("personaDescription", ""),
        ("charDescription", ""),
        ("scenario", ""),
        ("worldInfoBefore", ""),
        ("chatHistory", ""),
    ]);
    let selection = loader::Selection {
        preset_id: bench.preset("P", &document).await,
        character_id: bench.card(&card("Mira", fields)).await.character_id,
        user_id: bench.user("Bob", "PERSONA").await,
        world_ids: vec![bench.lore(&[("", "LORE")]).await],
        ..Default::default()
    };
    for mode in [ProfileMode::Journal, ProfileMode::InChat, ProfileMode::Contract] {
        let session = bench.session_in(mode, Some(selection.clone())).await;
        for turn in ["One.", "Two."] {
            let sent = bench.say(&session, turn).await;
            for text in ["MAIN", "DESCRIPTION", "SCENARIO", "PERSONA", "LORE"] {
                let times = sent.text().matches(text).count();
                assert_eq!(times, 1, "{mode:?} {turn} {text}: {}", sent.text());
            }
        }
    }
}

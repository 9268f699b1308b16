//! Characters through the wire, their books included.

use wire::{common::v1::Reason, loader::v1 as pb};

use crate::house::{CARD, House, as_user, header, refused};

#[tokio::test]
async fn a_card_is_imported_with_the_running_copy_of_its_book() {
    let house = House::new().await;
    let answer = house.import_character("ada", header("", "m.json"), CARD.as_bytes()).await;
    let head = answer.expect("imported").character.expect("a character");
    assert_eq!((head.name.as_str(), head.spec.as_str()), ("Mira", "v2"));
    assert_eq!((head.greetings.len(), head.document_json.as_str()), (0, ""), "a summary");
    let character = house.character(&head.character_id).await;
    assert_eq!((&character.name, &character.spec), (&head.name, &head.spec));
    assert_eq!(character.greetings, ["Hello, {{user}}."]);
    assert_eq!(character.document_json, CARD);
    assert!(house.lorebook.holds(&character.embedded_world_id));
    assert!(house.lorebook.books.lock().expect("not poisoned")[0].contains("The lamp is cold."));
}

#[tokio::test]
async fn importing_again_registers_nothing_twice_b20() {
    let house = House::new().await;
    let import = || house.import_character("ada", header("", "m.json"), CARD.as_bytes());
    let (first, again) = (import().await.expect("imported"), import().await.expect("known"));
    assert!(again.already_imported);
    assert_eq!(first.character, again.character);
    assert_eq!(house.lorebook.books.lock().expect("not poisoned").len(), 1);
}

#[tokio::test]
async fn while_the_lorebook_is_away_nothing_is_stored() {
    let house = House::new().await;
    *house.lorebook.away.lock().expect("not poisoned") = true;
    let answer = house.import_character("ada", header("r1", "m.json"), CARD.as_bytes()).await;
    refused(answer, Reason::PeerUnavailable);
    *house.lorebook.away.lock().expect("not poisoned") = false;
    let retried = house.import_character("ada", header("r1", "m.json"), CARD.as_bytes()).await;
    assert!(!retried.expect("imported").already_imported);
}

#[tokio::test]
async fn a_book_that_cannot_run_is_kept_in_the_card_and_said() {
    let house = House::new().await;
    let card = r#"{"spec":"chara_card_v2","data":{"name":"A","character_book":{"entries":5}}}"#;
    let answer = house.import_character("ada", header("", "a.json"), card.as_bytes()).await;
    let answer = answer.expect("imported");
    let codes: Vec<_> =
        answer.report.expect("a report").findings.into_iter().map(|f| f.code).collect();
    assert!(codes.contains(&"EMBEDDED_WORLD_BOOK_INVALID".to_owned()), "{codes:?}");
    assert_eq!(answer.character.expect("a character").embedded_world_id, "");
}

#[tokio::test]
async fn a_card_without_a_name_is_named_after_its_file_for_ever() {
    let house = House::new().await;
    let card = r#"{"spec":"chara_card_v2","data":{"description":"d"}}"#;
    let answer =
        house.import_character("ada", header("", "Dr. Who.v2.json"), card.as_bytes()).await;
    let character_id = answer.expect("imported").character.expect("a character").character_id;
    let get = pb::GetCharacterRequest { character_id };
    let read = house.characters().get_character(as_user("ada", get)).await.expect("read");
    assert_eq!(read.into_inner().character.expect("a character").name, "Dr. Who.v2");
}

/// A card with long texts, and the answer to reading it.
async fn long_texts(fields: &[&str]) -> pb::Character {
    let house = House::new().await;
    let long = "x".repeat(1_000_000);
    let fields: Vec<_> = fields.iter().map(|field| format!("{field:?}:{long:?}")).collect();
    let card = format!(r#"{{"spec":"chara_card_v2","data":{{"name":"A",{}}}}}"#, fields.join(","));
    let answer = house.import_character("ada", header("", "a.json"), card.as_bytes()).await;
    let id = answer.expect("imported").character.expect("a character").character_id;
    let character = house.character(&id).await;
    assert_eq!(character.name, "A");
    character
}

fn left_out(character: &pb::Character) -> Vec<&str> {
    character.left_out.iter().map(|one| one.field.as_str()).collect()
}

#[tokio::test]
async fn a_card_larger_than_a_message_answers_what_fits_and_names_the_rest() {
    let three = long_texts(&["description", "personality", "scenario"]).await;
    assert_eq!(left_out(&three), ["document_json"]);
    assert!(three.left_out[0].bytes > 3_000_000 && three.document_json.is_empty());
    assert_eq!((three.description.len(), three.scenario.len()), (1_000_000, 1_000_000));
}

#[tokio::test]
async fn no_card_that_was_stored_is_refused_when_it_is_read() {
    let texts = ["description", "personality", "scenario", "system_prompt", "creator_notes"];
    let five = long_texts(&texts).await;
    assert_eq!(left_out(&five), ["description", "document_json"]);
}

//! What was imported leaves again: byte for byte where nobody edited it.

use wire::{
    common::v1::{Reason, UploadHeader},
    loader::v1 as pb,
    lorebook::v1::WorldView,
};

use crate::house::{Answered, CARD, House, PRESET, as_user, header, refused};

/// A V3 card beside a V2 one, in a picture.
const PNG: &[u8] = include_bytes!("../../../core/tests/fixtures/card_png_ccv3_over_chara_min.png");

async fn card(house: &House, name: &str, bytes: &[u8]) -> String {
    let answer = house.import_character("ada", header("", name), bytes).await;
    answer.expect("imported").character.expect("a character").character_id
}

async fn exported(house: &House, request: pb::ExportCharacterRequest) -> Answered<Vec<u8>> {
    let answer = house.characters().export_character(as_user("ada", request)).await?;
    let (mut parts, mut file) = (answer.into_inner(), Vec::new());
    while let Some(part) = parts.message().await? {
        file.extend(part.chunk);
    }
    Ok(file)
}

fn of(character_id: &str) -> pb::ExportCharacterRequest {
    pb::ExportCharacterRequest { character_id: character_id.to_owned(), ..Default::default() }
}

#[tokio::test]
async fn an_unedited_preset_leaves_byte_for_byte() {
    let house = House::new().await;
    let odd = format!("\u{feff} {PRESET}\n");
    let imported = house.import_preset("ada", header("", "p.json"), odd.as_bytes()).await;
    let preset_id = imported.expect("imported").preset.expect("a preset").preset_id;
    let export = |who| {
        let request = as_user(who, pb::ExportPresetRequest { preset_id: preset_id.clone() });
        let mut presets = house.presets();
        async move { presets.export_preset(request).await }
    };
    let mut parts = export("ada").await.expect("exported").into_inner();
    let mut file = Vec::new();
    while let Some(part) = parts.message().await.expect("a part") {
        file.extend(part.chunk);
    }
    assert_eq!(String::from_utf8(file).expect("JSON"), odd);
    refused(export("bob").await.map(|_| ()), Reason::NotFound);
}

#[tokio::test]
async fn an_unedited_card_leaves_byte_for_byte_in_the_form_it_came_in() {
    let house = House::new().await;
    let (json, png) =
        (card(&house, "a.json", CARD.as_bytes()).await, card(&house, "a.png", PNG).await);
    assert_eq!(exported(&house, of(&json)).await.expect("exported"), CARD.as_bytes());
    assert_eq!(exported(&house, of(&png)).await.expect("exported"), PNG);
    let as_json = pb::ExportCharacterRequest { format: pb::CardFormat::Json.into(), ..of(&png) };
    let document = exported(&house, as_json).await.expect("exported");
    let again = house.import_character("ada", header("", "b.json"), &document).await;
    let (again, first) = (again.expect("imported").character, of(&png));
    assert_ne!(again.expect("a character").character_id, first.character_id);
}

#[tokio::test]
async fn a_card_that_came_without_a_picture_leaves_without_one() {
    let house = House::new().await;
    let json = card(&house, "a.json", CARD.as_bytes()).await;
    for format in [pb::CardFormat::Png, pb::CardFormat::Charx] {
        let request = pb::ExportCharacterRequest { format: format.into(), ..of(&json) };
        let status = refused(exported(&house, request).await, Reason::FieldInvalid);
        assert!(status.message().starts_with("format"), "{status}");
    }
}

#[tokio::test]
async fn a_world_takes_the_place_of_the_cards_own_book() {
    let house = House::new().await;
    house.lorebook.knows("w1");
    let (json, png) =
        (card(&house, "a.json", CARD.as_bytes()).await, card(&house, "a.png", PNG).await);
    let with = |id: &str, world: &str, view: WorldView| pb::ExportCharacterRequest {
        embed_world_id: world.to_owned(),
        world_view: view.into(),
        ..of(id)
    };
    let file = exported(&house, with(&json, "w1", WorldView::Effective)).await.expect("exported");
    let document: serde_json::Value = serde_json::from_slice(&file).expect("JSON");
    let name = "EXPORT_FORMAT_CHARACTER_BOOK_V2 WORLD_VIEW_EFFECTIVE";
    assert_eq!(document["data"]["character_book"]["name"], name);
    let file = exported(&house, with(&png, "w1", WorldView::Unspecified)).await.expect("exported");
    assert!(file.starts_with(b"\x89PNG") && file != PNG);
    let header = UploadHeader { validate_only: true, ..header("", "x.png") };
    let read = house.import_character("ada", header, &file).await.expect("readable");
    let report = read.report.expect("a report");
    assert!(report.findings.iter().any(|finding| finding.place.starts_with("data.character_book")));
    let all = exported(&house, with(&json, "w1", WorldView::All)).await;
    refused(all, Reason::FieldInvalid);
    refused(exported(&house, with(&json, "gone", WorldView::Authored)).await, Reason::NotFound);
    assert_eq!(exported(&house, of(&json)).await.expect("exported"), CARD.as_bytes());
}

#[tokio::test]
async fn users_leave_one_by_one_and_all_together() {
    let house = House::new().await;
    let bob = house.create_user("ada", "Bob").await;
    house.create_user("ada", "Eve").await;
    let mut users = house.users();
    let one = pb::ExportUserRequest { user_id: bob.clone() };
    let mut one = users.export_user(as_user("ada", one)).await.expect("exported").into_inner();
    let one = one.message().await.expect("a part").expect("not empty").chunk;
    let expected = format!(r#"{{"id":"{bob}","name":"Bob","description":"tall"}}"#);
    assert_eq!(String::from_utf8(one).expect("JSON"), expected);
    let all = as_user("ada", pb::ExportUsersRequest {});
    let mut all = users.export_users(all).await.expect("exported").into_inner();
    let all = all.message().await.expect("a part").expect("not empty").chunk;
    let read = house.import_users("bob", header("r", "personas.json"), &all).await.expect("read");
    let names: Vec<_> = read.users.iter().map(|user| user.name.as_str()).collect();
    assert_eq!((names, read.already_imported), (vec!["Bob", "Eve"], false));
    let again = house.import_users("bob", header("", "other.json"), &all).await.expect("known");
    assert!(again.already_imported);
    assert_eq!(again.users, read.users);
    let list = users.list_users(as_user("bob", pb::ListUsersRequest::default())).await;
    assert_eq!(list.expect("listed").into_inner().users.len(), 2);
}

#[tokio::test]
async fn a_file_of_personas_is_reported_and_only_validated_where_asked() {
    let house = House::new().await;
    let file = br#"{"personas":{"a.png":"Ann"},"persona_descriptions":{"a.png":{"description":"d","lorebook":"L"}}}"#;
    let only = UploadHeader { validate_only: true, ..header("", "p.json") };
    let answer = house.import_users("ada", only, file).await.expect("validated");
    assert!(answer.users.is_empty());
    let codes: Vec<_> =
        answer.report.expect("a report").findings.into_iter().map(|f| f.code).collect();
    assert!(codes.contains(&"PERSONA_PLACEMENT_NOT_HONOURED".to_owned()), "{codes:?}");
    let broken = house.import_users("ada", header("", "p.json"), b"{\"personas\":{}}").await;
    refused(broken, Reason::FileUnusable);
}

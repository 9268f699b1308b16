//! Presets through the wire.

use wire::{
    common::v1::{Reason, UploadHeader},
    loader::v1 as pb,
};

use crate::house::{House, PRESET, as_user, header, refused};

#[tokio::test]
async fn an_imported_preset_comes_back_with_its_report() {
    let house = House::new().await;
    let answer = house.import_preset("ada", header("", "Fine.json"), PRESET.as_bytes()).await;
    let answer = answer.expect("imported");
    let head = answer.preset.expect("a preset");
    assert_eq!((head.name.as_str(), head.document_json.as_str()), ("Fine", ""), "a summary");
    let get = pb::GetPresetRequest { preset_id: head.preset_id };
    let preset = house.presets().get_preset(as_user("ada", get)).await.expect("read").into_inner();
    let preset = preset.preset.expect("a preset");
    assert_eq!((preset.name.as_str(), preset.document_json.as_str()), ("Fine", PRESET));
    assert_eq!(preset.prompts[0].identifier, "main");
    assert!(preset.prompts[0].enabled && !answer.already_imported);
    let report = answer.report.expect("a report");
    assert_eq!((report.format.as_str(), report.counts["prompts"]), ("chat_completion_preset", 1));
}

#[tokio::test]
async fn the_same_bytes_answer_the_preset_that_exists() {
    let house = House::new().await;
    let first = house.import_preset("ada", header("", "a.json"), PRESET.as_bytes()).await;
    let again = house.import_preset("ada", header("", "b.json"), PRESET.as_bytes()).await;
    let (first, again) = (first.expect("imported"), again.expect("known"));
    assert!(again.already_imported);
    assert_eq!(first.preset.map(|p| p.preset_id), again.preset.map(|p| p.preset_id));
}

#[tokio::test]
async fn a_retry_answers_the_same_and_says_so() {
    let house = House::new().await;
    let parts = || {
        use pb::import_preset_request::Part;
        let parts = [Part::Header(header("r1", "a.json")), Part::Chunk(PRESET.into())];
        futures::stream::iter(parts.map(|part| pb::ImportPresetRequest { part: Some(part) }))
    };
    let mut presets = house.presets();
    let first = presets.import_preset(as_user("ada", parts())).await.expect("imported");
    let again = presets.import_preset(as_user("ada", parts())).await.expect("replayed");
    assert_eq!(again.metadata().get("skald-replayed").map(|v| v.as_bytes()), Some(&b"true"[..]));
    assert_eq!(first.into_inner().preset, again.into_inner().preset);
    let other = house.import_preset("ada", header("r1", "a.json"), b"{\"prompts\":[]}").await;
    refused(other, Reason::RequestIdReused);
}

#[tokio::test]
async fn a_file_that_is_no_preset_is_refused_with_place_and_reason() {
    let house = House::new().await;
    let refusal = house.import_preset("ada", header("", "x"), b"{\n\"prompts\": [}").await;
    let status = refused(refusal, Reason::FileUnusable);
    assert!(status.message().starts_with("line 2 column"), "{status}");
    let large = vec![b' '; (2 << 20) + 1];
    let refusal = house.import_preset("ada", header("", "x"), &large).await;
    let refusal = refused(refusal, Reason::LimitExceeded);
    assert!(refusal.message().starts_with("file "), "{refusal}");
    let list =
        house.presets().list_presets(as_user("ada", pb::ListPresetsRequest::default())).await;
    assert!(list.expect("listed").into_inner().presets.is_empty());
}

#[tokio::test]
async fn validate_only_stores_nothing() {
    let house = House::new().await;
    let header = UploadHeader { validate_only: true, ..header("", "x.json") };
    let answer = house.import_preset("ada", header, PRESET.as_bytes()).await.expect("validated");
    assert!(answer.preset.is_none() && answer.report.is_some());
    let list =
        house.presets().list_presets(as_user("ada", pb::ListPresetsRequest::default())).await;
    assert!(list.expect("listed").into_inner().presets.is_empty());
}

#[tokio::test]
async fn an_upload_begins_with_its_header() {
    let house = House::new().await;
    let chunk = pb::import_preset_request::Part::Chunk(PRESET.into());
    let parts = futures::stream::iter([pb::ImportPresetRequest { part: Some(chunk) }]);
    let answer = house.presets().import_preset(as_user("ada", parts)).await.map(|_| ());
    refused(answer, Reason::FieldInvalid);
}

#[tokio::test]
async fn another_owners_preset_is_as_an_absent_one() {
    let house = House::new().await;
    let imported = house.import_preset("ada", header("", "a"), PRESET.as_bytes()).await;
    let preset_id = imported.expect("imported").preset.expect("a preset").preset_id;
    let get = |who: &'static str, preset_id: String| {
        let mut presets = house.presets();
        async move { presets.get_preset(as_user(who, pb::GetPresetRequest { preset_id })).await }
    };
    assert!(get("ada", preset_id.clone()).await.is_ok());
    let hers = get("bob", preset_id.clone()).await.map(|_| ());
    let absent = get("bob", "absent".to_owned()).await.map(|_| ());
    let (hers, absent) = (refused(hers, Reason::NotFound), refused(absent, Reason::NotFound));
    assert_eq!(hers.message().replace(&preset_id, "absent"), absent.message());
    let delete = pb::DeletePresetRequest { preset_id, ..Default::default() };
    let delete = house.presets().delete_preset(as_user("bob", delete)).await.map(|_| ());
    refused(delete, Reason::NotFound);
}

#[tokio::test]
async fn pages_go_on_where_they_ended() {
    let house = House::new().await;
    for number in 0..5 {
        let json = format!(r#"{{"prompts":[],"temperature":{number}}}"#);
        let name = format!("preset {number}.json");
        house.import_preset("ada", header("", &name), json.as_bytes()).await.expect("imported");
    }
    let mut names = Vec::new();
    let mut page_token = String::new();
    loop {
        let request = pb::ListPresetsRequest { page_size: 2, page_token: page_token.clone() };
        let page = house.presets().list_presets(as_user("ada", request)).await.expect("a page");
        let page = page.into_inner();
        assert!(page.presets.len() <= 2 && page.presets.iter().all(|p| p.document_json.is_empty()));
        names.extend(page.presets.into_iter().map(|preset| preset.name));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
        let stolen = pb::ListPresetsRequest { page_size: 2, page_token: page_token.clone() };
        let stolen = house.presets().list_presets(as_user("bob", stolen)).await.map(|_| ());
        refused(stolen, Reason::PageTokenInvalid);
    }
    assert_eq!(names, ["preset 0", "preset 1", "preset 2", "preset 3", "preset 4"]);
}

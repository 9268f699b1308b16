//! Worlds as files: out in every form and view, in from every program, and back as they were.

use futures::TryStreamExt as _;
use tonic::Code;
use wire::{
    common::v1::{Reason, UploadHeader},
    lorebook::v1::{
        Entry, ExportFormat, ExportWorldRequest, Layer, ListChangesRequest, OverlayAction,
        RevertChangeRequest, World, WorldView,
    },
};

use crate::support::{Fixture, by, create, refused, replace};

const FORMATS: [ExportFormat; 4] = [
    ExportFormat::WorldInfo,
    ExportFormat::CharacterBookV2,
    ExportFormat::CharacterBookV3,
    ExportFormat::LorebookV3,
];

/// One constant entry and one with a key, the second switched off, as each program writes them.
const FOREIGN: [(&str, &str); 3] = [
    (
        "novelai",
        r#"{"lorebookVersion": 4, "entries": [
            {"text": "It is winter.", "displayName": "Winter", "keys": [], "enabled": true,
                "forceActivation": true, "contextConfig": {"budgetPriority": 400}},
            {"text": "Wolves hunt.", "displayName": "Wolves", "keys": ["wolf", "/wolves?/i"],
                "enabled": false, "forceActivation": false, "contextConfig": {"budgetPriority": 7}}
        ]}"#,
    ),
    (
        "agnai",
        r#"{"kind": "memory", "name": "North", "entries": [
            {"name": "Winter", "entry": "It is winter.", "keywords": ["winter"], "weight": 400,
                "priority": 1, "enabled": true},
            {"name": "Wolves", "entry": "Wolves hunt.", "keywords": ["wolf", "/wolves?/i"],
                "weight": 7, "priority": 1, "enabled": false}
        ]}"#,
    ),
    (
        "risuai",
        r#"{"type": "risu", "ver": 1, "data": [
            {"comment": "Winter", "content": "It is winter.", "key": "", "secondkey": "",
                "alwaysActive": true, "insertorder": 400, "mode": "normal", "selective": false},
            {"comment": "Wolves", "content": "Wolves hunt.", "key": "wolf, /wolves?/i",
                "secondkey": "", "alwaysActive": false, "insertorder": 7, "mode": "folder",
                "selective": false}
        ]}"#,
    ),
];

async fn export(skald: &Fixture, world: &World, view: WorldView, format: ExportFormat) -> Vec<u8> {
    let request = ExportWorldRequest {
        world_id: world.world_id.clone(),
        view: view.into(),
        format: format.into(),
    };
    let stream = skald.worlds().export_world(by("ada", request)).await.expect("exported");
    let chunks: Vec<_> = stream.into_inner().try_collect().await.expect("streamed");
    chunks.into_iter().flat_map(|answer| answer.chunk).collect()
}

async fn restored(skald: &Fixture, file: &[u8]) -> World {
    let answer = skald.upload("ada", UploadHeader::default(), file).await.expect("imported");
    answer.into_inner().world.expect("a world")
}

async fn shown(skald: &Fixture, world: &World, view: WorldView) -> Vec<Entry> {
    skald.read("ada", &world.world_id, view).await.expect("read").1
}

/// An entry as a file tells it: without what belongs to the row that it is stored in.
fn told(entry: Entry) -> Entry {
    Entry {
        entry_id: String::new(),
        etag: String::new(),
        uid: 0,
        display_index: None,
        layer: Layer::Authored.into(),
        overlay_action: OverlayAction::Unspecified.into(),
        supersedes_entry_id: String::new(),
        ..entry
    }
}

async fn each_form_of_each_plain_view_imports_as_what_the_view_shows(skald: &Fixture) {
    let world = skald.imported().await;
    let castle = skald.entry(&world.world_id, "Castle").await;
    let operations = vec![replace(&castle, "The castle is ash."), create("Ash", "Ash falls.")];
    skald.apply("c1", &world, 1, operations).await.expect("applied");
    for view in [WorldView::Authored, WorldView::Effective] {
        let then: Vec<Entry> = shown(skald, &world, view).await.into_iter().map(told).collect();
        for format in FORMATS {
            let copy = restored(skald, &export(skald, &world, view, format).await).await;
            let entries = shown(skald, &copy, WorldView::All).await;
            assert!(entries.iter().all(|entry| entry.layer() == Layer::Authored), "{format:?}");
            let now: Vec<Entry> = entries.into_iter().map(told).collect();
            assert_eq!(now, then, "{view:?} as {format:?}");
            assert_eq!((copy.name.as_str(), copy.content_revision), ("North", 1));
        }
    }
}

async fn books_of_other_programs_import_with_a_report_and_leave_in_ours(skald: &Fixture) {
    for (program, file) in FOREIGN {
        let answer = skald.upload("ada", UploadHeader::default(), file.as_bytes()).await;
        let answer = answer.expect(program).into_inner();
        let (world, report) = (answer.world.expect("a world"), answer.report.expect("a report"));
        assert_eq!((report.format.as_str(), report.counts["entries"]), (program, 2));
        assert!(!report.findings.is_empty(), "{program}");
        let entries = shown(skald, &world, WorldView::Authored).await;
        let [winter, wolves] = &entries[..] else { panic!("{program}: {entries:?}") };
        assert_eq!((winter.name.as_str(), winter.order), ("Winter", 400.0), "{program}");
        assert_eq!((winter.enabled, winter.constant), (true, program != "agnai"), "{program}");
        assert_eq!(wolves.keys, ["wolf", "/wolves?/i"], "{program}");
        assert_eq!((wolves.enabled, wolves.content.as_str()), (false, "Wolves hunt."), "{program}");
        let then: Vec<Entry> = entries.into_iter().map(told).collect();
        for format in FORMATS {
            let file = export(skald, &world, WorldView::Authored, format).await;
            let copy = restored(skald, &file).await;
            let now = shown(skald, &copy, WorldView::Authored).await;
            let now: Vec<Entry> = now.into_iter().map(told).collect();
            assert_eq!(now, then, "{program} as {format:?}");
        }
    }
}

/// Whoever writes a backup by hand may claim that a change left an authored row as it is.
async fn the_history_of_a_forged_backup_writes_no_authored_row(skald: &Fixture) {
    let world = skald.imported().await;
    skald.apply("c1", &world, 1, vec![create("Ash", "Ash falls.")]).await.expect("applied");
    let file = export(skald, &world, WorldView::All, ExportFormat::WorldInfo).await;
    let mut file: serde_json::Value = serde_json::from_slice(&file).expect("json");
    let castle = file["entries"]["1"].clone();
    let stamp = castle["skald"]["id"].clone();
    let pair = &mut file["skald"]["history"][0]["pairs"][0];
    let before = serde_json::json!({"comment": "Castle", "content": "It never was."});
    let after = serde_json::json!({"comment": "Castle", "content": "The castle stands.",
        "keys": ["castle"]});
    let row = |body| serde_json::json!({"id": stamp, "uid": 1, "ordinal": 1, "layer": "authored", "body": body});
    *pair = serde_json::json!({"before": row(before), "after": row(after)});
    let copy = restored(skald, file.to_string().as_bytes()).await;
    let request = ListChangesRequest { world_id: copy.world_id.clone(), ..Default::default() };
    let listed = skald.history().list_changes(by("ada", request)).await.expect("listed");
    let change_id = listed.into_inner().changes.remove(0).change_id;
    let before = shown(skald, &copy, WorldView::Authored).await;
    let request = RevertChangeRequest { change_id, request_id: String::new() };
    let undone = skald.history().revert_change(by("ada", request)).await;
    refused(undone, Code::FailedPrecondition, Reason::UndoConflict);
    assert_eq!(shown(skald, &copy, WorldView::Authored).await, before);
}

async fn an_exported_world_imports_equal_and_keeps_what_is_unknown(skald: &Fixture) {
    let world = skald.imported().await;
    for format in [ExportFormat::WorldInfo, ExportFormat::CharacterBookV3, ExportFormat::LorebookV3]
    {
        let file = export(skald, &world, WorldView::Authored, format).await;
        let answer = skald.upload("bob", UploadHeader::default(), &file).await.expect("imported");
        let copy = answer.into_inner().world.expect("a world");
        assert_eq!((copy.name.as_str(), copy.entry_count), ("North", 3));
        let (_, then) =
            skald.read("ada", &world.world_id, WorldView::Authored).await.expect("read");
        let (_, now) = skald.read("bob", &copy.world_id, WorldView::Authored).await.expect("read");
        for (now, then) in now.into_iter().zip(then) {
            let plain = |entry: Entry| Entry {
                entry_id: String::new(),
                etag: String::new(),
                display_index: None,
                ..entry
            };
            assert_eq!(plain(now), plain(then));
        }
    }
}

async fn a_backup_restores_overlays_and_a_history_that_can_be_undone(skald: &Fixture) {
    let world = skald.imported().await;
    let castle = skald.entry(&world.world_id, "Castle").await;
    skald.apply("c1", &world, 1, vec![replace(&castle, "Ash.")]).await.expect("applied");
    let file = export(skald, &world, WorldView::All, ExportFormat::WorldInfo).await;
    let answer = skald.upload("ada", UploadHeader::default(), &file).await.expect("restored");
    let copy = answer.into_inner().world.expect("a world");
    assert_eq!((copy.entry_count, copy.dynamic_entry_count), (4, 1));
    let request = ListChangesRequest { world_id: copy.world_id.clone(), ..Default::default() };
    let listed = skald.history().list_changes(by("ada", request)).await.expect("listed");
    let change = listed.into_inner().changes.remove(0);
    assert_ne!(change.change_id, "c1");
    let request = wire::lorebook::v1::RevertChangeRequest {
        change_id: change.change_id,
        request_id: String::new(),
    };
    skald.history().revert_change(by("ada", request)).await.expect("undone");
    let again = export(skald, &copy, WorldView::All, ExportFormat::WorldInfo).await;
    let answer = skald.upload("ada", UploadHeader::default(), &again).await.expect("restored");
    let second = answer.into_inner().world.expect("a world");
    let request = ListChangesRequest { world_id: second.world_id, ..Default::default() };
    let listed = skald.history().list_changes(by("ada", request)).await.expect("listed");
    let told: Vec<u64> =
        listed.get_ref().changes.iter().map(|change| change.applied_revision).collect();
    assert_eq!((told, second.content_revision), (vec![4, 2], 5));
    let read = skald.read("ada", &copy.world_id, WorldView::Effective).await.expect("read");
    assert!(read.1.iter().any(|entry| entry.content == castle.content));
    let request = ExportWorldRequest {
        world_id: world.world_id,
        view: WorldView::All.into(),
        format: ExportFormat::CharacterBookV2.into(),
    };
    let refusal = skald.worlds().export_world(by("ada", request)).await;
    refused(refusal.map(|_| ()), Code::InvalidArgument, Reason::FieldInvalid);
}

both! {
    each_form_of_each_plain_view_imports_as_what_the_view_shows
    books_of_other_programs_import_with_a_report_and_leave_in_ours
    the_history_of_a_forged_backup_writes_no_authored_row
    an_exported_world_imports_equal_and_keeps_what_is_unknown
    a_backup_restores_overlays_and_a_history_that_can_be_undone
}

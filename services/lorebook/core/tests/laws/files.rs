//! What goes out comes back.

use kernel::WorldId;
use lorebook_core::{
    Book, Entry, Layer,
    export::{ExportFormat, View, pieces, text},
    import::{Format, Imported, import},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{
    arbitrary_book, arbitrary_moves, authored, book, id, operation, patch, record, write,
};
use lorebook_core::change::{Operation, plan};

fn read(text: &str) -> Imported {
    import(text.as_bytes()).expect("our own file")
}

/// The rows without what only a world gives them.
fn bodies(rows: &[Entry]) -> Vec<(i64, i64, lorebook_core::EntryBody)> {
    rows.iter().map(|row| (row.uid, row.ordinal, row.body.clone())).collect()
}

fn placed(mut book: Book) -> Book {
    for (row, place) in book.entries.iter_mut().zip(0..) {
        row.ordinal = place;
    }
    book
}

#[track_caller]
fn survives(book: &Book, format: ExportFormat) {
    let written = text(book, View::Authored, format).expect("a view of any format");
    let read = read(&written);
    let rows = read.entries(&book.world.id);
    assert_eq!(bodies(&rows), bodies(&book.entries), "{written}");
    assert_eq!(read.name.as_deref(), Some(book.world.name.as_str()));
    assert_eq!(read.settings, book.world.settings);
}

#[test]
fn a_reordered_book_comes_back_in_its_order() {
    let mut book = book(vec![authored(2), authored(0), authored(1)]);
    for (row, place) in book.entries.iter_mut().zip(0..) {
        row.ordinal = place;
    }
    survives(&book, ExportFormat::WorldInfo);
    survives(&book, ExportFormat::CharacterBookV3);
}

#[test]
fn the_card_form_holds_to_the_specification() {
    let mut row = authored(0);
    row.body.case_sensitive = Some(true);
    let written = text(&book(vec![row]), View::Authored, ExportFormat::CharacterBookV2);
    let book: Value = serde_json::from_str(&written.expect("written")).expect("json");
    let entry = &book["entries"][0];
    for member in ["keys", "content", "extensions", "enabled", "insertion_order", "use_regex"] {
        assert!(!entry[member].is_null(), "{member} in {entry}");
    }
    assert_eq!(entry["position"], "before_char");
    assert_eq!(entry["case_sensitive"], true);
    assert_eq!(entry["extensions"]["position"], 0);
    assert!(book["extensions"].is_object());
}

#[test]
fn lorebook_v3_is_wrapped() {
    let written = text(&book(vec![authored(0)]), View::Authored, ExportFormat::LorebookV3);
    let read = read(&written.expect("written"));
    assert_eq!((read.format, read.rows.len()), (Format::LorebookV3, 1));
}

#[test]
fn two_rows_of_one_number_both_leave() {
    let mut twin = authored(0);
    twin.id = id("twin");
    let written = text(&book(vec![authored(0), twin]), View::Authored, ExportFormat::WorldInfo);
    assert_eq!(read(&written.expect("written")).rows.len(), 2);
}

#[test]
fn the_effective_view_is_what_a_prompt_would_see() {
    let mut book = book(vec![authored(0), authored(1)]);
    let fields = patch(json!({ "content": "It burned down." }));
    let operations =
        [Operation::Replace { target: id("a0"), fields }, Operation::Suppress { target: id("a1") }];
    let planned = plan(&book, &operations, |at| id(&format!("d{at}"))).expect("holds");
    write(&mut book, &planned);
    let written = text(&book, View::Effective, ExportFormat::WorldInfo).expect("written");
    let rows = read(&written).entries(&book.world.id);
    assert_eq!(rows.len(), 1);
    assert_eq!(
        (rows[0].body.content.as_str(), rows[0].layer),
        ("It burned down.", Layer::Authored)
    );
    let authored_view = text(&book, View::Authored, ExportFormat::WorldInfo).expect("written");
    assert_eq!(read(&authored_view).rows.len(), 2);
}

#[test]
fn a_backup_is_world_info_only() {
    let book = book(vec![authored(0)]);
    assert!(text(&book, View::All, ExportFormat::CharacterBookV2).is_err());
}

#[test]
fn sillytavern_sees_the_authored_view_of_a_backup() {
    let mut book = book(vec![authored(0)]);
    let planned = plan(&book, &[Operation::Suppress { target: id("a0") }], |_| id("d"));
    write(&mut book, &planned.expect("holds"));
    let written = text(&book, View::All, ExportFormat::WorldInfo).expect("written");
    let file: Value = serde_json::from_str(&written).expect("json");
    assert_eq!(
        (&file["entries"]["0"]["disable"], &file["entries"]["1"]["disable"]),
        (&json!(false), &json!(true))
    );
}

proptest! {
    #[test]
    fn an_export_imports_equal(book in arbitrary_book()) {
        let book = placed(book);
        for format in [ExportFormat::WorldInfo, ExportFormat::CharacterBookV2, ExportFormat::LorebookV3] {
            survives(&book, format);
        }
    }

    #[test]
    fn a_backup_restores_layers_and_history(
        book in arbitrary_book(),
        moves in arbitrary_moves(),
    ) {
        let mut book = placed(book);
        let operations: Vec<Operation> = moves.iter().map(|shape| operation(&book, shape)).collect();
        let mut history = Vec::new();
        if let Ok(planned) = plan(&book, &operations, |at| id(&format!("d{at}"))) {
            write(&mut book, &planned);
            history.push(record("c1", operations, planned));
        }
        let book = placed(book);
        let file: String = pieces(&book, View::All, ExportFormat::WorldInfo, history.clone())
            .expect("world info")
            .collect();
        let restored = read(&file);
        let world = WorldId::new("w2").expect("an id");
        let ids = restored.ids(&world);
        let mut expected = book.entries.clone();
        for row in &mut expected {
            row.id = ids[&row.id].clone();
            row.supersedes_entry_id = row.supersedes_entry_id.as_ref().map(|id| ids[id].clone());
        }
        prop_assert_eq!(restored.entries(&world), expected);
        prop_assert_eq!(restored.stamp.expect("a backup").history, history);
    }
}

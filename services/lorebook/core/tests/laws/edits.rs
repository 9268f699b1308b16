//! The user's own hand.

use lorebook_core::{
    Book, EntryBody,
    change::{Operation, plan, revert},
    edit::{Edit, EditRefused, Edited, edit, etag},
};
use serde_json::{Value, json};

use crate::support::{authored, book, id, patch, record, write};

fn update(name: &str, fields: Value) -> Edit {
    Edit::Update { id: id(name), expected_etag: None, fields: patch(fields), locked: None }
}

fn delete(name: &str) -> Edit {
    Edit::Delete { id: id(name), expected_etag: None }
}

#[track_caller]
fn done(book: &Book, edits: &[Edit]) -> Edited {
    edit(book, edits).expect("made")
}

fn put(book: &mut Book, edited: &Edited) {
    book.entries.retain(|row| edited.deleted.iter().all(|gone| gone.id != row.id));
    for row in &edited.written {
        match book.entries.iter_mut().find(|old| old.id == row.id) {
            Some(old) => *old = row.clone(),
            None => book.entries.push(row.clone()),
        }
    }
}

#[test]
fn a_new_entry_is_authored_and_comes_last() {
    let body = Box::new(EntryBody { comment: "New".into(), ..EntryBody::default() });
    let book = book(vec![authored(0), authored(4)]);
    let edited = done(&book, &[Edit::Create { id: id("n"), body, locked: true }]);
    let row = &edited.written[0];
    assert_eq!((row.uid, row.ordinal, row.locked, row.entry_revision), (5, 5, true, 0));
    assert!(edited.moves_revision);
}

#[test]
fn an_edit_of_the_lore_counts_and_moves_and_one_of_the_display_does_neither() {
    let book = book(vec![authored(0)]);
    let edited = done(&book, &[update("a0", json!({ "content": "other" }))]);
    assert_eq!((edited.written[0].entry_revision, edited.moves_revision), (1, true));
    let edited = done(&book, &[update("a0", json!({ "display_index": 7 }))]);
    assert_eq!((edited.written[0].entry_revision, edited.moves_revision), (0, false));
    let lock = Edit::Update {
        id: id("a0"),
        expected_etag: None,
        fields: patch(json!({})),
        locked: Some(true),
    };
    let edited = done(&book, &[lock]);
    assert_eq!((edited.written[0].locked, edited.moves_revision), (true, false));
}

#[test]
fn a_save_that_changes_nothing_writes_nothing() {
    let book = book(vec![authored(0)]);
    assert_eq!(done(&book, &[update("a0", json!({ "content": "content 0" }))]), Edited::default());
}

#[test]
fn an_edit_of_another_state_is_refused_with_the_live_etag() {
    let book = book(vec![authored(0)]);
    let live = etag(&book.entries[0]);
    let with =
        |expected: &str| Edit::Delete { id: id("a0"), expected_etag: Some(expected.to_owned()) };
    assert!(edit(&book, &[with(&live)]).is_ok());
    let refused = edit(&book, &[with("old")]);
    assert_eq!(refused, Err(EditRefused::EtagMismatch { id: id("a0"), live }));
    assert_eq!(edit(&book, &[delete("x")]), Err(EditRefused::Unknown(id("x"))));
}

#[test]
fn rows_are_reordered_within_the_places_they_have() {
    let mut book = book(vec![authored(0), authored(1), authored(2)]);
    let edited = done(&book, &[Edit::Reorder { ids: vec![id("a2"), id("a0")] }]);
    put(&mut book, &edited);
    let places: Vec<i64> = book.entries.iter().map(|row| row.ordinal).collect();
    assert_eq!((places, edited.written.len(), edited.moves_revision), (vec![2, 1, 0], 2, true));
}

#[test]
fn a_deleted_authored_row_leaves_its_overlay_and_an_undo_of_it_possible() {
    let mut book = book(vec![authored(0)]);
    let operations =
        vec![Operation::Replace { target: id("a0"), fields: patch(json!({ "content": "new" })) }];
    let planned = plan(&book, &operations, |_| id("d")).expect("holds");
    write(&mut book, &planned);
    let applied = record("c1", operations, planned);
    let edited = done(&book, &[delete("a0")]);
    assert_eq!((edited.deleted.len(), edited.written[0].entry_revision), (1, 0));
    put(&mut book, &edited);
    assert_eq!(book.entries[0].supersedes_entry_id, None);
    assert!(revert(&applied, &book).is_ok());
}

#[test]
fn an_edit_of_a_dynamic_row_refuses_its_undo() {
    let mut book = book(vec![authored(0)]);
    let operations =
        vec![Operation::Create { fields: patch(json!({ "comment": "n", "content": "c" })) }];
    let planned = plan(&book, &operations, |_| id("d")).expect("holds");
    write(&mut book, &planned);
    let applied = record("c1", operations, planned);
    let edited = done(&book, &[update("d", json!({ "depth": 9 }))]);
    put(&mut book, &edited);
    assert!(revert(&applied, &book).is_err());
}

#[test]
fn an_embedded_book_and_a_row_too_large_are_refused() {
    let mut book = book(vec![authored(0)]);
    let large = update("a0", json!({ "content": "x".repeat(3 << 20) }));
    assert!(matches!(edit(&book, &[large]), Err(EditRefused::TooLarge { .. })));
    book.world.embedded = true;
    assert_eq!(edit(&book, &[delete("a0")]), Err(EditRefused::Embedded));
}

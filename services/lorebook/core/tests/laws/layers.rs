//! The projection and what moves the revision.

use lorebook_core::{
    Entry, EntryBody, Layer, OverlayAction, projection::effective, revision::moves,
};
use proptest::prelude::*;

use crate::support::{arbitrary_book, arbitrary_moves, authored, book, id, operation, write};

fn overlay(name: &str, action: OverlayAction, over: Option<&str>) -> Entry {
    let mut row = authored(90);
    row.id = id(name);
    row.layer = Layer::Dynamic;
    row.overlay_action = Some(action);
    row.supersedes_entry_id = over.map(id);
    row
}

#[track_caller]
fn check(rows: Vec<Entry>, expected: &[&str]) {
    let names: Vec<&str> = effective(&rows).iter().map(|row| row.id.as_str()).collect();
    assert_eq!(names, expected);
}

fn with(mut row: Entry, change: impl FnOnce(&mut Entry)) -> Entry {
    change(&mut row);
    row
}

#[test]
fn without_overlays_every_live_row_is_in_effect() {
    check(vec![authored(0), authored(1)], &["a0", "a1"]);
}

#[test]
fn a_disabled_row_is_not_in_effect() {
    check(vec![with(authored(0), |row| row.body.enabled = false), authored(1)], &["a1"]);
}

#[test]
fn an_added_row_stands_beside_the_others() {
    check(vec![authored(0), overlay("d", OverlayAction::Add, None)], &["a0", "d"]);
}

#[test]
fn a_replacement_hides_its_target() {
    let rows = vec![authored(0), authored(1), overlay("d", OverlayAction::Replace, Some("a0"))];
    check(rows, &["a1", "d"]);
}

#[test]
fn a_marker_hides_its_target_and_says_nothing() {
    check(vec![authored(0), overlay("d", OverlayAction::Suppress, Some("a0"))], &[]);
}

#[test]
fn archiving_or_disabling_an_overlay_exposes_what_it_hid() {
    let replace = || overlay("d", OverlayAction::Replace, Some("a0"));
    check(vec![authored(0), with(replace(), |row| row.archived = true)], &["a0"]);
    check(vec![authored(0), with(replace(), |row| row.body.enabled = false)], &["a0"]);
}

#[test]
fn a_replacement_without_a_target_stands_alone_and_such_a_marker_is_inert() {
    let replace = overlay("d", OverlayAction::Replace, None);
    let marker = overlay("m", OverlayAction::Suppress, None);
    check(vec![authored(0), replace, marker], &["a0", "d"]);
}

#[test]
fn an_overlay_hides_authored_rows_only() {
    let add = overlay("d", OverlayAction::Add, None);
    check(vec![add, overlay("e", OverlayAction::Replace, Some("d"))], &["d", "e"]);
}

#[test]
fn locks_and_display_fields_do_not_move_the_revision() {
    let row = authored(0);
    assert!(!moves(&row, &row));
    assert!(!moves(&row, &with(row.clone(), |row| row.locked = true)));
    assert!(!moves(&row, &with(row.clone(), |row| row.body.display_index = Some(3))));
    assert!(!moves(&row, &with(row.clone(), |row| row.body.add_memo = true)));
}

#[test]
fn any_other_field_moves_the_revision() {
    let row = authored(0);
    assert!(moves(&row, &with(row.clone(), |row| row.body.enabled = false)));
    assert!(moves(&row, &with(row.clone(), |row| row.body.depth = 7)));
    assert!(moves(&row, &with(row.clone(), |row| row.ordinal = 7)));
    assert!(moves(&row, &with(row.clone(), |row| row.archived = true)));
    assert!(moves(
        &row,
        &with(row.clone(), |row| row.body.extra.insert("x".into(), 1.into()).map_or((), |_| ()))
    ));
}

#[test]
fn a_body_survives_its_stored_form() {
    let stored = serde_json::to_string(&authored(3)).expect("json");
    assert_eq!(serde_json::from_str::<Entry>(&stored).expect("stored"), authored(3));
    assert_eq!(serde_json::from_str::<EntryBody>("{}").expect("stored"), EntryBody::default());
}

proptest! {
    #[test]
    fn the_projection_is_idempotent_and_keeps_the_order(
        mut book in arbitrary_book(),
        moves in arbitrary_moves(),
    ) {
        for shape in &moves {
            let operations = [operation(&book, shape)];
            let id = |at| id(&format!("d{at}-{}", book.entries.len()));
            if let Ok(planned) = lorebook_core::change::plan(&book, &operations, id) {
                write(&mut book, &planned);
            }
        }
        let once: Vec<Entry> = effective(&book.entries).into_iter().cloned().collect();
        let twice: Vec<Entry> = effective(&once).into_iter().cloned().collect();
        prop_assert_eq!(&once, &twice);
        let mut rest = book.entries.iter();
        prop_assert!(once.iter().all(|row| rest.any(|other| other.id == row.id)));
    }

    #[test]
    fn every_body_survives_its_stored_form(book in arbitrary_book()) {
        let stored = serde_json::to_string(&book).expect("json");
        prop_assert_eq!(serde_json::from_str::<lorebook_core::Book>(&stored).expect("stored"), book);
    }
}

#[test]
fn an_empty_book_has_nothing_in_effect() {
    check(book(Vec::new()).entries, &[]);
}

//! Planning, undoing and resetting changes.

use lorebook_core::{
    Book, Entry, Layer, OverlayAction, Position,
    change::{
        NothingToReset, Operation, Reason, Refusal, RevertRefused, RowVerb, diff, plan, reset,
        revert,
    },
    projection::effective,
};
use proptest::prelude::*;
use serde_json::json;

use crate::support::{
    arbitrary_book, arbitrary_moves, authored, book, id, operation, patch, record, write,
};

fn create(name: &str) -> Operation {
    Operation::Create { fields: patch(json!({ "comment": name, "content": "text" })) }
}

fn replace(target: &str, fields: serde_json::Value) -> Operation {
    Operation::Replace { target: id(target), fields: patch(fields) }
}

fn update(target: &str, fields: serde_json::Value) -> Operation {
    Operation::Update { target: id(target), fields: patch(fields) }
}

/// Plans under ids `new0`, `new1`, … and writes.
#[track_caller]
fn apply(book: &mut Book, operations: Vec<Operation>) -> lorebook_core::change::Record {
    let rows = book.entries.len();
    let planned = plan(book, &operations, |at| id(&format!("new{}", rows + at))).expect("holds");
    write(book, &planned);
    record("c1", operations, planned)
}

#[track_caller]
fn refused(book: &Book, operation: Operation, expected: Reason) {
    let planned = plan(book, &[operation], |at| id(&format!("new{at}")));
    let Err(Refusal::Operations(rejected)) = planned else { panic!("{planned:?}") };
    assert_eq!(rejected.iter().map(|one| one.reason).collect::<Vec<_>>(), [expected]);
}

/// `a0`, `a1`, and `new2` over `a0` with the name "Castle now".
fn overlaid() -> Book {
    let mut book = book(vec![authored(0), authored(1)]);
    let fields = json!({ "comment": "Castle now", "content": "It burned down." });
    apply(&mut book, vec![replace("a0", fields)]);
    book
}

#[test]
fn a_created_row_is_dynamic_and_named() {
    let mut book = book(vec![authored(0)]);
    apply(&mut book, vec![create("Fire")]);
    let row = &book.entries[1];
    assert_eq!((row.layer, row.overlay_action), (Layer::Dynamic, Some(OverlayAction::Add)));
    assert_eq!((row.uid, row.ordinal, row.body.keys.as_slice()), (1, 1, &["Fire".to_owned()][..]));
}

#[test]
fn a_replacement_inherits_every_activation_field_that_it_does_not_restate() {
    let mut target = authored(0);
    target.body.secondary_keys = vec!["s".into()];
    target.body.position = Position::AtDepth;
    target.body.depth = 2;
    target.body.order = 7.0;
    target.body.sticky = Some(3);
    target.body.keys = vec!["/cas(tle)?/i".into()];
    let mut expected = target.body.clone();
    let mut book = book(vec![target]);
    apply(&mut book, vec![replace("a0", json!({ "content": "It burned down." }))]);
    expected.content = "It burned down.".into();
    assert_eq!(book.entries[1].body, expected);
    assert_eq!(book.entries[1].supersedes_entry_id, Some(id("a0")));
}

#[test]
fn a_constant_target_stays_constant_and_a_restated_constant_clears_keywords() {
    let mut target = authored(0);
    target.body.constant = true;
    let mut book = book(vec![target, authored(1)]);
    apply(&mut book, vec![replace("a0", json!({ "content": "new" }))]);
    assert!(book.entries[2].body.constant);
    assert_eq!(book.entries[2].body.keys, ["key0"]);
    apply(&mut book, vec![replace("a1", json!({ "content": "new", "constant": true }))]);
    assert_eq!(book.entries[3].body.keys, Vec::<String>::new());
}

#[test]
fn keywords_are_trimmed_and_told_once_in_their_first_spelling() {
    let mut book = book(vec![authored(0)]);
    let fields = json!({ "comment": "F", "content": "x", "keys": [" Fire", "fire ", "", "ash"] });
    apply(&mut book, vec![Operation::Create { fields: patch(fields) }]);
    assert_eq!(book.entries[1].body.keys, ["Fire", "ash"]);
}

#[test]
fn an_update_keeps_what_it_leaves_blank_and_counts_the_edit() {
    let mut book = overlaid();
    apply(&mut book, vec![update("new2", json!({ "comment": " ", "content": "Ash." }))]);
    let row = &book.entries[2];
    assert_eq!((row.body.comment.as_str(), row.body.content.as_str()), ("Castle now", "Ash."));
    assert_eq!(row.entry_revision, 1);
}

#[test]
fn targets_are_refused_in_the_order_of_the_rules() {
    let book = overlaid();
    refused(&book, update("nobody", json!({ "content": "x" })), Reason::TargetUnknown);
    refused(&book, update("a1", json!({ "content": "x" })), Reason::TargetAuthored);
    refused(&book, Operation::Archive { target: id("a1") }, Reason::TargetAuthored);
    refused(&book, Operation::Suppress { target: id("new2") }, Reason::TargetDynamic);
    refused(&book, Operation::Suppress { target: id("a0") }, Reason::TargetNotInEffect);
    refused(&book, replace("a0", json!({ "content": "x" })), Reason::TargetNotInEffect);
    refused(&book, Operation::Delete { target: id("new2") }, Reason::NotApplicable);
    refused(&book, Operation::Restore { target: id("new2") }, Reason::NotApplicable);
}

#[test]
fn dead_and_locked_rows_are_no_targets() {
    let mut book = overlaid();
    book.entries[1].locked = true;
    refused(&book, Operation::Suppress { target: id("a1") }, Reason::TargetLocked);
    book.entries[1].body.enabled = false;
    refused(&book, Operation::Suppress { target: id("a1") }, Reason::TargetNotLive);
}

#[test]
fn a_marker_can_only_be_retired() {
    let mut book = book(vec![authored(0)]);
    apply(&mut book, vec![Operation::Suppress { target: id("a0") }]);
    refused(&book, update("new1", json!({ "content": "x" })), Reason::TargetMarker);
    apply(&mut book, vec![Operation::Archive { target: id("new1") }]);
    assert_eq!(effective(&book.entries).len(), 1);
}

#[test]
fn one_operation_per_target_and_all_or_nothing() {
    let book = overlaid();
    let twice = [
        Operation::Archive { target: id("new2") },
        Operation::Archive { target: id("new2") },
        create("Castle now"),
    ];
    let Err(Refusal::Operations(rejected)) = plan(&book, &twice, |_| id("x")) else { panic!() };
    assert_eq!(rejected.len(), 1);
    assert_eq!((rejected[0].index, rejected[0].reason), (1, Reason::TargetTwice));
}

#[test]
fn dynamic_names_in_effect_are_unique_whatever_their_case() {
    let book = overlaid();
    refused(&book, create("CASTLE NOW"), Reason::NameTaken);
    let clash = replace("a1", json!({ "comment": "castle now" }));
    refused(&book, clash, Reason::NameTaken);
    let free = [update("new2", json!({ "comment": "Ruin" })), create("Castle now")];
    assert!(plan(&book, &free, |_| id("x")).is_ok());
    let own = [update("new2", json!({ "comment": "CASTLE NOW" }))];
    assert!(plan(&book, &own, |_| id("x")).is_ok());
    let authored_name = [create("name 1")];
    assert!(plan(&book, &authored_name, |_| id("x")).is_ok());
}

#[test]
fn names_contents_and_keywords_have_caps() {
    let book = overlaid();
    let one = |fields| Operation::Create { fields: patch(fields) };
    refused(&book, one(json!({ "content": "x" })), Reason::NameMissing);
    refused(&book, one(json!({ "comment": "x" })), Reason::ContentMissing);
    let long = |length: usize| "x".repeat(length);
    refused(&book, one(json!({ "comment": long(201), "content": "x" })), Reason::NameTooLong);
    refused(&book, one(json!({ "comment": "x", "content": long(16_385) })), Reason::ContentTooLong);
    let many: Vec<String> = (0..33).map(|n| n.to_string()).collect();
    let fields = json!({ "comment": "x", "content": "x", "keys": many });
    refused(&book, one(fields), Reason::TooManyKeywords);
    let fields = json!({ "comment": "x", "content": "x", "keys": [long(201)] });
    refused(&book, one(fields), Reason::KeywordTooLong);
    refused(&book, update("new2", json!({})), Reason::ChangesNothing);
}

#[test]
fn a_change_has_one_to_fifty_operations_and_never_meets_an_embedded_book() {
    let mut book = overlaid();
    assert_eq!(plan(&book, &[], |_| id("x")), Err(Refusal::Empty));
    let many: Vec<Operation> = (0..51).map(|n| create(&n.to_string())).collect();
    assert_eq!(plan(&book, &many, |_| id("x")), Err(Refusal::TooMany { count: 51 }));
    book.world.embedded = true;
    assert_eq!(plan(&book, &[create("n")], |_| id("x")), Err(Refusal::Embedded));
}

#[test]
fn an_undo_retires_what_was_created_and_its_undo_brings_it_back() {
    let mut book = book(vec![authored(0)]);
    let applied = apply(&mut book, vec![replace("a0", json!({ "content": "new" }))]);
    let (operations, planned) = revert(&applied, &book).expect("as it was left");
    write(&mut book, &planned);
    assert_eq!(operations, [Operation::Archive { target: id("new1") }]);
    assert_eq!(effective(&book.entries)[0].id, id("a0"));
    let undo = record("c2", operations, planned);
    let (operations, planned) = revert(&undo, &book).expect("as it was left");
    write(&mut book, &planned);
    assert_eq!(operations, [Operation::Restore { target: id("new1") }]);
    assert_eq!(effective(&book.entries)[0].body.content, "new");
}

#[test]
fn an_edit_of_any_stored_field_refuses_the_undo() {
    let edits: [fn(&mut Entry); 5] = [
        |row| row.body.depth = 9,
        |row| row.body.content.push('!'),
        |row| row.entry_revision += 1,
        |row| row.archived = true,
        |row| row.supersedes_entry_id = Some(id("a1")),
    ];
    for edit in edits {
        let mut book = book(vec![authored(0), authored(1)]);
        let applied = apply(&mut book, vec![replace("a0", json!({ "content": "new" }))]);
        edit(&mut book.entries[2]);
        let refused = revert(&applied, &book);
        let Err(RevertRefused::Conflict(rows)) = refused else { panic!("{refused:?}") };
        assert_eq!((rows.len(), &rows[0].entry, rows[0].fields.len()), (1, &id("new2"), 1));
    }
}

#[test]
fn locks_display_fields_and_a_pointer_gone_null_are_tolerated() {
    let mut book = book(vec![authored(0), authored(1)]);
    let applied = apply(&mut book, vec![replace("a0", json!({ "content": "new" }))]);
    book.entries.remove(0);
    let row = &mut book.entries[1];
    row.supersedes_entry_id = None;
    row.locked = true;
    row.body.display_index = Some(4);
    let (_, planned) = revert(&applied, &book).expect("tolerated");
    let after = planned.pairs[0].after.clone().expect("a row");
    assert!(after.archived && after.locked);
    assert_eq!((after.body.display_index, after.supersedes_entry_id), (Some(4), None));
}

#[test]
fn a_deleted_row_refuses_the_undo() {
    let mut book = book(vec![authored(0)]);
    let applied = apply(&mut book, vec![create("Fire")]);
    book.entries.pop();
    assert!(matches!(revert(&applied, &book), Err(RevertRefused::Conflict(_))));
}

#[test]
fn an_undo_does_not_bring_back_a_second_overlay_over_one_entry() {
    let mut book = book(vec![authored(0)]);
    let first = apply(&mut book, vec![replace("a0", json!({ "content": "one" }))]);
    let (operations, planned) = revert(&first, &book).expect("as it was left");
    write(&mut book, &planned);
    let undo = record("c2", operations, planned);
    apply(&mut book, vec![replace("a0", json!({ "content": "two" }))]);
    assert!(matches!(revert(&undo, &book), Err(RevertRefused::Conflict(_))));
}

#[test]
fn what_was_undone_or_wrote_nothing_is_not_undone() {
    let mut book = book(vec![authored(0)]);
    let mut applied = apply(&mut book, vec![create("Fire")]);
    applied.reverted_by = Some(applied.id.clone());
    assert_eq!(revert(&applied, &book), Err(RevertRefused::AlreadyReverted));
    let mut manual = applied;
    manual.reverted_by = None;
    manual.pairs.iter_mut().for_each(|pair| pair.before = pair.after.take());
    assert_eq!(revert(&manual, &book), Err(RevertRefused::NothingToRevert));
    assert!(!manual.is_revertible());
}

#[test]
fn a_reset_retires_every_overlay_and_says_when_there_is_none() {
    let mut book = overlaid();
    let (operations, planned) = reset(&book).expect("an overlay");
    write(&mut book, &planned);
    assert_eq!(operations, [Operation::Archive { target: id("new2") }]);
    assert_eq!(reset(&book), Err(NothingToReset));
}

#[test]
fn a_difference_names_the_fields_and_shows_the_lines() {
    let mut book = book(vec![authored(0)]);
    let base = book.entries[0].clone();
    let applied = apply(&mut book, vec![replace("a0", json!({ "content": "new\n" }))]);
    let row = diff(&applied.pairs[0], Some(&base)).expect("a row");
    assert_eq!(
        (row.verb, row.fields.len(), row.fields[0].field),
        (RowVerb::Replaced, 1, "content")
    );
    assert!(row.content.contains("-content 0") && row.content.contains("+new"), "{}", row.content);
}

proptest! {
    #[test]
    fn no_change_touches_an_authored_row_and_reset_leaves_them_bit_equal(
        mut book in arbitrary_book(),
        changes in prop::collection::vec(arbitrary_moves(), 1..6),
    ) {
        let authored_rows = |book: &Book| -> Vec<String> {
            let rows = book.entries.iter().filter(|row| row.layer == Layer::Authored);
            rows.map(|row| serde_json::to_string(row).expect("json")).collect()
        };
        let original = authored_rows(&book);
        for (number, moves) in changes.iter().enumerate() {
            let operations: Vec<Operation> =
                moves.iter().map(|shape| operation(&book, shape)).collect();
            let Ok(planned) = plan(&book, &operations, |at| id(&format!("d{number}-{at}"))) else {
                continue;
            };
            let written = planned.pairs.iter().filter_map(|pair| pair.after.as_ref());
            prop_assert!(written.into_iter().all(|row| row.layer == Layer::Dynamic));
            write(&mut book, &planned);
            prop_assert_eq!(&authored_rows(&book), &original);
        }
        if let Ok((_, planned)) = reset(&book) {
            write(&mut book, &planned);
        }
        prop_assert_eq!(&authored_rows(&book), &original);
        prop_assert!(effective(&book.entries).iter().all(|row| row.layer == Layer::Authored));
    }

    #[test]
    fn an_undo_restores_what_was_in_effect_or_refuses(
        mut book in arbitrary_book(),
        moves in arbitrary_moves(),
        edit in any::<Option<usize>>(),
    ) {
        let shown = |book: &Book| -> Vec<(String, String)> {
            let rows = effective(&book.entries);
            rows.iter().map(|row| (row.id.to_string(), row.body.content.clone())).collect()
        };
        let before = shown(&book);
        let operations: Vec<Operation> = moves.iter().map(|shape| operation(&book, shape)).collect();
        let Ok(planned) = plan(&book, &operations, |at| id(&format!("d{at}"))) else {
            return Ok(());
        };
        write(&mut book, &planned);
        let applied = record("c1", operations, planned);
        let written = applied.pairs[edit.unwrap_or(0) % applied.pairs.len()].after.clone();
        if let (Some(_), Some(written)) = (edit, written) {
            let row = book.entries.iter_mut().find(|row| row.id == written.id).expect("written");
            row.body.content.push('!');
            prop_assert!(revert(&applied, &book).is_err());
        } else {
            let (_, planned) = revert(&applied, &book).expect("nothing moved");
            write(&mut book, &planned);
            prop_assert_eq!(shown(&book), before);
        }
    }
}

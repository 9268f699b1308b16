//! Laws over arbitrary changes, tried at the store itself: whatever is asked, authored rows stay as they are.

use lorebook::store::{Outcome, SqlStore, Store as _};
use lorebook_core::{
    Entry, Layer,
    change::{Operation, Patch},
};
use proptest::{prelude::*, strategy::ValueTree as _, test_runner::TestRunner};
use serde_json::json;

use crate::support::{ada, at, book, change_id, create, entry_id, new_change, patch, world_id};

const CASES: usize = 40;
const AUTHORED: i64 = 4;

/// What an operation is about: the nth row of the world, or a row that it does not have.
type Target = Option<usize>;

/// An operation before its target is known.
#[derive(Debug, Clone)]
struct Draft {
    verb: usize,
    target: Target,
    fields: Patch,
}

fn drafts() -> impl Strategy<Value = Vec<Vec<Draft>>> {
    let name = prop_oneof![9 => "[a-z]{2}", 1 => Just(String::new())];
    let fields = (name, "[a-z]{1,4}", any::<bool>(), prop::collection::vec("[a-c]{1,2}", 0..3));
    let fields = fields.prop_map(|(comment, content, constant, keys)| {
        patch(json!({ "comment": comment, "content": content, "constant": constant, "keys": keys }))
    });
    let target = prop::option::weighted(0.9, 0..8_usize);
    let verb = prop::sample::select(vec![0, 0, 0, 1, 1, 2, 2, 3, 4, 4, 5, 6]);
    let draft = (verb, target, fields);
    let draft = draft.prop_map(|(verb, target, fields)| Draft { verb, target, fields });
    prop::collection::vec(prop::collection::vec(draft, 1..3), 2..8)
}

fn operation(draft: &Draft, rows: &[Entry]) -> Operation {
    let target = match draft.target {
        Some(at) => rows[at % rows.len()].id.clone(),
        None => entry_id("gone"),
    };
    let fields = draft.fields.clone();
    match draft.verb {
        0 => Operation::Create { fields },
        1 => Operation::Update { target, fields },
        2 => Operation::Replace { target, fields },
        3 => Operation::Suppress { target },
        4 => Operation::Archive { target },
        5 => Operation::Restore { target },
        _ => Operation::Delete { target },
    }
}

/// The authored rows, all rows, and the revision.
async fn state(store: &SqlStore, world: &str) -> (Vec<Entry>, Vec<Entry>, u64) {
    let stored = store.book(&ada(), &world_id(world)).await.expect("read").expect("a world");
    let authored = stored.entries.iter().filter(|row| row.layer == Layer::Authored).cloned();
    (authored.collect(), stored.entries, stored.listed.world.content_revision)
}

async fn no_operation_touches_an_authored_row_and_each_success_moves_the_revision_by_one(
    store: &SqlStore,
) {
    let mut runner = TestRunner::deterministic();
    let mut applied = 0;
    for case in 0..CASES {
        let world = format!("w{case}");
        let new = book(&world, AUTHORED);
        create(store, &ada(), &new).await;
        let changes = drafts().new_tree(&mut runner).expect("a value").current();
        for (at_change, drafts) in changes.iter().enumerate() {
            let (_, rows, revision) = state(store, &world).await;
            let operations: Vec<_> = drafts.iter().map(|draft| operation(draft, &rows)).collect();
            let id = format!("{world}-c{at_change}");
            let change = new_change(&id, &world, revision, operations.clone());
            let outcome = store.apply(&ada(), &change, at(2)).await;
            let (authored, after, moved) = state(store, &world).await;
            assert_eq!(authored, new.entries, "{operations:?}");
            match outcome {
                Ok(Outcome { value, .. }) => {
                    applied += 1;
                    assert_eq!(value.record.applied_revision, moved);
                    assert_eq!(moved, revision + 1, "{operations:?}");
                }
                Err(_) => assert_eq!((after, moved), (rows, revision), "{operations:?}"),
            }
        }
        taken_back(store, &world, &new.entries).await;
    }
    assert!(applied > CASES, "too few changes hold: {applied}");
}

/// Undoes what can be undone, newest first, then resets: the authored view stands alone, bit by bit.
async fn taken_back(store: &SqlStore, world: &str, authored: &[Entry]) {
    let changes = store.changes(&ada(), &world_id(world), None, 100).await.expect("read");
    for change in &changes {
        let (_, rows, revision) = state(store, world).await;
        let undo = change_id(&format!("{}-u", change.record.id));
        let undone = store.revert(&ada(), &change.record.id, &undo, None, at(3)).await;
        let (kept, after, moved) = state(store, world).await;
        assert_eq!(kept, authored);
        match undone {
            Ok(_) => assert_eq!(moved, revision + 1),
            Err(_) => assert_eq!((after, moved), (rows, revision)),
        }
    }
    let _ =
        store.reset(&ada(), &world_id(world), &change_id(&format!("{world}-z")), None, at(4)).await;
    let (_, rows, _) = state(store, world).await;
    let shown: Vec<Entry> =
        lorebook_core::projection::effective(&rows).into_iter().cloned().collect();
    assert_eq!(shown, authored);
}

contract! {
    no_operation_touches_an_authored_row_and_each_success_moves_the_revision_by_one
}

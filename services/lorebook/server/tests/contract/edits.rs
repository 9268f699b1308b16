//! The user's own edits, and the record of what they delete.

use lorebook::store::{EditError, HeadEdit, SqlStore, Store as _};
use lorebook_core::{
    Layer,
    change::{Origin, RevertRefused},
    edit::{Edit, EditRefused},
};
use serde_json::json;

use crate::support::{
    ada, apply, at, attempt, book, change_id, create, entry_id, owner, patch, replace, revision,
    world_id,
};

fn content(name: &str, text: &str) -> Edit {
    let fields = patch(json!({ "content": text }));
    Edit::Update { id: entry_id(name), expected_etag: None, fields, locked: None }
}

fn delete(name: &str) -> Edit {
    Edit::Delete { id: entry_id(name), expected_etag: None }
}

async fn made(store: &SqlStore, record: &str, edits: &[Edit]) -> lorebook::store::Stored {
    let edited = store.edit(&ada(), &world_id("w"), edits, &change_id(record), None, at(5)).await;
    edited.expect("made").value
}

async fn edits_of_either_layer_are_written_and_move_the_revision_once(store: &SqlStore) {
    create(store, &ada(), &book("w", 3)).await;
    let change = apply(store, "c1", "w", 1, vec![replace("w-0", "new")]).await.value;
    let overlay = change.record.pairs[0].after.as_ref().expect("a row").id.clone();
    let edits = [content("w-1", "authored"), content(overlay.as_str(), "dynamic"), delete("w-2")];
    let edited = made(store, "m1", &edits).await;
    assert_eq!(edited.listed.world.content_revision, 3);
    let told = |id: &str| {
        let row = edited.entries.iter().find(|row| row.id.as_str() == id).expect("a row");
        (row.layer, row.body.content.clone(), row.entry_revision)
    };
    assert_eq!(told("w-1"), (Layer::Authored, "authored".into(), 1));
    assert_eq!(told(overlay.as_str()), (Layer::Dynamic, "dynamic".into(), 1));
    assert_eq!(edited.entries.len(), 3);
}

async fn a_display_only_edit_keeps_the_revision(store: &SqlStore) {
    create(store, &ada(), &book("w", 1)).await;
    let fields = patch(json!({ "display_index": 4 }));
    let lock =
        Edit::Update { id: entry_id("w-0"), expected_etag: None, fields, locked: Some(true) };
    let edited = made(store, "m1", &[lock]).await;
    assert_eq!((edited.listed.world.content_revision, edited.entries[0].locked), (1, true));
}

async fn a_deletion_is_recorded_in_a_dynamic_world_and_cannot_be_undone(store: &SqlStore) {
    create(store, &ada(), &book("w", 2)).await;
    made(store, "m1", &[delete("w-0")]).await;
    let record = store.change(&ada(), &change_id("m1")).await.expect("read").expect("kept").record;
    assert_eq!(
        (record.origin, record.base_revision, record.applied_revision),
        (Origin::Manual, 1, 2)
    );
    assert_eq!(record.pairs[0].before.as_ref().expect("a row").id, entry_id("w-0"));
    assert_eq!(record.pairs[0].after, None);
    let refused = store.revert(&ada(), &change_id("m1"), &change_id("u1"), None, at(6)).await;
    let nothing = RevertRefused::NothingToRevert;
    assert!(matches!(refused, Err(lorebook::store::RevertError::Refused(why)) if why == nothing));
}

async fn a_world_without_history_that_is_not_dynamic_records_nothing(store: &SqlStore) {
    let mut plain = book("w", 2);
    plain.world.dynamic_enabled = false;
    create(store, &ada(), &plain).await;
    made(store, "m1", &[delete("w-0")]).await;
    assert_eq!(store.change(&ada(), &change_id("m1")).await.expect("read"), None);
    assert_eq!(revision(store, "w").await, 2);
}

async fn a_world_with_history_records_deletions_though_it_is_no_longer_dynamic(store: &SqlStore) {
    create(store, &ada(), &book("w", 2)).await;
    apply(store, "c1", "w", 1, vec![replace("w-0", "new")]).await;
    let off = HeadEdit { dynamic_enabled: Some(false), ..HeadEdit::default() };
    store.update(&ada(), &world_id("w"), &off, None, at(3)).await.expect("switched off");
    let edited = made(store, "m1", &[delete("w-0")]).await;
    assert!(store.change(&ada(), &change_id("m1")).await.expect("read").is_some());
    let overlay = edited.entries.iter().find(|row| row.layer == Layer::Dynamic).expect("stays");
    assert_eq!((overlay.supersedes_entry_id.clone(), overlay.entry_revision), (None, 0));
    let undone = store.revert(&ada(), &change_id("c1"), &change_id("u1"), None, at(6)).await;
    assert!(undone.is_ok(), "{undone:?}");
}

async fn a_refused_edit_leaves_nothing_and_a_repeated_one_is_made_once(store: &SqlStore) {
    create(store, &ada(), &book("w", 2)).await;
    let (world, record) = (world_id("w"), change_id("m1"));
    let edits = [content("w-0", "x"), delete("gone")];
    let refused = store.edit(&ada(), &world, &edits, &record, None, at(5)).await;
    assert!(matches!(refused, Err(EditError::Refused(EditRefused::Unknown(_)))), "{refused:?}");
    assert_eq!(revision(store, "w").await, 1);
    let attempt = attempt(&ada(), "r1", "delete");
    let edits = [delete("w-0")];
    for replayed in [false, true] {
        let edited = store.edit(&ada(), &world, &edits, &record, Some(&attempt), at(5)).await;
        assert_eq!(edited.expect("made").replayed, replayed);
    }
    assert_eq!(revision(store, "w").await, 2);
    let foreign = store.edit(&owner("bob"), &world, &edits, &record, None, at(5)).await;
    assert!(matches!(foreign, Err(EditError::NotFound)), "{foreign:?}");
}

async fn a_creation_is_made_once_though_its_answer_was_forgotten(store: &SqlStore) {
    create(store, &ada(), &book("w", 1)).await;
    let (world, record, attempt) = (world_id("w"), change_id("m1"), attempt(&ada(), "r1", "new"));
    let edits = [Edit::Create { id: entry_id("n"), body: Box::default(), locked: false }];
    for _ in 0..2 {
        let made = store.edit(&ada(), &world, &edits, &record, Some(&attempt), at(5)).await;
        assert_eq!(made.expect("made").value.entries.len(), 2);
        assert_eq!(revision(store, "w").await, 2);
        store.forget(at(6)).await.expect("forgotten");
    }
}

async fn a_deleted_world_takes_its_rows_and_history_along(store: &SqlStore) {
    create(store, &ada(), &book("w", 2)).await;
    apply(store, "c1", "w", 1, vec![replace("w-0", "new")]).await;
    assert!(!store.delete(&owner("bob"), &world_id("w")).await.expect("looked"));
    assert!(store.delete(&ada(), &world_id("w")).await.expect("deleted"));
    assert!(!store.delete(&ada(), &world_id("w")).await.expect("looked"));
    assert_eq!(store.book(&ada(), &world_id("w")).await.expect("read"), None);
    assert_eq!(store.change(&ada(), &change_id("c1")).await.expect("read"), None);
    create(store, &ada(), &book("w", 1)).await;
    let stored = store.book(&ada(), &world_id("w")).await.expect("read").expect("a world");
    assert_eq!(stored.entries.len(), 1);
}

contract! {
    edits_of_either_layer_are_written_and_move_the_revision_once
    a_display_only_edit_keeps_the_revision
    a_deletion_is_recorded_in_a_dynamic_world_and_cannot_be_undone
    a_world_without_history_that_is_not_dynamic_records_nothing
    a_world_with_history_records_deletions_though_it_is_no_longer_dynamic
    a_refused_edit_leaves_nothing_and_a_repeated_one_is_made_once
    a_creation_is_made_once_though_its_answer_was_forgotten
    a_deleted_world_takes_its_rows_and_history_along
}

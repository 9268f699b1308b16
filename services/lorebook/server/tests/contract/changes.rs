//! Changes: one revision each, idempotent by id, undone only where nothing moved.

use lorebook::store::{ApplyError, ResetError, RevertError, SqlStore, Store as _};
use lorebook_core::{
    Layer,
    change::{Operation, Origin, Reason, Refusal, RevertRefused},
};

use crate::support::{
    ada, add, apply, at, attempt, book, change_id, create, entry_id, new_change, owner, replace,
    revision, shown, world_id,
};

async fn a_change_moves_the_revision_by_one_and_is_recorded(store: &SqlStore) {
    create(store, &ada(), &book("w", 2)).await;
    let change = apply(store, "c1", "w", 1, vec![replace("w-0", "new"), add("Fire")]).await.value;
    assert_eq!((change.record.base_revision, change.record.applied_revision), (1, 2));
    assert_eq!((change.position, change.record.pairs.len()), (1, 2));
    assert_eq!(revision(store, "w").await, 2);
    assert_eq!(shown(store, "w").await, ["content 1 \u{0} ü", "new", "new"]);
    let read = store.change(&ada(), &change_id("c1")).await.expect("read");
    assert_eq!(read.as_ref(), Some(&change));
    assert_eq!(store.change(&owner("bob"), &change_id("c1")).await.expect("read"), None);
    let listed = store.world(&ada(), &world_id("w")).await.expect("read").expect("a world");
    assert_eq!((listed.entries, listed.dynamic_entries), (4, 2));
}

async fn a_repeated_change_is_applied_once(store: &SqlStore) {
    create(store, &ada(), &book("w", 1)).await;
    let first = apply(store, "c1", "w", 1, vec![add("Fire")]).await;
    let again = apply(store, "c1", "w", 1, vec![add("Fire")]).await;
    assert!(!first.replayed && again.replayed);
    assert_eq!(first.value, again.value);
    assert_eq!(revision(store, "w").await, 2);
    let other = new_change("c1", "w", 2, vec![add("Flood")]);
    let refused = store.apply(&ada(), &other, at(3)).await;
    assert!(matches!(refused, Err(ApplyError::IdReused)), "{refused:?}");
}

async fn a_stale_change_is_never_applied(store: &SqlStore) {
    create(store, &ada(), &book("w", 1)).await;
    apply(store, "c1", "w", 1, vec![add("Fire")]).await;
    let refused = store.apply(&ada(), &new_change("c2", "w", 1, vec![add("Flood")]), at(3)).await;
    assert!(matches!(refused, Err(ApplyError::Stale { base: 1, live: 2 })), "{refused:?}");
    assert_eq!(store.change(&ada(), &change_id("c2")).await.expect("read"), None);
}

async fn an_operation_that_does_not_hold_refuses_the_whole_change(store: &SqlStore) {
    create(store, &ada(), &book("w", 1)).await;
    let target = entry_id("w-0");
    let operations = vec![add("Fire"), Operation::Archive { target }];
    let refused = store.apply(&ada(), &new_change("c1", "w", 1, operations), at(2)).await;
    let Err(ApplyError::Refused(Refusal::Operations(rejected))) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!((rejected[0].index, rejected[0].reason), (1, Reason::TargetAuthored));
    assert_eq!((revision(store, "w").await, shown(store, "w").await.len()), (1, 1));
}

async fn unknown_and_foreign_worlds_take_no_change(store: &SqlStore) {
    create(store, &owner("bob"), &book("w", 1)).await;
    let refused = store.apply(&ada(), &new_change("c1", "w", 1, vec![add("Fire")]), at(2)).await;
    assert!(matches!(refused, Err(ApplyError::NotFound)), "{refused:?}");
}

async fn an_embedded_book_takes_no_change(store: &SqlStore) {
    let mut embedded = book("e", 1);
    embedded.world.embedded = true;
    create(store, &ada(), &embedded).await;
    let refused = store.apply(&ada(), &new_change("c1", "e", 7, vec![add("Fire")]), at(2)).await;
    assert!(matches!(refused, Err(ApplyError::Refused(Refusal::Embedded))), "{refused:?}");
}

async fn a_closed_id_never_applies_and_an_applied_one_answers_its_change(store: &SqlStore) {
    create(store, &ada(), &book("w", 1)).await;
    let world = world_id("w");
    for _ in 0..2 {
        assert_eq!(store.close(&ada(), &world, &change_id("c1")).await.expect("closed"), None);
    }
    let refused = store.apply(&ada(), &new_change("c1", "w", 1, vec![add("Fire")]), at(2)).await;
    assert!(matches!(refused, Err(ApplyError::Closed)), "{refused:?}");
    assert_eq!(store.change(&ada(), &change_id("c1")).await.expect("read"), None);
    let applied = apply(store, "c2", "w", 1, vec![add("Fire")]).await.value;
    let found = store.close(&ada(), &world, &change_id("c2")).await.expect("found");
    assert_eq!(found, Some(applied));
}

async fn an_undo_is_a_change_of_its_own_and_can_be_undone(store: &SqlStore) {
    create(store, &ada(), &book("w", 1)).await;
    apply(store, "c1", "w", 1, vec![replace("w-0", "new")]).await;
    let undo = |of: &'static str, id: &'static str| async move {
        store.revert(&ada(), &change_id(of), &change_id(id), None, at(3)).await.expect("undone")
    };
    let undone = undo("c1", "u1").await.value;
    assert_eq!(
        (undone.record.origin, undone.record.reverts.clone()),
        (Origin::Undo, Some(change_id("c1")))
    );
    assert_eq!(shown(store, "w").await, ["content 0 \u{0} ü"]);
    let original = store.change(&ada(), &change_id("c1")).await.expect("read").expect("kept");
    assert_eq!(original.record.reverted_by, Some(change_id("u1")));
    undo("u1", "u2").await;
    assert_eq!(shown(store, "w").await, ["new"]);
    assert_eq!(revision(store, "w").await, 4);
    let refused = store.revert(&ada(), &change_id("c1"), &change_id("u3"), None, at(4)).await;
    assert!(
        matches!(refused, Err(RevertError::Refused(RevertRefused::AlreadyReverted))),
        "{refused:?}"
    );
}

async fn an_undo_over_a_later_change_of_its_rows_is_refused(store: &SqlStore) {
    create(store, &ada(), &book("w", 1)).await;
    let created = apply(store, "c1", "w", 1, vec![add("Fire")]).await.value;
    let row = created.record.pairs[0].after.as_ref().expect("a row").id.clone();
    apply(store, "c2", "w", 2, vec![Operation::Archive { target: row.clone() }]).await;
    let refused = store.revert(&ada(), &change_id("c1"), &change_id("u1"), None, at(3)).await;
    let Err(RevertError::Refused(RevertRefused::Conflict(rows))) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!((rows.len(), &rows[0].entry), (1, &row));
    assert_eq!(revision(store, "w").await, 3);
}

async fn a_repeated_undo_is_made_once(store: &SqlStore) {
    create(store, &ada(), &book("w", 1)).await;
    apply(store, "c1", "w", 1, vec![add("Fire")]).await;
    let attempt = attempt(&ada(), "r1", "undo c1");
    let (ada, of, id) = (ada(), change_id("c1"), change_id("u1"));
    let undo = || store.revert(&ada, &of, &id, Some(&attempt), at(3));
    let (first, again) = (undo().await.expect("undone"), undo().await.expect("replayed"));
    assert!(!first.replayed && again.replayed);
    assert_eq!((first.value, revision(store, "w").await), (again.value, 3));
}

async fn a_reset_retires_all_overlays_by_one_change(store: &SqlStore) {
    create(store, &ada(), &book("w", 2)).await;
    apply(store, "c1", "w", 1, vec![replace("w-0", "new"), add("Fire")]).await;
    let reset = store.reset(&ada(), &world_id("w"), &change_id("z1"), None, at(3)).await;
    let reset = reset.expect("reset").value;
    assert_eq!((reset.record.origin, reset.record.pairs.len()), (Origin::Reset, 2));
    assert_eq!(shown(store, "w").await, ["content 0 \u{0} ü", "content 1 \u{0} ü"]);
    let nothing = store.reset(&ada(), &world_id("w"), &change_id("z2"), None, at(4)).await;
    assert!(matches!(nothing, Err(ResetError::Nothing(_))), "{nothing:?}");
    store.revert(&ada(), &change_id("z1"), &change_id("u1"), None, at(5)).await.expect("undone");
    assert_eq!(shown(store, "w").await, ["content 1 \u{0} ü", "new", "new"]);
}

async fn a_reset_is_found_by_its_attempt_though_the_answer_was_forgotten(store: &SqlStore) {
    create(store, &ada(), &book("w", 1)).await;
    apply(store, "c1", "w", 1, vec![add("Fire")]).await;
    let (ada, world, reset) = (ada(), world_id("w"), change_id("z1"));
    let resetting = attempt(&ada, "r1", "reset w");
    let first = store.reset(&ada, &world, &reset, Some(&resetting), at(3)).await.expect("reset");
    store.revert(&ada, &reset, &change_id("u1"), None, at(3)).await.expect("undone");
    assert_eq!(store.forget(at(4)).await.expect("forgotten"), 1);
    let again = store.reset(&ada, &world, &reset, Some(&resetting), at(5)).await.expect("found");
    assert!(again.replayed);
    assert_eq!(again.value.record.pairs, first.value.record.pairs);
    assert_eq!(revision(store, "w").await, 4);
}

async fn history_is_listed_newest_first_without_rows(store: &SqlStore) {
    create(store, &ada(), &book("w", 1)).await;
    for (id, base) in [("c1", 1), ("c2", 2), ("c3", 3)] {
        apply(store, id, "w", base, vec![add(id)]).await;
    }
    let page = store.changes(&ada(), &world_id("w"), None, 2).await.expect("read");
    let ids = |page: &[lorebook::store::Change]| -> Vec<String> {
        page.iter().map(|change| change.record.id.to_string()).collect()
    };
    assert_eq!(ids(&page), ["c3", "c2"]);
    assert!(page.iter().all(|change| change.record.pairs.is_empty()));
    assert_eq!(page[0].record.labels["character"], "Mira");
    let rest = store.changes(&ada(), &world_id("w"), Some(page[1].position), 2).await;
    assert_eq!(ids(&rest.expect("read")), ["c1"]);
    let foreign = store.changes(&owner("bob"), &world_id("w"), None, 9).await;
    assert_eq!(foreign.expect("read"), []);
}

async fn a_backup_holds_rows_and_changes_oldest_first(store: &SqlStore) {
    create(store, &ada(), &book("w", 1)).await;
    apply(store, "c1", "w", 1, vec![add("Fire")]).await;
    store.revert(&ada(), &change_id("c1"), &change_id("u1"), None, at(3)).await.expect("undone");
    store.close(&ada(), &world_id("w"), &change_id("c2")).await.expect("closed");
    let backup = store.backup(&ada(), &world_id("w")).await.expect("read").expect("a world");
    let stored = store.book(&ada(), &world_id("w")).await.expect("read").expect("a world");
    assert_eq!(backup.stored, stored);
    let mut changes = Vec::new();
    for id in ["c1", "u1"] {
        let change = store.change(&ada(), &change_id(id)).await.expect("read").expect("kept");
        changes.push(change.record);
    }
    assert_eq!(backup.history, changes);
    assert_eq!(store.backup(&owner("bob"), &world_id("w")).await.expect("read"), None);
}

async fn of_concurrent_changes_on_one_revision_one_wins(store: &SqlStore) {
    create(store, &ada(), &book("w", 1)).await;
    let changes: Vec<_> =
        (0..8).map(|n| new_change(&format!("c{n}"), "w", 1, vec![add(&format!("n{n}"))])).collect();
    let ada = ada();
    let outcomes =
        futures::future::join_all(changes.iter().map(|change| store.apply(&ada, change, at(2))))
            .await;
    let won = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    let stale =
        outcomes.iter().filter(|o| matches!(o, Err(ApplyError::Stale { base: 1, live: 2 })));
    assert_eq!((won, stale.count(), revision(store, "w").await), (1, 7, 2));
}

async fn of_apply_and_close_of_one_id_one_wins(store: &SqlStore) {
    create(store, &ada(), &book("w", 1)).await;
    let (ada, world) = (ada(), world_id("w"));
    for round in 0..8u64 {
        let base = revision(store, "w").await;
        let change = new_change(&format!("c{round}"), "w", base, vec![add(&format!("n{round}"))]);
        let (applied, closed) =
            tokio::join!(store.apply(&ada, &change, at(2)), store.close(&ada, &world, &change.id));
        let closed = closed.expect("decided").is_none();
        assert_eq!(closed, matches!(applied, Err(ApplyError::Closed)), "{applied:?}");
        let moved = revision(store, "w").await - base;
        assert_eq!(moved, u64::from(!closed));
    }
}

async fn authored_rows_are_bit_equal_after_any_change(store: &SqlStore) {
    let new = book("w", 3);
    create(store, &ada(), &new).await;
    apply(store, "c1", "w", 1, vec![replace("w-0", "a"), replace("w-1", "b")]).await;
    store.revert(&ada(), &change_id("c1"), &change_id("u1"), None, at(3)).await.expect("undone");
    let stored = store.book(&ada(), &world_id("w")).await.expect("read").expect("a world");
    let authored: Vec<_> =
        stored.entries.into_iter().filter(|row| row.layer == Layer::Authored).collect();
    assert_eq!(authored, new.entries);
}

contract! {
    a_change_moves_the_revision_by_one_and_is_recorded
    a_repeated_change_is_applied_once
    a_stale_change_is_never_applied
    an_operation_that_does_not_hold_refuses_the_whole_change
    unknown_and_foreign_worlds_take_no_change
    an_embedded_book_takes_no_change
    a_closed_id_never_applies_and_an_applied_one_answers_its_change
    an_undo_is_a_change_of_its_own_and_can_be_undone
    an_undo_over_a_later_change_of_its_rows_is_refused
    a_repeated_undo_is_made_once
    a_reset_retires_all_overlays_by_one_change
    a_reset_is_found_by_its_attempt_though_the_answer_was_forgotten
    history_is_listed_newest_first_without_rows
    a_backup_holds_rows_and_changes_oldest_first
    of_concurrent_changes_on_one_revision_one_wins
    of_apply_and_close_of_one_id_one_wins
    authored_rows_are_bit_equal_after_any_change
}

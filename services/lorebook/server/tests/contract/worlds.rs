//! Worlds: created whole, read at one instant, edited without touching the lore.

use kernel::Timestamp;
use lorebook::store::{
    CreateError, HeadEdit, ScanEdit, SqlStore, Store as _, StoreError, UpdateError,
};

use crate::support::{ada, at, attempt, book, create, owner, revision, world_id};

async fn a_book_comes_back_as_it_was_stored(store: &SqlStore) {
    let new = book("w", 1_200);
    create(store, &ada(), &new).await;
    let stored = store.book(&ada(), &world_id("w")).await.expect("read").expect("a world");
    assert_eq!((stored.listed.world, stored.entries), (new.world, new.entries));
    assert_eq!((stored.listed.entries, stored.listed.dynamic_entries), (1_200, 0));
    assert_eq!((stored.listed.version, stored.listed.created_at), (1, Timestamp::from_micros(1)));
}

async fn another_owner_sees_nothing(store: &SqlStore) {
    create(store, &ada(), &book("w", 1)).await;
    let bob = owner("bob");
    assert_eq!(store.world(&bob, &world_id("w")).await.expect("read"), None);
    assert_eq!(store.book(&bob, &world_id("w")).await.expect("read"), None);
    assert_eq!(store.worlds(&bob, &[world_id("w")]).await.expect("read"), []);
    assert_eq!(store.list(&bob, None, 10).await.expect("read"), []);
    let edit = HeadEdit { enabled: Some(false), ..HeadEdit::default() };
    let refused = store.update(&bob, &world_id("w"), &edit, None, at(2)).await;
    assert!(matches!(refused, Err(UpdateError::NotFound)), "{refused:?}");
    create(store, &bob, &book("w", 2)).await;
    assert_eq!(store.list(&ada(), None, 10).await.expect("read")[0].entries, 1);
}

async fn a_second_create_of_one_id_leaves_the_first(store: &SqlStore) {
    create(store, &ada(), &book("w", 1)).await;
    let again = store.create(&ada(), &book("w", 5), None, at(9)).await.expect("found");
    assert!(again.replayed);
    assert_eq!((again.value.entries, again.value.created_at), (1, at(1)));
}

async fn a_repeated_attempt_gives_the_same_world_and_another_request_is_refused(store: &SqlStore) {
    let attempt_of = |request| attempt(&ada(), "r1", request);
    let new = book("w", 1);
    let first = store.create(&ada(), &new, Some(&attempt_of("a")), at(1)).await.expect("created");
    let again = store.create(&ada(), &new, Some(&attempt_of("a")), at(2)).await.expect("replayed");
    assert!(!first.replayed && again.replayed);
    assert_eq!(first.value, again.value);
    let other = store.create(&ada(), &book("x", 1), Some(&attempt_of("b")), at(3)).await;
    assert!(matches!(other, Err(CreateError::Store(StoreError::Reused(_)))), "{other:?}");
    assert_eq!(store.world(&ada(), &world_id("x")).await.expect("read"), None);
}

async fn a_repeated_attempt_whose_world_was_deleted_makes_no_other(store: &SqlStore) {
    let (attempt, new) = (attempt(&ada(), "r1", "a"), book("w", 1));
    store.create(&ada(), &new, Some(&attempt), at(1)).await.expect("created");
    store.delete(&ada(), &world_id("w")).await.expect("deleted");
    let again = store.create(&ada(), &new, Some(&attempt), at(2)).await;
    assert!(matches!(again, Err(CreateError::Deleted)), "{again:?}");
    assert_eq!(store.world(&ada(), &world_id("w")).await.expect("read"), None);
}

async fn worlds_are_listed_by_name_without_embedded_ones(store: &SqlStore) {
    for (id, name) in [("c", "Alpha"), ("a", "Beta"), ("b", "Alpha")] {
        let mut new = book(id, 0);
        new.world.name = name.into();
        create(store, &ada(), &new).await;
    }
    let mut embedded = book("e", 0);
    embedded.world.embedded = true;
    create(store, &ada(), &embedded).await;
    let ids = |found: Vec<lorebook::store::Listed>| -> Vec<String> {
        found.into_iter().map(|listed| listed.world.id.to_string()).collect()
    };
    assert_eq!(ids(store.list(&ada(), None, 10).await.expect("read")), ["b", "c", "a"]);
    let after = ("Alpha".to_owned(), world_id("b"));
    assert_eq!(ids(store.list(&ada(), Some(&after), 1).await.expect("read")), ["c"]);
    let wanted = [world_id("a"), world_id("gone"), world_id("e")];
    assert_eq!(ids(store.worlds(&ada(), &wanted).await.expect("read")), ["a", "e"]);
}

async fn an_edit_of_the_head_never_moves_the_revision(store: &SqlStore) {
    create(store, &ada(), &book("w", 1)).await;
    let edit = HeadEdit {
        name: Some("New".into()),
        enabled: Some(false),
        dynamic_enabled: Some(false),
        scan: Some(ScanEdit { recursive: Some(true), ..ScanEdit::default() }),
        expected_version: Some(1),
    };
    let edited = store.update(&ada(), &world_id("w"), &edit, None, at(2)).await.expect("edited");
    let world = &edited.value.world;
    assert_eq!((world.name.as_str(), world.enabled, world.dynamic_enabled), ("New", false, false));
    assert_eq!((world.settings.scan_depth, world.settings.recursive_scanning), (None, Some(true)));
    assert_eq!((edited.value.version, revision(store, "w").await), (2, 1));
}

async fn a_save_that_changes_nothing_keeps_the_version(store: &SqlStore) {
    create(store, &ada(), &book("w", 1)).await;
    let edit = HeadEdit { enabled: Some(true), ..HeadEdit::default() };
    let edited = store.update(&ada(), &world_id("w"), &edit, None, at(2)).await.expect("edited");
    assert_eq!(edited.value.version, 1);
}

async fn an_edit_of_another_version_is_refused_with_both(store: &SqlStore) {
    create(store, &ada(), &book("w", 1)).await;
    let edit = HeadEdit { expected_version: Some(7), ..HeadEdit::default() };
    let refused = store.update(&ada(), &world_id("w"), &edit, None, at(2)).await;
    assert!(
        matches!(refused, Err(UpdateError::EtagMismatch { expected: 7, live: 1 })),
        "{refused:?}"
    );
}

async fn an_embedded_book_is_immutable(store: &SqlStore) {
    let mut embedded = book("e", 1);
    embedded.world.embedded = true;
    create(store, &ada(), &embedded).await;
    let edit = HeadEdit { enabled: Some(false), ..HeadEdit::default() };
    let refused = store.update(&ada(), &world_id("e"), &edit, None, at(2)).await;
    assert!(matches!(refused, Err(UpdateError::Immutable)), "{refused:?}");
}

async fn a_repeated_edit_is_made_once(store: &SqlStore) {
    create(store, &ada(), &book("w", 1)).await;
    let edit = HeadEdit { enabled: Some(false), ..HeadEdit::default() };
    let attempt = attempt(&ada(), "r1", "off");
    let id = world_id("w");
    let first = store.update(&ada(), &id, &edit, Some(&attempt), at(2)).await.expect("edited");
    let back = HeadEdit { enabled: Some(true), ..HeadEdit::default() };
    store.update(&ada(), &id, &back, None, at(3)).await.expect("edited");
    let again = store.update(&ada(), &id, &edit, Some(&attempt), at(4)).await.expect("replayed");
    assert!(!first.replayed && again.replayed);
    assert!(store.world(&ada(), &id).await.expect("read").expect("a world").world.enabled);
}

async fn old_answers_are_forgotten_and_their_worlds_stay(store: &SqlStore) {
    let attempt = attempt(&ada(), "r1", "a");
    let new = book("w", 1);
    store.create(&ada(), &new, Some(&attempt), at(10)).await.expect("created");
    assert_eq!(store.forget(at(10)).await.expect("looked"), 0);
    assert_eq!(store.forget(at(11)).await.expect("forgotten"), 1);
    let again = store.create(&ada(), &new, Some(&attempt), at(12)).await.expect("found");
    assert!(again.replayed);
}

contract! {
    old_answers_are_forgotten_and_their_worlds_stay
    a_book_comes_back_as_it_was_stored
    another_owner_sees_nothing
    a_second_create_of_one_id_leaves_the_first
    a_repeated_attempt_gives_the_same_world_and_another_request_is_refused
    a_repeated_attempt_whose_world_was_deleted_makes_no_other
    worlds_are_listed_by_name_without_embedded_ones
    an_edit_of_the_head_never_moves_the_revision
    a_save_that_changes_nothing_keeps_the_version
    an_edit_of_another_version_is_refused_with_both
    an_embedded_book_is_immutable
    a_repeated_edit_is_made_once
}

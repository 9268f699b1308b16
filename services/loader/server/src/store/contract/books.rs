//! The running copies of cards' books: kept while anything uses them, and gone for ever when nothing does.

use std::{slice, sync::Arc};

use kernel::{GenerationId, Owner, WorldId, digest};
use loader_core::selection::Worlds;

use super::{
    super::{CharacterRow, Holder, Kind, Store, WriteError},
    LONG_MS, character, furnished, lease, on_each, owner, session, with_book,
};

/// As if its import had died long ago.
const LONG_AGO_MS: i64 = -1;

/// A card with a book, added.
async fn add(store: &Arc<dyn Store>, owner: &Owner, id: &str, book: &str) -> WorldId {
    let card = with_book(store, owner, character(id, id), book).await;
    store.add_character(owner, &card, None, None).await.expect("added");
    card.embedded_world.expect("begun")
}

async fn delete(store: &Arc<dyn Store>, owner: &Owner, id: &str) {
    store.delete(owner, Kind::Character, id, None, None).await.expect("deleted");
}

async fn collected(store: &Arc<dyn Store>, owner: &Owner) -> Vec<WorldId> {
    store.collect_books(owner).await.expect("collected")
}

#[tokio::test]
async fn a_copy_that_two_cards_share_goes_with_the_second() {
    on_each(|store| async move {
        let ada = owner("ada");
        let world = add(&store, &ada, "c1", "book").await;
        assert_eq!(
            add(&store, &ada, "c2", "book").await,
            world,
            "the same bytes are the same copy"
        );
        let bobs = add(&store, &owner("bob"), "c1", "book").await;
        assert_ne!(bobs, world);
        delete(&store, &ada, "c1").await;
        assert_eq!(store.owners_of_unused_books(9).await.expect("read"), []);
        assert_eq!(collected(&store, &ada).await, []);
        delete(&store, &ada, "c2").await;
        assert_eq!(store.owners_of_unused_books(9).await.expect("read"), slice::from_ref(&ada));
        assert_eq!(collected(&store, &ada).await, slice::from_ref(&world));
        assert_eq!(store.pending_deletions(9).await.expect("read"), [(ada.clone(), world)]);
        assert_eq!(collected(&store, &ada).await, []);
    })
    .await;
}

#[tokio::test]
async fn a_book_that_was_collected_comes_back_as_another_copy() {
    on_each(|store| async move {
        let ada = owner("ada");
        let world = add(&store, &ada, "c1", "book").await;
        delete(&store, &ada, "c1").await;
        assert_eq!(collected(&store, &ada).await, slice::from_ref(&world));
        let anew = add(&store, &ada, "c1", "book").await;
        assert_ne!(anew, world, "a late deletion finds nothing that is in use");
        assert_eq!(add(&store, &ada, "c2", "book").await, anew);
    })
    .await;
}

#[tokio::test]
async fn an_edit_lets_go_of_the_book_before_it() {
    on_each(|store| async move {
        let ada = owner("ada");
        let old = add(&store, &ada, "c", "old").await;
        let card = with_book(&store, &ada, character("c", "edited"), "new").await;
        store.edit_character(&ada, &card, false, None).await.expect("edited");
        assert_eq!(collected(&store, &ada).await, [old]);
        let same = CharacterRow { revision: 2, ..card.clone() };
        store.edit_character(&ada, &same, false, None).await.expect("edited");
        assert_eq!(collected(&store, &ada).await, [], "an edit of something else keeps it");
        let none = CharacterRow { embedded_world: None, revision: 3, ..card.clone() };
        store.edit_character(&ada, &none, false, None).await.expect("edited");
        assert_eq!(collected(&store, &ada).await, [card.embedded_world.expect("begun")]);
    })
    .await;
}

#[tokio::test]
async fn a_running_session_keeps_the_copy_that_it_compiled_with() {
    on_each(|store| async move {
        let (ada, _) = furnished(&store).await;
        let card = with_book(&store, &ada, character("c", "C"), "old").await;
        store.edit_character(&ada, &card, false, None).await.expect("edited");
        let snapshot = store.begin_compile(&ada, &session("s"), &lease("g", LONG_MS)).await;
        assert_eq!(snapshot.expect("begun").bindings.embedded, card.embedded_world);
        let edited = with_book(&store, &ada, character("c", "edited"), "new").await;
        let edited = CharacterRow { revision: 2, ..edited };
        store.edit_character(&ada, &edited, false, None).await.expect("saved for the next turn");
        assert_eq!(store.owners_of_unused_books(9).await.expect("read"), []);
        assert_eq!(collected(&store, &ada).await, []);
        let generation = GenerationId::new("g").expect("an id");
        store.release(&ada, &session("s"), &generation).await.expect("released");
        let old = card.embedded_world.expect("begun");
        assert_eq!(collected(&store, &ada).await, [old]);
    })
    .await;
}

#[tokio::test]
async fn a_lease_that_ran_out_keeps_nothing() {
    on_each(|store| async move {
        let (ada, _) = furnished(&store).await;
        let card = with_book(&store, &ada, character("c", "C"), "old").await;
        store.edit_character(&ada, &card, false, None).await.expect("edited");
        store.begin_compile(&ada, &session("s"), &lease("g", LONG_AGO_MS)).await.expect("begun");
        delete(&store, &ada, "c").await;
        assert_eq!(collected(&store, &ada).await, [card.embedded_world.expect("begun")]);
    })
    .await;
}

#[tokio::test]
async fn a_copy_waits_for_its_card_and_not_for_ever() {
    on_each(|store| async move {
        let ada = owner("ada");
        let begin = |keep_ms| {
            let (store, ada) = (store.clone(), ada.clone());
            async move { store.begin_book(&ada, &digest(b"book"), keep_ms).await.expect("begun") }
        };
        let world = begin(LONG_AGO_MS).await;
        assert_eq!(begin(LONG_MS).await, world, "a retry has the same copy");
        assert_eq!(begin(LONG_AGO_MS).await, world);
        assert_eq!(collected(&store, &ada).await, [], "nobody's time is cut short");
        let other = store.begin_book(&ada, &digest(b"other"), LONG_AGO_MS).await.expect("begun");
        assert_eq!(collected(&store, &ada).await, slice::from_ref(&other));
        let card = CharacterRow { embedded_world: Some(other), ..character("c", "C") };
        let late = store.add_character(&ada, &card, None, None).await;
        assert!(matches!(late, Err(WriteError::NotFound { kind: "world", .. })), "{late:?}");
        let card = CharacterRow { embedded_world: Some(world), ..card };
        store.add_character(&ada, &card, None, None).await.expect("in time");
    })
    .await;
}

#[tokio::test]
async fn a_relation_keeps_the_copy_that_it_names() {
    on_each(|store| async move {
        let ada = owner("ada");
        let world = add(&store, &ada, "c", "book").await;
        let bind = |worlds: Worlds| {
            let (store, ada) = (store.clone(), ada.clone());
            async move {
                store
                    .set_bindings(&ada, &Holder::Global, &worlds, None, None)
                    .await
                    .expect("bound");
            }
        };
        bind(Worlds::new([world.clone()]).expect("few")).await;
        delete(&store, &ada, "c").await;
        assert_eq!(store.owners_of_unused_books(9).await.expect("read"), []);
        assert_eq!(collected(&store, &ada).await, []);
        bind(Worlds::default()).await;
        assert_eq!(collected(&store, &ada).await, [world]);
    })
    .await;
}

/// As an import does it: whose copy was collected before its card came begins another one.
async fn add_anew(store: &Arc<dyn Store>, owner: &Owner, id: &str) -> WorldId {
    loop {
        let card = with_book(store, owner, character(id, id), "book").await;
        match store.add_character(owner, &card, None, None).await {
            Err(lost) => assert!(matches!(lost, WriteError::NotFound { .. }), "{lost:?}"),
            Ok(_) => return card.embedded_world.expect("begun"),
        }
    }
}

/// A card that is imported while another of the same book is deleted and the sweeper runs.
#[tokio::test]
async fn no_card_points_at_a_copy_whose_deletion_was_decided() {
    on_each(|store| async move {
        let ada = owner("ada");
        let import = |who: &'static str| {
            let (store, ada) = (store.clone(), ada.clone());
            async move {
                for round in 0..24 {
                    let id = format!("{who}{round}");
                    let world = add_anew(&store, &ada, &id).await;
                    let decided = store.pending_deletions(1_000).await.expect("read");
                    assert!(!decided.contains(&(ada.clone(), world)), "{id} points at what goes");
                    delete(&store, &ada, &id).await;
                    collected(&store, &ada).await;
                }
            }
        };
        let (x, y, ()) =
            tokio::join!(tokio::spawn(import("x")), tokio::spawn(import("y")), import("z"));
        x.and(y).expect("all went well");
        let decided = store.pending_deletions(1_000).await.expect("read");
        assert!(decided.len() > 1, "copies were collected meanwhile: {decided:?}");
    })
    .await;
}

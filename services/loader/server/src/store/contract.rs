//! The store's contract: one suite, run on both databases.

use std::{future::Future, sync::Arc};

use host::{database::Postgres, idempotency::Scope, testing};
use kernel::{
    CharacterId, GenerationId, ManualClock, Owner, PresetId, RequestId, SessionId, Subject,
    TenantId, Timestamp, UserId, WorldId, digest,
};
use loader_core::{
    User,
    format::card::Container,
    selection::{Bindings, Part, Selection, Worlds},
};

use super::{
    Added, After, Attempt, CharacterRow, Holder, Kind, Lease, Origin, PresetRow, Store, UserRow,
    WriteError, bindings_etag, postgres::PostgresStore, sqlite::SqliteStore,
};
use crate::{NAME, postgres_migrations, sqlite_migrations};

/// A minute, long enough for every test.
const LONG_MS: i64 = 60_000;

/// Runs a test on a fresh SQLite file, and on a fresh PostgreSQL database where there is a server.
async fn on_each<F: Future<Output = ()>>(test: impl Fn(Arc<dyn Store>) -> F) {
    let clock = Arc::new(ManualClock::at(Timestamp::from_micros(1_000_000)));
    let (_folder, database) = testing::sqlite(NAME, sqlite_migrations()).await;
    test(Arc::new(SqliteStore::new(database, clock.clone()))).await;
    let Some(url) = testing::postgres().await else {
        println!("skipped: no PostgreSQL");
        return;
    };
    let database = Postgres::open(&url, NAME, postgres_migrations(), 4).await.expect("opened");
    test(Arc::new(PostgresStore::new(database, clock))).await;
}

fn owner(subject: &str) -> Owner {
    let tenant = TenantId::new("acme").expect("an id");
    Owner { tenant, subject: Subject::new(subject).expect("an id") }
}

fn session(name: &str) -> SessionId {
    SessionId::new(name).expect("an id")
}

fn worlds(names: &str) -> Worlds {
    let ids = names.split_whitespace().map(|name| WorldId::new(name).expect("an id"));
    Worlds::new(ids).expect("few")
}

fn attempt(owner: &Owner, id: &str, request: &str) -> Attempt {
    let scope = Scope::new(owner, "skald.test/Write", RequestId::new(id).expect("an id"));
    Attempt { scope, request: digest(request.as_bytes()) }
}

fn preset(id: &str, content: &str) -> PresetRow {
    PresetRow {
        id: PresetId::new(id).expect("an id"),
        name: format!("preset {id}"),
        hash: digest(content.as_bytes()),
        document: content.as_bytes().to_vec(),
        revision: 1,
        created_at: Timestamp::from_micros(7),
    }
}

fn character(id: &str, content: &str) -> CharacterRow {
    CharacterRow {
        id: CharacterId::new(id).expect("an id"),
        name: format!("character {id}"),
        hash: digest(content.as_bytes()),
        spec: "v2".to_owned(),
        container: Container::Png,
        document: content.as_bytes().to_vec(),
        embedded_world: WorldId::new("book").ok(),
        revision: 1,
        created_at: Timestamp::from_micros(7),
    }
}

fn user(id: &str) -> UserRow {
    UserRow {
        id: UserId::new(id).expect("an id"),
        user: User::new(format!("user {id}"), "tall\0dark".to_owned()).expect("a user"),
        revision: 1,
        created_at: Timestamp::from_micros(7),
    }
}

fn lease(generation: &str, for_ms: i64) -> Lease {
    Lease { generation: GenerationId::new(generation).expect("an id"), for_ms }
}

/// An owner with preset `p`, character `c`, user `u` and a session `s` that has selected them.
async fn furnished(store: &Arc<dyn Store>) -> (Owner, Selection) {
    let ada = owner("ada");
    store.add_preset(&ada, &preset("p", "P"), None).await.expect("added");
    store.add_character(&ada, &character("c", "C"), Some(b"png"), None).await.expect("added");
    store.add_user(&ada, &user("u"), None).await.expect("added");
    let selection = Selection {
        preset: PresetId::new("p").ok(),
        character: CharacterId::new("c").ok(),
        user: UserId::new("u").ok(),
        worlds: worlds("w1"),
        ..Selection::default()
    };
    let origin = Origin::Given(selection.clone());
    store.init_selection(&ada, &session("s"), &origin).await.expect("given");
    (ada, selection)
}

#[track_caller]
fn refused_as_running<T: std::fmt::Debug>(result: Result<T, WriteError>, expected: Part) {
    match result {
        Err(WriteError::Running { part, sessions }) => {
            assert_eq!((part, sessions), (expected, vec![session("s")]));
        }
        other => panic!("not refused as running: {other:?}"),
    }
}

#[tokio::test]
async fn resources_come_back_as_they_were_put() {
    on_each(|store| async move {
        let ada = owner("ada");
        let (preset, character, user) = (preset("p", "P"), character("c", "C"), user("u"));
        store.add_preset(&ada, &preset, None).await.expect("added");
        store.add_character(&ada, &character, Some(b"png"), None).await.expect("added");
        store.add_user(&ada, &user, None).await.expect("added");
        assert_eq!(store.preset(&ada, &preset.id).await.expect("read"), Some(preset));
        let found = store.character_by_hash(&ada, &character.hash).await.expect("read");
        assert_eq!(found, Some(character.clone()));
        assert_eq!(store.character(&ada, &character.id).await.expect("read"), Some(character));
        assert_eq!(store.user(&ada, &user.id).await.expect("read"), Some(user));
    })
    .await;
}

#[tokio::test]
async fn another_owner_sees_nothing_of_them() {
    on_each(|store| async move {
        let (ada, selection) = furnished(&store).await;
        let bob = owner("bob");
        let (p, c, u) = (preset("p", "P").id, character("c", "C").id, user("u").id);
        assert_eq!(store.preset(&bob, &p).await.expect("read"), None);
        assert_eq!(store.character(&bob, &c).await.expect("read"), None);
        assert_eq!(store.user(&bob, &u).await.expect("read"), None);
        assert_eq!(store.selection(&bob, &session("s")).await.expect("read"), None);
        assert_eq!(store.peek(&bob, &session("s")).await.expect("read"), None);
        assert!(
            store.list(&bob, Kind::Preset, &After::default(), 9).await.expect("read").is_empty()
        );
        let deleted = store.delete(&bob, Kind::Preset, "p", None).await;
        assert!(matches!(deleted, Err(WriteError::NotFound { .. })));
        let bound = store.bindings(&bob, &Holder::Preset(p.clone())).await.expect("read");
        assert_eq!(bound, None);
        let given = Origin::Given(selection);
        let taken = store.init_selection(&bob, &session("t"), &given).await;
        assert!(matches!(taken, Err(WriteError::NotFound { kind: "preset", .. })));
        assert!(store.preset(&ada, &p).await.expect("read").is_some());
    })
    .await;
}

#[tokio::test]
async fn the_same_bytes_are_recognised_per_owner_b20() {
    on_each(|store| async move {
        let (ada, bob) = (owner("ada"), owner("bob"));
        store.add_preset(&ada, &preset("p1", "same"), None).await.expect("added");
        let again = store.add_preset(&ada, &preset("p2", "same"), None).await.expect("known");
        assert_eq!(again.value, Added { row: preset("p1", "same"), already: true });
        let hers = store.add_preset(&bob, &preset("p3", "same"), None).await.expect("added");
        assert!(!hers.value.already);
        store.delete(&ada, Kind::Preset, "p1", None).await.expect("deleted");
        let new = store.add_preset(&ada, &preset("p4", "same"), None).await.expect("added");
        assert!(!new.value.already);
    })
    .await;
}

#[tokio::test]
async fn two_characters_of_one_name_are_two_b36() {
    on_each(|store| async move {
        let ada = owner("ada");
        let named = |id, content| CharacterRow { name: "X".to_owned(), ..character(id, content) };
        store.add_character(&ada, &named("c1", "v1"), None, None).await.expect("added");
        store.add_character(&ada, &named("c2", "v2"), None, None).await.expect("added");
        let list = store.list(&ada, Kind::Character, &After::default(), 9).await.expect("read");
        assert_eq!(list.iter().map(|c| c.id.as_str()).collect::<Vec<_>>(), ["c1", "c2"]);
    })
    .await;
}

#[tokio::test]
async fn an_attempt_is_answered_once_and_replayed() {
    on_each(|store| async move {
        let ada = owner("ada");
        let first = attempt(&ada, "r1", "add p");
        let done = store.add_preset(&ada, &preset("p", "P"), Some(&first)).await.expect("added");
        assert!(!done.replayed && store.answered(&first).await.expect("read"));
        let again = store.add_preset(&ada, &preset("other", "P2"), Some(&first)).await;
        let again = again.expect("replayed");
        assert!(again.replayed);
        assert_eq!(again.value.row, preset("p", "P"));
        let reused = attempt(&ada, "r1", "something else");
        let refused = store.add_preset(&ada, &preset("q", "Q"), Some(&reused)).await;
        assert!(matches!(refused, Err(WriteError::RequestIdReused(_))));
        let mine = attempt(&owner("bob"), "r1", "something else");
        assert!(store.add_user(&owner("bob"), &user("u"), Some(&mine)).await.is_ok());
    })
    .await;
}

#[tokio::test]
async fn a_refused_attempt_stores_nothing() {
    on_each(|store| async move {
        let ada = owner("ada");
        let attempt = attempt(&ada, "r1", "delete p");
        let refused = store.delete(&ada, Kind::Preset, "p", Some(&attempt)).await;
        assert!(matches!(refused, Err(WriteError::NotFound { kind: "preset", .. })));
        assert!(!store.answered(&attempt).await.expect("read"));
        store.add_preset(&ada, &preset("p", "P"), None).await.expect("added");
        let deleted = store.delete(&ada, Kind::Preset, "p", Some(&attempt)).await.expect("deleted");
        assert!(!deleted.replayed);
        let again = store.delete(&ada, Kind::Preset, "p", Some(&attempt)).await.expect("replayed");
        assert_eq!((again.value, again.replayed), (deleted.value, true));
    })
    .await;
}

#[tokio::test]
async fn old_answers_are_forgotten_and_young_ones_kept() {
    on_each(|store| async move {
        let ada = owner("ada");
        let attempt = attempt(&ada, "r1", "add p");
        store.add_preset(&ada, &preset("p", "P"), Some(&attempt)).await.expect("added");
        let answered_at = Timestamp::from_micros(1_000_000);
        assert_eq!(store.forget(answered_at).await.expect("kept"), 0);
        assert_eq!(store.forget(answered_at.plus_ms(1)).await.expect("forgotten"), 1);
        assert!(!store.answered(&attempt).await.expect("read"));
    })
    .await;
}

#[tokio::test]
async fn concurrent_attempts_with_one_id_write_once() {
    on_each(|store| async move {
        let ada = owner("ada");
        let attempt = attempt(&ada, "r1", "add");
        let add = |id| {
            let (store, ada, attempt) = (store.clone(), ada.clone(), attempt.clone());
            async move { store.add_preset(&ada, &preset(id, id), Some(&attempt)).await.expect("done") }
        };
        let (a, b, c) = tokio::join!(add("a"), add("b"), add("c"));
        let winners = [&a, &b, &c].into_iter().filter(|done| !done.replayed).count();
        assert_eq!(winners, 1);
        assert!(a.value.row == b.value.row && b.value.row == c.value.row);
        let list = store.list(&ada, Kind::Preset, &After::default(), 9).await.expect("read");
        assert_eq!(list.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn lists_go_by_name_and_go_on_after_the_last() {
    on_each(|store| async move {
        let ada = owner("ada");
        for id in ["b", "a", "c"] {
            store.add_user(&ada, &user(id), None).await.expect("added");
        }
        let first = store.list(&ada, Kind::User, &After::default(), 2).await.expect("read");
        assert_eq!(first.iter().map(|u| u.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let after = After { name: first[1].name.clone(), id: first[1].id.clone() };
        let second = store.list(&ada, Kind::User, &after, 2).await.expect("read");
        assert_eq!(second.iter().map(|u| u.id.as_str()).collect::<Vec<_>>(), ["c"]);
    })
    .await;
}

#[tokio::test]
async fn a_deleted_resource_leaves_selections_and_bindings() {
    on_each(|store| async move {
        let (ada, _) = furnished(&store).await;
        let holder = Holder::Character(character("c", "C").id);
        store.set_bindings(&ada, &holder, &worlds("w1 w2"), None, None).await.expect("bound");
        let done = store.delete(&ada, Kind::Character, "c", None).await.expect("deleted");
        assert_eq!(done.value, 3, "two bindings and one selection");
        let stored = store.selection(&ada, &session("s")).await.expect("read").expect("there");
        assert_eq!((stored.selection.character, stored.revision), (None, 2));
        assert!(stored.selection.preset.is_some());
        assert_eq!(store.bindings(&ada, &holder).await.expect("read"), None);
    })
    .await;
}

#[tokio::test]
async fn a_selection_is_replaced_whole_under_its_revision() {
    on_each(|store| async move {
        let (ada, selection) = furnished(&store).await;
        let mut new = selection.clone();
        new.options.greeting_index = 2;
        new.rp.active = true;
        let set = store.set_selection(&ada, &session("s"), &new, Some(1), None).await.expect("set");
        assert_eq!((set.value.selection.clone(), set.value.revision), (new.clone(), 2));
        let read = store.selection(&ada, &session("s")).await.expect("read");
        assert_eq!(read, Some(set.value));
        let stale = store.set_selection(&ada, &session("s"), &selection, Some(1), None).await;
        assert!(matches!(stale, Err(WriteError::EtagMismatch { .. })));
        let same = store.set_selection(&ada, &session("s"), &new, None, None).await.expect("same");
        assert_eq!(same.value.revision, 2, "nothing changed");
    })
    .await;
}

#[tokio::test]
async fn a_selection_names_only_what_is_there() {
    on_each(|store| async move {
        let (ada, selection) = furnished(&store).await;
        let gone = Selection { user: UserId::new("gone").ok(), ..selection.clone() };
        let set = store.set_selection(&ada, &session("s"), &gone, None, None).await;
        assert!(matches!(set, Err(WriteError::NotFound { kind: "user", .. })));
        let unknown = store.set_selection(&ada, &session("x"), &selection, None, None).await;
        assert!(matches!(unknown, Err(WriteError::NotFound { kind: "session", .. })));
    })
    .await;
}

#[tokio::test]
async fn a_fork_copies_its_parent_and_then_goes_its_own_way() {
    on_each(|store| async move {
        let (ada, selection) = furnished(&store).await;
        let parent = Origin::Parent(session("s"));
        let fork = store.init_selection(&ada, &session("f"), &parent).await.expect("copied");
        assert_eq!(fork, selection);
        let empty = Selection::default();
        store.set_selection(&ada, &session("s"), &empty, None, None).await.expect("set");
        let again = store.init_selection(&ada, &session("f"), &Origin::Defaults).await;
        assert_eq!(again.expect("kept"), selection, "a session keeps its first selection");
        let orphan =
            store.init_selection(&ada, &session("o"), &Origin::Parent(session("no"))).await;
        assert_eq!(orphan.expect("the defaults"), Selection::default());
    })
    .await;
}

#[tokio::test]
async fn bindings_are_replaced_whole_under_their_etag() {
    on_each(|store| async move {
        let (ada, selection) = furnished(&store).await;
        let holder = Holder::User(user("u").id);
        let none = bindings_etag(&Worlds::default());
        let set = store.set_bindings(&ada, &holder, &worlds("b a"), Some(&none), None).await;
        assert_eq!(set.expect("bound").value, worlds("b a"));
        let stale = store.set_bindings(&ada, &holder, &worlds("c"), Some(&none), None).await;
        assert!(matches!(stale, Err(WriteError::EtagMismatch { .. })));
        assert_eq!(store.bindings(&ada, &holder).await.expect("read"), Some(worlds("b a")));
        store.set_bindings(&ada, &Holder::Global, &worlds("g"), None, None).await.expect("bound");
        let all = store.bindings_of(&ada, &selection).await.expect("read");
        let expected = Bindings {
            user: worlds("b a").into(),
            global: worlds("g").into(),
            embedded: WorldId::new("book").ok(),
            ..Bindings::default()
        };
        assert_eq!(all, expected);
    })
    .await;
}

#[tokio::test]
async fn a_compile_reads_everything_and_leaves_a_lease() {
    on_each(|store| async move {
        let (ada, selection) = furnished(&store).await;
        let snapshot = store.begin_compile(&ada, &session("s"), &lease("g1", LONG_MS)).await;
        let snapshot = snapshot.expect("begun");
        assert_eq!(snapshot.selection, selection);
        assert_eq!(snapshot.preset, Some(preset("p", "P")));
        assert_eq!(snapshot.character, Some(character("c", "C")));
        assert_eq!(snapshot.user, Some(user("u")));
        assert_eq!(store.peek(&ada, &session("s")).await.expect("read"), Some(snapshot));
        let fresh = store.begin_compile(&ada, &session("new"), &lease("g2", LONG_MS)).await;
        assert_eq!(fresh.expect("begun").selection, Selection::default());
        let kept = store.selection(&ada, &session("new")).await.expect("read");
        assert!(kept.is_some(), "a fresh session keeps the defaults");
    })
    .await;
}

#[tokio::test]
async fn a_running_session_refuses_a_new_selection() {
    on_each(|store| async move {
        let (ada, selection) = furnished(&store).await;
        store.begin_compile(&ada, &session("s"), &lease("g", LONG_MS)).await.expect("begun");
        let set = |new: Selection| {
            let (store, ada) = (store.clone(), ada.clone());
            async move { store.set_selection(&ada, &session("s"), &new, None, None).await }
        };
        refused_as_running(
            set(Selection { preset: None, ..selection.clone() }).await,
            Part::Preset,
        );
        let no_character = Selection { character: None, ..selection.clone() };
        refused_as_running(set(no_character).await, Part::Character);
        refused_as_running(set(Selection { user: None, ..selection.clone() }).await, Part::User);
        let other_worlds = Selection { worlds: worlds("w2"), ..selection.clone() };
        refused_as_running(set(other_worlds).await, Part::Worlds);
        assert!(set(selection).await.is_ok(), "nothing changes");
    })
    .await;
}

#[tokio::test]
async fn a_resource_of_a_running_session_is_not_deleted() {
    on_each(|store| async move {
        let (ada, _) = furnished(&store).await;
        store.begin_compile(&ada, &session("s"), &lease("g", LONG_MS)).await.expect("begun");
        for (kind, id, part) in [
            (Kind::Preset, "p", Part::Preset),
            (Kind::Character, "c", Part::Character),
            (Kind::User, "u", Part::User),
        ] {
            refused_as_running(store.delete(&ada, kind, id, None).await, part);
        }
        store.add_preset(&ada, &preset("free", "F"), None).await.expect("added");
        assert!(store.delete(&ada, Kind::Preset, "free", None).await.is_ok());
    })
    .await;
}

#[tokio::test]
async fn bindings_of_a_running_session_are_not_changed() {
    on_each(|store| async move {
        let (ada, _) = furnished(&store).await;
        store.begin_compile(&ada, &session("s"), &lease("g", LONG_MS)).await.expect("begun");
        for holder in [
            Holder::User(user("u").id),
            Holder::Preset(preset("p", "P").id),
            Holder::Character(character("c", "C").id),
            Holder::Global,
        ] {
            let set = store.set_bindings(&ada, &holder, &worlds("w"), None, None).await;
            refused_as_running(set, Part::Worlds);
            let same = store.set_bindings(&ada, &holder, &worlds(""), None, None).await;
            assert!(same.is_ok(), "nothing changes");
        }
        let bob = owner("bob");
        assert!(store.set_bindings(&bob, &Holder::Global, &worlds("w"), None, None).await.is_ok());
    })
    .await;
}

#[tokio::test]
async fn a_lease_ends_when_its_generation_does() {
    on_each(|store| async move {
        let (ada, _) = furnished(&store).await;
        let session = session("s");
        store.begin_compile(&ada, &session, &lease("old", LONG_MS)).await.expect("begun");
        store.begin_compile(&ada, &session, &lease("new", LONG_MS)).await.expect("replaced");
        store.release(&ada, &session, &lease("old", 0).generation).await.expect("nothing to do");
        refused_as_running(store.delete(&ada, Kind::User, "u", None).await, Part::User);
        store.release(&ada, &session, &lease("new", 0).generation).await.expect("released");
        store.release(&ada, &session, &lease("new", 0).generation).await.expect("again");
        assert!(store.delete(&ada, Kind::User, "u", None).await.is_ok());
    })
    .await;
}

#[tokio::test]
async fn an_expired_lease_guards_nothing() {
    on_each(|store| async move {
        let (ada, _) = furnished(&store).await;
        store.begin_compile(&ada, &session("s"), &lease("g", -1)).await.expect("begun");
        assert!(store.delete(&ada, Kind::User, "u", None).await.is_ok());
    })
    .await;
}

#[tokio::test]
async fn a_lease_and_a_guarded_write_never_both_miss_each_other() {
    on_each(|store| async move {
        let (ada, _) = furnished(&store).await;
        for round in 0..20 {
            let target = format!("t{round}");
            store.add_preset(&ada, &preset(&target, &target), None).await.expect("added");
            let selects = Selection { preset: PresetId::new(&target).ok(), ..Selection::default() };
            let running = session(&format!("r{round}"));
            let origin = Origin::Given(selects);
            store.init_selection(&ada, &running, &origin).await.expect("given");
            let lease = lease("g", LONG_MS);
            let (compiled, deleted) = tokio::join!(
                store.begin_compile(&ada, &running, &lease),
                store.delete(&ada, Kind::Preset, &target, None),
            );
            let saw_it = compiled.expect("begun").preset.is_some();
            assert_eq!(saw_it, deleted.is_err(), "round {round}");
        }
    })
    .await;
}

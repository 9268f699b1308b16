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
    selection::{Part, Selection, Worlds},
};

use super::{
    Attempt, Capacity, CharacterRow, Lease, Origin, PresetRow, Store, UserRow, WriteError,
    postgres::PostgresStore, sqlite::SqliteStore,
};
use crate::{NAME, postgres_migrations, sqlite_migrations};

/// A minute, long enough for every test.
const LONG_MS: i64 = 60_000;

mod books;
mod guard;
mod owners;
mod resources;
mod selections;

/// Runs a test on a fresh SQLite file, and on a fresh PostgreSQL database where there is a server.
async fn on_each<F: Future<Output = ()>>(test: impl Fn(Arc<dyn Store>) -> F) {
    on_each_of(Capacity::default(), test).await;
}

/// The same on stores of another capacity.
async fn on_each_of<F: Future<Output = ()>>(
    capacity: Capacity,
    test: impl Fn(Arc<dyn Store>) -> F,
) {
    let clock = Arc::new(ManualClock::at(Timestamp::from_micros(1_000_000)));
    let (_folder, database) = testing::sqlite(NAME, sqlite_migrations()).await;
    test(Arc::new(SqliteStore::new(database, clock.clone()).with_capacity(capacity))).await;
    let Some(url) = testing::postgres().await else {
        println!("skipped: no PostgreSQL");
        return;
    };
    let database = Postgres::open(&url, NAME, postgres_migrations(), 4).await.expect("opened");
    test(Arc::new(PostgresStore::new(database, clock).with_capacity(capacity))).await;
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
        embedded_world: None,
        revision: 1,
        created_at: Timestamp::from_micros(7),
    }
}

/// The card with a book, whose running copy is begun.
async fn with_book(
    store: &Arc<dyn Store>,
    owner: &Owner,
    card: CharacterRow,
    book: &str,
) -> CharacterRow {
    let world = store.begin_book(owner, &digest(book.as_bytes()), LONG_MS).await.expect("begun");
    CharacterRow { embedded_world: Some(world), ..card }
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

async fn add_user(store: &Arc<dyn Store>, owner: &Owner, id: &str) {
    store.add_users(owner, &[user(id)], None).await.expect("added");
}

/// An owner with preset `p`, character `c`, user `u` and a session `s` that has selected them.
async fn furnished(store: &Arc<dyn Store>) -> (Owner, Selection) {
    let ada = owner("ada");
    store.add_preset(&ada, &preset("p", "P"), None).await.expect("added");
    store.add_character(&ada, &character("c", "C"), Some(b"png"), None).await.expect("added");
    add_user(store, &ada, "u").await;
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

//! Fresh stores and small books.

use host::{database::Postgres, idempotency::Scope, testing};
use kernel::{ChangeId, Digest, EntryId, Owner, RequestId, Subject, TenantId, Timestamp, WorldId};
use lorebook::store::{
    Attempt, Change, NewBook, NewChange, Outcome, SqlStore, Store, postgres::migrations as pg,
    sqlite::migrations as lite,
};
use lorebook_core::{
    Entry, EntryBody, World, WorldSettings,
    change::{Operation, Origin, Patch},
};
use serde_json::{Value, json};
use tempfile::TempDir;

pub async fn sqlite() -> (TempDir, SqlStore) {
    let (folder, sqlite) = testing::sqlite("lorebook", lite()).await;
    (folder, SqlStore::of_sqlite(sqlite))
}

pub async fn postgres() -> Option<SqlStore> {
    let url = testing::postgres().await?;
    let opened = Postgres::open(&url, "lorebook", pg(), 4).await;
    Some(SqlStore::of_postgres(opened.expect("a fresh schema")))
}

pub fn owner(subject: &str) -> Owner {
    let tenant = TenantId::new("acme").expect("an id");
    Owner { tenant, subject: Subject::new(subject).expect("an id") }
}

pub fn ada() -> Owner {
    owner("ada")
}

pub fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

pub fn world_id(name: &str) -> WorldId {
    WorldId::new(name).expect("an id")
}

pub fn change_id(name: &str) -> ChangeId {
    ChangeId::new(name).expect("an id")
}

pub fn entry_id(name: &str) -> EntryId {
    EntryId::new(name).expect("an id")
}

/// A world of authored rows `<id>-0`, `<id>-1`, …
pub fn book(id: &str, rows: i64) -> NewBook {
    let world = World {
        id: world_id(id),
        name: format!("World {id}"),
        enabled: true,
        dynamic_enabled: true,
        content_revision: 1,
        embedded: false,
        settings: WorldSettings { scan_depth: Some(3), ..WorldSettings::default() },
    };
    let row = |uid: i64| {
        let body = EntryBody {
            comment: format!("name {uid}"),
            content: format!("content {uid} \u{0} ü"),
            keys: vec![format!("key{uid}")],
            ..EntryBody::default()
        };
        Entry::authored(entry_id(&format!("{id}-{uid}")), uid, uid, body)
    };
    NewBook { world, entries: (0..rows).map(row).collect(), history: Vec::new() }
}

pub async fn create(store: &dyn Store, owner: &Owner, book: &NewBook) {
    let created = store.create(owner, book, None, at(1)).await.expect("created");
    assert!(!created.replayed);
}

pub fn attempt(owner: &Owner, request_id: &str, request: &str) -> Attempt {
    let id = RequestId::new(request_id).expect("an id");
    Attempt {
        scope: Scope::new(owner, "test/Method", id),
        request: kernel::digest(request.as_bytes()),
    }
}

pub fn patch(fields: Value) -> Patch {
    let Value::Object(fields) = fields else { panic!("an object") };
    Patch::new(fields).expect("a patch")
}

pub fn add(name: &str) -> Operation {
    Operation::Create { fields: patch(json!({ "comment": name, "content": "new" })) }
}

pub fn replace(target: &str, content: &str) -> Operation {
    let fields = patch(json!({ "content": content }));
    Operation::Replace { target: entry_id(target), fields }
}

pub fn new_change(id: &str, world: &str, base: u64, operations: Vec<Operation>) -> NewChange {
    NewChange {
        id: change_id(id),
        world: world_id(world),
        base_revision: base,
        request: request(&operations),
        rationales: operations.iter().map(|operation| operation.verb().to_owned()).collect(),
        operations,
        origin: Origin::Agent,
        summary: "It burned.".into(),
        labels: [("character".to_owned(), "Mira".to_owned())].into(),
    }
}

fn request(operations: &[Operation]) -> Digest {
    kernel::digest(serde_json::to_string(operations).expect("json").as_bytes())
}

pub async fn apply(
    store: &dyn Store,
    id: &str,
    world: &str,
    base: u64,
    operations: Vec<Operation>,
) -> Outcome<Change> {
    let change = new_change(id, world, base, operations);
    store.apply(&ada(), &change, at(2)).await.expect("applied")
}

/// What a prompt would see: contents in order.
pub async fn shown(store: &dyn Store, world: &str) -> Vec<String> {
    let stored = store.book(&ada(), &world_id(world)).await.expect("read").expect("a world");
    let rows = lorebook_core::projection::effective(&stored.entries);
    rows.into_iter().map(|row| row.body.content.clone()).collect()
}

pub async fn revision(store: &dyn Store, world: &str) -> u64 {
    let listed = store.world(&ada(), &world_id(world)).await.expect("read").expect("a world");
    listed.world.content_revision
}

//! The databases' own guards: what no code of ours could do even if it tried.

use host::{database::Postgres, testing};
use lorebook::store::{SqlStore, postgres, sqlite};

use crate::support::{ada, add, apply, book, create};

/// Statements of a change's hand, and of a careless one, and whether the database takes them.
const TRIES: [(&str, bool); 15] = [
    ("update entries set body = 'x', writer = 'change' where entry_id = 'w-0'", false),
    (
        "update entries set body = 'x', writer = 'change', writes = writes + 1 where entry_id = 'w-0'",
        false,
    ),
    ("update entries set body = 'x' where entry_id = 'w-0'", false),
    ("update entries set archived = true", false),
    (
        "update entries set layer = 'dynamic', overlay_action = 'add', writer = 'change' where entry_id = 'w-0'",
        false,
    ),
    (
        "update entries set layer = 'dynamic', overlay_action = 'add', writer = 'user', writes = writes + 1 where entry_id = 'w-0'",
        false,
    ),
    ("delete from entries where entry_id = 'w-0'", false),
    ("update entries set writer = 'user_delete' where entry_id = 'w-0'", false),
    (
        "insert into entries select tenant, subject, world_id, 'n', 9, 9, layer, overlay_action, supersedes_entry_id, archived, locked, 0, body, 'change', 0 from entries where entry_id = 'w-0'",
        false,
    ),
    (
        "insert into entries select tenant, subject, world_id, 'n', 9, 9, layer, overlay_action, supersedes_entry_id, archived, locked, 0, body, 'user', 0 from entries where layer = 'dynamic'",
        false,
    ),
    ("update entries set entry_id = 'n', writer = 'change' where layer = 'dynamic'", false),
    ("update entries set subject = 'bob' where layer = 'dynamic'", false),
    (
        "update entries set entry_revision = 7, writer = 'user', writes = writes + 1 where entry_id = 'w-0'",
        true,
    ),
    ("update entries set entry_revision = 7, writer = 'change' where layer = 'dynamic'", true),
    ("delete from entries where layer = 'dynamic'", true),
];

/// SQLite's way to write over what is there.
const REPLACING: [(&str, bool); 3] = [
    (
        "insert or replace into entries select tenant, subject, world_id, 'w-0', 9, 9, layer, overlay_action, supersedes_entry_id, archived, locked, 0, body, 'change', 0 from entries where layer = 'dynamic'",
        false,
    ),
    (
        "insert or replace into entries select tenant, subject, world_id, 'w-0', 9, 9, layer, overlay_action, supersedes_entry_id, archived, locked, 0, body, 'import', 0 from entries where layer = 'dynamic'",
        false,
    ),
    (
        "update or replace entries set entry_id = 'w-0', writer = 'change' where layer = 'dynamic'",
        false,
    ),
];

async fn prepared(store: &SqlStore) {
    create(store, &ada(), &book("w", 2)).await;
    apply(store, "c1", "w", 1, vec![add("Fire")]).await;
}

/// A cast that SQLite does not need and PostgreSQL does.
fn on_postgres(statement: &str) -> String {
    statement.replace("body = 'x'", "body = 'x'::bytea")
}

#[tokio::test]
async fn sqlite_refuses_a_changes_hand_on_authored_rows() {
    let (_folder, opened) = testing::sqlite("lorebook", sqlite::migrations()).await;
    prepared(&SqlStore::of_sqlite(opened.clone())).await;
    for (statement, allowed) in REPLACING.into_iter().chain(TRIES) {
        let statement = statement.replace("body = 'x'", "body = x'00'");
        let done =
            sqlx::query(sqlx::AssertSqlSafe(statement.clone())).execute(&opened.writer).await;
        assert_eq!(done.is_ok(), allowed, "{statement}: {done:?}");
        if let Err(why) = done {
            assert!(why.to_string().contains("authored_row"), "{why}");
        }
    }
}

#[tokio::test]
async fn postgres_refuses_a_changes_hand_on_authored_rows() {
    let Some(url) = testing::postgres().await else { return };
    let opened = Postgres::open(&url, "lorebook", postgres::migrations(), 2).await.expect("opened");
    prepared(&SqlStore::of_postgres(opened.clone())).await;
    for (statement, allowed) in TRIES {
        let statement = on_postgres(statement);
        let done = sqlx::query(sqlx::AssertSqlSafe(statement.clone())).execute(&opened.pool).await;
        assert_eq!(done.is_ok(), allowed, "{statement}: {done:?}");
        if let Err(why) = done {
            assert!(why.to_string().contains("authored_row"), "{why}");
        }
    }
}

#[tokio::test]
async fn the_delete_of_an_authored_row_orphans_its_overlays_on_both() {
    let (_folder, opened) = testing::sqlite("lorebook", sqlite::migrations()).await;
    let store = SqlStore::of_sqlite(opened.clone());
    overlaid(&store).await;
    for statement in DELETE {
        sqlx::query(statement).execute(&opened.writer).await.expect("the user's own hand");
    }
    orphaned(&store).await;

    let Some(url) = testing::postgres().await else { return };
    let opened = Postgres::open(&url, "lorebook", postgres::migrations(), 2).await.expect("opened");
    let store = SqlStore::of_postgres(opened.clone());
    overlaid(&store).await;
    for statement in DELETE {
        sqlx::query(statement).execute(&opened.pool).await.expect("the user's own hand");
    }
    orphaned(&store).await;
}

const DELETE: [&str; 2] = [
    "update entries set writer = 'user_delete', writes = writes + 1 where entry_id = 'w-0'",
    "delete from entries where entry_id = 'w-0'",
];

async fn overlaid(store: &SqlStore) {
    create(store, &ada(), &book("w", 1)).await;
    apply(store, "c1", "w", 1, vec![crate::support::replace("w-0", "new")]).await;
}

async fn orphaned(store: &SqlStore) {
    use lorebook::store::Store as _;
    let stored = store.book(&ada(), &crate::support::world_id("w")).await.expect("read");
    let rows = stored.expect("a world").entries;
    assert_eq!((rows.len(), rows[0].supersedes_entry_id.clone()), (1, None));
}

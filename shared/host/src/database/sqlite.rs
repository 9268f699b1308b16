//! SQLite: one file for each service, one connection that writes, a pool that only reads.

use std::{path::Path, time::Duration};

use kernel::limits::{SQLITE_READERS_MAX, STORE_WAIT_MS};
use sqlx::{
    Connection as _, SqliteConnection, SqlitePool,
    migrate::Migrator,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use crate::database::{DataFolder, DatabaseError, migration_table};

const ACQUIRE_WITHIN: Duration = Duration::from_millis(STORE_WAIT_MS);
/// Only another program (a backup, a shell) can hold the file; the folder has one owner.
const BUSY_WITHIN: Duration = Duration::from_secs(5);
/// The log file is cut back to this after a checkpoint.
const WAL_BYTES_MAX: &str = "67108864";

/// An open SQLite file.
#[derive(Debug, Clone)]
pub struct Sqlite {
    /// One connection: SQLite has one writer, and its own queue for the lock is unfair.
    /// Begin with `begin_with("begin immediate")`.
    pub writer: SqlitePool,
    pub readers: SqlitePool,
    /// The folder stays ours for as long as its files are open.
    _folder: DataFolder,
}

// === impl Sqlite ===

impl Sqlite {
    /// Opens `<service>.db` and runs what is missing of `migrations`; the folder's lock is held meanwhile.
    pub async fn open(
        folder: &DataFolder,
        service: &'static str,
        mut migrations: Migrator,
    ) -> Result<Self, DatabaseError> {
        let path = folder.file(&format!("{service}.db"))?;
        let open = |source| DatabaseError::Open { service, source };
        let writer = pool(1).connect_with(options(&path)).await.map_err(open)?;
        migrations.dangerous_set_table_name(migration_table(service));
        let migrated = migrations.run(&writer).await;
        migrated.map_err(|source| DatabaseError::Migrate { service, source })?;
        let readers = options(&path).read_only(true).pragma("query_only", "on");
        let readers = pool(SQLITE_READERS_MAX).connect_with(readers).await.map_err(open)?;
        Ok(Self { writer, readers, _folder: folder.clone() })
    }

    /// Ends all connections; the last one folds the log into the file.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

/// Folds what was committed last into each file of the folder, so that a copy of the file holds all of it. What stands
/// in a log that cannot be folded now is safe there, and folded by the next process.
pub(super) async fn fold(folder: &DataFolder) {
    for path in folder.databases() {
        if let Err(error) = fold_one(&path).await {
            tracing::warn!(path = %path.display(), %error, "a log could not be folded into its file");
        }
    }
}

async fn fold_one(path: &Path) -> Result<(), sqlx::Error> {
    let options = options(path).busy_timeout(Duration::ZERO);
    let mut connection = SqliteConnection::connect_with(&options).await?;
    sqlx::query("pragma wal_checkpoint(truncate)").execute(&mut connection).await?;
    connection.close().await
}

fn pool(connections: u32) -> SqlitePoolOptions {
    // A connection to a file does not go away, so it needs no test before use.
    SqlitePoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(ACQUIRE_WITHIN)
        .test_before_acquire(false)
        .max_lifetime(None)
        .after_release(|connection, _| Box::pin(ended(connection)))
}

/// Whether the connection's last transaction has ended. SQLite itself rolls back where the disk is full or fails; the
/// rollback of the driver then finds nothing to roll back and counts one transaction too many for ever: such a
/// connection is closed, and the next one begins anew.
async fn ended(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    if connection.is_in_transaction() {
        // The rollback of a transaction that was dropped waits for its turn before this.
        connection.ping().await?;
    }
    Ok(!connection.is_in_transaction())
}

/// An acknowledged write is on the disk: `synchronous=FULL`.
fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(BUSY_WITHIN)
        .pragma("journal_size_limit", WAL_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use sqlx::Row as _;

    use super::*;
    use crate::{
        database::{Failure, Place, failure},
        testing,
    };

    #[tokio::test]
    async fn writes_are_durable_and_keys_are_kept() {
        let (_folder, store) = testing::sqlite("ledger", testing::migrator(&[])).await;
        for (pragma, expected) in
            [("pragma synchronous", 2), ("pragma foreign_keys", 1), ("pragma busy_timeout", 5_000)]
        {
            let row = sqlx::query(pragma).fetch_one(&store.writer).await.expect("a pragma");
            assert_eq!(row.get::<i64, _>(0), expected, "{pragma}");
        }
        let row = sqlx::query("pragma journal_mode").fetch_one(&store.writer).await.expect("a row");
        assert_eq!(row.get::<String, _>(0), "wal");
    }

    #[tokio::test]
    async fn readers_see_what_the_writer_committed_and_cannot_write() {
        let table = testing::migrator(&["create table t (id integer primary key)"]);
        let (_folder, store) = testing::sqlite("ledger", table).await;
        let insert = "insert into t values (1)";
        sqlx::query(insert).execute(&store.writer).await.expect("written");
        let rows = sqlx::query("select id from t").fetch_all(&store.readers).await.expect("read");
        assert_eq!(rows.len(), 1);
        let refused = sqlx::query("insert into t values (2)").execute(&store.readers).await;
        assert_eq!(failure(&refused.expect_err("read-only")), Failure::Unavailable);
        let taken = sqlx::query(insert).execute(&store.writer).await.expect_err("taken");
        assert_eq!(failure(&taken), Failure::Taken);
    }

    #[tokio::test]
    async fn a_settled_folder_holds_everything_in_its_files() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = DataFolder::open(parent.path()).expect("free");
        let table = testing::migrator(&["create table t (content blob)"]);
        let store = Sqlite::open(&folder, "ledger", table).await.expect("opened");
        let insert = "insert into t values (zeroblob(100000))";
        sqlx::query(insert).execute(&store.writer).await.expect("written");
        let file = parent.path().join("ledger.db");
        let size = |path: &Path| std::fs::metadata(path).expect("a file").len();
        assert!(size(&file) < 100_000, "what was written is in the log");
        Place::Folder(folder).settle().await;
        assert!(size(&file) > 100_000);
        assert_eq!(size(&parent.path().join("ledger.db-wal")), 0);
        sqlx::query(insert).execute(&store.writer).await.expect("still open");
    }

    #[tokio::test]
    async fn a_writer_whose_disk_was_full_writes_again() {
        let table = testing::migrator(&["create table t (content blob)"]);
        let (_folder, store) = testing::sqlite("ledger", table).await;
        let insert = async |bytes: i64| {
            let mut transaction = store.writer.begin_with("begin immediate").await?;
            let insert = sqlx::query("insert into t values (zeroblob($1))").bind(bytes);
            insert.execute(&mut *transaction).await?;
            transaction.commit().await
        };
        sqlx::query("pragma max_page_count = 20").execute(&store.writer).await.expect("set");
        let full = insert(1_000_000).await.expect_err("full");
        assert_eq!(failure(&full), Failure::Unavailable, "{full}");
        insert(1_000_000).await.expect("the next connection has no such bound");
        let rows = sqlx::query("select content from t").fetch_all(&store.readers).await;
        assert_eq!(rows.expect("read").len(), 1);
    }

    #[tokio::test]
    async fn migrations_run_once_and_a_changed_one_is_refused() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = DataFolder::open(parent.path()).expect("free");
        for _ in 0..2 {
            let table = testing::migrator(&["create table t (id integer primary key)"]);
            let store = Sqlite::open(&folder, "ledger", table).await.expect("opened");
            store.close().await;
        }
        let changed = testing::migrator(&["create table t (id text primary key)"]);
        let refused = Sqlite::open(&folder, "ledger", changed).await.expect_err("changed");
        assert_eq!(refused.to_string(), "the ledger database cannot be migrated");
    }
}

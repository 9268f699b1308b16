//! The store in a SQLite file.

use host::database::{DataFolder, DatabaseError, Sqlite};
use sqlx::{SqlitePool, Transaction};

/// One file, one writer.
#[derive(Debug, Clone)]
pub struct SqliteStore(Sqlite);

// === impl SqliteStore ===

impl SqliteStore {
    pub async fn open(folder: &DataFolder) -> Result<Self, DatabaseError> {
        let migrations = sqlx::migrate!("../../../migrations/proposal/sqlite");
        Sqlite::open(folder, "proposal", migrations).await.map(Self)
    }

    fn reader(&self) -> &SqlitePool {
        &self.0.readers
    }

    async fn begin(&self) -> Result<Transaction<'static, sqlx::Sqlite>, sqlx::Error> {
        self.0.writer.begin_with("begin immediate").await
    }
}

super::sql::implement_store!(SqliteStore, sqlx::Sqlite, host::idempotency::sqlite);

//! The loader on SQLite: one writer, and a pool of readers beside it.

use std::sync::Arc;

use host::{database, idempotency::sqlite as answers};
use kernel::Clock;
use sqlx::SqliteConnection as Connection;

use super::{Capacity, StoreError};

#[path = "shared/verbs.rs"]
mod verbs;

type Db = sqlx::Sqlite;
type Row = sqlx::sqlite::SqliteRow;
type Transaction = sqlx::Transaction<'static, Db>;

/// The database's clock, microseconds since 1970.
const NOW: &str = "select cast(unixepoch('subsec') * 1000000 as integer) as now";

/// The loader's SQLite file.
pub struct SqliteStore {
    database: database::Sqlite,
    clock: Arc<dyn Clock>,
    capacity: Capacity,
}

type Backend = SqliteStore;

// === impl SqliteStore ===

impl SqliteStore {
    /// `database` is open and migrated.
    pub fn new(database: database::Sqlite, clock: Arc<dyn Clock>) -> Self {
        Self { database, clock, capacity: Capacity::default() }
    }

    /// The same store with room for less.
    #[must_use]
    pub fn with_capacity(self, capacity: Capacity) -> Self {
        Self { capacity, ..self }
    }

    /// The only transaction that writes, from its first statement on.
    async fn write(&self) -> Result<Transaction, StoreError> {
        self.database.writer.begin_with("begin immediate").await.map_err(StoreError::from)
    }

    /// Sees one instant.
    async fn read(&self) -> Result<Transaction, StoreError> {
        self.database.readers.begin().await.map_err(StoreError::from)
    }
}

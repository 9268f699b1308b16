//! The lorebook on one SQLite file.

use async_trait::async_trait;
use host::{
    database::{DataFolder, DatabaseError, Sqlite},
    idempotency::{Answer, Scope},
};
use kernel::{ChangeId, Owner, Timestamp, WorldId};
use lorebook_core::{Entry, World, change::Record};
use sqlx::migrate::Migrator;

use super::{
    Change, Listed, SqlStore, StoreError, decode,
    rows::{Backend, ChangeRow, Transaction, Writer},
    sql, statements,
};

/// The tables, their guards, and what came after.
pub fn migrations() -> Migrator {
    sqlx::migrate!("../../../migrations/lorebook/sqlite")
}

struct SqliteRows(sqlx::Transaction<'static, sqlx::Sqlite>);

// === impl SqlStore ===

impl SqlStore {
    pub async fn on_sqlite(folder: &DataFolder) -> Result<Self, DatabaseError> {
        Ok(Self::of_sqlite(Sqlite::open(folder, "lorebook", migrations()).await?))
    }

    /// A file that is open and migrated already.
    pub fn of_sqlite(sqlite: Sqlite) -> Self {
        Self::new(sqlite)
    }
}

// === impl Sqlite ===

#[async_trait]
impl Backend for Sqlite {
    async fn reading(&self) -> Result<Transaction, StoreError> {
        Ok(Box::new(SqliteRows(self.readers.begin().await?)))
    }

    async fn writing(&self) -> Result<Transaction, StoreError> {
        Ok(Box::new(SqliteRows(self.writer.begin_with("begin immediate").await?)))
    }
}

sql::rows!(SqliteRows, sqlx::Sqlite, host::idempotency::sqlite, "");

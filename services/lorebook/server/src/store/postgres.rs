//! The lorebook on one PostgreSQL schema.

use async_trait::async_trait;
use host::{
    database::{DatabaseError, Postgres, PostgresUrl},
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
    sqlx::migrate!("../../../migrations/lorebook/postgres")
}

/// Reads of several statements see one instant.
const ONE_INSTANT: &str = "begin isolation level repeatable read read only";

struct PostgresRows(sqlx::Transaction<'static, sqlx::Postgres>);

// === impl SqlStore ===

impl SqlStore {
    pub async fn on_postgres(url: &PostgresUrl, connections: u32) -> Result<Self, DatabaseError> {
        Ok(Self::of_postgres(Postgres::open(url, "lorebook", migrations(), connections).await?))
    }

    /// A schema that is open and migrated already.
    pub fn of_postgres(postgres: Postgres) -> Self {
        Self::new(postgres)
    }
}

// === impl Postgres ===

#[async_trait]
impl Backend for Postgres {
    async fn reading(&self) -> Result<Transaction, StoreError> {
        Ok(Box::new(PostgresRows(self.pool.begin_with(ONE_INSTANT).await?)))
    }

    async fn writing(&self) -> Result<Transaction, StoreError> {
        Ok(Box::new(PostgresRows(self.pool.begin().await?)))
    }
}

sql::rows!(PostgresRows, sqlx::Postgres, host::idempotency::postgres, "for update of w");

//! The loader on PostgreSQL: its own schema, any number of replicas.

use std::sync::Arc;

use host::{database, idempotency::postgres as answers};
use kernel::Clock;
use sqlx::PgConnection as Connection;

use super::{Capacity, StoreError};

#[path = "shared/verbs.rs"]
#[expect(clippy::duplicate_mod, reason = "one text compiled for each database")]
mod verbs;

type Db = sqlx::Postgres;
type Row = sqlx::postgres::PgRow;
type Transaction = sqlx::Transaction<'static, Db>;

/// The database's clock, microseconds since 1970.
const NOW: &str = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now";

/// The loader's PostgreSQL schema.
pub struct PostgresStore {
    database: database::Postgres,
    clock: Arc<dyn Clock>,
    capacity: Capacity,
}

type Backend = PostgresStore;

// === impl PostgresStore ===

impl PostgresStore {
    /// `database` is open and migrated.
    pub fn new(database: database::Postgres, clock: Arc<dyn Clock>) -> Self {
        Self { database, clock, capacity: Capacity::default() }
    }

    /// The same store with room for less.
    #[must_use]
    pub fn with_capacity(self, capacity: Capacity) -> Self {
        Self { capacity, ..self }
    }

    /// READ COMMITTED: what matters is locked by the owner's row.
    async fn write(&self) -> Result<Transaction, StoreError> {
        self.database.pool.begin().await.map_err(StoreError::from)
    }

    /// Sees one instant.
    async fn read(&self) -> Result<Transaction, StoreError> {
        const BEGIN: &str = "begin isolation level repeatable read, read only";
        self.database.pool.begin_with(BEGIN).await.map_err(StoreError::from)
    }
}

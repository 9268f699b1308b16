//! The store in a PostgreSQL schema.

use host::database::{DatabaseError, Postgres, PostgresUrl};
use sqlx::{PgPool, Transaction};

/// One schema, any number of replicas.
#[derive(Debug, Clone)]
pub struct PostgresStore(Postgres);

// === impl PostgresStore ===

impl PostgresStore {
    pub async fn open(url: &PostgresUrl, connections: u32) -> Result<Self, DatabaseError> {
        let migrations = sqlx::migrate!("../../../migrations/proposal/postgres");
        Postgres::open(url, "proposal", migrations, connections).await.map(Self)
    }

    fn reader(&self) -> &PgPool {
        &self.0.pool
    }

    async fn begin(&self) -> Result<Transaction<'static, sqlx::Postgres>, sqlx::Error> {
        self.0.pool.begin().await
    }
}

super::sql::implement_store!(PostgresStore, sqlx::Postgres, host::idempotency::postgres);

//! The ledger on PostgreSQL: an append is one transaction whose primary keys decide races.

mod append;

use std::sync::Arc;

use async_trait::async_trait;
use host::idempotency::{self, Answer, Scope};
use kernel::Clock;
use sqlx::{
    PgPool, Postgres,
    postgres::{PgArguments, PgRow},
    query::Query,
};

use super::{
    Append, AppendError, StoreError,
    rows::unavailable,
    sql::{self, Dialect},
    statement::{Argument, Statement},
    verbs::Database,
};

/// The ledger's PostgreSQL schema.
pub struct PostgresStore {
    pool: PgPool,
    /// For what is only told, never compared between replicas.
    clock: Arc<dyn Clock>,
}

// === impl PostgresStore ===

impl PostgresStore {
    /// Takes an opened and migrated database.
    pub fn new(database: host::database::Postgres, clock: Arc<dyn Clock>) -> Self {
        Self { pool: database.pool, clock }
    }
}

#[async_trait]
impl Database for PostgresStore {
    type Row = PgRow;

    const DIALECT: Dialect = sql::POSTGRES;

    async fn read(&self, statement: Statement) -> Result<Vec<PgRow>, StoreError> {
        bound(statement).fetch_all(&self.pool).await.map_err(unavailable)
    }

    async fn write(&self, statement: Statement) -> Result<Vec<PgRow>, StoreError> {
        bound(statement).fetch_all(&self.pool).await.map_err(unavailable)
    }

    async fn append(&self, append: Append) -> Result<(), AppendError> {
        append::append(&self.pool, &append, self.clock.now()).await
    }

    async fn answer(&self, scope: &Scope) -> Result<Option<Answer>, StoreError> {
        let mut connection = self.pool.acquire().await.map_err(unavailable)?;
        idempotency::postgres::find(&mut connection, scope).await.map_err(unavailable)
    }

    fn now(&self) -> Option<i64> {
        None
    }

    fn epoch(&self) -> &str {
        ""
    }
}

fn bound(statement: Statement) -> Query<'static, Postgres, PgArguments> {
    let arguments = statement.arguments.into_iter();
    arguments.fold(sqlx::query(statement.sql), |query, argument| match argument {
        Argument::Text(text) => query.bind(text),
        Argument::Number(number) => query.bind(number),
        Argument::Bytes(bytes) => query.bind(bytes),
        Argument::Numbers(numbers) => query.bind(numbers),
        Argument::Texts(texts) => query.bind(texts),
    })
}

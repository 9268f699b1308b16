//! The ledger on SQLite: one writer task with group commit, and a pool of readers beside it.

mod group;
mod writer;

use std::sync::Arc;

use async_trait::async_trait;
use host::idempotency::{self, Answer, Scope};
use kernel::{Clock, limits};
use sqlx::{
    Sqlite, SqlitePool,
    query::Query,
    sqlite::{SqliteArguments, SqliteRow},
};
use tokio::sync::{mpsc, oneshot};

use self::writer::{Write, Writer};
use super::{
    Append, AppendError, StoreError,
    rows::unavailable,
    sql::{self, Dialect},
    statement::{Argument, Statement},
    verbs::Database,
};

/// The ledger's SQLite file.
pub struct SqliteStore {
    readers: SqlitePool,
    writer: mpsc::Sender<Write>,
    /// This process: leases of another one are dead.
    epoch: String,
    clock: Arc<dyn Clock>,
    /// Holds the data folder for as long as the store lives.
    _database: host::database::Sqlite,
}

// === impl SqliteStore ===

impl SqliteStore {
    /// Starts the writer on an opened and migrated database.
    pub async fn start(
        database: host::database::Sqlite,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        let (sender, waiting) = mpsc::channel(limits::WRITER_QUEUE_MAX);
        let epoch = clock.fresh().simple().to_string();
        let connections = database.writer.clone();
        let connection = Some(connections.acquire().await.map_err(unavailable)?);
        let (epoch_too, clock_too) = (epoch.clone(), clock.clone());
        let writer =
            Writer { connections, connection, waiting, epoch: epoch_too, clock: clock_too };
        tokio::spawn(writer.run());
        let readers = database.readers.clone();
        Ok(Self { readers, writer: sender, epoch, clock, _database: database })
    }
}

#[async_trait]
impl Database for SqliteStore {
    type Row = SqliteRow;

    const DIALECT: Dialect = sql::SQLITE;

    async fn read(&self, statement: Statement) -> Result<Vec<SqliteRow>, StoreError> {
        bound(statement).fetch_all(&self.readers).await.map_err(unavailable)
    }

    /// Hands the statement to the writer and waits for its commit.
    async fn write(&self, statement: Statement) -> Result<Vec<SqliteRow>, StoreError> {
        let (answer, answered) = oneshot::channel();
        self.writer.send(Write::Statement(statement, answer)).await.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }

    async fn append(&self, append: Append) -> Result<(), AppendError> {
        let (answer, answered) = oneshot::channel();
        self.writer.try_send(Write::Append(Box::new(append), answer)).map_err(
            |error| match error {
                mpsc::error::TrySendError::Full(_) => AppendError::Overloaded,
                mpsc::error::TrySendError::Closed(_) => gone().into(),
            },
        )?;
        answered.await.map_err(|_| gone())?
    }

    async fn answer(&self, scope: &Scope) -> Result<Option<Answer>, StoreError> {
        let mut connection = self.readers.acquire().await.map_err(unavailable)?;
        idempotency::sqlite::find(&mut connection, scope).await.map_err(unavailable)
    }

    fn now(&self) -> Option<i64> {
        Some(self.clock.now().micros())
    }

    fn epoch(&self) -> &str {
        &self.epoch
    }
}

fn gone() -> StoreError {
    unavailable(sqlx::Error::WorkerCrashed)
}

fn bound(statement: Statement) -> Query<'static, Sqlite, SqliteArguments> {
    let json = |list: serde_json::Value| list.to_string();
    let arguments = statement.arguments.into_iter();
    arguments.fold(sqlx::query(statement.sql), |query, argument| match argument {
        Argument::Text(text) => query.bind(text),
        Argument::Number(number) => query.bind(number),
        Argument::Bytes(bytes) => query.bind(bytes),
        Argument::Numbers(numbers) => query.bind(json(numbers.into())),
        Argument::Texts(texts) => query.bind(json(texts.into())),
    })
}

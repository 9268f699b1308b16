//! The one writer: takes what waits, decides it in memory, and commits it as one transaction.
//!
//! Cost: a group of any size is at most three look-ups, one statement per table that it touches, and one
//! durable commit. A member that loses its race is answered alone; if a statement fails, the group is
//! tried again one by one, so that only the member at fault fails.

use std::sync::Arc;

use kernel::{Clock, limits};
use sqlx::{Connection, Sqlite, SqlitePool, pool::PoolConnection, sqlite::SqliteRow};
use tokio::sync::{mpsc, oneshot};

use super::{bound, group};
use crate::store::{Append, AppendError, StoreError, rows::unavailable, statement::Statement};

/// What a caller hands to the writer, with the way to answer it.
pub(super) enum Write {
    Append(Box<Append>, oneshot::Sender<Result<(), AppendError>>),
    /// One statement, atomic by itself; what it returns goes to the caller.
    Statement(Statement, oneshot::Sender<Result<Vec<SqliteRow>, StoreError>>),
}

/// The writer's own belongings.
pub(super) struct Writer {
    /// Has one connection, of which `connection` is a loan.
    pub connections: SqlitePool,
    /// Given back after a failure, so that the pool looks whether it can still be used.
    pub connection: Option<PoolConnection<Sqlite>>,
    pub waiting: mpsc::Receiver<Write>,
    pub epoch: String,
    pub clock: Arc<dyn Clock>,
}

/// What became of each append, and what each statement returned.
type Written = (group::Verdicts, Vec<Vec<SqliteRow>>);

// === impl Writer ===

impl Writer {
    /// Runs until every sender is gone.
    pub(super) async fn run(mut self) {
        let mut group = Vec::new();
        while self.waiting.recv_many(&mut group, limits::GROUP_COMMIT_MAX).await > 0 {
            // Those whom the last group answered are about to write again: their turn, and one commit less.
            tokio::task::yield_now().await;
            while group.len() < limits::GROUP_COMMIT_MAX
                && let Ok(write) = self.waiting.try_recv()
            {
                group.push(write);
            }
            if group.len() == 1 || !self.commit(&mut group).await {
                for write in group.drain(..) {
                    self.commit_alone(write).await;
                }
            }
            group.clear();
        }
    }

    /// Commits the whole group and answers it; false, with nobody answered, if it must be taken apart.
    async fn commit(&mut self, group: &mut Vec<Write>) -> bool {
        let Ok((verdicts, rows)) = self.transact(group).await else { return false };
        let (mut verdicts, mut rows) = (verdicts.into_iter(), rows.into_iter());
        for write in group.drain(..) {
            match write {
                Write::Append(_, answer) => {
                    let _ = answer.send(verdicts.next().unwrap_or(Ok(())));
                }
                Write::Statement(_, answer) => {
                    let _ = answer.send(Ok(rows.next().unwrap_or_default()));
                }
            }
        }
        true
    }

    async fn commit_alone(&mut self, write: Write) {
        let outcome = self.transact(std::slice::from_ref(&write)).await.map_err(unavailable);
        match (write, outcome) {
            (Write::Append(_, answer), Ok((mut verdicts, _))) => {
                let _ = answer.send(verdicts.pop().unwrap_or(Ok(())));
            }
            (Write::Append(_, answer), Err(error)) => {
                let _ = answer.send(Err(error.into()));
            }
            (Write::Statement(_, answer), outcome) => {
                let _ = answer.send(outcome.map(|(_, mut rows)| rows.pop().unwrap_or_default()));
            }
        }
    }

    async fn transact(&mut self, group: &[Write]) -> Result<Written, sqlx::Error> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connections.acquire().await?,
        };
        let context = group::Context { epoch: &self.epoch, now: self.clock.now() };
        let written = written(&mut connection, group, &context).await?;
        self.connection = Some(connection);
        Ok(written)
    }
}

/// One transaction.
async fn written(
    connection: &mut PoolConnection<Sqlite>,
    group: &[Write],
    context: &group::Context<'_>,
) -> Result<Written, sqlx::Error> {
    let mut transaction = connection.begin_with("begin immediate").await?;
    let appends: Vec<&Append> = group
        .iter()
        .filter_map(|write| match write {
            Write::Append(append, _) => Some(append.as_ref()),
            Write::Statement(..) => None,
        })
        .collect();
    let verdicts = group::write(&mut transaction, &appends, context).await?;
    let mut rows = Vec::new();
    for write in group {
        if let Write::Statement(statement, _) = write {
            rows.push(bound(statement.clone()).fetch_all(&mut *transaction).await?);
        }
    }
    transaction.commit().await?;
    Ok((verdicts, rows))
}

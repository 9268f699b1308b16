//! The verbs of the store; this text is compiled for each database, which says what differs.

use async_trait::async_trait;
use host::idempotency::{self, Answer};
use kernel::{Owner, Timestamp};
use sqlx::{Row as _, query::Query};

use super::{Backend, Connection, Db, NOW, Row, Transaction, answers};
use crate::store::{AnswerStore, Attempt, Done, StoreError, WriteError};

mod bindings;
mod books;
mod defaults;
mod deletions;
mod leases;
mod names;
mod resources;
mod selections;
mod templates;

/// Locks the owner's row until the transaction ends, and makes it if need be.
const LOCK_OWNER: &str = "
    insert into owners (tenant, subject)
    values ($1, $2)
    on conflict (tenant, subject) do update set subject = excluded.subject";

/// A write that holds its owner's row until it ends.
struct Write<'a> {
    tx: Transaction,
    owner: &'a Owner,
    attempt: Option<&'a Attempt>,
    now: Timestamp,
}

// === impl Backend ===

impl Backend {
    /// Begins a write, with what its attempt was answered with before.
    async fn begin<'a>(
        &self,
        owner: &'a Owner,
        attempt: Option<&'a Attempt>,
    ) -> Result<(Write<'a>, Option<String>), WriteError> {
        let mut tx = self.write().await?;
        of_owner(LOCK_OWNER, owner).execute(&mut *tx).await.map_err(StoreError::from)?;
        let answered = answered(&mut tx, attempt).await?;
        Ok((Write { tx, owner, attempt, now: self.clock.now() }, answered))
    }
}

#[async_trait]
impl AnswerStore for Backend {
    async fn answered(&self, attempt: &Attempt) -> Result<bool, WriteError> {
        Ok(answered(&mut *self.read().await?, Some(attempt)).await?.is_some())
    }

    async fn forget(&self, before: Timestamp) -> Result<u64, StoreError> {
        let mut tx = self.write().await?;
        let forgotten = answers::forget(&mut tx, before).await?;
        deletions::forget(&mut tx, before).await?;
        tx.commit().await?;
        Ok(forgotten)
    }
}

// === impl Write ===

impl Write<'_> {
    /// Keeps what the attempt is answered with, and commits. The owner's row is locked, so nobody can
    /// have been first.
    async fn done<T>(
        mut self,
        reference: impl Into<String>,
        value: T,
    ) -> Result<Done<T>, WriteError> {
        if let Some(attempt) = self.attempt {
            let reference = reference.into().into_bytes();
            let answer = Answer { request: attempt.request, reference };
            let stored = answers::store(&mut self.tx, &attempt.scope, &answer, self.now).await;
            stored.map_err(StoreError::from)?;
        }
        self.commit().await?;
        Ok(Done { value, replayed: false })
    }

    async fn commit(self) -> Result<(), StoreError> {
        self.tx.commit().await.map_err(StoreError::from)
    }
}

/// A statement whose first two arguments are the owner.
fn of_owner(
    sql: &'static str,
    owner: &Owner,
) -> Query<'static, Db, <Db as sqlx::Database>::Arguments> {
    sqlx::query(sql).bind(owner.tenant.as_str().to_owned()).bind(owner.subject.as_str().to_owned())
}

/// The reference that this attempt was answered with before.
async fn answered(
    tx: &mut Connection,
    attempt: Option<&Attempt>,
) -> Result<Option<String>, WriteError> {
    let Some(attempt) = attempt else { return Ok(None) };
    let stored = answers::find(tx, &attempt.scope).await.map_err(StoreError::from)?;
    let reference = idempotency::decide(stored, &attempt.scope, &attempt.request)?;
    reference
        .map(String::from_utf8)
        .transpose()
        .map_err(|error| inconsistent("answers", error).into())
}

/// A number that an attempt was answered with.
fn number(reference: &str) -> Result<u64, StoreError> {
    reference.parse().map_err(|error| inconsistent("answers", error))
}

/// Refuses one more of what the owner has `max` of.
async fn check_room(
    tx: &mut Connection,
    owner: &Owner,
    count: &'static str,
    what: &'static str,
    max: usize,
) -> Result<(), WriteError> {
    let row = of_owner(count, owner).fetch_one(tx).await.map_err(StoreError::from)?;
    let count: i64 = row.try_get("count").map_err(StoreError::from)?;
    match usize::try_from(count) {
        Ok(count) if count < max => Ok(()),
        _ => Err(WriteError::Full { what, max }),
    }
}

fn inconsistent(table: &'static str, problem: impl std::fmt::Display) -> StoreError {
    StoreError::Inconsistent { table, problem: problem.to_string() }
}

/// A text column that holds a valid value.
fn parsed<T, E: std::fmt::Display>(
    row: &Row,
    table: &'static str,
    column: &'static str,
    parse: impl FnOnce(String) -> Result<T, E>,
) -> Result<T, StoreError> {
    parse(row.try_get(column)?).map_err(|error| inconsistent(table, format!("{column}: {error}")))
}

fn revision(row: &Row, table: &'static str) -> Result<u64, StoreError> {
    let revision: i64 = row.try_get("revision")?;
    u64::try_from(revision).map_err(|error| inconsistent(table, error))
}

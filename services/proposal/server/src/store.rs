//! Where evaluations and changesets are kept: one trait in the service's verbs, each verb one transaction.

#[cfg(test)]
mod contract;
mod postgres;
mod rows;
mod sql;
mod sqlite;
mod statements;

use async_trait::async_trait;
use host::{
    database::{self, DatabaseError, Failure, Place},
    idempotency::{Answer, Scope},
};
use kernel::{ChangesetId, EvaluationId, Owner, SessionId, Timestamp, WorldId};
use proposal_core::{Changeset, Evaluation, JudgedTurn};
use std::sync::Arc;

pub use postgres::PostgresStore;
pub use sqlite::SqliteStore;

#[async_trait]
pub trait Store: Send + Sync + 'static {
    async fn evaluation(&self, owner: &Owner, turn: &JudgedTurn) -> Found<Evaluation>;

    /// The evaluation of a turn that was judged last, whatever its alternative and attempt.
    async fn newest_evaluation(
        &self,
        owner: &Owner,
        session: &SessionId,
        turn_seq: u64,
    ) -> Found<Evaluation>;

    async fn changesets_of(
        &self,
        owner: &Owner,
        evaluation: &EvaluationId,
    ) -> Result<Vec<Changeset>, StoreError>;

    /// An evaluation with all that it stages, or nothing of it: false when the attempt was stored before.
    async fn stage(
        &self,
        evaluation: &Evaluation,
        changesets: &[Changeset],
    ) -> Result<bool, StoreError>;

    /// The judged turn had moved: its pending changesets are STALE, its outcome is TURN_MOVED.
    async fn turn_moved(
        &self,
        owner: &Owner,
        evaluation: &EvaluationId,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// The source was edited or retracted: its pending changesets are STALE.
    async fn source_changed(
        &self,
        owner: &Owner,
        session: &SessionId,
        turn_seq: u64,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// The session is gone: pending changesets are STALE, all lose their ids and keep their labels, and the
    /// evaluations go.
    async fn source_deleted(
        &self,
        owner: &Owner,
        session: &SessionId,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    async fn changeset(&self, owner: &Owner, id: &ChangesetId) -> Found<Changeset>;

    /// Newest first, from behind `after`.
    async fn list(
        &self,
        owner: &Owner,
        which: &Which,
        after: Option<&Position>,
        limit: usize,
    ) -> Result<Vec<Changeset>, StoreError>;

    /// Applications of all owners that began before `before` and have not ended, the oldest first.
    async fn unfinished(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<Changeset>, StoreError>;

    async fn answer(&self, scope: &Scope) -> Found<Answer>;

    /// Stores the next version of a changeset, if the stored one is the version before it, together with
    /// the answer of the call that asked for it.
    async fn replace(
        &self,
        next: &Changeset,
        answer: Option<(&Scope, &Answer)>,
        now: Timestamp,
    ) -> Result<Replaced, StoreError>;

    /// Stores the answer of a call that changed nothing here: false when it was answered before.
    async fn store_answer(
        &self,
        scope: &Scope,
        answer: &Answer,
        now: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Forgets answers given before `before`.
    async fn forget(&self, before: Timestamp) -> Result<(), StoreError>;
}

pub type Found<T> = Result<Option<T>, StoreError>;

/// What became of a compare-and-swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Replaced {
    Done,
    /// Another version is stored; nothing changed. Read again, decide again.
    Moved,
    /// The call was answered before; nothing changed.
    Answered,
}

/// What a list holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Which {
    pub state: WhichState,
    pub world: Option<WorldId>,
    pub session: Option<SessionId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhichState {
    #[default]
    All,
    /// PENDING, APPLYING, STALE.
    Open,
    Decided,
}

/// A place in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    pub created_at: Timestamp,
    pub id: ChangesetId,
}

/// A statement that failed. What it means is read off by [`StoreError::failure`].
#[derive(Debug, thiserror::Error)]
#[error("the proposal store failed")]
pub struct StoreError(#[from] sqlx::Error);

/// Opens the store that the place names, migrated.
pub async fn open(place: &Place) -> Result<Arc<dyn Store>, DatabaseError> {
    Ok(match place {
        Place::Folder(folder) => Arc::new(SqliteStore::open(folder).await?),
        Place::Postgres { url, connections } => {
            Arc::new(PostgresStore::open(url, *connections).await?)
        }
    })
}

// === impl StoreError ===

impl StoreError {
    pub fn failure(&self) -> Failure {
        database::failure(&self.0)
    }
}

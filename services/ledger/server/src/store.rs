//! What the ledger asks of a database, in its own verbs; each verb is one transaction.
//!
//! `append` *is* the transaction: events, the generation's lease, the request's record, jobs
//! and the stored answer land together or not at all. Two implementations keep this contract, and
//! `contract` runs the same suite over both.

use std::sync::Arc;

use async_trait::async_trait;
use host::idempotency::{Answer, Scope};
use kernel::{Digest, GenerationId, JobId, Owner, SessionId, Timestamp};
use ledger_core::{
    Settings,
    event::{Kind, Record},
};

pub mod postgres;
pub mod sqlite;

mod rows;
mod sql;
mod statement;
mod verbs;
mod write;

pub use write::{Append, GenerationLease, GenerationWrite, Listed, NewJob, NewSession};

#[cfg(test)]
mod contract;

/// A session as its row tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    pub session: SessionId,
    pub title: String,
    pub created_at: Timestamp,
    pub head: u64,
}

/// A session as lists show it, without its events: what [`Listed`] was with its newest ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSession {
    pub row: SessionRow,
    pub settings: Settings,
    pub turn_count: u64,
    pub active_generation: Option<GenerationId>,
}

/// A session whose creation is not finished: the loader has not answered, or the process died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingSession {
    pub owner: Owner,
    pub session: SessionId,
    pub recorded_at: Timestamp,
}

/// The record beside a stamp; `record` is JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRow {
    pub offset: u64,
    pub record: Vec<u8>,
}

/// A generation as its row tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GenerationRow {
    pub owner: Owner,
    pub session: SessionId,
    pub generation: GenerationId,
    pub reply_seq: u64,
    pub fence: u64,
    pub running: bool,
    /// Its lease has run out, or its process is gone.
    pub dead: bool,
}

/// A claim on a leased job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobLease {
    pub job: JobId,
    pub fence: u64,
}

/// A leased job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRow {
    pub owner: Owner,
    pub session: SessionId,
    pub lease: JobLease,
    pub attempt: u32,
    pub work: Vec<u8>,
}

/// Where a job stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobState {
    /// Ready, or leased by somebody.
    Waiting,
    Parked {
        failure: String,
    },
    /// Done: its row is gone.
    Finished,
}

/// A place in a list that goes from new to old.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SessionCursor {
    pub created_at: i64,
    pub session: String,
}

/// Why an append did not happen. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Another append came first.
    #[error("the head has moved")]
    HeadMoved,
    /// This request id was stored by somebody meanwhile: look its answer up.
    #[error("the request id was answered meanwhile")]
    Answered,
    #[error("a generation is in progress")]
    GenerationInProgress,
    /// The generation or the job is held under a newer fence, or is closed.
    #[error("the lease is lost")]
    LeaseLost,
    #[error("the session exists already")]
    SessionExists,
    #[error("too many writes are waiting")]
    Overloaded,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The database did not do its part.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// Nothing happened, or nobody can say whether it did: a retry with the same request id tells.
    #[error("the database is unavailable")]
    Unavailable(#[source] Arc<sqlx::Error>),
    /// Others kept writing first; nothing happened.
    #[error("too many writers of one session")]
    Contended,
    /// An event's row does not hold what was written.
    #[error("the event at offset {offset}: {problem}")]
    Damaged { session: SessionId, offset: u64, problem: String },
    /// A row does not hold what this build wrote.
    #[error("{table} holds a row that cannot be read: {problem}")]
    Inconsistent { table: &'static str, problem: String },
}

/// The ledger's database.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Records that a session is being created; does nothing if it is already known.
    async fn begin_session(&self, pending: &PendingSession) -> Result<(), StoreError>;
    /// Pending sessions recorded before `before`, oldest first, of every owner.
    async fn pending_sessions(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<PendingSession>, StoreError>;
    /// Forgets a pending session that will never be finished.
    async fn drop_pending(&self, owner: &Owner, session: &SessionId) -> Result<(), StoreError>;
    /// A live session of this owner.
    async fn session(
        &self,
        owner: &Owner,
        session: &SessionId,
    ) -> Result<Option<SessionRow>, StoreError>;
    /// Live sessions of this owner, newest first, strictly after the cursor.
    async fn sessions(
        &self,
        owner: &Owner,
        after: Option<&SessionCursor>,
        limit: u32,
    ) -> Result<Vec<ListedSession>, StoreError>;

    /// All of the append, or nothing of it.
    async fn append(&self, append: Append) -> Result<(), AppendError>;
    /// Events from an offset on, in order; ownership is checked by the caller through `session`.
    async fn events(
        &self,
        owner: &Owner,
        session: &SessionId,
        from: u64,
        limit: u32,
    ) -> Result<Vec<Record>, StoreError>;
    /// The named events; absent ones are left out.
    async fn events_at(
        &self,
        owner: &Owner,
        session: &SessionId,
        offsets: &[u64],
    ) -> Result<Vec<Record>, StoreError>;

    /// Events of one kind after an offset, in order.
    async fn events_of(
        &self,
        owner: &Owner,
        session: &SessionId,
        kind: Kind,
        after: u64,
    ) -> Result<Vec<Record>, StoreError>;

    /// The newest snapshot, if any: its offset and its bytes.
    async fn snapshot(
        &self,
        owner: &Owner,
        session: &SessionId,
    ) -> Result<Option<(u64, Vec<u8>)>, StoreError>;
    async fn put_snapshot(
        &self,
        owner: &Owner,
        session: &SessionId,
        offset: u64,
        state: &[u8],
    ) -> Result<(), StoreError>;

    async fn request(
        &self,
        owner: &Owner,
        session: &SessionId,
        offset: u64,
    ) -> Result<Option<RequestRow>, StoreError>;
    /// The newest request record before an offset.
    async fn request_before(
        &self,
        owner: &Owner,
        session: &SessionId,
        offset: u64,
    ) -> Result<Option<RequestRow>, StoreError>;
    /// Request records after an offset.
    async fn requests(
        &self,
        owner: &Owner,
        session: &SessionId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<RequestRow>, StoreError>;

    /// Texts by digest; absent ones are left out.
    async fn texts(
        &self,
        owner: &Owner,
        digests: &[Digest],
    ) -> Result<Vec<(Digest, String)>, StoreError>;

    async fn generation(
        &self,
        owner: &Owner,
        generation: &GenerationId,
    ) -> Result<Option<GenerationRow>, StoreError>;
    /// The session's open generation, dead or alive.
    async fn running(
        &self,
        owner: &Owner,
        session: &SessionId,
    ) -> Result<Option<GenerationRow>, StoreError>;
    /// Extends a lease; false if it is lost.
    async fn renew(
        &self,
        owner: &Owner,
        generation: &GenerationId,
        fence: u64,
        lease_ms: i64,
    ) -> Result<bool, StoreError>;
    /// Keeps more of a running reply's text.
    async fn put_chunk(
        &self,
        owner: &Owner,
        generation: &GenerationId,
        fence: u64,
        byte_offset: u64,
        text: &str,
    ) -> Result<(), StoreError>;
    /// The text kept under a fence so far.
    async fn chunks(
        &self,
        owner: &Owner,
        generation: &GenerationId,
        fence: u64,
    ) -> Result<String, StoreError>;

    /// Leases ready jobs: the oldest of each session, tenants in turn.
    async fn lease_jobs(
        &self,
        worker: &str,
        limit: u32,
        lease_ms: i64,
    ) -> Result<Vec<JobRow>, StoreError>;
    /// Puts a leased job back after a failure, ready again `delay_ms` from now, or parked. False if lost.
    async fn release_job(
        &self,
        owner: &Owner,
        lease: &JobLease,
        failure: &str,
        retry_after_ms: Option<i64>,
    ) -> Result<bool, StoreError>;
    async fn job(&self, owner: &Owner, job: &JobId) -> Result<JobState, StoreError>;
    /// The leased job's row, if the lease is still good.
    async fn leased(&self, owner: &Owner, lease: &JobLease) -> Result<Option<JobRow>, StoreError>;

    /// The stored answer to an attempt.
    async fn answer(&self, scope: &Scope) -> Result<Option<Answer>, StoreError>;
}

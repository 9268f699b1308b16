//! The ledger on SQLite: one writer task with group commit, and a pool of readers beside it.

mod group;
mod writer;

use std::sync::Arc;

use async_trait::async_trait;
use host::idempotency::{Answer, Scope};
use kernel::{Clock, Digest, GenerationId, JobId, Owner, SessionId, Timestamp, limits};
use ledger_core::event::{Kind, Record};
use sqlx::{SqlitePool, sqlite::SqliteRow};
use tokio::sync::{mpsc, oneshot};

use self::writer::{Argument, Statement, Write, Writer};
use super::{
    Append, AppendError, GenerationRow, JobLease, JobRow, JobState, PendingSession, RequestRow,
    SessionCursor, SessionRow, Store, StoreError,
    rows::{Columns, unavailable},
    sql::{self, signed},
};

/// The ledger's SQLite file.
pub struct SqliteStore {
    read: SqlitePool,
    writer: mpsc::Sender<Write>,
    /// This process: leases of another one are dead.
    epoch: String,
    clock: Arc<dyn Clock>,
    /// Holds the data folder for as long as the store lives.
    _database: host::database::Sqlite,
}

// === impl SqliteStore ===

sql::reads!(SqliteStore);

impl SqliteStore {
    /// Starts the writer on an opened and migrated database.
    pub async fn start(
        database: host::database::Sqlite,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        let connection = database.writer.acquire().await.map_err(unavailable)?;
        let (sender, waiting) = mpsc::channel(limits::WRITER_QUEUE_MAX);
        let epoch = clock.fresh().simple().to_string();
        let writer = Writer { connection, waiting, epoch: epoch.clone(), clock: clock.clone() };
        tokio::spawn(writer.run());
        let read = database.readers.clone();
        Ok(Self { read, writer: sender, epoch, clock, _database: database })
    }

    /// Hands one statement to the writer and waits for its commit.
    async fn write<const N: usize>(
        &self,
        sql: &'static str,
        arguments: [Argument; N],
    ) -> Result<Vec<SqliteRow>, StoreError> {
        let (answer, answered) = oneshot::channel();
        let statement = Statement { sql, arguments: arguments.into() };
        self.writer.send(Write::Statement(statement, answer)).await.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }

    fn now(&self) -> i64 {
        self.clock.now().micros()
    }

    async fn read_generation(
        &self,
        statement: &'static str,
        owner: &Owner,
        id: &str,
    ) -> Result<Option<GenerationRow>, StoreError> {
        let row = sqlx::query(statement)
            .bind(owner.tenant.as_str())
            .bind(owner.subject.as_str())
            .bind(id)
            .bind(self.now())
            .bind(self.epoch.as_str())
            .fetch_optional(&self.read)
            .await
            .map_err(unavailable)?;
        row.map(|row| Columns::of(&row, "generations").generation()).transpose()
    }
}

fn gone() -> StoreError {
    unavailable(sqlx::Error::WorkerCrashed)
}

#[async_trait]
impl Store for SqliteStore {
    async fn begin_session(&self, pending: &PendingSession) -> Result<(), StoreError> {
        let arguments = [
            pending.owner.tenant.as_str().into(),
            pending.owner.subject.as_str().into(),
            pending.session.as_str().into(),
            pending.request.as_slice().into(),
            pending.recorded_at.micros().into(),
        ];
        self.write(sql::BEGIN_SESSION, arguments).await.map(drop)
    }

    async fn pending_sessions(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<PendingSession>, StoreError> {
        self.read_pending(before, limit).await
    }

    async fn drop_pending(&self, owner: &Owner, session: &SessionId) -> Result<(), StoreError> {
        let arguments =
            [owner.tenant.as_str().into(), owner.subject.as_str().into(), session.as_str().into()];
        self.write(sql::DROP_PENDING, arguments).await.map(drop)
    }

    async fn session(
        &self,
        owner: &Owner,
        session: &SessionId,
    ) -> Result<Option<SessionRow>, StoreError> {
        self.read_session(owner, session).await
    }

    async fn sessions(
        &self,
        owner: &Owner,
        after: Option<&SessionCursor>,
        limit: u32,
    ) -> Result<Vec<SessionRow>, StoreError> {
        self.read_sessions(owner, after, limit).await
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

    async fn events(
        &self,
        owner: &Owner,
        session: &SessionId,
        from: u64,
        limit: u32,
    ) -> Result<Vec<Record>, StoreError> {
        self.read_events(owner, session, from, limit).await
    }

    async fn events_at(
        &self,
        owner: &Owner,
        session: &SessionId,
        offsets: &[u64],
    ) -> Result<Vec<Record>, StoreError> {
        let offsets = serde_json::Value::from(offsets).to_string();
        let rows = sqlx::query(EVENTS_AT)
            .bind(owner.tenant.as_str())
            .bind(session.as_str())
            .bind(offsets)
            .fetch_all(&self.read)
            .await
            .map_err(unavailable)?;
        rows.iter().map(|row| Columns::of(row, "events").record()).collect()
    }

    async fn events_of(
        &self,
        owner: &Owner,
        session: &SessionId,
        kind: Kind,
        after: u64,
    ) -> Result<Vec<Record>, StoreError> {
        self.read_events_of(owner, session, kind, after).await
    }

    async fn snapshot(
        &self,
        owner: &Owner,
        session: &SessionId,
    ) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        self.read_snapshot(owner, session).await
    }

    async fn put_snapshot(
        &self,
        owner: &Owner,
        session: &SessionId,
        offset: u64,
        state: &[u8],
    ) -> Result<(), StoreError> {
        let arguments =
            [owner.tenant.as_str().into(), session.as_str().into(), offset.into(), state.into()];
        self.write(sql::PUT_SNAPSHOT, arguments).await.map(drop)
    }

    async fn request(
        &self,
        owner: &Owner,
        session: &SessionId,
        offset: u64,
    ) -> Result<Option<RequestRow>, StoreError> {
        self.read_request(owner, session, offset).await
    }

    async fn requests(
        &self,
        owner: &Owner,
        session: &SessionId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<RequestRow>, StoreError> {
        self.read_requests(owner, session, after, limit).await
    }

    async fn texts(
        &self,
        owner: &Owner,
        digests: &[Digest],
    ) -> Result<Vec<(Digest, String)>, StoreError> {
        let digests = serde_json::json!(digests).to_string();
        let rows = sqlx::query(TEXTS)
            .bind(owner.tenant.as_str())
            .bind(owner.subject.as_str())
            .bind(digests)
            .fetch_all(&self.read)
            .await
            .map_err(unavailable)?;
        rows.iter().map(|row| Columns::of(row, "segment_texts").text()).collect()
    }

    async fn generation(
        &self,
        owner: &Owner,
        generation: &GenerationId,
    ) -> Result<Option<GenerationRow>, StoreError> {
        self.read_generation(GENERATION, owner, generation.as_str()).await
    }

    async fn running(
        &self,
        owner: &Owner,
        session: &SessionId,
    ) -> Result<Option<GenerationRow>, StoreError> {
        self.read_generation(RUNNING, owner, session.as_str()).await
    }

    async fn renew(
        &self,
        owner: &Owner,
        generation: &GenerationId,
        fence: u64,
        lease_ms: i64,
    ) -> Result<bool, StoreError> {
        let arguments = [
            owner.tenant.as_str().into(),
            generation.as_str().into(),
            fence.into(),
            (self.now() + lease_ms * 1_000).into(),
        ];
        self.write(RENEW, arguments).await.map(|rows| !rows.is_empty())
    }

    async fn put_chunk(
        &self,
        owner: &Owner,
        generation: &GenerationId,
        fence: u64,
        byte_offset: u64,
        text: &str,
    ) -> Result<(), StoreError> {
        let arguments = [
            owner.tenant.as_str().into(),
            generation.as_str().into(),
            fence.into(),
            byte_offset.into(),
            text.into(),
        ];
        self.write(sql::PUT_CHUNK, arguments).await.map(drop)
    }

    async fn chunks(
        &self,
        owner: &Owner,
        generation: &GenerationId,
        fence: u64,
    ) -> Result<String, StoreError> {
        self.read_chunks(owner, generation, fence).await
    }

    async fn lease_jobs(
        &self,
        worker: &str,
        limit: u32,
        lease_ms: i64,
    ) -> Result<Vec<JobRow>, StoreError> {
        let exhausted = [
            self.now().into(),
            self.epoch.as_str().into(),
            i64::from(limits::JOB_ATTEMPTS_MAX).into(),
        ];
        self.write(PARK_EXHAUSTED, exhausted).await?;
        let arguments = [
            self.now().into(),
            self.epoch.as_str().into(),
            i64::from(limit).into(),
            (self.now() + lease_ms * 1_000).into(),
            worker.into(),
        ];
        let rows = self.write(LEASE_JOBS, arguments).await?;
        rows.iter().map(|row| Columns::of(row, "jobs").job()).collect()
    }

    async fn release_job(
        &self,
        owner: &Owner,
        lease: &JobLease,
        failure: &str,
        retry_after_ms: Option<i64>,
    ) -> Result<bool, StoreError> {
        let status = if retry_after_ms.is_some() { "ready" } else { "parked" };
        let ready_at = self.now() + retry_after_ms.unwrap_or(0) * 1_000;
        let arguments = [
            owner.tenant.as_str().into(),
            lease.job.as_str().into(),
            lease.fence.into(),
            status.into(),
            ready_at.into(),
            failure.into(),
        ];
        self.write(RELEASE_JOB, arguments).await.map(|rows| !rows.is_empty())
    }

    async fn job(&self, owner: &Owner, job: &JobId) -> Result<JobState, StoreError> {
        self.read_job(owner, job).await
    }

    async fn leased(&self, owner: &Owner, lease: &JobLease) -> Result<Option<JobRow>, StoreError> {
        self.read_leased(owner, lease).await
    }

    async fn answer(&self, scope: &Scope) -> Result<Option<Answer>, StoreError> {
        let mut connection = self.read.acquire().await.map_err(unavailable)?;
        host::idempotency::sqlite::find(&mut connection, scope).await.map_err(unavailable)
    }
}

const EVENTS_AT: &str = "
    select session_id, at_offset, recorded_at, actor, kind, request_id, payload, salt, commitment, chain
    from events
    where tenant = $1
        and session_id = $2
        and at_offset in (select value from json_each($3))
    order by at_offset";

const TEXTS: &str = "
    select digest, content
    from segment_texts
    where tenant = $1
        and subject = $2
        and digest in (select value from json_each($3))";

const GENERATION: &str = "
    select tenant, subject, session_id, generation_id, reply_seq, fence, status,
        (lease_until < $4 or epoch <> $5) as dead
    from generations
    where tenant = $1
        and subject = $2
        and generation_id = $3";

const RUNNING: &str = "
    select tenant, subject, session_id, generation_id, reply_seq, fence, status,
        (lease_until < $4 or epoch <> $5) as dead
    from generations
    where tenant = $1
        and subject = $2
        and session_id = $3
        and status = 'running'";

const RENEW: &str = "
    update generations
    set lease_until = $4
    where tenant = $1
        and generation_id = $2
        and fence = $3
        and status = 'running'
    returning 1";

/// Jobs whose every attempt died with its worker.
const PARK_EXHAUSTED: &str = "
    update jobs
    set status = 'parked', failure = 'every attempt died with its worker'
    where status = 'leased'
        and attempt >= $3
        and (lease_until < $1 or epoch <> $2)";

/// The oldest job of each session, tenants in turn; parked jobs hold nobody up.
const LEASE_JOBS: &str = "
    with heads as (
        select tenant, job_id, ready_at,
            row_number() over (partition by tenant order by ready_at, job_id) as turn
        from jobs j
        where status <> 'parked'
            and ready_at <= $1
            and (status = 'ready' or lease_until < $1 or epoch <> $2)
            and not exists (
                select 1
                from jobs earlier
                where earlier.tenant = j.tenant
                    and earlier.session_id = j.session_id
                    and earlier.status <> 'parked'
                    and (earlier.place, earlier.job_id) < (j.place, j.job_id)
            )
        order by turn, ready_at
        limit $3
    )
    update jobs
    set status = 'leased', lease_until = $4, epoch = $2, worker = $5,
        attempt = attempt + 1, fence = fence + 1
    from heads
    where jobs.tenant = heads.tenant
        and jobs.job_id = heads.job_id
    returning jobs.tenant, subject, session_id, jobs.job_id, fence, attempt, work";

const RELEASE_JOB: &str = "
    update jobs
    set status = $4, ready_at = $5, failure = $6
    where tenant = $1
        and job_id = $2
        and fence = $3
        and status = 'leased'
    returning 1";

//! The ledger on PostgreSQL: an append is one transaction whose primary keys decide races.

mod append;

use std::sync::Arc;

use async_trait::async_trait;
use host::idempotency::{Answer, Scope};
use kernel::{Clock, Digest, GenerationId, JobId, Owner, SessionId, Timestamp, limits};
use ledger_core::event::{Kind, Record};
use sqlx::PgPool;

use super::{
    Append, AppendError, GenerationRow, JobLease, JobRow, JobState, PendingSession, RequestRow,
    SessionCursor, SessionRow, Store, StoreError,
    rows::{Columns, unavailable},
    sql::{self, signed},
};

/// The ledger's PostgreSQL schema.
pub struct PostgresStore {
    read: PgPool,
    /// For what is only told, never compared between replicas.
    clock: Arc<dyn Clock>,
}

// === impl PostgresStore ===

sql::reads!(PostgresStore);

impl PostgresStore {
    /// Takes an opened and migrated database.
    pub fn new(database: host::database::Postgres, clock: Arc<dyn Clock>) -> Self {
        Self { read: database.pool, clock }
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
            .fetch_optional(&self.read)
            .await
            .map_err(unavailable)?;
        row.map(|row| Columns::of(&row, "generations").generation()).transpose()
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn begin_session(&self, pending: &PendingSession) -> Result<(), StoreError> {
        sqlx::query(sql::BEGIN_SESSION)
            .bind(pending.owner.tenant.as_str())
            .bind(pending.owner.subject.as_str())
            .bind(pending.session.as_str())
            .bind(pending.request.as_slice())
            .bind(pending.recorded_at.micros())
            .execute(&self.read)
            .await
            .map(drop)
            .map_err(unavailable)
    }

    async fn pending_sessions(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<PendingSession>, StoreError> {
        self.read_pending(before, limit).await
    }

    async fn drop_pending(&self, owner: &Owner, session: &SessionId) -> Result<(), StoreError> {
        sqlx::query(sql::DROP_PENDING)
            .bind(owner.tenant.as_str())
            .bind(owner.subject.as_str())
            .bind(session.as_str())
            .execute(&self.read)
            .await
            .map(drop)
            .map_err(unavailable)
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
        append::append(&self.read, &append, self.clock.now()).await
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
        let offsets: Vec<i64> = offsets.iter().map(|offset| signed(*offset)).collect();
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
        sqlx::query(sql::PUT_SNAPSHOT)
            .bind(owner.tenant.as_str())
            .bind(session.as_str())
            .bind(signed(offset))
            .bind(state)
            .execute(&self.read)
            .await
            .map(drop)
            .map_err(unavailable)
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
        let digests: Vec<String> = digests.iter().map(|digest| digest.to_hex()).collect();
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
        let renewed = sqlx::query(RENEW)
            .bind(owner.tenant.as_str())
            .bind(generation.as_str())
            .bind(signed(fence))
            .bind(lease_ms * 1_000)
            .execute(&self.read)
            .await
            .map_err(unavailable)?;
        Ok(renewed.rows_affected() == 1)
    }

    async fn put_chunk(
        &self,
        owner: &Owner,
        generation: &GenerationId,
        fence: u64,
        byte_offset: u64,
        text: &str,
    ) -> Result<(), StoreError> {
        sqlx::query(sql::PUT_CHUNK)
            .bind(owner.tenant.as_str())
            .bind(generation.as_str())
            .bind(signed(fence))
            .bind(signed(byte_offset))
            .bind(text)
            .execute(&self.read)
            .await
            .map(drop)
            .map_err(unavailable)
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
        sqlx::query(PARK_EXHAUSTED)
            .bind(i64::from(limits::JOB_ATTEMPTS_MAX))
            .execute(&self.read)
            .await
            .map_err(unavailable)?;
        let rows = sqlx::query(LEASE_JOBS)
            .bind(i64::from(limit))
            .bind(lease_ms * 1_000)
            .bind(worker)
            .fetch_all(&self.read)
            .await
            .map_err(unavailable)?;
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
        let released = sqlx::query(RELEASE_JOB)
            .bind(owner.tenant.as_str())
            .bind(lease.job.as_str())
            .bind(signed(lease.fence))
            .bind(status)
            .bind(retry_after_ms.unwrap_or(0) * 1_000)
            .bind(failure)
            .execute(&self.read)
            .await
            .map_err(unavailable)?;
        Ok(released.rows_affected() == 1)
    }

    async fn job(&self, owner: &Owner, job: &JobId) -> Result<JobState, StoreError> {
        self.read_job(owner, job).await
    }

    async fn leased(&self, owner: &Owner, lease: &JobLease) -> Result<Option<JobRow>, StoreError> {
        self.read_leased(owner, lease).await
    }

    async fn answer(&self, scope: &Scope) -> Result<Option<Answer>, StoreError> {
        let mut connection = self.read.acquire().await.map_err(unavailable)?;
        host::idempotency::postgres::find(&mut connection, scope).await.map_err(unavailable)
    }
}

const EVENTS_AT: &str = "
    select session_id, at_offset, recorded_at, actor, kind, request_id, payload, salt, commitment, chain
    from events
    where tenant = $1
        and session_id = $2
        and at_offset = any($3)
    order by at_offset";

const TEXTS: &str = "
    select digest, content
    from segment_texts
    where tenant = $1
        and subject = $2
        and digest = any($3)";

const GENERATION: &str = "
    select tenant, subject, session_id, generation_id, reply_seq, fence, status,
        (lease_until < (extract(epoch from clock_timestamp()) * 1000000)::bigint)::int::bigint as dead
    from generations
    where tenant = $1
        and subject = $2
        and generation_id = $3";

const RUNNING: &str = "
    select tenant, subject, session_id, generation_id, reply_seq, fence, status,
        (lease_until < (extract(epoch from clock_timestamp()) * 1000000)::bigint)::int::bigint as dead
    from generations
    where tenant = $1
        and subject = $2
        and session_id = $3
        and status = 'running'";

const RENEW: &str = "
    update generations
    set lease_until = (extract(epoch from clock_timestamp()) * 1000000)::bigint + $4
    where tenant = $1
        and generation_id = $2
        and fence = $3
        and status = 'running'";

/// Jobs whose every attempt died with its worker.
const PARK_EXHAUSTED: &str = "
    update jobs
    set status = 'parked', failure = 'every attempt died with its worker'
    where status = 'leased'
        and attempt >= $1
        and lease_until < (extract(epoch from clock_timestamp()) * 1000000)::bigint";

/// The oldest job of each session, tenants in turn; parked jobs hold nobody up. Of two workers that
/// see the same job, the second finds its fence moved and goes without.
const LEASE_JOBS: &str = "
    with clock as (
        select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now
    ), heads as (
        select tenant, job_id, fence, ready_at,
            row_number() over (partition by tenant order by ready_at, job_id) as turn
        from jobs j, clock
        where status <> 'parked'
            and ready_at <= clock.now
            and (status = 'ready' or lease_until < clock.now)
            and not exists (
                select 1
                from jobs earlier
                where earlier.tenant = j.tenant
                    and earlier.session_id = j.session_id
                    and earlier.status <> 'parked'
                    and (earlier.place, earlier.job_id) < (j.place, j.job_id)
            )
        order by turn, ready_at
        limit $1
    )
    update jobs
    set status = 'leased', lease_until = clock.now + $2, worker = $3,
        attempt = attempt + 1, fence = jobs.fence + 1
    from heads, clock
    where jobs.tenant = heads.tenant
        and jobs.job_id = heads.job_id
        and jobs.fence = heads.fence
    returning jobs.tenant, subject, session_id, jobs.job_id, jobs.fence, attempt, work";

const RELEASE_JOB: &str = "
    update jobs
    set status = $4, failure = $6,
        ready_at = (extract(epoch from clock_timestamp()) * 1000000)::bigint + $5
    where tenant = $1
        and job_id = $2
        and fence = $3
        and status = 'leased'";

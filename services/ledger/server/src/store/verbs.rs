//! The verbs of the store, written once; a database says how a statement runs and what an append is.

use async_trait::async_trait;
use host::idempotency::{Answer, Scope};
use kernel::{Digest, GenerationId, JobId, Owner, SessionId, Timestamp, limits};
use ledger_core::event::{Kind, Record};

use super::{
    Append, AppendError, GenerationRow, JobLease, JobRow, JobState, ListedSession, PendingSession,
    RequestRow, SessionCursor, SessionRow, Store, StoreError,
    rows::{Columns, Row},
    sql::{self, Dialect},
    statement::{Statement, signed},
};

/// A database under the verbs.
#[async_trait]
pub(super) trait Database: Send + Sync + 'static {
    type Row: Row;

    const DIALECT: Dialect;

    async fn read(&self, statement: Statement) -> Result<Vec<Self::Row>, StoreError>;

    /// A write that is one statement, atomic by itself; what it returns.
    async fn write(&self, statement: Statement) -> Result<Vec<Self::Row>, StoreError>;

    async fn append(&self, append: Append) -> Result<(), AppendError>;

    async fn answer(&self, scope: &Scope) -> Result<Option<Answer>, StoreError>;

    /// The time that leases are held against; none where the database has its own.
    fn now(&self) -> Option<i64>;

    /// The process whose leases are alive; empty where no lease names one.
    fn epoch(&self) -> &str;

    fn timed(&self, sql: &'static str) -> Statement {
        Statement::new(sql).bind(self.now())
    }

    fn against_leases(&self, sql: &'static str) -> Statement {
        self.timed(sql).bind(self.epoch())
    }
}

/// All rows, each read as `read` says.
fn all<'r, R: Row, T>(
    rows: &'r [R],
    table: &'static str,
    read: impl Fn(&Columns<'r>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    rows.iter().map(|row| read(&Columns::of(row, table))).collect()
}

/// The first row, if there is one.
fn first<'r, R: Row, T>(
    rows: &'r [R],
    table: &'static str,
    read: impl Fn(&Columns<'r>) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    rows.first().map(|row| read(&Columns::of(row, table))).transpose()
}

#[async_trait]
impl<D: Database> Store for D {
    async fn begin_session(&self, pending: &PendingSession) -> Result<(), StoreError> {
        let begin = Statement::new(sql::BEGIN_SESSION)
            .of(&pending.owner)
            .bind(pending.session.as_str())
            .bind(pending.recorded_at.micros());
        self.write(begin).await.map(drop)
    }

    async fn pending_sessions(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<PendingSession>, StoreError> {
        let pending = Statement::new(sql::PENDING).bind(before.micros()).bind(limit);
        all(&self.read(pending).await?, "sessions", Columns::pending)
    }

    async fn drop_pending(&self, owner: &Owner, session: &SessionId) -> Result<(), StoreError> {
        let drop_it = Statement::new(sql::DROP_PENDING).of(owner).bind(session.as_str());
        self.write(drop_it).await.map(drop)
    }

    async fn session(
        &self,
        owner: &Owner,
        session: &SessionId,
    ) -> Result<Option<SessionRow>, StoreError> {
        let one = Statement::new(sql::SESSION).of(owner).bind(session.as_str());
        first(&self.read(one).await?, "sessions", Columns::session)
    }

    async fn sessions(
        &self,
        owner: &Owner,
        after: Option<&SessionCursor>,
        limit: u32,
    ) -> Result<Vec<ListedSession>, StoreError> {
        let (created_at, session) =
            after.map_or((i64::MAX, ""), |after| (after.created_at, after.session.as_str()));
        let list = Statement::new(sql::SESSIONS).of(owner);
        let list = list.bind(created_at).bind(session).bind(limit);
        all(&self.read(list).await?, "sessions", Columns::listed)
    }

    async fn append(&self, append: Append) -> Result<(), AppendError> {
        Database::append(self, append).await
    }

    async fn events(
        &self,
        owner: &Owner,
        session: &SessionId,
        from: u64,
        limit: u32,
    ) -> Result<Vec<Record>, StoreError> {
        let events = in_session(sql::EVENTS, owner, session).bind(from).bind(limit);
        all(&self.read(events).await?, "events", Columns::record)
    }

    async fn events_at(
        &self,
        owner: &Owner,
        session: &SessionId,
        offsets: &[u64],
    ) -> Result<Vec<Record>, StoreError> {
        let offsets: Vec<i64> = offsets.iter().map(|offset| signed(*offset)).collect();
        let events = in_session(D::DIALECT.events_at, owner, session).bind(offsets);
        all(&self.read(events).await?, "events", Columns::record)
    }

    async fn events_of(
        &self,
        owner: &Owner,
        session: &SessionId,
        kind: Kind,
        after: u64,
    ) -> Result<Vec<Record>, StoreError> {
        let events = in_session(sql::EVENTS_OF, owner, session).bind(kind.name()).bind(after);
        all(&self.read(events).await?, "events", Columns::record)
    }

    async fn snapshot(
        &self,
        owner: &Owner,
        session: &SessionId,
    ) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        let snapshot = in_session(sql::SNAPSHOT, owner, session);
        first(&self.read(snapshot).await?, "snapshots", Columns::snapshot)
    }

    async fn put_snapshot(
        &self,
        owner: &Owner,
        session: &SessionId,
        offset: u64,
        state: &[u8],
    ) -> Result<(), StoreError> {
        let put = in_session(sql::PUT_SNAPSHOT, owner, session).bind(offset).bind(state);
        self.write(put).await.map(drop)
    }

    async fn request(
        &self,
        owner: &Owner,
        session: &SessionId,
        offset: u64,
    ) -> Result<Option<RequestRow>, StoreError> {
        let request = in_session(sql::REQUEST, owner, session).bind(offset);
        first(&self.read(request).await?, "requests", Columns::request)
    }

    async fn request_before(
        &self,
        owner: &Owner,
        session: &SessionId,
        offset: u64,
    ) -> Result<Option<RequestRow>, StoreError> {
        let request = in_session(sql::REQUEST_BEFORE, owner, session).bind(offset);
        first(&self.read(request).await?, "requests", Columns::request)
    }

    async fn requests(
        &self,
        owner: &Owner,
        session: &SessionId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<RequestRow>, StoreError> {
        let requests = in_session(sql::REQUESTS, owner, session).bind(after).bind(limit);
        all(&self.read(requests).await?, "requests", Columns::request)
    }

    async fn texts(
        &self,
        owner: &Owner,
        digests: &[Digest],
    ) -> Result<Vec<(Digest, String)>, StoreError> {
        let digests: Vec<String> = digests.iter().map(|digest| digest.to_hex()).collect();
        let texts = Statement::new(D::DIALECT.texts).of(owner).bind(digests);
        all(&self.read(texts).await?, "segment_texts", Columns::kept_text)
    }

    async fn generation(
        &self,
        owner: &Owner,
        generation: &GenerationId,
    ) -> Result<Option<GenerationRow>, StoreError> {
        let one = self.against_leases(D::DIALECT.generation).of(owner).bind(generation.as_str());
        first(&self.read(one).await?, "generations", Columns::generation)
    }

    async fn running(
        &self,
        owner: &Owner,
        session: &SessionId,
    ) -> Result<Option<GenerationRow>, StoreError> {
        let one = self.against_leases(D::DIALECT.running).of(owner).bind(session.as_str());
        first(&self.read(one).await?, "generations", Columns::generation)
    }

    async fn renew(
        &self,
        owner: &Owner,
        generation: &GenerationId,
        fence: u64,
        lease_ms: i64,
    ) -> Result<bool, StoreError> {
        let renew = self.timed(D::DIALECT.renew).bind(owner.tenant.as_str());
        let renew = renew.bind(generation.as_str()).bind(fence).bind(lease_ms * 1_000);
        self.write(renew).await.map(|renewed| !renewed.is_empty())
    }

    async fn put_chunk(
        &self,
        owner: &Owner,
        generation: &GenerationId,
        fence: u64,
        byte_offset: u64,
        text: &str,
    ) -> Result<(), StoreError> {
        let put = Statement::new(sql::PUT_CHUNK)
            .bind(owner.tenant.as_str())
            .bind(generation.as_str())
            .bind(fence)
            .bind(byte_offset)
            .bind(text);
        self.write(put).await.map(drop)
    }

    async fn chunks(
        &self,
        owner: &Owner,
        generation: &GenerationId,
        fence: u64,
    ) -> Result<String, StoreError> {
        let chunks = Statement::new(sql::CHUNKS).bind(owner.tenant.as_str());
        let chunks = chunks.bind(generation.as_str()).bind(fence);
        let texts = all(&self.read(chunks).await?, "chunks", |row| row.text("content"))?;
        Ok(texts.concat())
    }

    async fn lease_jobs(
        &self,
        worker: &str,
        limit: u32,
        lease_ms: i64,
    ) -> Result<Vec<JobRow>, StoreError> {
        let exhausted = self.against_leases(D::DIALECT.park_exhausted);
        self.write(exhausted.bind(limits::JOB_ATTEMPTS_MAX)).await?;
        let lease = self.against_leases(D::DIALECT.lease_jobs);
        let lease = lease.bind(limit).bind(lease_ms * 1_000).bind(worker);
        all(&self.write(lease).await?, "jobs", Columns::job)
    }

    async fn release_job(
        &self,
        owner: &Owner,
        lease: &JobLease,
        failure: &str,
        retry_after_ms: Option<i64>,
    ) -> Result<bool, StoreError> {
        let status = if retry_after_ms.is_some() { "ready" } else { "parked" };
        let release = self
            .timed(D::DIALECT.release_job)
            .bind(owner.tenant.as_str())
            .bind(lease.job.as_str())
            .bind(lease.fence)
            .bind(status)
            .bind(retry_after_ms.unwrap_or(0) * 1_000)
            .bind(failure);
        self.write(release).await.map(|released| !released.is_empty())
    }

    async fn job(&self, owner: &Owner, job: &JobId) -> Result<JobState, StoreError> {
        let one = Statement::new(sql::JOB).bind(owner.tenant.as_str()).bind(job.as_str());
        let state = first(&self.read(one).await?, "jobs", Columns::job_state)?;
        Ok(state.unwrap_or(JobState::Finished))
    }

    async fn leased(&self, owner: &Owner, lease: &JobLease) -> Result<Option<JobRow>, StoreError> {
        let one = Statement::new(sql::LEASED_JOB).bind(owner.tenant.as_str());
        let one = one.bind(lease.job.as_str()).bind(lease.fence);
        first(&self.read(one).await?, "jobs", Columns::job)
    }

    async fn answer(&self, scope: &Scope) -> Result<Option<Answer>, StoreError> {
        Database::answer(self, scope).await
    }
}

fn in_session(sql: &'static str, owner: &Owner, session: &SessionId) -> Statement {
    Statement::new(sql).bind(owner.tenant.as_str()).bind(session.as_str())
}

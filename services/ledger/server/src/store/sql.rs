//! Statements that both databases understand, and the reads made of them.

pub(super) const SESSION: &str = "
    select session_id, title, created_at, head
    from sessions
    where tenant = $1
        and subject = $2
        and session_id = $3
        and status = 'live'";

pub(super) const SESSIONS: &str = "
    select session_id, title, created_at, head
    from sessions
    where tenant = $1
        and subject = $2
        and status = 'live'
        and (created_at < $3 or (created_at = $3 and session_id > $4))
    order by created_at desc, session_id
    limit $5";

pub(super) const PENDING: &str = "
    select tenant, subject, session_id, pending, created_at
    from sessions
    where status = 'pending'
        and created_at < $1
    order by created_at
    limit $2";

pub(super) const BEGIN_SESSION: &str = "
    insert into sessions (tenant, subject, session_id, status, pending, title, created_at, head)
    values ($1, $2, $3, 'pending', $4, '', $5, 0)
    on conflict (tenant, session_id) do nothing";

pub(super) const DROP_PENDING: &str = "
    delete from sessions
    where tenant = $1
        and subject = $2
        and session_id = $3
        and status = 'pending'";

pub(super) const EVENTS: &str = "
    select session_id, at_offset, recorded_at, actor, kind, request_id, payload, salt, commitment, chain
    from events
    where tenant = $1
        and session_id = $2
        and at_offset >= $3
    order by at_offset
    limit $4";

pub(super) const EVENTS_OF: &str = "
    select session_id, at_offset, recorded_at, actor, kind, request_id, payload, salt, commitment, chain
    from events
    where tenant = $1
        and session_id = $2
        and kind = $3
        and at_offset > $4
    order by at_offset";

pub(super) const SNAPSHOT: &str = "
    select at_offset, state
    from snapshots
    where tenant = $1
        and session_id = $2";

pub(super) const PUT_SNAPSHOT: &str = "
    insert into snapshots (tenant, session_id, at_offset, state)
    values ($1, $2, $3, $4)
    on conflict (tenant, session_id) do update
    set at_offset = excluded.at_offset, state = excluded.state
    where excluded.at_offset > snapshots.at_offset";

pub(super) const REQUEST: &str = "
    select at_offset, record
    from requests
    where tenant = $1
        and session_id = $2
        and at_offset = $3";

pub(super) const REQUESTS: &str = "
    select at_offset, record
    from requests
    where tenant = $1
        and session_id = $2
        and at_offset > $3
    order by at_offset
    limit $4";

pub(super) const PUT_CHUNK: &str = "
    insert into chunks (tenant, generation_id, fence, byte_offset, content)
    values ($1, $2, $3, $4, $5)
    on conflict (tenant, generation_id, fence, byte_offset) do nothing";

pub(super) const CHUNKS: &str = "
    select content
    from chunks
    where tenant = $1
        and generation_id = $2
        and fence = $3
    order by byte_offset";

pub(super) const JOB: &str = "
    select status, failure
    from jobs
    where tenant = $1
        and job_id = $2";

pub(super) const LEASED_JOB: &str = "
    select tenant, subject, session_id, job_id, fence, attempt, work
    from jobs
    where tenant = $1
        and job_id = $2
        and fence = $3
        and status = 'leased'";

/// Reads that are the same words on both databases; `$read` is the pool to read from.
macro_rules! reads {
    ($store:ty) => {
        impl $store {
            async fn read_session(
                &self,
                owner: &Owner,
                session: &SessionId,
            ) -> Result<Option<SessionRow>, StoreError> {
                let row = sqlx::query(sql::SESSION)
                    .bind(owner.tenant.as_str())
                    .bind(owner.subject.as_str())
                    .bind(session.as_str())
                    .fetch_optional(&self.read)
                    .await
                    .map_err(unavailable)?;
                row.map(|row| Columns::of(&row, "sessions").session()).transpose()
            }

            async fn read_sessions(
                &self,
                owner: &Owner,
                after: Option<&SessionCursor>,
                limit: u32,
            ) -> Result<Vec<SessionRow>, StoreError> {
                let (created_at, session) =
                    after.map_or((i64::MAX, ""), |a| (a.created_at, a.session.as_str()));
                let rows = sqlx::query(sql::SESSIONS)
                    .bind(owner.tenant.as_str())
                    .bind(owner.subject.as_str())
                    .bind(created_at)
                    .bind(session)
                    .bind(i64::from(limit))
                    .fetch_all(&self.read)
                    .await
                    .map_err(unavailable)?;
                rows.iter().map(|row| Columns::of(row, "sessions").session()).collect()
            }

            async fn read_pending(
                &self,
                before: Timestamp,
                limit: u32,
            ) -> Result<Vec<PendingSession>, StoreError> {
                let rows = sqlx::query(sql::PENDING)
                    .bind(before.micros())
                    .bind(i64::from(limit))
                    .fetch_all(&self.read)
                    .await
                    .map_err(unavailable)?;
                rows.iter().map(|row| Columns::of(row, "sessions").pending()).collect()
            }

            async fn read_events(
                &self,
                owner: &Owner,
                session: &SessionId,
                from: u64,
                limit: u32,
            ) -> Result<Vec<Record>, StoreError> {
                let rows = sqlx::query(sql::EVENTS)
                    .bind(owner.tenant.as_str())
                    .bind(session.as_str())
                    .bind(signed(from))
                    .bind(i64::from(limit))
                    .fetch_all(&self.read)
                    .await
                    .map_err(unavailable)?;
                rows.iter().map(|row| Columns::of(row, "events").record()).collect()
            }

            async fn read_events_of(
                &self,
                owner: &Owner,
                session: &SessionId,
                kind: Kind,
                after: u64,
            ) -> Result<Vec<Record>, StoreError> {
                let rows = sqlx::query(sql::EVENTS_OF)
                    .bind(owner.tenant.as_str())
                    .bind(session.as_str())
                    .bind(kind.name())
                    .bind(signed(after))
                    .fetch_all(&self.read)
                    .await
                    .map_err(unavailable)?;
                rows.iter().map(|row| Columns::of(row, "events").record()).collect()
            }

            async fn read_snapshot(
                &self,
                owner: &Owner,
                session: &SessionId,
            ) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
                let row: Option<(i64, Vec<u8>)> = sqlx::query_as(sql::SNAPSHOT)
                    .bind(owner.tenant.as_str())
                    .bind(session.as_str())
                    .fetch_optional(&self.read)
                    .await
                    .map_err(unavailable)?;
                Ok(row.map(|(offset, state)| (offset.unsigned_abs(), state)))
            }

            async fn read_request(
                &self,
                owner: &Owner,
                session: &SessionId,
                offset: u64,
            ) -> Result<Option<RequestRow>, StoreError> {
                let row = sqlx::query(sql::REQUEST)
                    .bind(owner.tenant.as_str())
                    .bind(session.as_str())
                    .bind(signed(offset))
                    .fetch_optional(&self.read)
                    .await
                    .map_err(unavailable)?;
                row.map(|row| Columns::of(&row, "requests").request()).transpose()
            }

            async fn read_requests(
                &self,
                owner: &Owner,
                session: &SessionId,
                after: u64,
                limit: u32,
            ) -> Result<Vec<RequestRow>, StoreError> {
                let rows = sqlx::query(sql::REQUESTS)
                    .bind(owner.tenant.as_str())
                    .bind(session.as_str())
                    .bind(signed(after))
                    .bind(i64::from(limit))
                    .fetch_all(&self.read)
                    .await
                    .map_err(unavailable)?;
                rows.iter().map(|row| Columns::of(row, "requests").request()).collect()
            }

            async fn read_chunks(
                &self,
                owner: &Owner,
                generation: &GenerationId,
                fence: u64,
            ) -> Result<String, StoreError> {
                let texts: Vec<(String,)> = sqlx::query_as(sql::CHUNKS)
                    .bind(owner.tenant.as_str())
                    .bind(generation.as_str())
                    .bind(signed(fence))
                    .fetch_all(&self.read)
                    .await
                    .map_err(unavailable)?;
                Ok(texts.into_iter().map(|(text,)| text).collect())
            }

            async fn read_job(&self, owner: &Owner, job: &JobId) -> Result<JobState, StoreError> {
                let row: Option<(String, String)> = sqlx::query_as(sql::JOB)
                    .bind(owner.tenant.as_str())
                    .bind(job.as_str())
                    .fetch_optional(&self.read)
                    .await
                    .map_err(unavailable)?;
                Ok(match row {
                    None => JobState::Finished,
                    Some((status, failure)) if status == "parked" => JobState::Parked { failure },
                    Some(_) => JobState::Waiting,
                })
            }

            async fn read_leased(
                &self,
                owner: &Owner,
                lease: &JobLease,
            ) -> Result<Option<JobRow>, StoreError> {
                let row = sqlx::query(sql::LEASED_JOB)
                    .bind(owner.tenant.as_str())
                    .bind(lease.job.as_str())
                    .bind(signed(lease.fence))
                    .fetch_optional(&self.read)
                    .await
                    .map_err(unavailable)?;
                row.map(|row| Columns::of(&row, "jobs").job()).transpose()
            }
        }
    };
}

/// Both databases count in signed numbers.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) use reads;

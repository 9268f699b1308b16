//! One append as one transaction: the answer first, then the rows whose keys decide the races.

use host::idempotency;
use kernel::{GenerationId, Timestamp};
use sqlx::{PgConnection, PgPool};

use crate::attempt::Entry;
use crate::store::{
    Append, AppendError, GenerationLease, GenerationWrite, NewSession, rows::unavailable,
    sql::signed,
};

/// Writes all of it or nothing. Costs one statement per table that it touches and one commit.
pub(super) async fn append(
    pool: &PgPool,
    append: &Append,
    now: Timestamp,
) -> Result<(), AppendError> {
    let mut transaction = pool.begin().await.map_err(unavailable)?;
    write(&mut transaction, append, now).await?;
    transaction.commit().await.map_err(|error| unavailable(error).into())
}

async fn write(
    connection: &mut PgConnection,
    append: &Append,
    now: Timestamp,
) -> Result<(), AppendError> {
    if let Some(Entry { scope, answer }) = &append.answer
        && !idempotency::postgres::store(connection, scope, answer, now)
            .await
            .map_err(unavailable)?
    {
        return Err(AppendError::Answered);
    }
    session(connection, append).await?;
    generation(connection, append).await?;
    finish_job(connection, append).await?;
    events(connection, append).await?;
    request(connection, append).await?;
    texts(connection, append).await?;
    jobs(connection, append).await
}

/// The session's row is the first to be written, and so the place where two appends meet.
async fn session(connection: &mut PgConnection, append: &Append) -> Result<(), AppendError> {
    let head = append.events.last().map_or(0, |event| event.meta.offset);
    if let Some(NewSession { title, created_at }) = &append.creates {
        let created = sqlx::query(CREATE_SESSION)
            .bind(append.owner.tenant.as_str())
            .bind(append.owner.subject.as_str())
            .bind(append.session.as_str())
            .bind(title)
            .bind(created_at.micros())
            .bind(signed(head))
            .execute(&mut *connection)
            .await
            .map_err(unavailable)?;
        return expect_one(created.rows_affected(), AppendError::SessionExists);
    }
    let Some(first) = append.events.first() else { return Ok(()) };
    let moved = sqlx::query(MOVE_HEAD)
        .bind(append.owner.tenant.as_str())
        .bind(append.owner.subject.as_str())
        .bind(append.session.as_str())
        .bind(signed(first.meta.offset - 1))
        .bind(signed(head))
        .execute(&mut *connection)
        .await
        .map_err(unavailable)?;
    expect_one(moved.rows_affected(), AppendError::HeadMoved)
}

async fn generation(connection: &mut PgConnection, append: &Append) -> Result<(), AppendError> {
    match &append.generation {
        GenerationWrite::Untouched => Ok(()),
        GenerationWrite::Open(lease) => open(connection, append, lease).await,
        GenerationWrite::TakeOver { lease, seen_fence } => {
            let arguments = (lease.generation.as_str(), *seen_fence);
            held(connection, append, TAKE_OVER, arguments, Some(lease)).await
        }
        GenerationWrite::Close { generation, fence } => {
            close(connection, append, generation, *fence).await
        }
        GenerationWrite::Replace { generation, fence, lease } => {
            close(connection, append, generation, *fence).await?;
            open(connection, append, lease).await
        }
    }
}

async fn close(
    connection: &mut PgConnection,
    append: &Append,
    generation: &GenerationId,
    fence: u64,
) -> Result<(), AppendError> {
    held(connection, append, CLOSE, (generation.as_str(), fence), None).await?;
    sqlx::query(DROP_CHUNKS)
        .bind(append.owner.tenant.as_str())
        .bind(generation.as_str())
        .execute(&mut *connection)
        .await
        .map(drop)
        .map_err(|error| unavailable(error).into())
}

async fn open(
    connection: &mut PgConnection,
    append: &Append,
    lease: &GenerationLease,
) -> Result<(), AppendError> {
    let opened = sqlx::query(OPEN)
        .bind(append.owner.tenant.as_str())
        .bind(append.owner.subject.as_str())
        .bind(lease.generation.as_str())
        .bind(append.session.as_str())
        .bind(signed(lease.reply_seq))
        .bind(signed(lease.fence))
        .bind(lease.lease_ms * 1_000)
        .execute(&mut *connection)
        .await
        .map_err(unavailable)?;
    expect_one(opened.rows_affected(), AppendError::GenerationInProgress)
}

/// A statement on a generation that must be running under the given fence.
async fn held(
    connection: &mut PgConnection,
    append: &Append,
    statement: &'static str,
    (generation, fence): (&str, u64),
    lease: Option<&GenerationLease>,
) -> Result<(), AppendError> {
    let mut query = sqlx::query(statement)
        .bind(append.owner.tenant.as_str())
        .bind(generation)
        .bind(signed(fence));
    if let Some(lease) = lease {
        query = query.bind(signed(lease.fence)).bind(lease.lease_ms * 1_000);
    }
    let done = query.execute(&mut *connection).await.map_err(unavailable)?;
    expect_one(done.rows_affected(), AppendError::LeaseLost)
}

async fn finish_job(connection: &mut PgConnection, append: &Append) -> Result<(), AppendError> {
    let Some(lease) = &append.finished else { return Ok(()) };
    let done = sqlx::query(FINISH_JOB)
        .bind(append.owner.tenant.as_str())
        .bind(lease.job.as_str())
        .bind(signed(lease.fence))
        .execute(&mut *connection)
        .await
        .map_err(unavailable)?;
    expect_one(done.rows_affected(), AppendError::LeaseLost)
}

async fn events(connection: &mut PgConnection, append: &Append) -> Result<(), AppendError> {
    if append.events.is_empty() {
        return Ok(());
    }
    let column = |of: fn(&ledger_core::event::Meta) -> String| -> Vec<String> {
        append.events.iter().map(|event| of(&event.meta)).collect()
    };
    let offsets: Vec<i64> = append.events.iter().map(|e| signed(e.meta.offset)).collect();
    let times: Vec<i64> = append.events.iter().map(|e| e.meta.recorded_at.micros()).collect();
    let requests: Vec<Option<&str>> =
        append.events.iter().map(|e| e.meta.request_id.as_ref().map(|id| id.as_str())).collect();
    let kept = || append.events.iter().map(|event| event.kept.as_ref());
    let payloads: Vec<Option<&[u8]>> = kept().map(|k| k.map(|k| k.payload.as_slice())).collect();
    let salts: Vec<Option<&[u8]>> = kept().map(|k| k.map(|k| &k.salt.as_bytes()[..])).collect();
    let commitments: Vec<&[u8]> =
        append.events.iter().map(|e| &e.commitment.as_bytes()[..]).collect();
    let chains: Vec<&[u8]> = append.events.iter().map(|e| &e.chain.as_bytes()[..]).collect();
    let inserted = sqlx::query(INSERT_EVENTS)
        .bind(append.owner.tenant.as_str())
        .bind(append.session.as_str())
        .bind(offsets)
        .bind(times)
        .bind(column(|meta| meta.actor.to_stored()))
        .bind(column(|meta| meta.kind.name().to_owned()))
        .bind(requests)
        .bind(payloads)
        .bind(salts)
        .bind(commitments)
        .bind(chains)
        .execute(&mut *connection)
        .await;
    match inserted {
        Ok(_) => Ok(()),
        Err(error) if error.as_database_error().is_some_and(|e| e.is_unique_violation()) => {
            Err(AppendError::HeadMoved)
        }
        Err(error) => Err(unavailable(error).into()),
    }
}

async fn request(connection: &mut PgConnection, append: &Append) -> Result<(), AppendError> {
    let Some(row) = &append.request else { return Ok(()) };
    sqlx::query(INSERT_REQUEST)
        .bind(append.owner.tenant.as_str())
        .bind(append.session.as_str())
        .bind(signed(row.offset))
        .bind(row.record.as_slice())
        .execute(&mut *connection)
        .await
        .map(drop)
        .map_err(|error| unavailable(error).into())
}

async fn texts(connection: &mut PgConnection, append: &Append) -> Result<(), AppendError> {
    if append.texts.is_empty() {
        return Ok(());
    }
    let digests: Vec<String> = append.texts.iter().map(|(digest, _)| digest.to_hex()).collect();
    let contents: Vec<&[u8]> = append.texts.iter().map(|(_, text)| text.as_bytes()).collect();
    sqlx::query(KEEP_TEXTS)
        .bind(append.owner.tenant.as_str())
        .bind(append.owner.subject.as_str())
        .bind(digests)
        .bind(contents)
        .execute(&mut *connection)
        .await
        .map(drop)
        .map_err(|error| unavailable(error).into())
}

async fn jobs(connection: &mut PgConnection, append: &Append) -> Result<(), AppendError> {
    for job in &append.jobs {
        sqlx::query(INSERT_JOB)
            .bind(append.owner.tenant.as_str())
            .bind(job.job.as_str())
            .bind(append.owner.subject.as_str())
            .bind(append.session.as_str())
            .bind(signed(job.place))
            .bind(job.work.as_slice())
            .execute(&mut *connection)
            .await
            .map_err(unavailable)?;
    }
    Ok(())
}

fn expect_one(affected: u64, otherwise: AppendError) -> Result<(), AppendError> {
    if affected == 1 { Ok(()) } else { Err(otherwise) }
}

const CREATE_SESSION: &str = "
    insert into sessions (tenant, subject, session_id, status, title, created_at, head)
    values ($1, $2, $3, 'live', $4, $5, $6)
    on conflict (tenant, session_id) do update
    set status = 'live', pending = null, title = excluded.title, head = excluded.head
    where sessions.status = 'pending'
        and sessions.subject = excluded.subject";

const MOVE_HEAD: &str = "
    update sessions
    set head = $5
    where tenant = $1
        and subject = $2
        and session_id = $3
        and status = 'live'
        and head = $4";

const INSERT_EVENTS: &str = "
    insert into events (
        tenant, session_id, at_offset, recorded_at, actor, kind, request_id,
        payload, salt, commitment, chain
    )
    select $1, $2, *
    from unnest(
        $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[],
        $8::bytea[], $9::bytea[], $10::bytea[], $11::bytea[]
    )";

const INSERT_REQUEST: &str = "
    insert into requests (tenant, session_id, at_offset, record)
    values ($1, $2, $3, $4)";

const KEEP_TEXTS: &str = "
    insert into segment_texts (tenant, subject, digest, content)
    select $1, $2, *
    from unnest($3::text[], $4::bytea[])
    on conflict (tenant, subject, digest) do nothing";

const OPEN: &str = "
    insert into generations (
        tenant, subject, generation_id, session_id, reply_seq, fence, status, lease_until, epoch
    )
    values (
        $1, $2, $3, $4, $5, $6, 'running',
        (extract(epoch from clock_timestamp()) * 1000000)::bigint + $7, ''
    )
    on conflict do nothing";

const TAKE_OVER: &str = "
    update generations
    set fence = $4,
        lease_until = (extract(epoch from clock_timestamp()) * 1000000)::bigint + $5
    where tenant = $1
        and generation_id = $2
        and fence = $3
        and status = 'running'";

const CLOSE: &str = "
    update generations
    set status = 'closed'
    where tenant = $1
        and generation_id = $2
        and fence = $3
        and status = 'running'";

const DROP_CHUNKS: &str = "
    delete from chunks
    where tenant = $1
        and generation_id = $2";

const FINISH_JOB: &str = "
    delete from jobs
    where tenant = $1
        and job_id = $2
        and fence = $3
        and status = 'leased'";

const INSERT_JOB: &str = "
    insert into jobs (
        tenant, job_id, subject, session_id, place, work, status, ready_at, lease_until, epoch,
        worker, attempt, fence, failure
    )
    values (
        $1, $2, $3, $4, $5, $6, 'ready',
        (extract(epoch from clock_timestamp()) * 1000000)::bigint, 0, '', '', 0, 0, ''
    )";

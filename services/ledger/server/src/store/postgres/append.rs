//! One append as one transaction: the answer first, then the rows whose keys decide the races.

use host::idempotency;
use kernel::{GenerationId, Timestamp};
use ledger_core::event::{Meta, Record};
use sqlx::{PgConnection, PgPool};

use super::bound;
use crate::{
    attempt::Entry,
    store::{
        Append, AppendError, GenerationLease, GenerationWrite, NewSession,
        rows::unavailable,
        statement::{Statement, signed},
    },
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
    texts(connection, append).await?;
    beside(connection, append).await
}

/// The session's row is the first to be written, and so the place where two appends meet.
async fn session(connection: &mut PgConnection, append: &Append) -> Result<(), AppendError> {
    let (Some(first), Some(listed)) = (append.events.first(), &append.listed) else {
        return Ok(());
    };
    let head = append.events.last().map_or(0, |event| event.meta.offset);
    let settings = listed.settings_json();
    let row = |sql| {
        Statement::new(sql)
            .of(&append.owner)
            .bind(append.session.as_str())
            .bind(listed.status())
            .bind(head)
            .bind(listed.turn_count)
            .bind(settings.as_bytes())
    };
    if let Some(NewSession { title, created_at }) = &append.creates {
        let create = row(CREATE_SESSION).bind(title.as_str()).bind(created_at.micros());
        return expect_one(run(connection, create).await?, AppendError::SessionExists);
    }
    let move_head = row(MOVE_HEAD).bind(first.meta.offset - 1);
    expect_one(run(connection, move_head).await?, AppendError::HeadMoved)
}

async fn generation(connection: &mut PgConnection, append: &Append) -> Result<(), AppendError> {
    match &append.generation {
        GenerationWrite::Untouched => Ok(()),
        GenerationWrite::Open(lease) => open(connection, append, lease).await,
        GenerationWrite::TakeOver { lease, seen_fence } => {
            let take = held(TAKE_OVER, append, &lease.generation, *seen_fence);
            let take = take.bind(lease.fence).bind(lease.lease_ms * 1_000);
            expect_one(run(connection, take).await?, AppendError::LeaseLost)
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
    let close = held(CLOSE, append, generation, fence);
    expect_one(run(connection, close).await?, AppendError::LeaseLost)?;
    let drop_chunks = Statement::new(DROP_CHUNKS).bind(append.owner.tenant.as_str());
    run(connection, drop_chunks.bind(generation.as_str())).await.map(drop)
}

async fn open(
    connection: &mut PgConnection,
    append: &Append,
    lease: &GenerationLease,
) -> Result<(), AppendError> {
    let open = Statement::new(OPEN)
        .of(&append.owner)
        .bind(lease.generation.as_str())
        .bind(append.session.as_str())
        .bind(lease.reply_seq)
        .bind(lease.fence)
        .bind(lease.lease_ms * 1_000);
    expect_one(run(connection, open).await?, AppendError::GenerationInProgress)
}

/// A statement on a generation that must be running under the given fence.
fn held(sql: &'static str, append: &Append, generation: &GenerationId, fence: u64) -> Statement {
    let held = Statement::new(sql).bind(append.owner.tenant.as_str());
    held.bind(generation.as_str()).bind(fence)
}

async fn finish_job(connection: &mut PgConnection, append: &Append) -> Result<(), AppendError> {
    let Some(lease) = &append.finished else { return Ok(()) };
    let finish = Statement::new(FINISH_JOB).bind(append.owner.tenant.as_str());
    let finish = finish.bind(lease.job.as_str()).bind(lease.fence);
    expect_one(run(connection, finish).await?, AppendError::LeaseLost)
}

async fn events(connection: &mut PgConnection, append: &Append) -> Result<(), AppendError> {
    if append.events.is_empty() {
        return Ok(());
    }
    fn column<'a, T>(append: &'a Append, of: fn(&'a Record) -> T) -> Vec<T> {
        append.events.iter().map(of).collect()
    }
    let meta = |of: fn(&Meta) -> String| -> Vec<String> {
        append.events.iter().map(|event| of(&event.meta)).collect()
    };
    let inserted = sqlx::query(INSERT_EVENTS)
        .bind(append.owner.tenant.as_str())
        .bind(append.session.as_str())
        .bind(column(append, |event| signed(event.meta.offset)))
        .bind(column(append, |event| event.meta.recorded_at.micros()))
        .bind(meta(|meta| meta.actor.to_stored()))
        .bind(meta(|meta| meta.kind.name().to_owned()))
        .bind(column(append, |event| event.meta.request_id.as_ref().map(|id| id.as_str())))
        .bind(column(append, |event| event.kept.as_ref().map(|kept| kept.payload.as_slice())))
        .bind(column(append, |event| event.kept.as_ref().map(|kept| &kept.salt.as_bytes()[..])))
        .bind(column(append, |event| &event.commitment.as_bytes()[..]))
        .bind(column(append, |event| &event.chain.as_bytes()[..]))
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

/// What lies beside the events: a request's record and jobs.
async fn beside(connection: &mut PgConnection, append: &Append) -> Result<(), AppendError> {
    let tenant = append.owner.tenant.as_str();
    if let Some(row) = &append.request {
        let insert = Statement::new(INSERT_REQUEST).bind(tenant).bind(append.session.as_str());
        run(connection, insert.bind(row.offset).bind(row.record.as_slice())).await?;
    }
    for job in &append.jobs {
        let insert = Statement::new(INSERT_JOB)
            .of(&append.owner)
            .bind(job.job.as_str())
            .bind(append.session.as_str())
            .bind(job.place)
            .bind(job.work.as_slice());
        run(connection, insert).await?;
    }
    Ok(())
}

async fn texts(connection: &mut PgConnection, append: &Append) -> Result<(), AppendError> {
    if append.texts.is_empty() {
        return Ok(());
    }
    let digests: Vec<String> = append.texts.iter().map(|(digest, _)| digest.to_hex()).collect();
    let contents: Vec<&[u8]> = append.texts.iter().map(|(_, text)| text.as_bytes()).collect();
    let kept = sqlx::query(KEEP_TEXTS)
        .bind(append.owner.tenant.as_str())
        .bind(append.owner.subject.as_str())
        .bind(digests)
        .bind(contents)
        .execute(&mut *connection)
        .await;
    kept.map(drop).map_err(|error| unavailable(error).into())
}

/// Runs one statement; answers the rows that it touched.
async fn run(connection: &mut PgConnection, statement: Statement) -> Result<u64, AppendError> {
    let done = bound(statement).execute(connection).await.map_err(unavailable)?;
    Ok(done.rows_affected())
}

fn expect_one(affected: u64, otherwise: AppendError) -> Result<(), AppendError> {
    if affected == 1 { Ok(()) } else { Err(otherwise) }
}

const CREATE_SESSION: &str = "
    insert into sessions (
        tenant, subject, session_id, status, head, turn_count, settings, title, created_at
    )
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    on conflict (tenant, session_id) do update
    set status = excluded.status, title = excluded.title, head = excluded.head,
        turn_count = excluded.turn_count, settings = excluded.settings
    where sessions.status = 'pending'
        and sessions.subject = excluded.subject";

const MOVE_HEAD: &str = "
    update sessions
    set status = $4, head = $5, turn_count = $6, settings = $7
    where tenant = $1
        and subject = $2
        and session_id = $3
        and status = 'live'
        and head = $8";

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
        tenant, subject, job_id, session_id, place, work, status, ready_at, lease_until, epoch,
        worker, attempt, fence, failure
    )
    values (
        $1, $2, $3, $4, $5, $6, 'ready',
        (extract(epoch from clock_timestamp()) * 1000000)::bigint, 0, '', '', 0, 0, ''
    )";

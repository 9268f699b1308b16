//! A group of appends inside one transaction: look everything up once, decide each, write each table once.

use std::collections::{HashMap, HashSet};

use kernel::Timestamp;
use serde_json::{Value, json};
use sqlx::{Row, SqliteConnection};

use crate::store::{Append, AppendError, GenerationLease, GenerationWrite};

pub(super) type Verdicts = Vec<Result<(), AppendError>>;

/// What every member shares.
pub(super) struct Context<'a> {
    pub epoch: &'a str,
    pub now: Timestamp,
}

type SessionKey = (String, String);

/// What the database says about the group's sessions, kept up to date while its members are decided.
#[derive(Default)]
struct Known {
    heads: HashMap<SessionKey, u64>,
    answers: HashSet<[String; 4]>,
    /// The open generation of a session: its id and its fence.
    running: HashMap<SessionKey, (String, u64)>,
    /// Leased jobs: id to fence.
    jobs: HashMap<(String, String), u64>,
}

/// One JSON array per table.
#[derive(Default)]
struct Rows {
    created: Vec<Value>,
    heads: Vec<Value>,
    events: Vec<Value>,
    requests: Vec<Value>,
    texts: Vec<Value>,
    opened: Vec<Value>,
    closed: Vec<Value>,
    jobs: Vec<Value>,
    finished: Vec<Value>,
    answers: Vec<Value>,
}

/// Writes the members that may be written and says of each other why not.
pub(super) async fn write(
    connection: &mut SqliteConnection,
    appends: &[&Append],
    context: &Context<'_>,
) -> Result<Verdicts, sqlx::Error> {
    if appends.is_empty() {
        return Ok(Vec::new());
    }
    let mut known = look_up(connection, appends).await?;
    let mut rows = Rows::default();
    let verdicts = appends
        .iter()
        .map(|append| {
            known.decide(append)?;
            rows.add(append, context);
            Ok(())
        })
        .collect();
    rows.write(connection).await?;
    Ok(verdicts)
}

async fn look_up(
    connection: &mut SqliteConnection,
    appends: &[&Append],
) -> Result<Known, sqlx::Error> {
    let mut known = Known::default();
    let sessions: Vec<Value> =
        appends.iter().map(|a| json!([a.owner.tenant, a.session, a.owner.subject])).collect();
    let rows = sqlx::query(HEADS).bind(Value::from(sessions).to_string());
    for row in rows.fetch_all(&mut *connection).await? {
        let key: SessionKey = (row.try_get(0)?, row.try_get(1)?);
        known.heads.insert(key.clone(), row.try_get::<i64, _>(2)?.unsigned_abs());
        if let Some(generation) = row.try_get::<Option<String>, _>(3)? {
            known.running.insert(key, (generation, row.try_get::<i64, _>(4)?.unsigned_abs()));
        }
    }

    let scopes: Vec<Value> = appends
        .iter()
        .filter_map(|a| a.answer.as_ref().map(|entry| json!(entry.scope.parts())))
        .collect();
    if !scopes.is_empty() {
        let scopes = Value::from(scopes).to_string();
        for row in sqlx::query(ANSWERED).bind(scopes).fetch_all(&mut *connection).await? {
            known.answers.insert([
                row.try_get(0)?,
                row.try_get(1)?,
                row.try_get(2)?,
                row.try_get(3)?,
            ]);
        }
    }

    let leases: Vec<Value> = appends
        .iter()
        .filter_map(|a| a.finished.as_ref().map(|lease| json!([a.owner.tenant, lease.job])))
        .collect();
    if !leases.is_empty() {
        for row in sqlx::query(LEASED)
            .bind(Value::from(leases).to_string())
            .fetch_all(&mut *connection)
            .await?
        {
            known.jobs.insert(
                (row.try_get(0)?, row.try_get(1)?),
                row.try_get::<i64, _>(2)?.unsigned_abs(),
            );
        }
    }
    Ok(known)
}

// === impl Known ===

impl Known {
    /// Checks one append against what is known, and makes known what it changes.
    fn decide(&mut self, append: &Append) -> Result<(), AppendError> {
        let key = session_key(append);
        let scope = append.answer.as_ref().map(|entry| entry.scope.parts().map(str::to_owned));
        if scope.as_ref().is_some_and(|scope| self.answers.contains(scope)) {
            return Err(AppendError::Answered);
        }
        let head = self.heads.get(&key).copied();
        match (append.creates.is_some(), head) {
            (true, Some(_)) => return Err(AppendError::SessionExists),
            (false, None) => return Err(AppendError::HeadMoved),
            _ => {}
        }
        if let Some(first) = append.events.first()
            && first.meta.offset != head.unwrap_or(0) + 1
        {
            return Err(AppendError::HeadMoved);
        }
        self.decide_generation(&key, &append.generation)?;
        if let Some(lease) = &append.finished {
            let job = (key.0.clone(), lease.job.to_string());
            if self.jobs.get(&job) != Some(&lease.fence) {
                return Err(AppendError::LeaseLost);
            }
            self.jobs.remove(&job);
        }

        self.learn_generation(&key, &append.generation);
        if let Some(last) = append.events.last() {
            self.heads.insert(key, last.meta.offset);
        }
        self.answers.extend(scope);
        Ok(())
    }

    fn decide_generation(
        &self,
        key: &SessionKey,
        write: &GenerationWrite,
    ) -> Result<(), AppendError> {
        let running = self.running.get(key);
        let held = |generation: &str, fence: u64| {
            running.is_some_and(|(id, now)| id == generation && *now == fence)
        };
        match write {
            GenerationWrite::Untouched => Ok(()),
            GenerationWrite::Open(_) if running.is_none() => Ok(()),
            GenerationWrite::Open(_) => Err(AppendError::GenerationInProgress),
            GenerationWrite::TakeOver { lease, seen_fence }
                if held(lease.generation.as_str(), *seen_fence) =>
            {
                Ok(())
            }
            GenerationWrite::Close { generation, fence }
            | GenerationWrite::Replace { generation, fence, .. }
                if held(generation.as_str(), *fence) =>
            {
                Ok(())
            }
            GenerationWrite::TakeOver { .. }
            | GenerationWrite::Close { .. }
            | GenerationWrite::Replace { .. } => Err(AppendError::LeaseLost),
        }
    }

    fn learn_generation(&mut self, key: &SessionKey, write: &GenerationWrite) {
        match write {
            GenerationWrite::Open(lease)
            | GenerationWrite::TakeOver { lease, .. }
            | GenerationWrite::Replace { lease, .. } => {
                let running = (lease.generation.to_string(), lease.fence);
                self.running.insert(key.clone(), running);
            }
            GenerationWrite::Close { .. } => {
                self.running.remove(key);
            }
            GenerationWrite::Untouched => {}
        }
    }
}

// === impl Rows ===

impl Rows {
    fn add(&mut self, append: &Append, context: &Context<'_>) {
        let (tenant, subject, session) =
            (&append.owner.tenant, &append.owner.subject, &append.session);
        let head = append.events.last().map(|event| event.meta.offset);
        if let Some(new) = &append.creates {
            let created_at = new.created_at.micros();
            self.created.push(json!([tenant, subject, session, new.title, created_at, head]));
        } else if let Some(head) = head {
            self.heads.push(json!([tenant, session, head]));
        }
        self.events.extend(append.events.iter().map(|record| {
            let kept = record.kept.as_ref();
            let payload = kept.map(|kept| String::from_utf8_lossy(&kept.payload));
            json!([
                tenant,
                session,
                record.meta.offset,
                record.meta.recorded_at,
                record.meta.actor.to_stored(),
                record.meta.kind.name(),
                record.meta.request_id,
                payload,
                kept.map(|kept| hex::encode(kept.salt.as_bytes())),
                record.commitment,
                record.chain,
            ])
        }));
        let text = String::from_utf8_lossy;
        self.requests.extend(
            append.request.iter().map(|r| json!([tenant, session, r.offset, text(&r.record)])),
        );
        self.texts.extend(
            append.texts.iter().map(|(digest, text)| json!([tenant, subject, digest, text])),
        );
        self.jobs.extend(append.jobs.iter().map(|job| {
            let now = context.now.micros();
            json!([tenant, job.job, subject, session, job.place, text(&job.work), now])
        }));
        self.finished.extend(append.finished.iter().map(|lease| json!([tenant, lease.job])));
        match &append.generation {
            GenerationWrite::Open(lease) | GenerationWrite::TakeOver { lease, .. } => {
                self.opened.push(opened(append, lease, context));
            }
            GenerationWrite::Close { generation, .. } => {
                self.closed.push(json!([tenant, generation]));
            }
            GenerationWrite::Replace { generation, lease, .. } => {
                self.closed.push(json!([tenant, generation]));
                self.opened.push(opened(append, lease, context));
            }
            GenerationWrite::Untouched => {}
        }
        self.answers.extend(append.answer.iter().map(|entry| {
            let [tenant, subject, method, request_id] = entry.scope.parts();
            let reference = hex::encode(&entry.answer.reference);
            let now = context.now.micros();
            json!([tenant, subject, method, request_id, entry.answer.request, reference, now])
        }));
    }

    /// Generations close before others open, so that the one-per-session index holds throughout.
    async fn write(self, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        let tables = [
            (CREATE_SESSIONS, self.created),
            (MOVE_HEADS, self.heads),
            (INSERT_EVENTS, self.events),
            (INSERT_REQUESTS, self.requests),
            (KEEP_TEXTS, self.texts),
            (CLOSE_GENERATIONS, self.closed.clone()),
            (DROP_CHUNKS, self.closed),
            (OPEN_GENERATIONS, self.opened),
            (INSERT_JOBS, self.jobs),
            (DELETE_JOBS, self.finished),
            (INSERT_ANSWERS, self.answers),
        ];
        for (statement, rows) in tables {
            if !rows.is_empty() {
                let rows = Value::from(rows).to_string();
                sqlx::query(statement).bind(rows).execute(&mut *connection).await?;
            }
        }
        Ok(())
    }
}

fn session_key(append: &Append) -> SessionKey {
    (append.owner.tenant.to_string(), append.session.to_string())
}

fn opened(append: &Append, lease: &GenerationLease, context: &Context<'_>) -> Value {
    json!([
        append.owner.tenant,
        append.owner.subject,
        lease.generation,
        append.session,
        lease.reply_seq,
        lease.fence,
        context.now.plus_ms(lease.lease_ms).micros(),
        context.epoch,
    ])
}

const HEADS: &str = "
    select s.tenant, s.session_id, s.head, g.generation_id, g.fence
    from json_each($1) w
    join sessions s
        on s.tenant = w.value ->> 0
        and s.session_id = w.value ->> 1
        and s.subject = w.value ->> 2
        and s.status = 'live'
    left join generations g
        on g.tenant = s.tenant
        and g.session_id = s.session_id
        and g.status = 'running'";

const LEASED: &str = "
    select j.tenant, j.job_id, j.fence
    from json_each($1) w
    join jobs j
        on j.tenant = w.value ->> 0
        and j.job_id = w.value ->> 1
    where j.status = 'leased'";

const ANSWERED: &str = "
    select a.tenant, a.subject, a.method, a.request_id
    from json_each($1) w
    join answers a
        on a.tenant = w.value ->> 0
        and a.subject = w.value ->> 1
        and a.method = w.value ->> 2
        and a.request_id = w.value ->> 3";

const INSERT_ANSWERS: &str = "
    insert into answers (tenant, subject, method, request_id, request, reference, answered_at)
    select
        value ->> 0, value ->> 1, value ->> 2, value ->> 3,
        unhex(value ->> 4), unhex(value ->> 5), value ->> 6
    from json_each($1)";

const CREATE_SESSIONS: &str = "
    insert into sessions (tenant, subject, session_id, status, title, created_at, head)
    select value ->> 0, value ->> 1, value ->> 2, 'live', value ->> 3, value ->> 4, value ->> 5
    from json_each($1)
    where true
    on conflict (tenant, session_id) do update
    set status = 'live', pending = null, title = excluded.title, head = excluded.head
    where sessions.status = 'pending'
        and sessions.subject = excluded.subject";

const MOVE_HEADS: &str = "
    update sessions
    set head = w.head
    from (
        select value ->> 0 as tenant, value ->> 1 as session_id, max(value ->> 2) as head
        from json_each($1)
        group by 1, 2
    ) w
    where sessions.tenant = w.tenant
        and sessions.session_id = w.session_id";

const INSERT_EVENTS: &str = "
    insert into events (
        tenant, session_id, at_offset, recorded_at, actor, kind, request_id,
        payload, salt, commitment, chain
    )
    select
        value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6,
        cast(value ->> 7 as blob), unhex(value ->> 8), unhex(value ->> 9), unhex(value ->> 10)
    from json_each($1)";

const INSERT_REQUESTS: &str = "
    insert into requests (tenant, session_id, at_offset, record)
    select value ->> 0, value ->> 1, value ->> 2, cast(value ->> 3 as blob)
    from json_each($1)";

const KEEP_TEXTS: &str = "
    insert into segment_texts (tenant, subject, digest, content)
    select value ->> 0, value ->> 1, value ->> 2, cast(value ->> 3 as blob)
    from json_each($1)
    where true
    on conflict (tenant, subject, digest) do nothing";

const OPEN_GENERATIONS: &str = "
    insert into generations (
        tenant, subject, generation_id, session_id, reply_seq, fence, status, lease_until, epoch
    )
    select
        value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5,
        'running', value ->> 6, value ->> 7
    from json_each($1)
    where true
    on conflict (tenant, generation_id) do update
    set fence = excluded.fence, lease_until = excluded.lease_until, epoch = excluded.epoch";

const CLOSE_GENERATIONS: &str = "
    update generations
    set status = 'closed'
    from json_each($1) w
    where generations.tenant = w.value ->> 0
        and generations.generation_id = w.value ->> 1";

const DROP_CHUNKS: &str = "
    delete from chunks
    where exists (
        select 1
        from json_each($1) w
        where chunks.tenant = w.value ->> 0
            and chunks.generation_id = w.value ->> 1
    )";

const INSERT_JOBS: &str = "
    insert into jobs (
        tenant, job_id, subject, session_id, place, work, status, ready_at, lease_until, epoch,
        worker, attempt, fence, failure
    )
    select
        value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, cast(value ->> 5 as blob),
        'ready', value ->> 6, 0, '', '', 0, 0, ''
    from json_each($1)";

const DELETE_JOBS: &str = "
    delete from jobs
    where exists (
        select 1
        from json_each($1) w
        where jobs.tenant = w.value ->> 0
            and jobs.job_id = w.value ->> 1
    )";

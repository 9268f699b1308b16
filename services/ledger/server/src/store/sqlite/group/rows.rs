//! What a group writes, table by table: one statement for each, with its rows as JSON.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sqlx::SqliteConnection;

use super::{Context, SessionKey, session_key};
use crate::store::{Append, GenerationLease, GenerationWrite};

/// One JSON array per table.
#[derive(Default)]
pub(super) struct Rows {
    created: Vec<Value>,
    /// The last of each session counts.
    heads: BTreeMap<SessionKey, Value>,
    events: Vec<Value>,
    requests: Vec<Value>,
    texts: Vec<Value>,
    opened: Vec<Value>,
    closed: Vec<Value>,
    jobs: Vec<Value>,
    finished: Vec<Value>,
    answers: Vec<Value>,
}

// === impl Rows ===

impl Rows {
    pub(super) fn add(&mut self, append: &Append, context: &Context<'_>) {
        let (tenant, subject, session) =
            (&append.owner.tenant, &append.owner.subject, &append.session);
        if let (Some(last), Some(listed)) = (append.events.last(), &append.listed) {
            let (head, status) = (last.meta.offset, listed.status());
            let (turns, settings) = (listed.turn_count, listed.settings_json());
            let row = json!([tenant, session, status, head, turns, settings]);
            match &append.creates {
                Some(new) => self.created.push(json!([row, subject, new.title, new.created_at])),
                None => {
                    self.heads.insert(session_key(append), row);
                }
            }
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
    pub(super) async fn write(self, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        let tables = [
            (CREATE_SESSIONS, self.created),
            (MOVE_HEADS, self.heads.into_values().collect()),
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

const INSERT_ANSWERS: &str = "
    insert into answers (tenant, subject, method, request_id, request, reference, answered_at)
    select
        value ->> 0, value ->> 1, value ->> 2, value ->> 3,
        unhex(value ->> 4), unhex(value ->> 5), value ->> 6
    from json_each($1)";

const CREATE_SESSIONS: &str = "
    insert into sessions (
        tenant, session_id, status, head, turn_count, settings, subject, title, created_at
    )
    select
        value ->> '$[0][0]', value ->> '$[0][1]', value ->> '$[0][2]', value ->> '$[0][3]',
        value ->> '$[0][4]', cast(value ->> '$[0][5]' as blob), value ->> 1, value ->> 2, value ->> 3
    from json_each($1)
    where true
    on conflict (tenant, session_id) do update
    set status = excluded.status, title = excluded.title, head = excluded.head,
        turn_count = excluded.turn_count, settings = excluded.settings
    where sessions.status = 'pending'
        and sessions.subject = excluded.subject";

const MOVE_HEADS: &str = "
    update sessions
    set status = w.value ->> 2, head = w.value ->> 3, turn_count = w.value ->> 4,
        settings = cast(w.value ->> 5 as blob)
    from json_each($1) w
    where sessions.tenant = w.value ->> 0
        and sessions.session_id = w.value ->> 1";

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

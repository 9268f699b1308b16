//! A group of appends inside one transaction: look everything up once, decide each, write each table once.

mod rows;

use std::collections::{HashMap, HashSet};

use kernel::Timestamp;
use serde_json::{Value, json};
use sqlx::{Row, SqliteConnection};

use self::rows::Rows;

use crate::store::{Append, AppendError, GenerationWrite};

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

fn session_key(append: &Append) -> SessionKey {
    (append.owner.tenant.to_string(), append.session.to_string())
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

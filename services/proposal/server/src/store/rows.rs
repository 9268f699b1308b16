//! Rows as both databases give them, and how they become records.

use std::collections::BTreeMap;

use kernel::{Owner, Subject, TenantId, Timestamp};
use proposal_core::{
    Changeset, Evaluation, JudgedTurn, Operation, Outcome, Rejected, Source, Stage,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

#[derive(Debug, sqlx::FromRow)]
pub(super) struct EvaluationRow {
    pub tenant: String,
    pub subject: String,
    pub evaluation_id: String,
    pub session_id: String,
    pub turn_seq: i64,
    pub alternative_id: String,
    pub attempt: i64,
    pub outcome: String,
    pub body: Vec<u8>,
    pub judged_at: i64,
}

/// The texts and figures of an evaluation.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct EvaluationBody {
    pub reason: String,
    pub rejected: Vec<Rejected>,
    pub model: String,
    pub input_tokens: u64,
    pub output_tokens: u64,
}

#[derive(Debug, sqlx::FromRow)]
pub(super) struct ChangesetRow {
    pub tenant: String,
    pub subject: String,
    pub changeset_id: String,
    pub evaluation_id: String,
    pub world_id: String,
    pub base_revision: i64,
    pub stage: String,
    pub version: i64,
    pub attempts: i64,
    pub session_id: Option<String>,
    pub turn_seq: Option<i64>,
    pub alternative_id: Option<String>,
    pub body: Vec<u8>,
    pub application: Option<Vec<u8>>,
    pub stale_reason: String,
    pub created_at: i64,
    pub decided_at: Option<i64>,
}

/// The texts of a changeset.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ChangesetBody {
    pub world_name: String,
    pub summary: String,
    pub operations: Vec<Operation>,
    pub excerpt: String,
    pub labels: BTreeMap<String, String>,
}

/// A value that no write of ours has stored.
#[derive(Debug, thiserror::Error)]
#[error("its {0} cannot be read")]
struct Unreadable(&'static str);

/// Which record it is in.
#[derive(Debug, thiserror::Error)]
#[error("{kind} {id}: {problem}")]
struct Damaged {
    kind: &'static str,
    id: String,
    problem: String,
}

pub(super) fn json<T: Serialize>(value: &T) -> Result<Vec<u8>, sqlx::Error> {
    serde_json::to_vec(value).map_err(|error| sqlx::Error::Encode(error.into()))
}

/// Figures of ours stay far below; a column holds no more.
pub(super) fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn damaged(kind: &'static str, id: String, problem: &Unreadable) -> sqlx::Error {
    sqlx::Error::Decode(Damaged { kind, id, problem: problem.to_string() }.into())
}

fn parse<T: DeserializeOwned>(what: &'static str, bytes: &[u8]) -> Result<T, Unreadable> {
    read(what, serde_json::from_slice(bytes))
}

fn read<T, E>(what: &'static str, value: Result<T, E>) -> Result<T, Unreadable> {
    value.map_err(|_| Unreadable(what))
}

fn owner(tenant: String, subject: String) -> Result<Owner, Unreadable> {
    Ok(Owner {
        tenant: read("tenant", TenantId::try_from(tenant))?,
        subject: read("subject", Subject::try_from(subject))?,
    })
}

// === impl EvaluationBody ===

impl EvaluationBody {
    pub fn of(evaluation: &Evaluation) -> Self {
        Self {
            reason: evaluation.reason.clone(),
            rejected: evaluation.rejected.clone(),
            model: evaluation.model.clone(),
            input_tokens: evaluation.input_tokens,
            output_tokens: evaluation.output_tokens,
        }
    }
}

// === impl ChangesetBody ===

impl ChangesetBody {
    pub fn of(changeset: &Changeset) -> Self {
        Self {
            world_name: changeset.world_name.clone(),
            summary: changeset.summary.clone(),
            operations: changeset.operations.clone(),
            excerpt: changeset.source.excerpt.clone(),
            labels: changeset.source.labels.clone(),
        }
    }
}

impl TryFrom<EvaluationRow> for Evaluation {
    type Error = sqlx::Error;

    fn try_from(row: EvaluationRow) -> Result<Self, sqlx::Error> {
        let id = row.evaluation_id.clone();
        row.read().map_err(|problem| damaged("evaluation", id, &problem))
    }
}

impl EvaluationRow {
    fn read(self) -> Result<Evaluation, Unreadable> {
        let row = self;
        let body: EvaluationBody = parse("body", &row.body)?;
        Ok(Evaluation {
            id: read("id", row.evaluation_id.try_into())?,
            owner: owner(row.tenant, row.subject)?,
            turn: JudgedTurn {
                session: read("session id", row.session_id.try_into())?,
                turn_seq: read("turn", row.turn_seq.try_into())?,
                alternative: read("alternative id", row.alternative_id.try_into())?,
                attempt: read("attempt", row.attempt.try_into())?,
            },
            outcome: read("outcome", Outcome::from_name(&row.outcome).ok_or(()))?,
            reason: body.reason,
            rejected: body.rejected,
            model: body.model,
            input_tokens: body.input_tokens,
            output_tokens: body.output_tokens,
            judged_at: Timestamp::from_micros(row.judged_at),
        })
    }
}

impl TryFrom<ChangesetRow> for Changeset {
    type Error = sqlx::Error;

    fn try_from(row: ChangesetRow) -> Result<Self, sqlx::Error> {
        let id = row.changeset_id.clone();
        row.read().map_err(|problem| damaged("changeset", id, &problem))
    }
}

impl ChangesetRow {
    fn read(self) -> Result<Changeset, Unreadable> {
        let row = self;
        let body: ChangesetBody = parse("body", &row.body)?;
        let session = row.session_id.map(TryInto::try_into).transpose();
        let alternative = row.alternative_id.map(TryInto::try_into).transpose();
        let source = Source {
            session: read("session id", session)?,
            turn_seq: read("turn", row.turn_seq.map(TryInto::try_into).transpose())?,
            alternative: read("alternative id", alternative)?,
            excerpt: body.excerpt,
            labels: body.labels,
        };
        Ok(Changeset {
            id: read("id", row.changeset_id.try_into())?,
            owner: owner(row.tenant, row.subject)?,
            evaluation: read("evaluation id", row.evaluation_id.try_into())?,
            world: read("world id", row.world_id.try_into())?,
            world_name: body.world_name,
            base_revision: read("revision", row.base_revision.try_into())?,
            stage: read("stage", Stage::from_name(&row.stage).ok_or(()))?,
            version: read("version", row.version.try_into())?,
            summary: body.summary,
            operations: body.operations,
            source,
            attempts: read("attempts", row.attempts.try_into())?,
            application: row
                .application
                .as_deref()
                .map(|bytes| parse("application", bytes))
                .transpose()?,
            stale_reason: row.stale_reason,
            created_at: Timestamp::from_micros(row.created_at),
            decided_at: row.decided_at.map(Timestamp::from_micros),
        })
    }
}

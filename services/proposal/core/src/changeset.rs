//! A set of operations on one world, waiting for a person; every decision on it makes its next version.

use std::collections::BTreeMap;

use kernel::{
    AlternativeId, ChangeId, ChangesetId, Digest, EvaluationId, Owner, RequestId, SessionId,
    Timestamp, WorldId,
};
use serde::{Deserialize, Serialize};

use crate::{
    operation::Operation,
    stage::{Stage, Transition, WrongStage},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changeset {
    pub id: ChangesetId,
    pub owner: Owner,
    pub evaluation: EvaluationId,
    pub world: WorldId,
    /// As it was when the changeset was made; it outlives the world.
    pub world_name: String,
    /// The world's `content_revision` that the operations were made for.
    pub base_revision: u64,
    pub stage: Stage,
    /// From 1; each stored change of this record moves it by one, and it is the etag.
    pub version: u64,
    pub summary: String,
    pub operations: Vec<Operation>,
    pub source: Source,
    /// Applications begun so far.
    pub attempts: u32,
    /// While APPLYING and once APPLIED.
    pub application: Option<Application>,
    /// Why it is STALE.
    pub stale_reason: String,
    pub created_at: Timestamp,
    pub decided_at: Option<Timestamp>,
}

/// Where it comes from. The ids go with the session, the labels stay.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Source {
    pub session: Option<SessionId>,
    pub turn_seq: Option<u64>,
    pub alternative: Option<AlternativeId>,
    /// The exchange's beginning; empty once purged.
    pub excerpt: String,
    /// `session`, `character`, `user`.
    pub labels: BTreeMap<String, String>,
}

/// One attempt at applying: what lorebook is asked, however often it is asked. Its serde form is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Application {
    /// `<changeset>:<attempt>`.
    pub change: ChangeId,
    /// Frozen.
    pub operations: Vec<Operation>,
    /// With `allow_partial`: what did not hold.
    pub left_out: Vec<LeftOut>,
    /// The call that began it, so that its retry finds it, and its hash.
    pub request_id: RequestId,
    pub request: Digest,
    pub since: Timestamp,
}

/// An operation that was not applied with the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub operation: Operation,
    pub problem: String,
}

// === impl Changeset ===

impl Changeset {
    /// A person has written other operations.
    pub fn edited(
        &self,
        operations: Vec<Operation>,
        summary: Option<String>,
    ) -> Result<Self, WrongStage> {
        let summary = summary.unwrap_or_else(|| self.summary.clone());
        Ok(Self { operations, summary, ..self.after(Transition::Edit)? })
    }

    /// The id of the change that the next application makes. (A `/` may not stand in an id.)
    pub fn next_change(&self) -> ChangeId {
        let attempt = (self.attempts + 1).to_string();
        let readable = ChangeId::new(format!("{}:{attempt}", self.id));
        readable.unwrap_or_else(|_| ChangeId::derived(&[self.id.as_str(), &attempt]))
    }

    pub fn begun(&self, application: Application) -> Result<Self, WrongStage> {
        let begun = self.after(Transition::BeginApply)?;
        Ok(Self { attempts: self.attempts + 1, application: Some(application), ..begun })
    }

    pub fn applied(&self, now: Timestamp) -> Result<Self, WrongStage> {
        Ok(Self { decided_at: Some(now), ..self.after(Transition::RecordApplied)? })
    }

    pub fn released(&self) -> Result<Self, WrongStage> {
        Ok(Self { application: None, ..self.after(Transition::Release)? })
    }

    /// Its world has moved on, found before or while applying.
    pub fn stale(&self, reason: String, now: Timestamp) -> Result<Self, WrongStage> {
        let stale =
            self.after(Transition::RecordStale).or_else(|_| self.after(Transition::Expire))?;
        Ok(Self { stale_reason: reason, application: None, decided_at: Some(now), ..stale })
    }

    pub fn rejected(&self, now: Timestamp) -> Result<Self, WrongStage> {
        Ok(Self { decided_at: Some(now), ..self.after(Transition::Reject)? })
    }

    fn after(&self, transition: Transition) -> Result<Self, WrongStage> {
        let stage = self.stage.after(transition)?;
        Ok(Self { stage, version: self.version + 1, ..self.clone() })
    }
}

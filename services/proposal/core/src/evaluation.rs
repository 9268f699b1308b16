//! How one judging call ended: every way has a name, and none costs the user's turn anything.

use kernel::{AlternativeId, ChangesetId, EvaluationId, Owner, SessionId, Timestamp, WorldId};
use serde::{Deserialize, Serialize};

use crate::operation::Operation;

/// Which attempt at judging which reply; there is one evaluation of each.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JudgedTurn {
    pub session: SessionId,
    /// The reply slot.
    pub turn_seq: u64,
    pub alternative: AlternativeId,
    /// From 1.
    pub attempt: u32,
}

/// The record of one judging call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluation {
    pub id: EvaluationId,
    pub owner: Owner,
    pub turn: JudgedTurn,
    pub outcome: Outcome,
    /// Why, where the outcome alone does not say; a stable code first.
    pub reason: String,
    pub rejected: Vec<Rejected>,
    /// `<provider>/<model>`; empty when none was called.
    pub model: String,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub judged_at: Timestamp,
}

/// What the rules made of the model's answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Judgement {
    pub summary: String,
    /// Per world in the order in which the answer first touched them; none is empty.
    pub worlds: Vec<(WorldId, Vec<Operation>)>,
    pub rejected: Vec<Rejected>,
}

/// An operation that the rules refused, kept for the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejected {
    /// Place in the model's answer, from 0.
    pub index: usize,
    pub reason: String,
    /// As the model wrote it, JSON, cut at `CHANGE_REJECTED_CHARS_MAX`.
    pub operation: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Changesets wait for a person.
    Staged,
    /// The model had nothing to propose.
    Nothing,
    /// All that it proposed was refused.
    AllRejected,
    /// The call failed.
    Failed,
    /// No world was opted in any more.
    NoWorld,
    /// The turn changed while it was judged.
    TurnMoved,
}

// === impl Evaluation ===

impl Evaluation {
    /// The same turn and attempt give the same id, so that a repeated job finds what it has done.
    pub fn id_of(owner: &Owner, turn: &JudgedTurn) -> EvaluationId {
        EvaluationId::derived(&[
            owner.tenant.as_str(),
            owner.subject.as_str(),
            turn.session.as_str(),
            &turn.turn_seq.to_string(),
            turn.alternative.as_str(),
            &turn.attempt.to_string(),
        ])
    }

    /// The changeset that this evaluation stages for a world.
    pub fn changeset_id(&self, world: &WorldId) -> ChangesetId {
        ChangesetId::derived(&[self.id.as_str(), world.as_str()])
    }
}

// === impl Judgement ===

impl Judgement {
    pub fn outcome(&self) -> Outcome {
        match (self.worlds.is_empty(), self.rejected.is_empty()) {
            (false, _) => Outcome::Staged,
            (true, true) => Outcome::Nothing,
            (true, false) => Outcome::AllRejected,
        }
    }
}

// === impl Outcome ===

impl Outcome {
    pub const ALL: [Self; 6] = [
        Self::Staged,
        Self::Nothing,
        Self::AllRejected,
        Self::Failed,
        Self::NoWorld,
        Self::TurnMoved,
    ];

    /// The stored name, which is also the API's.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Staged => "STAGED",
            Self::Nothing => "NOTHING",
            Self::AllRejected => "ALL_REJECTED",
            Self::Failed => "FAILED",
            Self::NoWorld => "NO_WORLD",
            Self::TurnMoved => "TURN_MOVED",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }
}

//! Turns and reply slots as the fold knows them.

use kernel::{AlternativeId, GenerationId, Timestamp, TurnId};
use prompt::{
    derive::{Author, TurnClass},
    item::TextRef,
};
use serde::{Deserialize, Serialize};

use super::State;
use crate::event::Visibility;

/// One entry of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    pub id: TurnId,
    /// The event that made it.
    pub offset: u64,
    pub recorded_at: Timestamp,
    pub kind: TurnKind,
    pub retracted: bool,
    /// Whether the next request may hold it.
    pub in_context: bool,
    /// Moves with each edit, selection, retraction and new reply.
    pub revision: u64,
}

/// How a turn came to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnKind {
    Received { text: TextRef },
    Seeded { author: Author, class: TurnClass, visibility: Visibility, text: TextRef },
    Imported { author: Author, text: TextRef },
    Slot(Slot),
}

/// Where generated replies go; one of them is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// The user's message that it answers.
    pub own: Option<u64>,
    pub alternatives: Vec<Alternative>,
    pub selected: Option<usize>,
    /// How the last attempt ended that left no reply.
    pub ended: Option<Ended>,
}

/// One reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alternative {
    pub id: AlternativeId,
    pub generation: GenerationId,
    /// Its `turn-completed`, which also carries usage, timed effects and variables.
    pub completed: u64,
    pub text: TextRef,
}

/// An attempt that left no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    pub aborted: bool,
    /// The event that says why and holds the partial text.
    pub offset: u64,
}

/// Where a turn stands (20-ledger, section 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Received,
    Seeded,
    Generating,
    Completed,
    Failed,
    Aborted,
}

// === impl Turn ===

impl Turn {
    pub fn slot(&self) -> Option<&Slot> {
        match &self.kind {
            TurnKind::Slot(slot) => Some(slot),
            TurnKind::Received { .. } | TurnKind::Seeded { .. } | TurnKind::Imported { .. } => None,
        }
    }

    pub(crate) fn slot_mut(&mut self) -> Option<&mut Slot> {
        match &mut self.kind {
            TurnKind::Slot(slot) => Some(slot),
            TurnKind::Received { .. } | TurnKind::Seeded { .. } | TurnKind::Imported { .. } => None,
        }
    }

    /// The text that it shows: its own, or its selected reply's.
    pub fn text(&self) -> Option<TextRef> {
        match &self.kind {
            TurnKind::Received { text }
            | TurnKind::Seeded { text, .. }
            | TurnKind::Imported { text, .. } => Some(*text),
            TurnKind::Slot(slot) => slot.shown().map(|alternative| alternative.text),
        }
    }

    pub fn author(&self) -> Author {
        match self.kind {
            TurnKind::Received { .. } => Author::User,
            TurnKind::Seeded { author, .. } | TurnKind::Imported { author, .. } => author,
            TurnKind::Slot(_) => Author::Assistant,
        }
    }
}

// === impl Slot ===

impl Slot {
    /// The selected reply.
    pub fn shown(&self) -> Option<&Alternative> {
        self.selected.and_then(|at| self.alternatives.get(at))
    }

    pub fn find(&self, id: &AlternativeId) -> Option<usize> {
        self.alternatives.iter().position(|alternative| alternative.id == *id)
    }
}

// === impl State ===

impl State {
    pub fn phase(&self, seq: u64) -> Option<Phase> {
        let turn = self.turns.get(&seq)?;
        let TurnKind::Slot(slot) = &turn.kind else {
            return Some(match turn.kind {
                TurnKind::Received { .. } => Phase::Received,
                _ => Phase::Seeded,
            });
        };
        if self.generation.as_ref().is_some_and(|generation| generation.slot == Some(seq)) {
            return Some(Phase::Generating);
        }
        Some(match (slot.shown(), slot.ended) {
            (Some(_), _) => Phase::Completed,
            (None, Some(Ended { aborted: true, .. })) => Phase::Aborted,
            (None, _) => Phase::Failed,
        })
    }
}

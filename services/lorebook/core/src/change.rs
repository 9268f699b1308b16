//! Changes of a world by anyone but its user's own hand: what they may do, do, and how they are undone.
//!
//! A change creates, rewrites and retires rows of the dynamic layer. There is no operation that writes
//! or deletes an authored row (seed 004, section 1); the stores guard that once more.

mod diff;
mod patch;
mod plan;
mod undo;

use std::collections::{BTreeMap, HashMap};

use kernel::{ChangeId, EntryId, Timestamp};
use serde::{Deserialize, Serialize};

pub use diff::{FieldDiff, RowDiff, RowVerb, diff};
pub use patch::{InvalidPatch, Patch};
pub use plan::{Planned, Reason, Refusal, Rejected, plan};
pub use undo::{Conflict, NothingToReset, RevertRefused, reset, revert};

use crate::entry::Entry;

/// One stored operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// New lore, standing on its own.
    Create { fields: Patch },
    /// Rewrites a dynamic row.
    Update { target: EntryId, fields: Patch },
    /// Hides an authored row behind a copy of it that restates some fields.
    Replace { target: EntryId, fields: Patch },
    /// Hides an authored row and says nothing.
    Suppress { target: EntryId },
    /// Retires a dynamic row.
    Archive { target: EntryId },
    /// Puts a dynamic row back to an earlier state: of an undo only.
    Restore { target: EntryId },
    /// A deletion by the user's own hand: recorded, never executed, never undone.
    Delete { target: EntryId },
}

/// Who made a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// An accepted proposal of a model.
    Agent,
    /// An accepted proposal that was judged a second time.
    ReEvaluate,
    Undo,
    Reset,
    /// The user's own deletion.
    Manual,
}

/// A row before and after one operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    pub before: Option<Entry>,
    pub after: Option<Entry>,
}

/// One change as a world's History keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub id: ChangeId,
    pub origin: Origin,
    pub operations: Vec<Operation>,
    /// One per operation, in the same order.
    pub pairs: Vec<Pair>,
    /// Why, one per operation; none where nobody was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rationales: Vec<String>,
    pub base_revision: u64,
    pub applied_revision: u64,
    #[serde(default)]
    pub summary: String,
    /// Names of where it came from, kept because History outlives its sources.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The change that this one undid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverts: Option<ChangeId>,
    /// The change that undid this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverted_by: Option<ChangeId>,
    pub applied_at: Timestamp,
}

// === impl Operation ===

impl Operation {
    pub const fn verb(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create",
            Self::Update { .. } => "update",
            Self::Replace { .. } => "replace",
            Self::Suppress { .. } => "suppress",
            Self::Archive { .. } => "archive",
            Self::Restore { .. } => "restore",
            Self::Delete { .. } => "delete",
        }
    }

    pub const fn target(&self) -> Option<&EntryId> {
        match self {
            Self::Create { .. } => None,
            Self::Update { target, .. }
            | Self::Replace { target, .. }
            | Self::Suppress { target }
            | Self::Archive { target }
            | Self::Restore { target }
            | Self::Delete { target } => Some(target),
        }
    }

    fn target_mut(&mut self) -> Option<&mut EntryId> {
        match self {
            Self::Create { .. } => None,
            Self::Update { target, .. }
            | Self::Replace { target, .. }
            | Self::Suppress { target }
            | Self::Archive { target }
            | Self::Restore { target }
            | Self::Delete { target } => Some(target),
        }
    }
}

// === impl Origin ===

impl Origin {
    pub const ALL: [Self; 5] =
        [Self::Agent, Self::ReEvaluate, Self::Undo, Self::Reset, Self::Manual];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::ReEvaluate => "re_evaluate",
            Self::Undo => "undo",
            Self::Reset => "reset",
            Self::Manual => "manual",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|origin| origin.name() == name)
    }
}

// === impl Record ===

impl Record {
    /// Whether an undo is offered: something was written, and nothing has undone it yet.
    pub fn is_revertible(&self) -> bool {
        self.reverted_by.is_none() && self.pairs.iter().any(|pair| pair.after.is_some())
    }

    /// Follows the rows of a restored backup to their new ids.
    pub fn follow(&mut self, ids: &HashMap<EntryId, EntryId>) {
        let follow = |id: &mut EntryId| {
            if let Some(now) = ids.get(id) {
                *id = now.clone();
            }
        };
        self.operations.iter_mut().filter_map(Operation::target_mut).for_each(follow);
        let rows = self.pairs.iter_mut().flat_map(|pair| [&mut pair.before, &mut pair.after]);
        for row in rows.flatten() {
            follow(&mut row.id);
            row.supersedes_entry_id.as_mut().into_iter().for_each(follow);
        }
    }
}

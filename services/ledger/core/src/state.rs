//! A session as its events leave it: turns, the context's skeleton, the running generation, pending causes.
//!
//! It serialises as the snapshot. It holds no text; what it costs is the items and turns that are in it.

mod compact;
mod fold;
mod place;
mod rewrite;
mod takeback;
mod turn;
mod view;

use std::{collections::BTreeMap, sync::Arc};

use kernel::{GenerationId, Owner, SessionId, Timestamp};
use prompt::item::{Item, TextRef};
use serde::{Deserialize, Serialize};

use crate::{
    chain::Head,
    event::{Cause, Event, Parent, Versions},
    settings::Settings,
};

pub use fold::Inconsistent;
pub use place::Placed;
pub use turn::{Alternative, Ended, Phase, Slot, Turn, TurnKind};
pub use view::{LiveKey, Spoken};

/// The fold of a session's events.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct State {
    pub(crate) head: Head,
    pub(crate) identity: Option<Identity>,
    pub(crate) settings: Settings,
    pub(crate) deleted: bool,
    /// In placement order.
    pub(crate) items: Vec<Item>,
    /// The newest stamp's offset, 0 before the first.
    pub(crate) last_stamp: u64,
    /// A stamp is in context: since the start or the last `delete *` a request was made.
    pub(crate) stamped: bool,
    pub(crate) turns: BTreeMap<u64, Turn>,
    pub(crate) next_seq: u64,
    pub(crate) generation: Option<Generation>,
    /// Since the last stamp.
    pub(crate) causes: Vec<PendingCause>,
    /// Lore keys of the compile that the last stamp carried.
    pub(crate) active_lore: Vec<Arc<str>>,
    /// The forms that the session keeps.
    pub(crate) versions: Option<Versions>,
    /// Tool runs without an answer: request offset and time.
    pub(crate) tool_runs: BTreeMap<u64, Timestamp>,
}

/// Whose session it is and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub session: SessionId,
    pub owner: Owner,
    pub created_at: Timestamp,
    pub parent: Option<Parent>,
}

/// The generation that has the session's one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generation {
    pub id: GenerationId,
    pub fence: u64,
    /// None: a caller's compaction.
    pub slot: Option<u64>,
    /// The user's message that it answers.
    pub own: Option<u64>,
    /// Where the present attempt began.
    pub started: u64,
    /// Not sent yet: the next reply request ends with it.
    pub guidance: Option<TextRef>,
    /// The reply request of the present attempt was stamped.
    pub requested: bool,
}

/// Something that may break the prefix of the next request, and what it touched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingCause {
    pub cause: Cause,
    pub touched: Touched,
}

/// What a cause may explain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Touched {
    Everything,
    /// The last block of the request before.
    Tail,
    /// Blocks that show these events.
    Offsets(Vec<u64>),
}

// === impl State ===

impl State {
    /// The fold of a whole log.
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> Result<Self, Inconsistent> {
        let mut state = Self::default();
        for event in events {
            state.apply(event)?;
        }
        Ok(state)
    }

    fn cause(&mut self, cause: Cause, touched: Touched) {
        self.causes.push(PendingCause { cause, touched });
    }
}

#[cfg(test)]
mod tests;

//! One atomic write to one session, and everything that may land in it.

use kernel::{Digest, GenerationId, JobId, Owner, SessionId, Timestamp};
use ledger_core::{
    Settings, State,
    event::{Event, Record},
};

use super::{JobLease, RequestRow};
use crate::attempt::Entry;

/// One atomic write to one session.
#[derive(Debug, Clone)]
pub struct Append {
    pub owner: Owner,
    pub session: SessionId,
    /// In order; the first one's offset is the expected head + 1.
    pub events: Vec<Record>,
    /// Comes with events, and only with them.
    pub listed: Option<Listed>,
    pub generation: GenerationWrite,
    pub request: Option<RequestRow>,
    /// Texts that a request's record names by digest; kept once per owner.
    pub texts: Vec<(Digest, String)>,
    pub jobs: Vec<NewJob>,
    /// The stored answer, where the caller named its attempt.
    pub answer: Option<Entry>,
    /// A finished job goes with the events that it brought.
    pub finished: Option<JobLease>,
    /// Set on the first append: the row that makes the session live.
    pub creates: Option<NewSession>,
}

/// What lists show of a session once its newest events are folded in, kept in its row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub settings: Settings,
    pub turn_count: u64,
    /// A deleted session is in no list.
    pub deleted: bool,
}

/// The session row that comes with the first events.
#[derive(Debug, Clone)]
pub struct NewSession {
    pub title: String,
    pub created_at: Timestamp,
}

/// What an append does to the session's generation. Whoever writes under a fence has folded the event
/// that set it, and the head decides; the rows are checked all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GenerationWrite {
    /// The generation is not this append's business.
    Untouched,
    /// Opens one; refused if another runs.
    Open(GenerationLease),
    /// Takes a dead one over under the next fence; refused unless the fence is still the one seen.
    TakeOver { lease: GenerationLease, seen_fence: u64 },
    /// Ends it; refused under an old fence.
    Close { generation: GenerationId, fence: u64 },
    /// Ends a dead one and opens another.
    Replace { generation: GenerationId, fence: u64, lease: GenerationLease },
}

/// The lease under which a reply is produced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GenerationLease {
    pub generation: GenerationId,
    pub reply_seq: u64,
    pub fence: u64,
    pub lease_ms: i64,
}

/// Work to queue with the events that caused it; `work` is JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    pub job: JobId,
    pub place: u64,
    pub work: Vec<u8>,
}

// === impl Append ===

impl Append {
    /// Nothing yet.
    pub fn to(owner: &Owner, session: &SessionId) -> Self {
        Self {
            owner: owner.clone(),
            session: session.clone(),
            events: Vec::new(),
            listed: None,
            generation: GenerationWrite::Untouched,
            request: None,
            texts: Vec::new(),
            jobs: Vec::new(),
            answer: None,
            finished: None,
            creates: None,
        }
    }

    /// With decided events and the state after them.
    pub fn with(self, events: impl IntoIterator<Item = Event>, after: &State) -> Self {
        let listed = Some(Listed {
            settings: after.settings().clone(),
            turn_count: after.next_seq(),
            deleted: after.is_deleted(),
        });
        Self { events: events.into_iter().map(Event::into_record).collect(), listed, ..self }
    }
}

// === impl Listed ===

impl Listed {
    /// The status of its row.
    pub(super) fn status(&self) -> &'static str {
        if self.deleted { "deleted" } else { "live" }
    }

    /// The settings as the row keeps them.
    pub(super) fn settings_json(&self) -> String {
        serde_json::to_string(&self.settings).unwrap_or_default()
    }
}

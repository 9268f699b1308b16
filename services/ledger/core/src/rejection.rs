//! Why a verb is refused: one variant per rule, in order of precedence; the first that holds is answered.

use kernel::{GenerationId, Timestamp};
use prompt::derive::{Author, Tier, TurnClass};

use crate::state::Inconsistent;

/// A rule that a verb broke. The order of the variants is the order of precedence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    // --- is it there ---
    #[error("the session does not exist")]
    SessionAbsent,
    #[error("the session exists already")]
    SessionExists,

    // --- may the caller ---
    #[error("nobody may write a turn for a user")]
    AuthorNotInjectable,
    #[error("the scope {0} is missing")]
    ScopeMissing(&'static str),
    #[error("may not be sent by a caller of tier {}", .0.name())]
    TierMayNotKey(Tier),
    #[error("the key {0:?} lies in a namespace of the loader")]
    KeyReserved(String),

    // --- is what was sent sensible ---
    #[error("is {}, which {} may not write", .class.name(), .author.name())]
    ClassNotAllowed { author: Author, class: TurnClass },
    #[error("shows the turn to nobody")]
    VisibleToNobody,
    #[error("makes memory of a turn that the model does not see")]
    MemoryUnseen,
    #[error("is MEMORY_IMPORT for a turn that is not eligible for memory")]
    ImportIneligible,
    #[error("the claimed time {claimed} lies after {latest}")]
    ClaimedInFuture { claimed: Timestamp, latest: Timestamp },

    // --- is it the moment ---
    #[error("the generation {0} is running")]
    GenerationInProgress(GenerationId),
    #[error("the generation {0} is not running")]
    GenerationClosed(GenerationId),
    #[error("the generation was taken over: fence {given} is older than {current}")]
    FenceOutdated { given: u64, current: u64 },
    #[error("the session refuses a history that the assistant begins")]
    AssistantFirstUnsupported,

    // --- does it fit the state ---
    #[error("the key {key:?} was first added by tier {}", .owner.name())]
    KeyOwned { key: String, owner: Tier },
    #[error("the key {0:?} is not in the context")]
    KeyUnknown(String),
    #[error("there is no unkeyed message at offset {0} in the context")]
    MessageUnknown(u64),
    #[error("the message at offset {offset} was added by tier {}", .owner.name())]
    MessageOwned { offset: u64, owner: Tier },
    #[error("turn {0} does not exist")]
    TurnUnknown(u64),
    #[error("turn {0} was retracted")]
    TurnRetracted(u64),
    #[error("the session's last turn is not a reply in context")]
    NotTailSlot,
    #[error("turn {0} has no reply")]
    NoReply(u64),
    #[error("the alternative does not exist")]
    AlternativeUnknown,
    #[error("the alternative is selected already")]
    AlternativeSelected,
    #[error("there is no summary at offset {0} that covers the turn")]
    SummaryUnknown(u64),
    #[error("summaries at offsets {0:?} cover the turn; send new texts for them, or drop them")]
    TurnInSummary(Vec<u64>),
    #[error("nothing lies before turn {0} in the context")]
    RangeEmpty(u64),
    #[error("no tool run is open at offset {0}")]
    ToolRunNotOpen(u64),
    #[error("the turn's revision is {found}, not {given}")]
    RevisionMoved { given: u64, found: u64 },
    /// The store knows where batches end, so it is the store's caller that answers this one.
    #[error("offset {0} is not the end of a batch of the session")]
    ForkPointInvalid(u64),
    #[error("{name}: {given} are more than the {max} allowed")]
    Limit { name: &'static str, given: usize, max: usize },

    // --- a bug of ours ---
    #[error("the decided events do not fit the log")]
    Inconsistent(#[from] Inconsistent),
}

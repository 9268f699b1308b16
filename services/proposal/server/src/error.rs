//! Why a call is refused: one variant per fact, mapped to a status in `grpc/status.rs` and nowhere else.

use host::{database::Failure, idempotency::Reused};
use kernel::{ChangesetId, SessionId, WorldId};
use proposal_core::{Stage, operation::OverCap};
use tonic::Status;

use crate::store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("changeset {0} not found")]
    ChangesetNotFound(ChangesetId),
    #[error("no evaluation of turn {1} of session {0}")]
    EvaluationNotFound(SessionId, u64),
    /// A decision that came too late.
    #[error("changeset {0} is {name}", name = .1.name())]
    WrongStage(ChangesetId, Stage),
    /// Applied, then undone; the world's History says so.
    #[error("changeset {0} is REVERTED")]
    Reverted(ChangesetId),
    /// Its world was deleted, and the History with it.
    #[error("the world of changeset {0} is gone, and what it changed with it")]
    HistoryGone(ChangesetId),
    #[error("changeset {0} changed: its etag is {1}")]
    EtagMismatch(ChangesetId, String),
    #[error("operations is empty")]
    NoOperations,
    #[error("{0}")]
    TooManyOperations(OverCap),
    #[error("operation {index}: {over}")]
    OverCap { index: usize, over: OverCap },
    #[error("the summary has {chars} characters")]
    SummaryTooLong { chars: usize },
    /// Nothing was applied; places in the changeset's operations, each with its problem.
    #[error("{count} of the operations no longer hold", count = .1.len())]
    OperationsInvalid(ChangesetId, Vec<(usize, String)>),
    /// The world is not at the revision that the changeset was made for; the changeset is STALE now.
    #[error("world {world} has moved on from revision {base}{to}", to = to(*now))]
    StaleRevision { world: WorldId, base: u64, now: Option<u64> },
    #[error(transparent)]
    Reused(#[from] Reused),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What lorebook said, passed on as it is.
    #[error("lorebook answered {}", .0.code())]
    Lorebook(Box<Status>),
}

fn to(now: Option<u64>) -> String {
    now.map_or_else(String::new, |now| format!(" to {now}"))
}

// === impl Error ===

impl From<Status> for Error {
    fn from(status: Status) -> Self {
        Self::Lorebook(Box::new(status))
    }
}

impl Error {
    /// Whether trying again later may help.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Store(error) => {
                matches!(error.failure(), Failure::Unavailable | Failure::Conflict)
            }
            Self::Lorebook(status) => {
                use tonic::Code::*;
                matches!(
                    status.code(),
                    Unavailable | DeadlineExceeded | Cancelled | ResourceExhausted
                )
            }
            Self::ChangesetNotFound(_)
            | Self::EvaluationNotFound(..)
            | Self::WrongStage(..)
            | Self::Reverted(_)
            | Self::HistoryGone(_)
            | Self::EtagMismatch(..)
            | Self::NoOperations
            | Self::TooManyOperations(_)
            | Self::OverCap { .. }
            | Self::SummaryTooLong { .. }
            | Self::OperationsInvalid(..)
            | Self::StaleRevision { .. }
            | Self::Reused(_) => false,
        }
    }
}

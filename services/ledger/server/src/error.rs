//! What a verb of the ledger can answer instead of its result; becomes a Status last, in `grpc/status.rs`.

use host::database::{Failure, failure};
use kernel::{GenerationId, SessionId};
use ledger_core::{Damage, Rejection, chain::Fault, event::Unreadable, state::Inconsistent};

use crate::store::{AppendError, StoreError};

/// Why a verb did not happen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request itself is malformed.
    #[error("{field} {why}")]
    Invalid { field: &'static str, why: String },
    #[error("{kind} {id} not found")]
    NotFound { kind: &'static str, id: String },
    #[error(transparent)]
    RequestIdReused(#[from] host::idempotency::Reused),
    #[error("no model provider {0:?} is configured")]
    ProviderNotConfigured(String),
    #[error("the head is {found}, not {expected}")]
    HeadMoved { expected: u64, found: u64 },
    #[error(transparent)]
    Rejected(#[from] Rejection),
    #[error("the job is held by a newer lease")]
    LeaseLost,
    #[error("a generation is in progress")]
    GenerationInProgress,
    /// A peer refused; its status says why and is passed on.
    #[error("a peer refused: {}", .0.message())]
    Peer(tonic::Status),
    /// The process ends; what was begun goes on.
    #[error("the process is ending: retry with the same request id")]
    Interrupted,
    #[error("too many writes are waiting")]
    Overloaded,
    #[error("session {session}: {damage}")]
    Damaged { session: SessionId, damage: Damage },
    #[error("session {session} cannot be read")]
    Unreadable {
        session: SessionId,
        #[source]
        fault: Unreadable,
    },
    #[error("session {session} does not fold")]
    Inconsistent {
        session: SessionId,
        #[source]
        fault: Inconsistent,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Internal(String),
}

pub type Result<T> = std::result::Result<T, Error>;

// === impl Error ===

impl Error {
    pub fn no_session(session: &SessionId) -> Self {
        Self::NotFound { kind: "session", id: session.to_string() }
    }

    pub fn no_generation(generation: &GenerationId) -> Self {
        Self::NotFound { kind: "generation", id: generation.to_string() }
    }

    pub fn invalid(field: &'static str, why: impl std::fmt::Display) -> Self {
        Self::Invalid { field, why: why.to_string() }
    }

    /// The log lacks the event at an offset.
    pub fn missing(session: &SessionId, offset: u64) -> Self {
        let damage = Damage { offset, fault: Fault::Missing };
        Self::Damaged { session: session.clone(), damage }
    }

    /// Whether stored rows are not what was written.
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::Damaged { .. }
                | Self::Unreadable { .. }
                | Self::Inconsistent { .. }
                | Self::Store(StoreError::Damaged { .. } | StoreError::Inconsistent { .. })
        )
    }

    /// Whether the same may succeed a moment later: the store is away, or busy.
    pub fn passes(&self) -> bool {
        match self {
            Self::Overloaded | Self::Store(StoreError::Contended) => true,
            Self::Store(StoreError::Unavailable(cause)) => {
                matches!(failure(cause), Failure::Unavailable | Failure::Conflict)
            }
            _ => false,
        }
    }
}

impl From<AppendError> for Error {
    /// What remains once races were decided again and answers looked up.
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::HeadMoved => Self::Store(StoreError::Contended),
            AppendError::Answered => Self::Store(StoreError::Contended),
            AppendError::GenerationInProgress => Self::GenerationInProgress,
            AppendError::LeaseLost => Self::LeaseLost,
            AppendError::SessionExists => Self::Internal("the session exists already".into()),
            AppendError::Overloaded => Self::Overloaded,
            AppendError::Store(error) => Self::Store(error),
        }
    }
}

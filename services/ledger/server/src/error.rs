//! What a verb of the ledger can answer instead of its result; becomes a Status last, in `grpc/status.rs`.

use kernel::{GenerationId, SessionId};
use ledger_core::{Damage, Rejection, event::Unreadable, state::Inconsistent};

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

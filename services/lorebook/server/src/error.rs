//! Everything that a use case may fail with; `grpc/status.rs` says what each means to a caller.

use kernel::{ChangeId, WorldId};
use lorebook_core::{export::ViewNeedsWorldInfo, import::ImportError};

use crate::store::{
    ApplyError, CreateError, EditError, ResetError, RevertError, StoreError, UpdateError,
};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{kind} {id} not found")]
    NotFound { kind: &'static str, id: String },
    #[error("{field} holds {value}, at most {limit} are allowed")]
    Limit { field: String, value: usize, limit: usize },
    #[error(transparent)]
    Import(#[from] ImportError),
    #[error("world {0}")]
    Create(WorldId, #[source] CreateError),
    #[error("world {0}")]
    Update(WorldId, #[source] UpdateError),
    #[error("world {0}")]
    Edit(WorldId, #[source] EditError),
    #[error(transparent)]
    Export(#[from] ViewNeedsWorldInfo),
    #[error("change {0}")]
    Apply(ChangeId, #[source] ApplyError),
    #[error("change {0}")]
    Revert(ChangeId, #[source] RevertError),
    #[error("world {0}")]
    Reset(WorldId, #[source] ResetError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("a task failed")]
    Task(#[from] tokio::task::JoinError),
}

/// A world that is absent or somebody else's.
pub fn no_world(id: &WorldId) -> Error {
    Error::NotFound { kind: "world", id: id.to_string() }
}

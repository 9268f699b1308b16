//! Why a use case did not do what it was asked.

use kernel::{
    SessionId, TemplateId, WorldId,
    limits::{IMPORT_BYTES_MAX, MESSAGE_BYTES_MAX},
};
use loader_core::{
    compile::CompileError,
    diagnostic::Diagnostic,
    format::{FormatError, card::Container},
    user::InvalidUser,
};
use tonic::Status;

use crate::store::{StoreError, WriteError};

/// Everything that can end a call; `grpc::status` makes a status of each.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Format(#[from] FormatError),
    #[error(transparent)]
    User(#[from] InvalidUser),
    #[error("{kind} {id} not found")]
    NotFound { kind: &'static str, id: String },
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The card has no picture or archive to go back into.
    #[error("the card came as {}, not as {}", container.name(), asked.name())]
    CardForm { asked: Container, container: Container },
    #[error("template {template} names {} resources that are gone", dangling.len())]
    TemplateDangling { template: TemplateId, dangling: Vec<Diagnostic> },
    #[error("{} sessions are running", .0.len())]
    TemplateRunning(Vec<SessionId>),
    #[error("world {0} is a card's book: edit or delete the card")]
    WorldImmutable(WorldId),
    /// No import would read it again.
    #[error("the file has {bytes} bytes, at most {IMPORT_BYTES_MAX} are allowed")]
    ExportTooLarge { bytes: usize },
    /// Chat and card are more than one message to the lorebook holds.
    #[error("the texts to scan have {bytes} bytes, at most {MESSAGE_BYTES_MAX} are allowed")]
    ScanTooLarge { bytes: usize },
    /// The lorebook refused or is away; its status is the answer.
    #[error("the lorebook answered: {0}")]
    Peer(#[source] Box<Status>),
    #[error("the lorebook's answer cannot be used: {0}")]
    PeerAnswer(String),
    #[error("a task ended early")]
    Task(#[from] tokio::task::JoinError),
}

// === impl Error ===

impl Error {
    pub fn not_found(kind: &'static str, id: impl std::fmt::Display) -> Self {
        Self::NotFound { kind, id: id.to_string() }
    }

    pub fn peer(status: Status) -> Self {
        Self::Peer(Box::new(status))
    }
}

//! The steps of a turn as its caller sees them.

use std::pin::Pin;

use futures::Stream;
use kernel::GenerationId;
use ledger_core::event::{Cause, Usage};
use prompt::prefix::SharedPrefix;

use super::{record::DiagnosticRecord, turns::TurnView};
use crate::error::Result;

/// Frames in their order; an error ends the stream.
pub type FrameStream = Pin<Box<dyn Stream<Item = Result<Frame>> + Send>>;

/// One step.
#[derive(Debug, Clone)]
pub enum Frame {
    Started {
        generation: GenerationId,
        message: Option<Box<TurnView>>,
        reply_seq: u64,
    },
    Profile {
        fingerprint: String,
        diagnostics: Vec<DiagnosticRecord>,
    },
    Sent(Sent),
    /// More of the reply, from this byte on.
    Delta {
        offset: u64,
        text: String,
    },
    Completed(Box<Completed>),
    Proposed(Proposed),
    Done(Evaluation),
    /// The turn ended without a reply.
    Ended {
        aborted: bool,
        reason: String,
        message: String,
        turn: Box<TurnView>,
    },
}

/// A stamped request.
#[derive(Debug, Clone)]
pub struct Sent {
    pub offset: u64,
    pub shared: SharedPrefix,
    pub total_bytes: u64,
    pub broken: Option<(Cause, u32)>,
    pub normalizations: Vec<String>,
}

/// A finished reply.
#[derive(Debug, Clone)]
pub struct Completed {
    pub turn: TurnView,
    pub usage: Usage,
}

/// A changeset that waits for review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposed {
    pub changeset: String,
    pub world: String,
    pub world_name: String,
    pub summary: String,
    pub operations: u32,
}

/// How the evaluation of a turn stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evaluation {
    NotAsked,
    Finished,
    Pending,
    Failed,
}

// === impl Frame ===

impl Frame {
    /// Whether nothing follows.
    pub fn is_last(&self) -> bool {
        matches!(self, Self::Done(_) | Self::Ended { .. })
    }
}

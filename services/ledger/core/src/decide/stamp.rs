//! The stamp: each call to a model appends itself, with the hash of what it sends.

use std::sync::Arc;

use kernel::{Digest, GenerationId};
use prompt::{
    ProfileMode,
    prefix::{BlockMark, SharedPrefix},
};

use super::{Draft, Verb};
use crate::{
    event::{Body, Break, Cause, LlmRequestRequested, StampTail, Versions},
    rejection::Rejection,
    settings::ModelChoice,
};

/// One request, rendered and about to be sent. Answers the stamp's offset.
#[derive(Debug, Clone)]
pub struct StampRequest {
    pub generation: GenerationId,
    pub fence: u64,
    pub model: Option<ModelChoice>,
    pub versions: Versions,
    /// Of the blocks that the state [`State::with_stamp`](crate::State::with_stamp) renders.
    pub sent: Digest,
    pub call_config: serde_json::Value,
    pub active_lore: Vec<Arc<str>>,
    pub tail: TailChoice,
    pub shared: SharedPrefix,
    /// The previous request's first block that this one does not repeat.
    pub differs: Option<BlockMark>,
    pub normalizations: Vec<String>,
}

/// What the request ends with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TailChoice {
    /// The generation's guidance, if it has some that was not sent yet.
    Guidance,
    /// The instruction to write a summary.
    SummaryInstruction(String),
}

// === impl StampRequest ===

impl Verb for StampRequest {
    type Outcome = u64;

    fn decide(self, draft: &mut Draft<'_>) -> Result<u64, Rejection> {
        draft.existing()?;
        let generation = draft.held(&self.generation, self.fence)?;
        let slot = generation.slot;
        let tail = match self.tail {
            TailChoice::Guidance => {
                generation.guidance.map(|guidance| StampTail::Guidance(guidance.offset))
            }
            TailChoice::SummaryInstruction(text) => Some(StampTail::SummaryInstruction(text)),
        };
        let mode = draft.state.settings().profile_mode;
        let broken = self.differs.as_ref().map(|mark| broken(draft, mode, self.shared, mark));
        draft.push(Body::LlmRequestRequested(LlmRequestRequested {
            generation: self.generation,
            slot,
            mode,
            model: self.model,
            versions: self.versions,
            sent: self.sent,
            call_config: self.call_config,
            active: self.active_lore,
            tail,
            shared: self.shared,
            broken,
            normalizations: self.normalizations,
        }))
    }
}

fn broken(draft: &Draft<'_>, mode: ProfileMode, shared: SharedPrefix, mark: &BlockMark) -> Break {
    let rebuilt = match mode {
        ProfileMode::Journal => Cause::Unexplained,
        ProfileMode::InChat | ProfileMode::Contract => Cause::Mode,
    };
    let explained = draft.state.break_cause(shared.blocks, mark);
    explained.unwrap_or(Break { cause: rebuilt, block: shared.blocks })
}

//! Ending a generation: complete, fail, abort. Only the holder of the newest fence completes.

use kernel::{AlternativeId, GenerationId, TurnId};

use super::{Draft, Verb};
use crate::{
    command::Text,
    event::{AbortReason, Body, Failure, TurnAborted, TurnCompleted, TurnFailed, Usage},
    rejection::Rejection,
};

/// The reply is whole.
#[derive(Debug, Clone)]
pub struct Complete {
    pub generation: GenerationId,
    pub fence: u64,
    pub text: Text,
    pub usage: Usage,
    pub finish: Option<String>,
    /// Timed lore effects and variables after this reply.
    pub carry: Option<serde_json::Value>,
}

/// A completed turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completed {
    pub seq: u64,
    pub turn: TurnId,
    pub alternative: AlternativeId,
    /// What a queued evaluation is held against.
    pub revision: u64,
}

/// The provider, the compile or the window failed; answers the slot.
#[derive(Debug, Clone)]
pub struct Fail {
    pub generation: GenerationId,
    pub fence: u64,
    pub reason: Failure,
    pub detail: Option<String>,
    pub partial: Option<Text>,
}

/// Somebody stops the generation, whoever holds it; answers the slot.
#[derive(Debug, Clone)]
pub struct Abort {
    pub generation: GenerationId,
    pub reason: AbortReason,
    pub partial: Option<Text>,
}

// === impl Complete ===

impl Verb for Complete {
    type Outcome = Completed;

    fn decide(self, draft: &mut Draft<'_>) -> Result<Completed, Rejection> {
        draft.existing()?;
        let held = draft.held(&self.generation, self.fence)?;
        let closed = || Rejection::GenerationClosed(self.generation.clone());
        let seq = held.slot.ok_or_else(closed)?;
        let alternative = AlternativeId::derived(&[self.generation.as_str()]);
        draft.push(Body::TurnCompleted(TurnCompleted {
            generation: self.generation,
            fence: self.fence,
            seq,
            alternative: alternative.clone(),
            text: self.text.into_string(),
            usage: self.usage,
            finish: self.finish,
            carry: self.carry,
        }))?;
        let turn = draft.state.turn(seq).ok_or(Rejection::TurnUnknown(seq))?;
        Ok(Completed { seq, turn: turn.id.clone(), alternative, revision: turn.revision })
    }
}

// === impl Fail ===

impl Verb for Fail {
    type Outcome = Option<u64>;

    fn decide(self, draft: &mut Draft<'_>) -> Result<Option<u64>, Rejection> {
        draft.existing()?;
        let seq = draft.held(&self.generation, self.fence)?.slot;
        draft.push(Body::TurnFailed(TurnFailed {
            generation: self.generation,
            fence: self.fence,
            seq,
            reason: self.reason,
            detail: self.detail,
            partial: self.partial.map(Text::into_string),
        }))?;
        Ok(seq)
    }
}

// === impl Abort ===

impl Verb for Abort {
    type Outcome = Option<u64>;

    fn decide(self, draft: &mut Draft<'_>) -> Result<Option<u64>, Rejection> {
        draft.existing()?;
        let running = draft.running(&self.generation)?;
        let (seq, fence) = (running.slot, running.fence);
        draft.push(Body::TurnAborted(TurnAborted {
            generation: self.generation,
            fence,
            seq,
            reason: self.reason,
            partial: self.partial.map(Text::into_string),
        }))?;
        Ok(seq)
    }
}

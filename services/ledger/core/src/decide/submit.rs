//! Beginning a generation: submit, regenerate, take a dead one over.

use kernel::{GenerationId, TurnId};

use super::{Draft, Lease, Verb};
use crate::{
    command::Text,
    event::{Body, GenerationStarted, ReplyTarget, TurnReceived},
    rejection::Rejection,
};

/// A user's message (or none) and a new slot for the reply.
#[derive(Debug, Clone)]
pub struct Submit {
    pub generation: GenerationId,
    pub content: Option<Text>,
    pub guidance: Option<Text>,
}

/// Another reply in the tail slot.
#[derive(Debug, Clone)]
pub struct Regenerate {
    pub generation: GenerationId,
    pub guidance: Option<Text>,
}

/// The same slot under a new fence, after the owner of its generation died.
#[derive(Debug, Clone)]
pub struct TakeOver {
    pub generation: GenerationId,
    /// Of the request that is retried.
    pub guidance: Option<Text>,
}

/// A generation that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    pub generation: GenerationId,
    pub fence: u64,
    /// The slot that the reply fills.
    pub slot: u64,
    pub turn: TurnId,
    /// The user's message that this call appended.
    pub message: Option<(u64, TurnId)>,
}

// === impl Submit ===

impl Verb for Submit {
    type Outcome = Started;

    fn decide(self, draft: &mut Draft<'_>) -> Result<Started, Rejection> {
        draft.existing()?;
        draft.idle()?;
        let message = match self.content {
            Some(content) => {
                let (seq, turn) = draft.next_turn();
                let text = content.into_string();
                draft.push(Body::TurnReceived(TurnReceived { seq, turn: turn.clone(), text }))?;
                Some((seq, turn))
            }
            None => None,
        };
        let (seq, turn) = draft.next_turn();
        let own = message.as_ref().map(|(seq, _)| *seq);
        let reply = ReplyTarget { seq, turn, opens: true, own };
        let started = draft.start(self.generation, 1, reply, self.guidance)?;
        Ok(Started { message, ..started })
    }
}

// === impl Regenerate ===

impl Verb for Regenerate {
    type Outcome = Started;

    fn decide(self, draft: &mut Draft<'_>) -> Result<Started, Rejection> {
        draft.existing()?;
        draft.idle()?;
        let seq = draft.state.tail_slot().ok_or(Rejection::NotTailSlot)?;
        let reply = draft.reply_in(seq)?;
        draft.start(self.generation, 1, reply, self.guidance)
    }
}

// === impl TakeOver ===

impl Verb for TakeOver {
    type Outcome = Started;

    fn decide(self, draft: &mut Draft<'_>) -> Result<Started, Rejection> {
        draft.existing()?;
        let running = draft.running(&self.generation)?;
        if draft.envelope.lease == Lease::Alive {
            return Err(Rejection::GenerationInProgress(self.generation));
        }
        let closed = || Rejection::GenerationClosed(self.generation.clone());
        let (slot, fence) = (running.slot.ok_or_else(closed)?, running.fence + 1);
        let reply = draft.reply_in(slot)?;
        draft.start(self.generation, fence, reply, self.guidance)
    }
}

// === impl Draft ===

impl Draft<'_> {
    /// A slot that is there already, as the target of another attempt.
    fn reply_in(&self, seq: u64) -> Result<ReplyTarget, Rejection> {
        let turn = self.state.turn(seq).ok_or(Rejection::TurnUnknown(seq))?;
        let slot = turn.slot().ok_or(Rejection::NotTailSlot)?;
        Ok(ReplyTarget { seq, turn: turn.id.clone(), opens: false, own: slot.own })
    }

    fn start(
        &mut self,
        generation: GenerationId,
        fence: u64,
        reply: ReplyTarget,
        guidance: Option<Text>,
    ) -> Result<Started, Rejection> {
        let (slot, turn) = (reply.seq, reply.turn.clone());
        self.push(Body::GenerationStarted(GenerationStarted {
            generation: generation.clone(),
            fence,
            reply: Some(reply),
            guidance: guidance.map(Text::into_string),
        }))?;
        Ok(Started { generation, fence, slot, turn, message: None })
    }
}

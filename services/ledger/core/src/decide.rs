//! Deciding: a verb on a state becomes events, the state after them and an answer, or one rejection.

mod authored;
mod compact;
mod context;
mod create;
mod fork;
mod generation;
mod land;
mod outcome;
mod rewrite;
mod stamp;
mod submit;
mod takeback;
mod tool;

use std::collections::BTreeSet;

use kernel::{GenerationId, RequestId, Salt, Scope, SessionId, Timestamp};

pub use authored::{AuthoredTurn, WriteAuthored};
pub use compact::{BeginCompaction, ReplaceRange};
pub use context::{AddContext, AddSections, Added};
pub use create::{
    Create, CreateWithOpening, DeleteSession, ImportChat, ImportedTurn, UpdateSession,
};
pub use fork::{Fork, fork};
pub use generation::{Abort, Complete, Completed, Fail};
pub use land::{Land, Landed};
pub use outcome::{ProposeWorldChange, RecordAffect, RecordMemory};
pub use rewrite::{RewriteContext, RewriteOp};
pub use stamp::{StampRequest, TailChoice};
pub use submit::{Regenerate, Started, Submit, TakeOver};
pub use takeback::{EditTurn, RetractTurn, SelectAlternative, Summaries};
pub use tool::{RecordToolRun, SettleToolRun};

use crate::{
    actor::Actor,
    event::{Body, Event, Failure, Meta, TurnFailed},
    rejection::Rejection,
    state::{Generation, State},
};

/// Who writes, when, and with which chance.
#[derive(Debug, Clone)]
pub struct Envelope {
    pub now: Timestamp,
    /// As the gate stamped it.
    pub actor: Actor,
    pub scopes: BTreeSet<Scope>,
    pub request_id: Option<RequestId>,
    /// Fresh for each decision: the salts are made from it.
    pub entropy: [u8; 32],
    /// How the store sees the active generation's lease.
    pub lease: Lease,
}

/// Whether the active generation's owner is alive; without a generation it does not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    Alive,
    Expired,
}

/// What was decided: append the events at the state's head, or nothing at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision<T> {
    pub events: Vec<Event>,
    /// The state after the events.
    pub state: State,
    pub outcome: T,
}

/// Something that a caller asks of a session.
pub trait Verb {
    type Outcome;

    fn decide(self, draft: &mut Draft<'_>) -> Result<Self::Outcome, Rejection>;
}

/// Decides one verb. Pure: the same arguments give the same events, byte for byte.
pub fn decide<V: Verb>(
    state: &State,
    envelope: &Envelope,
    verb: V,
) -> Result<Decision<V::Outcome>, Rejection> {
    let session = state.identity().map(|identity| identity.session.clone());
    let mut draft = Draft { envelope, session, state: state.clone(), events: Vec::new() };
    let outcome = verb.decide(&mut draft)?;
    Ok(Decision { events: draft.events, state: draft.state, outcome })
}

/// A decision in the making: what is pushed is folded in at once, so that later steps see it.
pub struct Draft<'a> {
    envelope: &'a Envelope,
    session: Option<SessionId>,
    state: State,
    events: Vec<Event>,
}

// === impl Draft ===

impl Draft<'_> {
    /// Appends an event of the caller; answers its offset.
    fn push(&mut self, body: Body) -> Result<u64, Rejection> {
        self.push_as(self.envelope.actor.clone(), body)
    }

    /// Appends an event that the house writes on its own account.
    fn push_own(&mut self, body: Body) -> Result<u64, Rejection> {
        let subject = self.envelope.actor.subject.clone();
        self.push_as(Actor::service(subject, "ledger"), body)
    }

    fn push_as(&mut self, actor: Actor, body: Body) -> Result<u64, Rejection> {
        let head = self.state.head();
        let offset = head.offset + 1;
        let session = self.session.clone().ok_or(Rejection::SessionAbsent)?;
        let meta = Meta {
            session,
            offset,
            recorded_at: self.envelope.now,
            actor,
            kind: body.kind(),
            request_id: self.envelope.request_id.clone(),
        };
        let salt = Salt::derived(&[&self.envelope.entropy, &offset.to_be_bytes()]);
        let event = Event::seal(head, meta, salt, body);
        self.state.apply(&event)?;
        self.events.push(event);
        Ok(offset)
    }

    /// Refuses where the session does not exist or is hidden.
    fn existing(&self) -> Result<(), Rejection> {
        match &self.session {
            Some(_) if !self.state.is_deleted() => Ok(()),
            _ => Err(Rejection::SessionAbsent),
        }
    }

    /// Closes the generation of an owner that died: every other write does this first.
    fn close_expired(&mut self) -> Result<(), Rejection> {
        if self.envelope.lease == Lease::Alive {
            return Ok(());
        }
        let Some(generation) = self.state.generation() else { return Ok(()) };
        let closed = Body::TurnFailed(TurnFailed {
            generation: generation.id.clone(),
            fence: generation.fence,
            seq: generation.slot,
            reason: Failure::Lease,
            detail: None,
            partial: None,
        });
        self.push_own(closed)?;
        Ok(())
    }

    /// Refuses while a generation runs; closes one whose owner died.
    fn idle(&mut self) -> Result<(), Rejection> {
        self.close_expired()?;
        match self.state.generation() {
            Some(generation) => Err(Rejection::GenerationInProgress(generation.id.clone())),
            None => Ok(()),
        }
    }

    /// The generation, if it runs under this fence.
    fn held(&self, id: &GenerationId, fence: u64) -> Result<&Generation, Rejection> {
        let running = self.running(id)?;
        if running.fence != fence {
            return Err(Rejection::FenceOutdated { given: fence, current: running.fence });
        }
        Ok(running)
    }

    fn running(&self, id: &GenerationId) -> Result<&Generation, Rejection> {
        let running = self.state.generation().filter(|generation| generation.id == *id);
        running.ok_or_else(|| Rejection::GenerationClosed(id.clone()))
    }

    fn has_scope(&self, scope: Scope) -> Result<(), Rejection> {
        if self.envelope.scopes.contains(&scope) {
            return Ok(());
        }
        Err(Rejection::ScopeMissing(scope.name()))
    }
}

#[cfg(test)]
mod tests;

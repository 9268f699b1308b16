//! Forking: the parent's events up to an offset, then one batch that resurrects nothing taken back since.

use kernel::{Owner, SessionId, limits};

use super::{Decision, Draft, Envelope};
use crate::{
    event::{
        AbortReason, Body, ContextRewritten, Event, Parent, Relation, Rewrite, SessionCreated,
        TurnAborted, TurnEdited, TurnRetracted,
    },
    rejection::Rejection,
    state::State,
};

/// A fork of a session. Its offset must end one of the parent's batches, which the store knows: a batch is
/// whole in a fork or not there.
#[derive(Debug, Clone)]
pub struct Fork<'a> {
    pub session: SessionId,
    pub owner: Owner,
    /// The fold of the parent's events up to the fork's offset.
    pub shared: &'a State,
    /// The parent's events after it, in order: only what they take back follows into the fork.
    pub later: &'a [Event],
}

/// Decides the fork's first batch. The shared prefix is not copied; the new events continue its chain.
pub fn fork(fork: Fork<'_>, envelope: &Envelope) -> Result<Decision<u64>, Rejection> {
    let shared = fork.shared;
    let parent = shared.identity().ok_or(Rejection::SessionAbsent)?.session.clone();
    let at = shared.head().offset;
    let mut draft =
        Draft { envelope, session: Some(fork.session), state: shared.clone(), events: Vec::new() };
    draft.push(Body::SessionCreated(SessionCreated {
        owner: fork.owner,
        settings: shared.settings().clone(),
        parent: Some(Parent { session: parent, relation: Relation::Forked, at }),
    }))?;
    draft.abort_open()?;
    for event in fork.later {
        draft.follow(&event.body)?;
        if draft.events.len() > limits::APPEND_EVENTS_MAX {
            let (given, max) = (draft.events.len(), limits::APPEND_EVENTS_MAX);
            return Err(Rejection::Limit { name: "events of a fork", given, max });
        }
    }
    Ok(Decision { events: draft.events, state: draft.state, outcome: at })
}

// === impl Draft ===

impl Draft<'_> {
    fn abort_open(&mut self) -> Result<(), Rejection> {
        let Some(generation) = self.state.generation() else { return Ok(()) };
        let aborted = Body::TurnAborted(TurnAborted {
            generation: generation.id.clone(),
            fence: generation.fence,
            seq: generation.slot,
            reason: AbortReason::Forked,
            partial: None,
        });
        self.push_own(aborted)?;
        Ok(())
    }

    /// Repeats a later take-back whose object exists here. New summaries are of a later context: the ones
    /// here become the fixed line instead.
    fn follow(&mut self, body: &Body) -> Result<(), Rejection> {
        let repeated = match body {
            Body::TurnEdited(edit) if self.can_edit(edit) => {
                Body::TurnEdited(TurnEdited { summaries: vec![], ..edit.clone() })
            }
            Body::TurnRetracted(TurnRetracted { seq, .. }) if self.stands(*seq) => {
                Body::TurnRetracted(TurnRetracted { seq: *seq, summaries: vec![] })
            }
            Body::ContextRewritten(rewritten) if self.can_rewrite(&rewritten.op) => {
                Body::ContextRewritten(ContextRewritten { op: rewritten.op.clone() })
            }
            _ => return Ok(()),
        };
        self.push(repeated)?;
        Ok(())
    }

    fn stands(&self, seq: u64) -> bool {
        self.state.turn(seq).is_some_and(|turn| !turn.retracted)
    }

    fn can_edit(&self, edit: &TurnEdited) -> bool {
        let turn = self.state.turn(edit.seq).filter(|turn| !turn.retracted);
        turn.is_some_and(|turn| match (turn.slot(), &edit.alternative) {
            (Some(slot), Some(alternative)) => slot.find(alternative).is_some(),
            (None, None) => true,
            _ => false,
        })
    }

    fn can_rewrite(&self, op: &Rewrite) -> bool {
        match op {
            Rewrite::Replace { key, .. } | Rewrite::DeleteKey { key } => {
                self.state.newest(key, false).is_some()
            }
            Rewrite::DeleteMessage { offset } => {
                self.state.items().iter().any(|item| item.offset() == *offset)
            }
            Rewrite::DeleteAll => !self.state.items().is_empty(),
            Rewrite::Range(_) => false,
        }
    }
}

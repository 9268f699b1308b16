//! Taking history back: select another reply, edit a turn, retract one.

use kernel::AlternativeId;

use super::{Draft, Verb};
use crate::{
    command::Text,
    event::{AlternativeSelected, Body, NewSummary, TurnEdited, TurnRetracted},
    rejection::Rejection,
};

/// Shows another reply of the tail slot; answers the slot.
#[derive(Debug, Clone)]
pub struct SelectAlternative {
    pub alternative: AlternativeId,
}

/// A new text for a turn; of a slot, for its selected reply. Answers the event's offset.
#[derive(Debug, Clone)]
pub struct EditTurn {
    pub seq: u64,
    pub text: Text,
    pub summaries: Summaries,
}

/// Takes a whole turn back; stamps stay. Answers the event's offset.
#[derive(Debug, Clone)]
pub struct RetractTurn {
    pub seq: u64,
    pub summaries: Summaries,
}

/// What becomes of summaries that cover the turn.
#[derive(Debug, Clone)]
pub enum Summaries {
    /// There are none; refused where there are.
    Untouched,
    /// Each is written anew, by its offset.
    New(Vec<(u64, Text)>),
    /// Each becomes one fixed line.
    Drop,
}

// === impl SelectAlternative ===

impl Verb for SelectAlternative {
    type Outcome = u64;

    fn decide(self, draft: &mut Draft<'_>) -> Result<u64, Rejection> {
        draft.existing()?;
        draft.idle()?;
        let seq = draft.state.tail_slot().ok_or(Rejection::NotTailSlot)?;
        let slot = draft.state.turn(seq).and_then(|turn| turn.slot());
        let slot = slot.ok_or(Rejection::NotTailSlot)?;
        let found = slot.find(&self.alternative).ok_or(Rejection::AlternativeUnknown)?;
        if slot.selected == Some(found) {
            return Err(Rejection::AlternativeSelected);
        }
        let alternative = self.alternative;
        draft.push(Body::AlternativeSelected(AlternativeSelected { seq, alternative }))?;
        Ok(seq)
    }
}

// === impl EditTurn ===

impl Verb for EditTurn {
    type Outcome = u64;

    fn decide(self, draft: &mut Draft<'_>) -> Result<u64, Rejection> {
        let seq = self.seq;
        draft.existing()?;
        draft.idle()?;
        draft.standing_turn(seq)?;
        let alternative = match draft.state.turn(seq).and_then(|turn| turn.slot()) {
            Some(slot) => Some(slot.shown().ok_or(Rejection::NoReply(seq))?.id.clone()),
            None => None,
        };
        let summaries = draft.summaries(seq, self.summaries)?;
        let text = self.text.into_string();
        draft.push(Body::TurnEdited(TurnEdited { seq, alternative, text, summaries }))
    }
}

// === impl RetractTurn ===

impl Verb for RetractTurn {
    type Outcome = u64;

    fn decide(self, draft: &mut Draft<'_>) -> Result<u64, Rejection> {
        draft.existing()?;
        draft.idle()?;
        draft.standing_turn(self.seq)?;
        let summaries = draft.summaries(self.seq, self.summaries)?;
        draft.push(Body::TurnRetracted(TurnRetracted { seq: self.seq, summaries }))
    }
}

// === impl Draft ===

impl Draft<'_> {
    fn standing_turn(&self, seq: u64) -> Result<(), Rejection> {
        let turn = self.state.turn(seq).ok_or(Rejection::TurnUnknown(seq))?;
        if turn.retracted {
            return Err(Rejection::TurnRetracted(seq));
        }
        Ok(())
    }

    /// Checks the choice against the summaries that cover the turn.
    fn summaries(&self, seq: u64, choice: Summaries) -> Result<Vec<NewSummary>, Rejection> {
        let covering = self.state.summaries_covering(seq);
        let new = match choice {
            Summaries::Drop => return Ok(vec![]),
            Summaries::Untouched => vec![],
            Summaries::New(new) => new,
        };
        if let Some((offset, _)) = new.iter().find(|(offset, _)| !covering.contains(offset)) {
            return Err(Rejection::SummaryUnknown(*offset));
        }
        let missing = |at: &&u64| !new.iter().any(|(offset, _)| offset == *at);
        let missing: Vec<u64> = covering.iter().filter(missing).copied().collect();
        if !missing.is_empty() {
            return Err(Rejection::TurnInSummary(missing));
        }
        let new = new.into_iter();
        Ok(new.map(|(offset, text)| NewSummary { offset, text: text.into_string() }).collect())
    }
}

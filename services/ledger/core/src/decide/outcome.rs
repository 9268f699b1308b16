//! What follows a lived turn: proposed world changes, affect, memory.

use kernel::{AlternativeId, EvaluationId};
use prompt::derive::Tier;

use super::{Draft, Verb};
use crate::{
    event::{
        Affect, AffectAppraised, Body, MemoryOrigin, MemoryWritten, ProposedChangeset,
        WorldChangeProposed,
    },
    rejection::Rejection,
};

/// An evaluation's staged changesets; refused if the turn moved since it was leased.
#[derive(Debug, Clone)]
pub struct ProposeWorldChange {
    pub seq: u64,
    pub alternative: AlternativeId,
    pub revision: u64,
    pub evaluation: EvaluationId,
    pub changesets: Vec<ProposedChangeset>,
}

/// An appraisal of a lived turn.
#[derive(Debug, Clone)]
pub struct RecordAffect {
    pub seq: u64,
    pub alternative: AlternativeId,
    pub appraisal: Affect,
    pub state: Affect,
}

/// A turn that became memory.
#[derive(Debug, Clone)]
pub struct RecordMemory {
    pub seq: u64,
    pub alternative: Option<AlternativeId>,
    pub origin: MemoryOrigin,
    pub trust: Tier,
}

// === impl ProposeWorldChange ===

impl Verb for ProposeWorldChange {
    type Outcome = u64;

    fn decide(self, draft: &mut Draft<'_>) -> Result<u64, Rejection> {
        draft.existing()?;
        draft.close_expired()?;
        draft.unmoved(self.seq, self.revision)?;
        let Self { seq, alternative, evaluation, changesets, .. } = self;
        let proposed = WorldChangeProposed { seq, alternative, evaluation, changesets };
        draft.push_own(Body::WorldChangeProposed(proposed))
    }
}

// === impl RecordAffect ===

impl Verb for RecordAffect {
    type Outcome = u64;

    fn decide(self, draft: &mut Draft<'_>) -> Result<u64, Rejection> {
        draft.existing()?;
        draft.close_expired()?;
        let Self { seq, alternative, appraisal, state } = self;
        let turn = draft.state.turn(seq).ok_or(Rejection::TurnUnknown(seq))?;
        let slot = turn.slot().ok_or(Rejection::NoReply(seq))?;
        slot.find(&alternative).ok_or(Rejection::AlternativeUnknown)?;
        let appraised = AffectAppraised { seq, alternative, appraisal, state };
        draft.push_own(Body::AffectAppraised(appraised))
    }
}

// === impl RecordMemory ===

impl Verb for RecordMemory {
    type Outcome = u64;

    fn decide(self, draft: &mut Draft<'_>) -> Result<u64, Rejection> {
        draft.existing()?;
        draft.close_expired()?;
        let Self { seq, alternative, origin, trust } = self;
        draft.state.turn(seq).ok_or(Rejection::TurnUnknown(seq))?;
        let written = MemoryWritten { seq, alternative, origin, trust };
        draft.push_own(Body::MemoryWritten(written))
    }
}

// === impl Draft ===

impl Draft<'_> {
    fn unmoved(&self, seq: u64, given: u64) -> Result<(), Rejection> {
        let turn = self.state.turn(seq).ok_or(Rejection::TurnUnknown(seq))?;
        if turn.retracted {
            return Err(Rejection::TurnRetracted(seq));
        }
        match turn.revision {
            found if found == given => Ok(()),
            found => Err(Rejection::RevisionMoved { given, found }),
        }
    }
}

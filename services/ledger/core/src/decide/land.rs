//! Landing a compiled profile: its segments become keyed sections under rule 5.1 (20-ledger, section 6).

use std::sync::Arc;

use kernel::GenerationId;
use prompt::{
    Placement, Segment, SegmentKind,
    derive::Tier,
    item::{ProfileMark, Section},
};

use super::{Draft, Verb};
use crate::{
    actor::Actor,
    event::{Body, ContextAdded, Keyed, Place},
    rejection::Rejection,
};

/// What a compile gave, landed as far as it changed.
#[derive(Debug, Clone)]
pub struct Land {
    pub generation: GenerationId,
    pub fence: u64,
    pub segments: Vec<Segment>,
    /// Keys that are no longer in effect.
    pub withdrawn: Vec<String>,
    /// Keys that land again although nothing changed: they have sunk too deep.
    pub refresh: Vec<Arc<str>>,
}

/// What landed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Landed {
    pub added: u32,
    pub unchanged: u32,
    pub withdrawn: u32,
    /// Keys of lore that this compile activated, for the stamp.
    pub active_lore: Vec<Arc<str>>,
}

// === impl Land ===

impl Verb for Land {
    type Outcome = Landed;

    fn decide(self, draft: &mut Draft<'_>) -> Result<Landed, Rejection> {
        draft.existing()?;
        draft.held(&self.generation, self.fence)?;
        let mut landed = Landed::default();
        let (dynamic, authored): (Vec<_>, Vec<_>) =
            self.segments.into_iter().partition(|segment| segment.dynamic);
        for segment in authored.into_iter().chain(dynamic) {
            if segment.kind == SegmentKind::Lore {
                landed.active_lore.push(segment.key.as_str().into());
            }
            let refresh = self.refresh.iter().any(|key| **key == *segment.key);
            let newest = draft.state.newest(&segment.key, true);
            if !refresh && newest.is_some_and(|newest| same(newest, &segment)) {
                landed.unchanged += 1;
                continue;
            }
            draft.land(segment)?;
            landed.added += 1;
        }
        for key in self.withdrawn {
            landed.withdrawn += u32::from(draft.withdraw(&key)?);
        }
        Ok(landed)
    }
}

/// Nothing changed: the same source, or a source that gives the same text.
fn same(newest: &Section, segment: &Segment) -> bool {
    let Some(content) = &newest.content else { return false };
    let landed = newest.profile.as_ref().and_then(|profile| profile.source_hash);
    landed == Some(segment.source_hash) || content.commitment.is_to(&segment.text)
}

// === impl Draft ===

impl Draft<'_> {
    fn land(&mut self, segment: Segment) -> Result<(), Rejection> {
        let quotes = segment.quotes.iter().filter_map(|id| self.turn_with(id)).collect();
        let placed = self.state.place(&segment.key, true);
        let profile = ProfileMark {
            kind: segment.kind,
            role: segment.role,
            dynamic: segment.dynamic,
            sinks: matches!(segment.placement, Placement::InChat { .. } | Placement::After),
            source_hash: Some(segment.source_hash),
        };
        let keyed = Keyed {
            key: segment.key.into(),
            place: placed.place,
            supersedes: placed.supersedes,
            owner: Tier::Platform,
            profile: Some(profile),
            quotes,
        };
        self.push_profile(Some(segment.text), keyed)
    }

    /// The turn that an activation message was made from; what is quoted is mostly recent.
    fn turn_with(&self, id: &str) -> Option<u64> {
        let mut turns = self.state.turns().rev();
        turns.find(|(_, turn)| turn.id.as_str() == id).map(|(seq, _)| seq)
    }

    /// Withdraws a live key at its moment; one that no request has sent just goes.
    fn withdraw(&mut self, key: &str) -> Result<bool, Rejection> {
        let newest = self.state.newest(key, true).filter(|newest| !newest.is_withdrawn());
        let Some(newest) = newest else { return Ok(false) };
        let Some(profile) = newest.profile.clone() else { return Ok(false) };
        let placed = self.state.place(key, true);
        let place = match placed.place {
            Place::Edit(at) if placed.supersedes.is_none() => Place::Drop(at),
            place => place,
        };
        let keyed = Keyed {
            key: key.into(),
            place,
            supersedes: placed.supersedes,
            owner: Tier::Platform,
            profile: Some(ProfileMark { source_hash: None, ..profile }),
            quotes: vec![],
        };
        self.push_profile(None, keyed)?;
        Ok(true)
    }

    fn push_profile(&mut self, content: Option<String>, keyed: Keyed) -> Result<(), Rejection> {
        let actor = Actor::service(self.envelope.actor.subject.clone(), "loader");
        let label = actor.label().into();
        let body = ContextAdded { content, tier: Tier::Platform, actor: label, keyed: Some(keyed) };
        self.push_as(actor, Body::ContextAdded(body))?;
        Ok(())
    }
}

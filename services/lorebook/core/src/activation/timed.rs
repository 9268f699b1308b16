//! Effects that outlast a turn: sticky and cooldown (reference A10).
//!
//! They are counted in messages of the whole path, so a branch, a swipe or a deleted turn takes them
//! back: an effect that started at this message or later never happened.

use std::collections::{BTreeMap, HashSet};

use kernel::{Digest, EntryId, WorldId};
use serde::{Deserialize, Serialize};

use super::candidates::Candidates;

/// The effects of a path. Comes in with a request and goes out with its answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Rows", into = "Rows")]
pub struct TimedState {
    sticky: BTreeMap<(WorldId, EntryId), Span>,
    cooldown: BTreeMap<(WorldId, EntryId), Span>,
}

/// One effect, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    pub world: WorldId,
    pub entry: EntryId,
    /// The entry as it was; an edit ends the effect.
    pub hash: Digest,
    /// Messages of the path when it began.
    pub start: u32,
    /// Messages of the path at which it ends.
    pub end: u32,
    /// Holds although the path did not advance.
    #[serde(default)]
    pub protected: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    hash: Digest,
    start: u32,
    end: u32,
    protected: bool,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Rows {
    sticky: Vec<Effect>,
    cooldown: Vec<Effect>,
}

/// The candidates on which an effect is active in this scan, by their places.
#[derive(Debug, Default)]
pub(super) struct Active {
    pub sticky: HashSet<usize>,
    pub cooldown: HashSet<usize>,
}

// === impl TimedState ===

impl TimedState {
    pub fn new(sticky: Vec<Effect>, cooldown: Vec<Effect>) -> Self {
        Rows { sticky, cooldown }.into()
    }

    pub fn sticky(&self) -> Vec<Effect> {
        rows(&self.sticky)
    }

    pub fn cooldown(&self) -> Vec<Effect> {
        rows(&self.cooldown)
    }

    /// Drops what ended or never happened, and says what is active with so many messages.
    pub(super) fn begin(&mut self, messages: u32, candidates: &Candidates<'_>) -> Active {
        let mut active = Active::default();
        if self.sticky.is_empty() && self.cooldown.is_empty() {
            return active;
        }
        let known = places(self.sticky.keys().chain(self.cooldown.keys()), candidates);
        let mut began: Vec<((WorldId, EntryId), Span)> = Vec::new();
        self.sticky.retain(|place, span| {
            let Some(at) = span.find(place, &known, candidates) else {
                return span.lasts(messages);
            };
            let body = &candidates.at(at).compiled.entry.body;
            if !span.happened(messages) || !is_set(body.sticky) {
                return false;
            }
            if span.end > messages {
                active.sticky.insert(at);
                return true;
            }
            if let Some(length) = body.cooldown.filter(|&length| length > 0) {
                active.cooldown.insert(at);
                began.push((place.clone(), Span::new(span.hash, messages, length, true)));
            }
            false
        });
        self.cooldown.extend(began);
        self.cooldown.retain(|place, span| {
            let Some(at) = span.find(place, &known, candidates) else {
                return span.lasts(messages);
            };
            let body = &candidates.at(at).compiled.entry.body;
            let is_active = span.lasts(messages) && is_set(body.cooldown);
            if is_active {
                active.cooldown.insert(at);
            }
            is_active
        });
        active
    }

    /// Starts the effects of an entry that fired, unless one of their kind is stored.
    pub(super) fn start(&mut self, messages: u32, candidates: &Candidates<'_>, at: usize) {
        let candidate = candidates.at(at);
        let compiled = candidate.compiled;
        let place =
            (candidates.worlds[candidate.world].world.id.clone(), compiled.entry.id.clone());
        let body = &compiled.entry.body;
        for (effects, length) in
            [(&mut self.sticky, body.sticky), (&mut self.cooldown, body.cooldown)]
        {
            if let Some(length) = length.filter(|&length| length > 0) {
                let span = Span::new(compiled.hash, messages, length, false);
                effects.entry(place.clone()).or_insert(span);
            }
        }
    }
}

fn is_set(length: Option<u32>) -> bool {
    length.is_some_and(|length| length > 0)
}

fn rows(effects: &BTreeMap<(WorldId, EntryId), Span>) -> Vec<Effect> {
    let row = |((world, entry), span): (&(WorldId, EntryId), &Span)| Effect {
        world: world.clone(),
        entry: entry.clone(),
        hash: span.hash,
        start: span.start,
        end: span.end,
        protected: span.protected,
    };
    effects.iter().map(row).collect()
}

// The candidates that effects are stored for.
fn places<'e>(
    effects: impl Iterator<Item = &'e (WorldId, EntryId)>,
    candidates: &Candidates<'_>,
) -> BTreeMap<(WorldId, EntryId), usize> {
    let wanted: HashSet<(&WorldId, &EntryId)> = effects.map(|(world, id)| (world, id)).collect();
    let ids = candidates.iter().map(|candidate| {
        (&candidates.worlds[candidate.world].world.id, &candidate.compiled.entry.id)
    });
    ids.enumerate()
        .filter(|(_, ids)| wanted.contains(ids))
        .map(|(at, (world, id))| ((world.clone(), id.clone()), at))
        .collect()
}

// === impl Span ===

impl Span {
    fn new(hash: Digest, start: u32, length: u32, protected: bool) -> Self {
        Self { hash, start, end: start.saturating_add(length), protected }
    }

    // The path is longer than when the effect began.
    fn happened(&self, messages: u32) -> bool {
        messages > self.start || self.protected
    }

    fn lasts(&self, messages: u32) -> bool {
        self.happened(messages) && messages < self.end
    }

    // The candidate it is on, if that is as it was.
    fn find(
        &self,
        place: &(WorldId, EntryId),
        known: &BTreeMap<(WorldId, EntryId), usize>,
        candidates: &Candidates<'_>,
    ) -> Option<usize> {
        let &at = known.get(place)?;
        (candidates.at(at).compiled.hash == self.hash).then_some(at)
    }
}

// === impl Rows ===

impl From<Rows> for TimedState {
    fn from(rows: Rows) -> Self {
        let spans = |effects: Vec<Effect>| {
            let span = |effect: Effect| {
                let Effect { world, entry, hash, start, end, protected } = effect;
                ((world, entry), Span { hash, start, end, protected })
            };
            effects.into_iter().map(span).collect()
        };
        Self { sticky: spans(rows.sticky), cooldown: spans(rows.cooldown) }
    }
}

impl From<TimedState> for Rows {
    fn from(state: TimedState) -> Self {
        Self { sticky: state.sticky(), cooldown: state.cooldown() }
    }
}

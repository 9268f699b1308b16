//! Replacing a range: a caller's compaction, a generated one, and the window's (20-ledger, 3 and 5.6).

use std::{collections::BTreeSet, sync::Arc};

use kernel::GenerationId;
use prompt::item::{Item, Voice};

use super::{Draft, Verb};
use crate::{
    command::Text,
    event::{Body, ContextRewritten, GenerationStarted, RangeRewrite, Rewrite},
    rejection::Rejection,
    state::State,
};

/// Takes the session's place for a generation, to have a summary generated. Answers the fence.
#[derive(Debug, Clone)]
pub struct BeginCompaction {
    pub generation: GenerationId,
}

/// Replaces everything before a turn. Answers the event's offset.
#[derive(Debug, Clone)]
pub struct ReplaceRange {
    /// None: a caller's, refused while a generation runs. Some: by the holder of this generation and
    /// fence; it ends a compaction's generation and leaves a reply's running.
    pub holder: Option<(GenerationId, u64)>,
    pub before: u64,
    /// None: trimmed.
    pub summary: Option<Text>,
    /// Lore keys of the compile in force; none: those of the last stamp.
    pub active_lore: Option<Vec<Arc<str>>>,
}

// === impl BeginCompaction ===

impl Verb for BeginCompaction {
    type Outcome = u64;

    fn decide(self, draft: &mut Draft<'_>) -> Result<u64, Rejection> {
        draft.existing()?;
        draft.idle()?;
        let generation = self.generation;
        let started = GenerationStarted { generation, fence: 1, reply: None, guidance: None };
        draft.push(Body::GenerationStarted(started))?;
        Ok(1)
    }
}

// === impl ReplaceRange ===

impl Verb for ReplaceRange {
    type Outcome = u64;

    fn decide(self, draft: &mut Draft<'_>) -> Result<u64, Rejection> {
        draft.existing()?;
        let closes = match &self.holder {
            None => {
                draft.idle()?;
                None
            }
            Some((id, fence)) => {
                let held = draft.held(id, *fence)?;
                held.slot.is_none().then(|| id.clone())
            }
        };
        let state = &draft.state;
        let covers = covered(state, self.before).ok_or(Rejection::RangeEmpty(self.before))?;
        let active = self.active_lore.unwrap_or_else(|| state.active_lore.clone());
        let summary = self.summary.map(Text::into_string);
        let covers = if summary.is_some() { covers } else { vec![] };
        let range = RangeRewrite { before: self.before, summary, covers, active, closes };
        let op = Rewrite::Range(range);
        draft.push(Body::ContextRewritten(ContextRewritten { op }))
    }
}

/// The turns that lie before the barrier, those of an earlier summary included; none where nothing does.
fn covered(state: &State, before: u64) -> Option<Vec<u64>> {
    let barrier = state.first_index(before)?;
    let range = &state.items()[..barrier];
    if range.iter().all(|item| item.as_section().is_some()) {
        return None;
    }
    let mut covers = BTreeSet::new();
    for item in range {
        match item {
            Item::Message(message) => {
                covers.extend(message.voice.turn());
                if let Voice::Summary { covers: earlier } = &message.voice {
                    covers.extend(earlier);
                }
            }
            Item::Stamp(stamp) => {
                let turn = stamp.slot.and_then(|slot| Some((slot, state.turn(slot)?)));
                let shown = turn.filter(|(_, turn)| !turn.retracted && turn.text().is_some());
                covers.extend(shown.map(|(slot, _)| slot));
            }
            Item::Section(_) => {}
        }
    }
    Some(covers.into_iter().collect())
}

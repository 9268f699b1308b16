//! Where an added section goes (20-ledger, rule 5.1).

use prompt::item::{Item, Section};

use super::State;
use crate::event::Place;

/// The decision for one keyed add.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    pub place: Place,
    pub supersedes: Option<u64>,
}

// === impl State ===

impl State {
    /// The newest occurrence of a key; the loader's keys are a namespace of their own.
    pub fn newest(&self, key: &str, profile: bool) -> Option<&Section> {
        let mut sections = self.items.iter().rev().filter_map(Item::as_section);
        sections.find(|section| &*section.key == key && section.profile.is_some() == profile)
    }

    /// Whether a request has sent this occurrence. A rewritten one counts as sent once a stamp is in context.
    pub(crate) fn is_sent(&self, section: &Section) -> bool {
        section.offset <= self.last_stamp || (section.rewritten && self.stamped)
    }

    /// Where the next occurrence of a key goes.
    pub(crate) fn place(&self, key: &str, profile: bool) -> Placed {
        let newest = self.newest(key, profile);
        if let Some(newest) = newest.filter(|newest| !self.is_sent(newest)) {
            return Placed { place: Place::Edit(newest.offset), supersedes: newest.supersedes };
        }
        if newest.is_none() && !self.stamped {
            return Placed { place: Place::Lead, supersedes: None };
        }
        let place = self.unsent_own_message().map_or(Place::Tail, Place::Before);
        Placed { place, supersedes: newest.map(|newest| newest.offset) }
    }

    /// The offset of the active generation's own user message, if no request has sent it yet.
    fn unsent_own_message(&self) -> Option<u64> {
        let own = self.generation.as_ref()?.own?;
        let offset = self.items.iter().rev().find_map(|item| match item {
            Item::Message(message) if message.voice.turn() == Some(own) => Some(message.offset),
            _ => None,
        })?;
        (offset > self.last_stamp).then_some(offset)
    }

    /// The length of the leading run.
    pub(crate) fn leading_run(&self) -> usize {
        self.items.iter().take_while(|item| item.may_stand()).count()
    }
}

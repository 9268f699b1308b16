//! Compaction: everything before a turn is replaced, with a summary or without (20-ledger, rule 5.6).

use std::collections::{BTreeSet, HashMap};

use prompt::{
    derive::Tier,
    item::{Item, Message, Section, Voice},
};

use super::{State, Touched, fold::main_text};
use crate::event::{Cause, RangeRewrite};

// === impl State ===

impl State {
    /// Where the first item of a turn lies: its message, or the first stamp of its slot.
    pub(crate) fn first_index(&self, seq: u64) -> Option<usize> {
        self.items.iter().position(|item| turn_of(item) == Some(seq))
    }

    pub(super) fn compact(&mut self, offset: u64, range: &RangeRewrite) {
        let cause = if range.summary.is_some() { Cause::Compact } else { Cause::Trim };
        self.cause(cause, Touched::Everything);

        let barrier = self.first_index(range.before).unwrap_or(self.items.len());
        let sections = collapse(&self.items, range);
        let mut after = self.items.split_off(barrier);
        after.retain(|item| item.as_section().is_none());
        let mut before = std::mem::take(&mut self.items);
        before.retain(is_lasting_fact);

        let summary = range.summary.as_ref().map(|text| {
            let voice = Voice::Summary { covers: range.covers.clone() };
            Item::Message(Message { offset, voice, text: Some(main_text(offset, text)) })
        });
        let kept: BTreeSet<u64> = after.iter().filter_map(turn_of).collect();
        for (seq, turn) in self.turns.range_mut(..range.before) {
            turn.in_context &= kept.contains(seq);
        }
        self.items = sections.into_iter().map(Item::Section).collect();
        self.items.append(&mut before);
        self.items.extend(summary);
        self.items.append(&mut after);

        if range.closes.is_some() {
            self.generation = None;
        }
    }
}

/// The newest occurrence of each key in first-appearance order, without withdrawn keys and idle lore.
fn collapse(items: &[Item], range: &RangeRewrite) -> Vec<Section> {
    let mut order: HashMap<(&str, bool), usize> = HashMap::new();
    let mut newest: Vec<&Section> = Vec::new();
    for section in items.iter().filter_map(Item::as_section) {
        let identity = (&*section.key, section.profile.is_some());
        match order.get(&identity) {
            Some(&at) => newest[at] = section,
            None => {
                order.insert(identity, newest.len());
                newest.push(section);
            }
        }
    }
    let kept = newest.into_iter().filter(|section| {
        let idle = section.is_lore() && !range.active.contains(&section.key);
        !section.is_withdrawn() && !idle
    });
    kept.map(|section| Section { supersedes: None, ..section.clone() }).collect()
}

/// Unkeyed facts of the platform or the owner outlive a compaction.
fn is_lasting_fact(item: &Item) -> bool {
    let Item::Message(message) = item else { return false };
    matches!(message.voice, Voice::Fact { tier: Tier::Platform | Tier::Owner, .. })
}

/// The turn that an item belongs to: a message's own, a stamp's slot.
fn turn_of(item: &Item) -> Option<u64> {
    match item {
        Item::Message(message) => message.voice.turn(),
        Item::Stamp(stamp) => stamp.slot,
        Item::Section(_) => None,
    }
}

//! Deliberate rewrites: replace or delete a key, delete a message, delete everything (20-ledger, rule 5.5).

use prompt::item::{Item, Section};

use super::{State, Touched, fold::content_of};
use crate::event::{Cause, Event, Rewrite};

// === impl State ===

impl State {
    pub(super) fn rewritten(&mut self, event: &Event, op: &Rewrite) -> Result<(), &'static str> {
        match op {
            Rewrite::Replace { key, content } => return self.replace(event, key, content),
            Rewrite::DeleteKey { key } => {
                let touched = self.remove(|item| is_callers(item, key));
                self.cause(Cause::Rewrite, Touched::Offsets(touched));
            }
            Rewrite::DeleteMessage { offset } => {
                let touched = self.remove(
                    |item| matches!(item, Item::Message(message) if message.offset == *offset),
                );
                self.cause(Cause::Rewrite, Touched::Offsets(touched));
            }
            Rewrite::DeleteAll => {
                self.items.clear();
                self.stamped = false;
                for turn in self.turns.values_mut() {
                    turn.in_context = false;
                }
                self.cause(Cause::Rewrite, Touched::Everything);
            }
            Rewrite::Range(range) => self.compact(event.meta.offset, range),
        }
        Ok(())
    }

    /// The new content takes the first occurrence's place; later occurrences go.
    fn replace(&mut self, event: &Event, key: &str, content: &str) -> Result<(), &'static str> {
        let first = self.items.iter().position(|item| is_callers(item, key));
        let first = first.ok_or("its key is not in the context")?;
        let owner =
            self.items[first].as_section().map(|section| (section.key.clone(), section.owner));
        let (key, owner) = owner.ok_or("its key is not in the context")?;
        let touched = self.remove(|item| is_callers(item, &key));
        let section = Section {
            offset: event.meta.offset,
            key,
            profile: None,
            owner,
            supersedes: None,
            content: Some(content_of(event, content)),
            quotes: vec![],
            rewritten: true,
        };
        // what lay before the first occurrence is of other keys and did not move
        self.items.insert(first, Item::Section(section));
        self.cause(Cause::Rewrite, Touched::Offsets(touched));
        Ok(())
    }

    /// Removes items; answers their offsets.
    fn remove(&mut self, unwanted: impl Fn(&Item) -> bool) -> Vec<u64> {
        let removed = self.items.extract_if(.., |item| unwanted(item));
        removed.map(|item| item.offset()).collect()
    }
}

/// Whether an item is an occurrence of a caller's key.
fn is_callers(item: &Item, key: &str) -> bool {
    item.as_section().is_some_and(|section| &*section.key == key && section.profile.is_none())
}

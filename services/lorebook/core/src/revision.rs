//! Which mutations move a world's `content_revision`: those that change what the lore says.
//!
//! Always: an applied change, its undo, a reset, a whole import, and the creation or deletion of any
//! entry. By comparison: an edit and a reorder. Never: anything about the world's head (its name,
//! switches, scan settings) and locks.

use crate::{entry::Entry, fields::FIELDS};

/// Whether an edit of one row moves the revision: not for a lock, a display-only field, or nothing.
pub fn moves(before: &Entry, after: &Entry) -> bool {
    lore(before) != lore(after)
}

/// A row without what is display only: locks, revision counts, the fields the table calls `display`.
pub fn lore(entry: &Entry) -> Entry {
    let mut lore = entry.clone();
    lore.locked = false;
    lore.entry_revision = 0;
    let plain = crate::EntryBody::default();
    for field in FIELDS.iter().filter(|field| field.display) {
        field.copy(&plain, &mut lore.body);
    }
    lore
}

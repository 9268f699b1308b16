//! The effective rows of a world: the first step of every read that feeds a prompt (seed 004, section 1).

use std::collections::HashSet;

use kernel::EntryId;

use crate::entry::{Entry, Layer};

/// Drops disabled and archived rows, authored rows hidden by a live overlay, and markers; keeps the
/// order of the rest. O(rows).
pub fn effective<'a>(rows: impl IntoIterator<Item = &'a Entry> + Clone) -> Vec<&'a Entry> {
    let hidden = hidden(rows.clone());
    rows.into_iter()
        .filter(|row| row.is_live() && !row.is_marker())
        .filter(|row| row.layer == Layer::Dynamic || !hidden.contains(&row.id))
        .collect()
}

/// The same for rows that are given away.
pub fn into_effective(rows: Vec<Entry>) -> Vec<Entry> {
    let kept: HashSet<EntryId> = effective(&rows).into_iter().map(|row| row.id.clone()).collect();
    rows.into_iter().filter(|row| kept.contains(&row.id)).collect()
}

/// The ids that live overlays name; only authored rows are ever hidden by one.
pub fn hidden<'a>(rows: impl IntoIterator<Item = &'a Entry>) -> HashSet<&'a EntryId> {
    rows.into_iter().filter_map(Entry::hides).collect()
}

//! The effective rows of a world: the first step of every read that feeds a prompt (seed 004, section 1).

use std::collections::HashSet;

use kernel::EntryId;

use crate::entry::{Entry, Layer};

/// Why a row is not in effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LeftOut {
    /// A retired overlay row.
    Archived,
    /// Switched off by its user.
    Disabled,
    /// A SUPPRESS row: it hides another and says nothing itself.
    Marker,
    /// A live overlay row stands in its place, or says that it is not so.
    Hidden,
}

/// Rows parted into those that are in effect and the others; each part keeps their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Projected {
    pub effective: Vec<Entry>,
    pub left_out: Vec<(LeftOut, Entry)>,
}

/// Drops disabled and archived rows, authored rows hidden by a live overlay, and markers; keeps the
/// order of the rest. O(rows).
pub fn effective<'a>(rows: impl IntoIterator<Item = &'a Entry> + Clone) -> Vec<&'a Entry> {
    let hidden = hidden(rows.clone());
    rows.into_iter().filter(|row| left_out(row, |id| hidden.contains(id)).is_none()).collect()
}

/// The same for rows that are given away; what is dropped is answered too.
pub fn project(rows: Vec<Entry>) -> Projected {
    let hidden: HashSet<EntryId> = hidden(&rows).into_iter().cloned().collect();
    let (mut effective, mut others) = (Vec::with_capacity(rows.len()), Vec::new());
    for row in rows {
        match left_out(&row, |id| hidden.contains(id)) {
            None => effective.push(row),
            Some(why) => others.push((why, row)),
        }
    }
    Projected { effective, left_out: others }
}

/// The ids that live overlays name; only authored rows are ever hidden by one.
pub fn hidden<'a>(rows: impl IntoIterator<Item = &'a Entry>) -> HashSet<&'a EntryId> {
    rows.into_iter().filter_map(Entry::hides).collect()
}

fn left_out(row: &Entry, is_hidden: impl Fn(&EntryId) -> bool) -> Option<LeftOut> {
    if row.archived {
        Some(LeftOut::Archived)
    } else if !row.body.enabled {
        Some(LeftOut::Disabled)
    } else if row.is_marker() {
        Some(LeftOut::Marker)
    } else if row.layer == Layer::Authored && is_hidden(&row.id) {
        Some(LeftOut::Hidden)
    } else {
        None
    }
}

//! The way back: a guarded inverse of one recorded change, and the reset that retires every overlay.

use std::collections::{HashMap, HashSet};

use kernel::EntryId;

use super::{Operation, Pair, Planned, Record};
use crate::{
    entry::{Entry, Layer},
    fields::FIELDS,
    world::Book,
};

/// Why a change is not undone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RevertRefused {
    #[error("it was undone already")]
    AlreadyReverted,
    #[error("it wrote nothing that could be put back")]
    NothingToRevert,
    #[error("{} of its rows were edited since", .0.len())]
    Conflict(Vec<Conflict>),
}

/// A row that is not as the change left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    pub entry: EntryId,
    /// Stored names of what differs; empty when the row is gone or cannot come back.
    pub fields: Vec<&'static str>,
    pub why: &'static str,
}

/// No overlay row is left to retire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the world has no overlay to reset")]
pub struct NothingToReset;

/// The inverse of a change, if every row it wrote still is as it left it. Timestamps, locks and
/// display-only fields may differ, and a pointer may have gone null with the authored row it named.
pub fn revert(record: &Record, book: &Book) -> Result<(Vec<Operation>, Planned), RevertRefused> {
    if record.reverted_by.is_some() {
        return Err(RevertRefused::AlreadyReverted);
    }
    let live: HashMap<&EntryId, &Entry> = book.entries.iter().map(|row| (&row.id, row)).collect();
    let mut conflicts = Vec::new();
    let mut inverse = Vec::new();
    for pair in record.pairs.iter().rev() {
        let Some(left) = &pair.after else { continue };
        match live.get(&left.id) {
            None => conflicts.push(Conflict::gone(left)),
            // No change of ours has such a row, but a History comes with a backup, which anybody may have written.
            Some(row) if row.layer == Layer::Authored => conflicts.push(Conflict::authored(left)),
            Some(row) => match drift(left, row) {
                fields if fields.is_empty() => inverse.push(inverted(pair, row)),
                fields => conflicts.push(Conflict::edited(left, fields)),
            },
        }
    }
    conflicts.extend(rivals(book, &inverse));
    if !conflicts.is_empty() {
        return Err(RevertRefused::Conflict(conflicts));
    }
    if inverse.is_empty() {
        return Err(RevertRefused::NothingToRevert);
    }
    let operations = inverse.iter().filter_map(operation).collect();
    Ok((operations, Planned { pairs: inverse }))
}

/// Retires every overlay row of the world that is not retired yet.
pub fn reset(book: &Book) -> Result<(Vec<Operation>, Planned), NothingToReset> {
    let overlays = book.entries.iter().filter(|row| row.layer == Layer::Dynamic && !row.archived);
    let pairs: Vec<Pair> = overlays.map(|row| moved(row, |after| after.archived = true)).collect();
    if pairs.is_empty() {
        return Err(NothingToReset);
    }
    let operations = pairs.iter().filter_map(operation).collect();
    Ok((operations, Planned { pairs }))
}

/// The row as it was before; a row that the change created is retired.
fn inverted(pair: &Pair, live: &Entry) -> Pair {
    let Some(before) = &pair.before else {
        return moved(live, |after| after.archived = true);
    };
    moved(live, |after| {
        let mut body = before.body.clone();
        for field in FIELDS.iter().filter(|field| field.display) {
            field.copy(&live.body, &mut body);
        }
        after.body = body;
        after.archived = before.archived;
    })
}

fn moved(live: &Entry, change: impl FnOnce(&mut Entry)) -> Pair {
    let mut after = live.clone();
    after.entry_revision += 1;
    change(&mut after);
    Pair { before: Some(live.clone()), after: Some(after) }
}

fn operation(pair: &Pair) -> Option<Operation> {
    let after = pair.after.as_ref()?;
    let target = after.id.clone();
    let retires = after.archived && !pair.before.as_ref()?.archived;
    Some(if retires { Operation::Archive { target } } else { Operation::Restore { target } })
}

/// The stored names in which a live row differs from what the change left.
fn drift(left: &Entry, live: &Entry) -> Vec<&'static str> {
    let mut fields: Vec<&'static str> = FIELDS
        .iter()
        .filter(|field| !field.display && !field.equal(&left.body, &live.body))
        .map(|field| field.name)
        .collect();
    let orphaned = live.supersedes_entry_id.is_none();
    let rest = [
        ("extensions", left.body.extensions == live.body.extensions),
        ("extra", left.body.extra == live.body.extra),
        ("uid", left.uid == live.uid),
        ("ordinal", left.ordinal == live.ordinal),
        ("layer", left.layer == live.layer),
        ("overlay_action", left.overlay_action == live.overlay_action),
        ("supersedes_entry_id", orphaned || left.supersedes_entry_id == live.supersedes_entry_id),
        ("archived", left.archived == live.archived),
        ("entry_revision", left.entry_revision == live.entry_revision),
    ];
    fields.extend(rest.into_iter().filter(|(_, equal)| !equal).map(|(name, _)| name));
    fields
}

/// Rows that would come back over an authored row which another live overlay hides by now.
fn rivals(book: &Book, inverse: &[Pair]) -> Vec<Conflict> {
    let written: HashSet<&EntryId> =
        inverse.iter().filter_map(|pair| Some(&pair.after.as_ref()?.id)).collect();
    let hidden: HashSet<&EntryId> = book
        .entries
        .iter()
        .filter(|row| !written.contains(&row.id))
        .filter_map(Entry::hides)
        .collect();
    let back = inverse.iter().filter_map(|pair| {
        let (before, after) = (pair.before.as_ref()?, pair.after.as_ref()?);
        let hides = after.hides().filter(|_| before.hides().is_none())?;
        hidden.contains(hides).then(|| Conflict::rival(after))
    });
    back.collect()
}

// === impl Conflict ===

impl Conflict {
    fn gone(row: &Entry) -> Self {
        Self { entry: row.id.clone(), fields: Vec::new(), why: "the row was deleted" }
    }

    fn authored(row: &Entry) -> Self {
        let why = "the row is authored, which no change may write";
        Self { entry: row.id.clone(), fields: Vec::new(), why }
    }

    fn edited(row: &Entry, fields: Vec<&'static str>) -> Self {
        Self { entry: row.id.clone(), fields, why: "the row was edited" }
    }

    fn rival(row: &Entry) -> Self {
        let why = "another overlay hides the same authored entry";
        Self { entry: row.id.clone(), fields: Vec::new(), why }
    }
}

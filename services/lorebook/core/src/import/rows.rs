//! The rows of an imported file: unique numbers, order, and ids once the world has one.

use std::collections::{HashMap, HashSet};

use kernel::{EntryId, WorldId};

use crate::{
    entry::{Entry, EntryBody, Layer},
    import::{
        EntryStamp, Imported,
        report::{Code, Place, Report},
    },
};

/// One entry of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedRow {
    pub uid: i64,
    pub body: EntryBody,
    pub stamp: Option<EntryStamp>,
}

/// A row whose number is still a wish.
pub(super) struct Draft {
    pub at: Place,
    pub wanted: Option<i64>,
    pub body: EntryBody,
    pub stamp: Option<EntryStamp>,
}

/// Gives each draft a number of its own: wishes in order, then the first free numbers from 0.
pub(super) fn number(drafts: Vec<Draft>, report: &mut Report) -> Vec<ImportedRow> {
    let mut taken = HashSet::new();
    let granted: Vec<bool> =
        drafts.iter().map(|draft| draft.wanted.is_some_and(|uid| taken.insert(uid))).collect();
    let mut next = 0;
    let mut rows = Vec::with_capacity(drafts.len());
    for (draft, granted) in drafts.into_iter().zip(granted) {
        let uid = match draft.wanted {
            Some(uid) if granted => uid,
            wish => {
                while !taken.insert(next) {
                    next += 1;
                }
                let why = match wish {
                    Some(uid) => format!("{uid} is taken; now {next}"),
                    None => format!("absent; now {next}"),
                };
                report.add(Code::NumberMade, &draft.at, "uid", why);
                next
            }
        };
        rows.push(ImportedRow { uid, body: draft.body, stamp: draft.stamp });
    }
    rows
}

// === impl Imported ===

impl Imported {
    /// The rows of the world that this file becomes; the same file and world give the same ids.
    pub fn entries(&self, world: &WorldId) -> Vec<Entry> {
        let ids = self.ids(world);
        let mut entries: Vec<Entry> = self
            .rows
            .iter()
            .zip(0i64..)
            .map(|(row, place)| {
                let id = row_id(world, usize::try_from(place).unwrap_or(0));
                let entry = Entry::authored(id, row.uid, place, row.body.clone());
                match &row.stamp {
                    Some(stamp) => stamped(entry, stamp, &ids),
                    None => entry,
                }
            })
            .collect();
        entries.sort_by_key(|entry| entry.ordinal);
        for (entry, place) in entries.iter_mut().zip(0..) {
            entry.ordinal = place;
        }
        entries
    }

    /// Which id each stamped row has now, by the id it had when it was exported.
    pub fn ids(&self, world: &WorldId) -> HashMap<EntryId, EntryId> {
        let stamped = |row: &ImportedRow| row.stamp.as_ref().and_then(|stamp| stamp.id.clone());
        let named = self.rows.iter().enumerate();
        named.filter_map(|(place, row)| Some((stamped(row)?, row_id(world, place)))).collect()
    }
}

fn row_id(world: &WorldId, place: usize) -> EntryId {
    EntryId::derived(&[world.as_str(), "import", &place.to_string()])
}

fn stamped(mut entry: Entry, stamp: &EntryStamp, ids: &HashMap<EntryId, EntryId>) -> Entry {
    entry.ordinal = stamp.ordinal.unwrap_or(entry.ordinal);
    entry.locked = stamp.locked;
    entry.entry_revision = stamp.entry_revision;
    if let Some(action) = stamp.overlay_action {
        entry.layer = Layer::Dynamic;
        entry.overlay_action = Some(action);
        entry.supersedes_entry_id = stamp.supersedes.as_ref().and_then(|id| ids.get(id)).cloned();
        entry.archived = stamp.archived;
        entry.body.enabled = stamp.enabled.unwrap_or(entry.body.enabled);
    }
    entry
}

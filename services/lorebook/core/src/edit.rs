//! What a user's own hand does to the rows of a world: create, update, delete, reorder, in one go.
//!
//! Authored and dynamic rows alike may be edited, switched off and deleted; rows of the dynamic layer
//! are created by changes alone. An edit counts up a row's `entry_revision` when it changes the lore,
//! so that an undo over it refuses.

use std::collections::{HashMap, HashSet};

use kernel::{EntryId, digest, limits};
use serde::Serialize;

use crate::{
    change::{Pair, Patch},
    entry::{Entry, EntryBody},
    revision,
    world::Book,
};

/// One step of an edit. Its serde form says what is to be written, whatever etag its caller saw.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Edit {
    /// A new authored row behind all others; a row that is there already was made by the same request.
    Create { id: EntryId, body: Box<EntryBody>, locked: bool },
    Update {
        id: EntryId,
        #[serde(skip)]
        expected_etag: Option<String>,
        fields: Patch,
        locked: Option<bool>,
    },
    Delete {
        id: EntryId,
        #[serde(skip)]
        expected_etag: Option<String>,
    },
    /// The named rows exchange their places so that they stand in this order.
    Reorder { ids: Vec<EntryId> },
}

/// What is to be written, decided on the rows as they stand.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Edited {
    /// New and changed rows.
    pub written: Vec<Entry>,
    /// Rows as they were before they go.
    pub deleted: Vec<Entry>,
    /// Whether the lore says something else now.
    pub moves_revision: bool,
}

/// Why an edit is not made; nothing of it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditRefused {
    #[error("an embedded book is immutable")]
    Embedded,
    #[error("the world has no entry {0}")]
    Unknown(EntryId),
    #[error("entry {id} changed: its etag is {live}")]
    EtagMismatch { id: EntryId, live: String },
    #[error("entry {id} would have {bytes} bytes, at most {} are allowed", limits::ENTRY_BYTES_MAX)]
    TooLarge { id: EntryId, bytes: usize },
    #[error("the world would have more than {} entries", limits::BOOK_ENTRIES_MAX)]
    WorldFull,
}

/// Moves with every write of a row.
pub fn etag(entry: &Entry) -> String {
    let stored = serde_json::to_vec(entry).unwrap_or_default();
    digest(&stored).to_hex()[..32].to_owned()
}

/// Takes the steps one after the other; all or nothing.
pub fn edit(book: &Book, edits: &[Edit]) -> Result<Edited, EditRefused> {
    if book.world.embedded {
        return Err(EditRefused::Embedded);
    }
    let mut rows = book.entries.clone();
    let mut deleted = Vec::new();
    for step in edits {
        take(&mut rows, &mut deleted, step)?;
    }
    if rows.len() > limits::BOOK_ENTRIES_MAX {
        return Err(EditRefused::WorldFull);
    }
    let known: HashMap<&EntryId, &Entry> = book.entries.iter().map(|row| (&row.id, row)).collect();
    let mut edited = Edited { moves_revision: !deleted.is_empty(), ..Edited::default() };
    for mut row in rows {
        let before = known.get(&row.id).copied();
        if before == Some(&row) {
            continue;
        }
        check_size(&row)?;
        match before {
            Some(before) if orphaned(before, &row) => {}
            Some(before) if revision::moves(before, &row) => {
                row.entry_revision = before.entry_revision + 1;
                edited.moves_revision = true;
            }
            Some(_) => {}
            None => edited.moves_revision = true,
        }
        edited.written.push(row);
    }
    // A row that this edit itself created was never there.
    deleted.retain(|row| known.contains_key(&row.id));
    edited.deleted = deleted;
    Ok(edited)
}

fn take(rows: &mut Vec<Entry>, deleted: &mut Vec<Entry>, step: &Edit) -> Result<(), EditRefused> {
    match step {
        // Ids come from request ids: a row that is there already was made by the same request.
        Edit::Create { id, .. } if rows.iter().any(|row| row.id == *id) => {}
        Edit::Create { id, body, locked } => {
            let above = |value: fn(&Entry) -> i64| {
                rows.iter().map(value).max().map_or(0, |highest| highest.saturating_add(1))
            };
            let (uid, ordinal) = (above(|row| row.uid).max(0), above(|row| row.ordinal));
            let row = Entry::authored(id.clone(), uid, ordinal, body.as_ref().clone());
            rows.push(Entry { locked: *locked, ..row });
        }
        Edit::Update { id, expected_etag, fields, locked } => {
            let at = find(rows, id, expected_etag.as_deref())?;
            rows[at].body = fields.apply(&rows[at].body);
            rows[at].locked = locked.unwrap_or(rows[at].locked);
        }
        Edit::Delete { id, expected_etag } => {
            let at = find(rows, id, expected_etag.as_deref())?;
            let gone = rows.remove(at);
            let over = |row: &&mut Entry| row.supersedes_entry_id.as_ref() == Some(&gone.id);
            rows.iter_mut().filter(over).for_each(|row| row.supersedes_entry_id = None);
            deleted.push(gone);
        }
        Edit::Reorder { ids } => reorder(rows, ids)?,
    }
    Ok(())
}

fn find(rows: &[Entry], id: &EntryId, expected: Option<&str>) -> Result<usize, EditRefused> {
    let unknown = || EditRefused::Unknown(id.clone());
    let at = rows.iter().position(|row| row.id == *id).ok_or_else(unknown)?;
    match expected {
        Some(expected) if expected != etag(&rows[at]) => {
            Err(EditRefused::EtagMismatch { id: id.clone(), live: etag(&rows[at]) })
        }
        _ => Ok(at),
    }
}

/// An id that stands there twice counts once.
fn reorder(rows: &mut [Entry], ids: &[EntryId]) -> Result<(), EditRefused> {
    let known: HashMap<&EntryId, usize> =
        rows.iter().enumerate().map(|(at, row)| (&row.id, at)).collect();
    let (mut places, mut seen) = (Vec::with_capacity(ids.len()), HashSet::new());
    for id in ids {
        let at = *known.get(id).ok_or_else(|| EditRefused::Unknown(id.clone()))?;
        if seen.insert(at) {
            places.push(at);
        }
    }
    let mut ordinals: Vec<i64> = places.iter().map(|at| rows[*at].ordinal).collect();
    ordinals.sort_unstable();
    for (at, ordinal) in places.into_iter().zip(ordinals) {
        rows[at].ordinal = ordinal;
    }
    Ok(())
}

/// The deletion of an authored row shows through in its overlays; that is no edit of them.
fn orphaned(before: &Entry, row: &Entry) -> bool {
    let supersedes_entry_id = row.supersedes_entry_id.clone();
    before.supersedes_entry_id.is_some() && *row == Entry { supersedes_entry_id, ..before.clone() }
}

fn check_size(row: &Entry) -> Result<(), EditRefused> {
    let bytes = serde_json::to_vec(&row.body).map_or(0, |body| body.len());
    if bytes > limits::ENTRY_BYTES_MAX {
        return Err(EditRefused::TooLarge { id: row.id.clone(), bytes });
    }
    Ok(())
}

// === impl Edited ===

impl Edited {
    /// The deletions as History keeps them: before-snapshots that cannot be taken back.
    pub fn manual(&self) -> Vec<Pair> {
        let pair = |row: &Entry| Pair { before: Some(row.clone()), after: None };
        self.deleted.iter().map(pair).collect()
    }
}

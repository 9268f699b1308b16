//! A recorded change as a person reads it: per row, what happened and which fields say what now.

use std::borrow::Cow;

use kernel::EntryId;
use serde_json::Value;

use super::Pair;
use crate::{
    entry::{Entry, EntryBody, OverlayAction},
    fields::FIELDS,
};

/// What happened to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowVerb {
    Added,
    Replaced,
    Suppressed,
    Updated,
    Archived,
    Restored,
    Deleted,
}

/// One field before and after; texts as they are, other values as JSON writes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldDiff {
    pub field: &'static str,
    pub before: String,
    pub after: String,
}

/// One row of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowDiff {
    pub entry: EntryId,
    pub name: String,
    pub verb: RowVerb,
    /// The authored row that it overlays.
    pub supersedes: Option<EntryId>,
    pub fields: Vec<FieldDiff>,
    /// Unified line diff of the content; empty where it stays.
    pub content: String,
}

/// The readable form of one pair; `base` is the authored row that a new replacement was made from.
pub fn diff(pair: &Pair, base: Option<&Entry>) -> Option<RowDiff> {
    let row = pair.after.as_ref().or(pair.before.as_ref())?;
    let before = body(pair.before.as_ref().or(base));
    let after = body(pair.after.as_ref());
    Some(RowDiff {
        entry: row.id.clone(),
        name: row.body.comment.clone(),
        verb: verb(pair, row),
        supersedes: row.supersedes_entry_id.clone(),
        fields: changed(&before, &after),
        content: lines(&before.content, &after.content),
    })
}

/// What a missing row says: nothing.
fn body(row: Option<&Entry>) -> Cow<'_, EntryBody> {
    row.map_or_else(|| Cow::Owned(EntryBody::default()), |row| Cow::Borrowed(&row.body))
}

fn lines(before: &str, after: &str) -> String {
    if before == after {
        return String::new();
    }
    let diff = similar::TextDiff::from_lines(before, after);
    diff.unified_diff().context_radius(2).missing_newline_hint(false).to_string()
}

fn verb(pair: &Pair, row: &Entry) -> RowVerb {
    match (&pair.before, &pair.after) {
        (_, None) => RowVerb::Deleted,
        (None, Some(_)) => match row.overlay_action {
            Some(OverlayAction::Replace) => RowVerb::Replaced,
            Some(OverlayAction::Suppress) => RowVerb::Suppressed,
            Some(OverlayAction::Add) | None => RowVerb::Added,
        },
        (Some(before), Some(after)) => match (before.archived, after.archived) {
            (false, true) => RowVerb::Archived,
            (true, false) => RowVerb::Restored,
            _ => RowVerb::Updated,
        },
    }
}

/// Fields that differ; of a new or deleted row those that differ from a newly created entry's.
fn changed(before: &EntryBody, after: &EntryBody) -> Vec<FieldDiff> {
    FIELDS
        .iter()
        .filter(|field| !field.display && !field.equal(before, after))
        .map(|field| FieldDiff {
            field: field.name,
            before: shown(field.slot.write(before)),
            after: shown(field.slot.write(after)),
        })
        .collect()
}

fn shown(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

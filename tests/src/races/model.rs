//! The lore as the answers say it must be: successes in the order of their revisions, over what was there before.

use std::collections::BTreeMap;

use wire::lorebook::v1::{self as pb, entry_edit::Edit};

use super::{
    asked::{Answer, Asked},
    place::Seen,
};

/// What of a row the races change, by entry id.
pub type Rows = BTreeMap<String, Row>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub dynamic: bool,
    pub content: String,
    pub archived: bool,
    /// The authored row that it lies over.
    pub over: String,
}

pub fn rows(seen: &Seen) -> Rows {
    seen.entries.iter().map(|entry| (entry.entry_id.clone(), Row::of(entry))).collect()
}

/// Does to the rows what a success did.
pub fn follow(rows: &mut Rows, asked: &Asked, answer: &Answer) {
    match (asked, answer) {
        (Asked::Update(request), _) => update(rows, request),
        (Asked::Create(request), Answer::Edited(_, ids)) => create(rows, request, ids.first()),
        (Asked::Delete(request), _) => delete(rows, &request.entry_id),
        (Asked::Batch(request), Answer::Edited(_, ids)) => {
            for (edit, id) in request.edits.iter().zip(ids) {
                match &edit.edit {
                    Some(Edit::Update(request)) => update(rows, request),
                    Some(Edit::Create(request)) => create(rows, request, Some(id)),
                    Some(Edit::Delete(request)) => delete(rows, &request.entry_id),
                    None => {}
                }
            }
        }
        (_, Answer::Change(change)) => {
            for after in change.rows.iter().filter_map(|row| row.after.as_ref()) {
                rows.insert(after.entry_id.clone(), Row::of(after));
            }
        }
        _ => {}
    }
}

fn update(rows: &mut Rows, request: &pb::UpdateEntryRequest) {
    let Some(entry) = &request.entry else { return };
    let rewords = request.update_mask.iter().any(|mask| mask.paths == ["content"]);
    if let Some(row) = rows.get_mut(&entry.entry_id).filter(|_| rewords) {
        row.content.clone_from(&entry.content);
    }
}

fn create(rows: &mut Rows, request: &pb::CreateEntryRequest, id: Option<&String>) {
    if let (Some(entry), Some(id)) = (&request.entry, id) {
        rows.insert(id.clone(), Row::of(entry));
    }
}

fn delete(rows: &mut Rows, id: &str) {
    rows.remove(id);
    for row in rows.values_mut().filter(|row| row.over == id) {
        row.over.clear();
    }
}

// === impl Row ===

impl Row {
    fn of(entry: &pb::Entry) -> Self {
        Self {
            dynamic: entry.layer() == pb::Layer::Dynamic,
            content: entry.content.clone(),
            archived: entry.archived,
            over: entry.supersedes_entry_id.clone(),
        }
    }
}

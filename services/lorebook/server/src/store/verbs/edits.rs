//! Rows by their user's own hand, and the record of what is deleted.

use std::collections::BTreeMap;

use kernel::{ChangeId, Owner, Timestamp, WorldId, limits};
use lorebook_core::{
    Book, Entry,
    change::{Operation, Origin, Record},
    edit::{Edit, Edited, edit},
};

use super::{
    answers::{answered, replayed},
    changes::keep,
    gone, worlds,
};
use crate::store::{
    Attempt, EditError, Outcome, StoreError, Stored,
    rows::{Rows, Transaction, Writer},
};

pub async fn edit_rows(
    mut rows: Transaction,
    owner: &Owner,
    world: &WorldId,
    edits: &[Edit],
    record: &ChangeId,
    attempt: Option<&Attempt>,
    now: Timestamp,
) -> Result<Outcome<Stored>, EditError> {
    let listed = rows.lock(owner, world).await?.ok_or(EditError::NotFound)?;
    let entries = rows.entries(owner, world).await?;
    if replayed(&mut *rows, attempt).await? {
        return Ok(Outcome::again(Stored { listed, entries }));
    }
    let book = Book { world: listed.world, entries };
    let edited = edit(&book, edits)?;
    write(&mut *rows, owner, &book, &edited).await?;
    record_deletion(&mut *rows, owner, &book, &edited, record, now).await?;
    answered(&mut *rows, attempt, world.as_str(), now).await?;
    let stored = worlds::book(&mut *rows, owner, world).await?.ok_or_else(gone)?;
    rows.commit().await?;
    Ok(Outcome::new(stored))
}

async fn write(
    rows: &mut dyn Rows,
    owner: &Owner,
    book: &Book,
    edited: &Edited,
) -> Result<(), StoreError> {
    let world = &book.world;
    let written: Vec<&Entry> = edited.written.iter().collect();
    rows.put_entries(owner, &world.id, &written, Writer::User).await?;
    rows.delete_entries(owner, &world.id, &edited.deleted).await?;
    if edited.moves_revision {
        rows.set_revision(owner, &world.id, world.content_revision + 1).await?;
    }
    Ok(())
}

/// A deletion leaves nothing behind, so a world with a History, or with one to come, records it.
async fn record_deletion(
    rows: &mut dyn Rows,
    owner: &Owner,
    book: &Book,
    edited: &Edited,
    id: &ChangeId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let world = &book.world;
    if edited.deleted.is_empty() || !is_recorded(rows, owner, book).await? {
        return Ok(());
    }
    let names: Vec<&str> = edited.deleted.iter().map(|row| row.body.comment.as_str()).collect();
    let delete = |row: &Entry| Operation::Delete { target: row.id.clone() };
    let record = Record {
        id: id.clone(),
        origin: Origin::Manual,
        operations: edited.deleted.iter().map(delete).collect(),
        pairs: edited.manual(),
        rationales: Vec::new(),
        base_revision: world.content_revision,
        applied_revision: world.content_revision + 1,
        summary: told(&names),
        labels: BTreeMap::new(),
        reverts: None,
        reverted_by: None,
        applied_at: now,
    };
    keep(rows, owner, &world.id, &record, &[]).await
}

async fn is_recorded(rows: &mut dyn Rows, owner: &Owner, book: &Book) -> Result<bool, StoreError> {
    let world = &book.world;
    let has_history = !rows.changes(owner, &world.id, i64::MAX, 1).await?.is_empty();
    Ok(world.dynamic_enabled || has_history)
}

fn told(names: &[&str]) -> String {
    let text = format!("Deleted by hand: {}", names.join(", "));
    text.chars().take(limits::CHANGE_SUMMARY_CHARS_MAX).collect()
}

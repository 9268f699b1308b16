//! Worlds as wholes: made, read, their heads edited, deleted.

use kernel::{Owner, Timestamp, WorldId};
use lorebook_core::Entry;

use super::{
    answers::{answered, replayed},
    gone,
};
use crate::store::{
    Attempt, Backup, CreateError, HeadEdit, Listed, NewBook, Outcome, StoreError, Stored,
    UpdateError,
    rows::{Rows, Transaction, Writer},
};

/// Those of `ids` that exist, in their order.
pub async fn named(
    mut rows: Transaction,
    owner: &Owner,
    ids: &[WorldId],
) -> Result<Vec<Listed>, StoreError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let found = rows.worlds(owner, ids).await?;
    let of = |id: &WorldId| found.iter().find(|listed| listed.world.id == *id).cloned();
    Ok(ids.iter().filter_map(of).collect())
}

pub async fn book(
    rows: &mut dyn Rows,
    owner: &Owner,
    id: &WorldId,
) -> Result<Option<Stored>, StoreError> {
    let Some(listed) = rows.world(owner, id).await? else { return Ok(None) };
    let entries = rows.entries(owner, id).await?;
    Ok(Some(Stored { listed, entries }))
}

pub async fn backup(
    mut rows: Transaction,
    owner: &Owner,
    id: &WorldId,
) -> Result<Option<Backup>, StoreError> {
    let Some(stored) = book(&mut *rows, owner, id).await? else { return Ok(None) };
    let history = rows.history(owner, id).await?;
    Ok(Some(Backup { stored, history }))
}

pub async fn create(
    mut rows: Transaction,
    owner: &Owner,
    book: &NewBook,
    attempt: Option<&Attempt>,
    now: Timestamp,
) -> Result<Outcome<Listed>, CreateError> {
    let id = &book.world.id;
    if replayed(&mut *rows, attempt).await? {
        let listed = rows.world(owner, id).await?.ok_or(CreateError::Deleted)?;
        return Ok(Outcome::again(listed));
    }
    let new = rows.insert_world(owner, &book.world, now).await?;
    if new {
        let entries: Vec<&Entry> = book.entries.iter().collect();
        rows.put_entries(owner, id, &entries, Writer::Import).await?;
        for record in &book.history {
            rows.insert_change(owner, id, record, &[]).await?;
        }
        answered(&mut *rows, attempt, id.as_str(), now).await?;
    }
    let listed = rows.world(owner, id).await?.ok_or_else(gone)?;
    rows.commit().await?;
    Ok(Outcome { value: listed, replayed: !new })
}

pub async fn update(
    mut rows: Transaction,
    owner: &Owner,
    id: &WorldId,
    edit: &HeadEdit,
    attempt: Option<&Attempt>,
    now: Timestamp,
) -> Result<Outcome<Listed>, UpdateError> {
    let listed = rows.lock(owner, id).await?.ok_or(UpdateError::NotFound)?;
    if replayed(&mut *rows, attempt).await? {
        return Ok(Outcome::again(listed));
    }
    if listed.world.embedded {
        return Err(UpdateError::Immutable);
    }
    if let Some(expected) = edit.expected_version.filter(|seen| *seen != listed.version) {
        return Err(UpdateError::EtagMismatch { expected, live: listed.version });
    }
    let edited = edit.apply(&listed.world);
    if edited != listed.world {
        rows.update_world(owner, &edited).await?;
    }
    answered(&mut *rows, attempt, id.as_str(), now).await?;
    let listed = rows.world(owner, id).await?.ok_or_else(gone)?;
    rows.commit().await?;
    Ok(Outcome::new(listed))
}

pub async fn delete(
    mut rows: Transaction,
    owner: &Owner,
    id: &WorldId,
) -> Result<bool, StoreError> {
    rows.lock(owner, id).await?;
    let deleted = rows.delete_world(owner, id).await?;
    rows.commit().await?;
    Ok(deleted)
}

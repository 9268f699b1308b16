//! Changes: load the world under its lock, decide in the core, write, record.

use std::collections::BTreeMap;

use kernel::{ChangeId, Digest, Owner, Timestamp, WorldId};
use lorebook_core::{
    Book, Entry,
    change::{self, Operation, Origin, Planned, Record},
};

use super::{
    answers::{answered, replayed},
    gone,
};
use crate::store::{
    ApplyError, Attempt, Change, NewChange, Outcome, ResetError, RevertError, StoreError,
    created_id,
    rows::{ChangeRow, Rows, Transaction, Writer},
};

/// What a record is made from, beyond its rows and revisions.
struct Draft<'d> {
    id: &'d ChangeId,
    origin: Origin,
    operations: Vec<Operation>,
    rationales: Vec<String>,
    summary: &'d str,
    labels: BTreeMap<String, String>,
    reverts: Option<ChangeId>,
    request: Option<Digest>,
}

pub async fn apply(
    mut rows: Transaction,
    owner: &Owner,
    new: &NewChange,
    now: Timestamp,
) -> Result<Outcome<Change>, ApplyError> {
    let listed = rows.lock(owner, &new.world).await?;
    // The world's lock is held: whoever had this id first has committed.
    match rows.change(owner, &new.id).await? {
        Some(ChangeRow::Closed) => return Err(ApplyError::Closed),
        Some(ChangeRow::Applied { request, change }) => {
            let same = request == new.request.as_bytes();
            return same.then(|| Outcome::again(*change)).ok_or(ApplyError::IdReused);
        }
        None => {}
    }
    let world = listed.ok_or(ApplyError::NotFound)?.world;
    let (base, live) = (new.base_revision, world.content_revision);
    if live != base && !world.embedded {
        return Err(ApplyError::Stale { base, live });
    }
    let book = Book { entries: rows.entries(owner, &new.world).await?, world };
    let new_id = |index| created_id(&new.world, &new.id, index);
    let planned = change::plan(&book, &new.operations, new_id)?;
    let draft = Draft {
        id: &new.id,
        origin: new.origin,
        operations: new.operations.clone(),
        rationales: new.rationales.clone(),
        summary: &new.summary,
        labels: new.labels.clone(),
        reverts: None,
        request: Some(new.request),
    };
    let change = carry_out(&mut *rows, owner, &book, draft, planned, now).await?;
    rows.commit().await?;
    Ok(Outcome::new(change))
}

pub async fn close(
    mut rows: Transaction,
    owner: &Owner,
    world: &WorldId,
    id: &ChangeId,
) -> Result<Option<Change>, StoreError> {
    rows.lock(owner, world).await?;
    match rows.change(owner, id).await? {
        Some(ChangeRow::Applied { change, .. }) => return Ok(Some(*change)),
        Some(ChangeRow::Closed) => return Ok(None),
        None => {}
    }
    if !rows.insert_closed(owner, world, id).await? {
        return Err(StoreError::Raced);
    }
    rows.commit().await?;
    Ok(None)
}

pub async fn revert(
    mut rows: Transaction,
    owner: &Owner,
    id: &ChangeId,
    undo: &ChangeId,
    attempt: Option<&Attempt>,
    now: Timestamp,
) -> Result<Outcome<Change>, RevertError> {
    let of = applied(&mut *rows, owner, id).await?.ok_or(RevertError::NotFound)?.world;
    let world = rows.lock(owner, &of).await?.ok_or(RevertError::NotFound)?.world;
    if let Some(undone) = made(&mut *rows, owner, undo, attempt).await? {
        return Ok(Outcome::again(undone));
    }
    // Read again under the lock: another undo may have been first.
    let change = applied(&mut *rows, owner, id).await?.ok_or(RevertError::NotFound)?;
    let book = Book { entries: rows.entries(owner, &of).await?, world };
    let (operations, planned) = change::revert(&change.record, &book)?;
    let draft = Draft {
        id: undo,
        origin: Origin::Undo,
        operations,
        rationales: Vec::new(),
        summary: &change.record.summary,
        labels: change.record.labels.clone(),
        reverts: Some(id.clone()),
        request: attempt.map(|attempt| attempt.request),
    };
    let undone = carry_out(&mut *rows, owner, &book, draft, planned, now).await?;
    rows.mark_reverted(owner, id, undo).await?;
    answered(&mut *rows, attempt, undo.as_str(), now).await?;
    rows.commit().await?;
    Ok(Outcome::new(undone))
}

pub async fn reset(
    mut rows: Transaction,
    owner: &Owner,
    world: &WorldId,
    reset: &ChangeId,
    attempt: Option<&Attempt>,
    now: Timestamp,
) -> Result<Outcome<Change>, ResetError> {
    let listed = rows.lock(owner, world).await?.ok_or(ResetError::NotFound)?;
    if let Some(change) = made(&mut *rows, owner, reset, attempt).await? {
        return Ok(Outcome::again(change));
    }
    let book = Book { world: listed.world, entries: rows.entries(owner, world).await? };
    let (operations, planned) = change::reset(&book)?;
    let draft = Draft {
        id: reset,
        origin: Origin::Reset,
        operations,
        rationales: Vec::new(),
        summary: "Reset to the authored world",
        labels: BTreeMap::new(),
        reverts: None,
        request: attempt.map(|attempt| attempt.request),
    };
    let change = carry_out(&mut *rows, owner, &book, draft, planned, now).await?;
    answered(&mut *rows, attempt, reset.as_str(), now).await?;
    rows.commit().await?;
    Ok(Outcome::new(change))
}

pub async fn applied(
    rows: &mut dyn Rows,
    owner: &Owner,
    id: &ChangeId,
) -> Result<Option<Change>, StoreError> {
    Ok(match rows.change(owner, id).await? {
        Some(ChangeRow::Applied { change, .. }) => Some(*change),
        Some(ChangeRow::Closed) | None => None,
    })
}

/// Adds a change to the end of its world's History.
pub async fn keep(
    rows: &mut dyn Rows,
    owner: &Owner,
    world: &WorldId,
    record: &Record,
    request: &[u8],
) -> Result<(), StoreError> {
    if rows.insert_change(owner, world, record, request).await? {
        Ok(())
    } else {
        Err(StoreError::Raced)
    }
}

/// The change that an attempt has made already. Its id is derived from the attempt, so that it is found though
/// the answer was forgotten.
async fn made(
    rows: &mut dyn Rows,
    owner: &Owner,
    id: &ChangeId,
    attempt: Option<&Attempt>,
) -> Result<Option<Change>, StoreError> {
    replayed(rows, attempt).await?;
    applied(rows, owner, id).await
}

/// Writes a plan's rows, moves the revision by one, and records the change.
async fn carry_out(
    rows: &mut dyn Rows,
    owner: &Owner,
    book: &Book,
    draft: Draft<'_>,
    planned: Planned,
    now: Timestamp,
) -> Result<Change, StoreError> {
    let world = &book.world;
    let written: Vec<&Entry> =
        planned.pairs.iter().filter_map(|pair| pair.after.as_ref()).collect();
    rows.put_entries(owner, &world.id, &written, Writer::Change).await?;
    let record = Record {
        id: draft.id.clone(),
        origin: draft.origin,
        operations: draft.operations,
        pairs: planned.pairs,
        rationales: draft.rationales,
        base_revision: world.content_revision,
        applied_revision: world.content_revision + 1,
        summary: draft.summary.to_owned(),
        labels: draft.labels,
        reverts: draft.reverts,
        reverted_by: None,
        applied_at: now,
    };
    rows.set_revision(owner, &world.id, record.applied_revision).await?;
    let request = draft.request.as_ref().map_or(&[][..], |request| request.as_bytes());
    keep(rows, owner, &world.id, &record, request).await?;
    applied(rows, owner, draft.id).await?.ok_or_else(gone)
}

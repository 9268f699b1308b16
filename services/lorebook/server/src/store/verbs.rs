//! The verbs, written once over an open transaction: load, decide in the core, write, commit.

use std::collections::BTreeMap;

use async_trait::async_trait;
use host::{
    database::{Failure, failure},
    idempotency::{self, Answer},
};
use kernel::{ChangeId, Digest, Owner, Timestamp, WorldId, limits};
use lorebook_core::{
    Book, Entry,
    change::{self, Operation, Origin, Planned, Record},
    edit::{Edit, Edited, edit},
};

use super::{
    ApplyError, Attempt, Change, EditError, HeadEdit, Listed, NewBook, NewChange, Outcome,
    ResetError, RevertError, Store, StoreError, Stored, UpdateError, created_id,
    rows::{Backend, ChangeRow, Rows, Writer},
};

/// The store on either database.
pub struct SqlStore(Box<dyn Backend>);

/// Lost races after which a verb gives up; each means that another writer got through.
const ATTEMPTS: usize = 8;

/// Runs a verb again while another transaction wins the race.
macro_rules! retried {
    ($verb:expr) => {{
        let mut left = ATTEMPTS;
        loop {
            left -= 1;
            match $verb.await {
                Err(lost) if left > 0 && Lost::lost(&lost) => continue,
                outcome => break outcome,
            }
        }
    }};
}

/// An error that may say that another transaction won.
trait Lost {
    fn store(&self) -> Option<&StoreError>;

    fn lost(&self) -> bool {
        match self.store() {
            Some(StoreError::Raced) => true,
            Some(StoreError::Database(error)) => {
                matches!(failure(error), Failure::Conflict | Failure::Taken)
            }
            _ => false,
        }
    }
}

// === impl SqlStore ===

impl SqlStore {
    pub(super) fn new(backend: impl Backend) -> Self {
        Self(Box::new(backend))
    }

    async fn try_create(
        &self,
        owner: &Owner,
        book: &NewBook,
        attempt: Option<&Attempt>,
        now: Timestamp,
    ) -> Result<Outcome<Listed>, StoreError> {
        let mut rows = self.0.writing().await?;
        let id = &book.world.id;
        let replayed = replayed(&mut *rows, attempt).await?.is_some();
        if !replayed && rows.insert_world(owner, &book.world, now).await? {
            let entries: Vec<&Entry> = book.entries.iter().collect();
            rows.put_entries(owner, id, &entries, Writer::Import).await?;
            for record in &book.history {
                rows.insert_change(owner, id, record, &[]).await?;
            }
            answered(&mut *rows, attempt, id.as_str(), now).await?;
            let listed = rows.world(owner, id).await?.ok_or_else(gone)?;
            rows.commit().await?;
            return Ok(Outcome::new(listed));
        }
        let listed = rows.world(owner, id).await?.ok_or_else(gone)?;
        Ok(Outcome::again(listed))
    }

    async fn try_update(
        &self,
        owner: &Owner,
        id: &WorldId,
        edit: &HeadEdit,
        attempt: Option<&Attempt>,
        now: Timestamp,
    ) -> Result<Outcome<Listed>, UpdateError> {
        let mut rows = self.0.writing().await?;
        let Some(listed) = rows.lock(owner, id).await? else {
            return Err(UpdateError::NotFound);
        };
        if replayed(&mut *rows, attempt).await?.is_some() {
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
        rows.commit().await.map_err(UpdateError::from)?;
        Ok(Outcome::new(listed))
    }

    async fn try_edit(
        &self,
        owner: &Owner,
        world: &WorldId,
        edits: &[Edit],
        record: &ChangeId,
        attempt: Option<&Attempt>,
        now: Timestamp,
    ) -> Result<Outcome<Stored>, EditError> {
        let mut rows = self.0.writing().await?;
        let listed = rows.lock(owner, world).await?.ok_or(EditError::NotFound)?;
        let entries = rows.entries(owner, world).await?;
        if replayed(&mut *rows, attempt).await?.is_some() {
            return Ok(Outcome::again(Stored { listed, entries }));
        }
        let book = Book { world: listed.world, entries };
        let edited = edit(&book, edits)?;
        let written: Vec<&Entry> = edited.written.iter().collect();
        rows.put_entries(owner, world, &written, Writer::User).await?;
        rows.delete_entries(owner, world, &edited.deleted).await?;
        if edited.moves_revision {
            let revision = book.world.content_revision + 1;
            rows.set_revision(owner, world, revision).await?;
        }
        if !edited.deleted.is_empty() {
            record_deletion(&mut *rows, owner, &book, &edited, record, now).await?;
        }
        answered(&mut *rows, attempt, world.as_str(), now).await?;
        let listed = rows.world(owner, world).await?.ok_or_else(gone)?;
        let entries = rows.entries(owner, world).await?;
        rows.commit().await?;
        Ok(Outcome::new(Stored { listed, entries }))
    }

    async fn try_apply(
        &self,
        owner: &Owner,
        new: &NewChange,
        now: Timestamp,
    ) -> Result<Outcome<Change>, ApplyError> {
        let mut rows = self.0.writing().await?;
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
        let listed = listed.ok_or(ApplyError::NotFound)?;
        let live = listed.world.content_revision;
        if live != new.base_revision && !listed.world.embedded {
            return Err(ApplyError::Stale { base: new.base_revision, live });
        }
        let entries = rows.entries(owner, &new.world).await?;
        let book = Book { world: listed.world, entries };
        let planned =
            change::plan(&book, &new.operations, |index| created_id(&new.world, &new.id, index))?;
        let draft = Draft {
            id: &new.id,
            origin: new.origin,
            operations: new.operations.clone(),
            summary: &new.summary,
            labels: new.labels.clone(),
            reverts: None,
            request: new.request,
        };
        let change = carry_out(&mut *rows, owner, &book, draft, planned, now).await?;
        rows.commit().await?;
        Ok(Outcome::new(change))
    }

    async fn try_close(
        &self,
        owner: &Owner,
        world: &WorldId,
        id: &ChangeId,
    ) -> Result<Option<Change>, StoreError> {
        let mut rows = self.0.writing().await?;
        rows.lock(owner, world).await?;
        match rows.change(owner, id).await? {
            Some(ChangeRow::Applied { change, .. }) => Ok(Some(*change)),
            Some(ChangeRow::Closed) => Ok(None),
            None => {
                if !rows.insert_closed(owner, world, id).await? {
                    return Err(StoreError::Raced);
                }
                rows.commit().await?;
                Ok(None)
            }
        }
    }

    async fn try_revert(
        &self,
        owner: &Owner,
        id: &ChangeId,
        undo: &ChangeId,
        attempt: Option<&Attempt>,
        now: Timestamp,
    ) -> Result<Outcome<Change>, RevertError> {
        let mut rows = self.0.writing().await?;
        let Some(change) = applied(rows.change(owner, id).await?) else {
            return Err(RevertError::NotFound);
        };
        let Some(listed) = rows.lock(owner, &change.world).await? else {
            return Err(RevertError::NotFound);
        };
        if replayed(&mut *rows, attempt).await?.is_some() {
            let undone = applied(rows.change(owner, undo).await?).ok_or_else(gone)?;
            return Ok(Outcome::again(undone));
        }
        // Read again under the lock: another undo may have been first.
        let change = applied(rows.change(owner, id).await?).ok_or(RevertError::NotFound)?;
        let entries = rows.entries(owner, &change.world).await?;
        let book = Book { world: listed.world, entries };
        let (operations, planned) = change::revert(&change.record, &book)?;
        let draft = Draft {
            id: undo,
            origin: Origin::Undo,
            operations,
            summary: &change.record.summary,
            labels: change.record.labels.clone(),
            reverts: Some(id.clone()),
            request: request_of(attempt),
        };
        let undone = carry_out(&mut *rows, owner, &book, draft, planned, now).await?;
        rows.mark_reverted(owner, id, undo).await?;
        answered(&mut *rows, attempt, undo.as_str(), now).await?;
        rows.commit().await?;
        Ok(Outcome::new(undone))
    }

    async fn try_reset(
        &self,
        owner: &Owner,
        world: &WorldId,
        reset: &ChangeId,
        attempt: Option<&Attempt>,
        now: Timestamp,
    ) -> Result<Outcome<Change>, ResetError> {
        let mut rows = self.0.writing().await?;
        let listed = rows.lock(owner, world).await?.ok_or(ResetError::NotFound)?;
        if replayed(&mut *rows, attempt).await?.is_some() {
            let change = applied(rows.change(owner, reset).await?).ok_or_else(gone)?;
            return Ok(Outcome::again(change));
        }
        let book = Book { world: listed.world, entries: rows.entries(owner, world).await? };
        let (operations, planned) = change::reset(&book)?;
        let draft = Draft {
            id: reset,
            origin: Origin::Reset,
            operations,
            summary: "Reset to the authored world",
            labels: Default::default(),
            reverts: None,
            request: request_of(attempt),
        };
        let change = carry_out(&mut *rows, owner, &book, draft, planned, now).await?;
        answered(&mut *rows, attempt, reset.as_str(), now).await?;
        rows.commit().await?;
        Ok(Outcome::new(change))
    }
}

#[async_trait]
impl Store for SqlStore {
    async fn world(&self, owner: &Owner, id: &WorldId) -> Result<Option<Listed>, StoreError> {
        self.0.reading().await?.world(owner, id).await
    }

    async fn worlds(&self, owner: &Owner, ids: &[WorldId]) -> Result<Vec<Listed>, StoreError> {
        let mut rows = self.0.reading().await?;
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            found.extend(rows.world(owner, id).await?);
        }
        Ok(found)
    }

    async fn list(
        &self,
        owner: &Owner,
        after: Option<&(String, WorldId)>,
        most: usize,
    ) -> Result<Vec<Listed>, StoreError> {
        let after = after.map_or(("", ""), |(name, id)| (name.as_str(), id.as_str()));
        self.0.reading().await?.list(owner, after, count(most)).await
    }

    async fn book(&self, owner: &Owner, id: &WorldId) -> Result<Option<Stored>, StoreError> {
        let mut rows = self.0.reading().await?;
        let Some(listed) = rows.world(owner, id).await? else { return Ok(None) };
        let entries = rows.entries(owner, id).await?;
        Ok(Some(Stored { listed, entries }))
    }

    async fn create(
        &self,
        owner: &Owner,
        book: &NewBook,
        attempt: Option<&Attempt>,
        now: Timestamp,
    ) -> Result<Outcome<Listed>, StoreError> {
        retried!(self.try_create(owner, book, attempt, now))
    }

    async fn update(
        &self,
        owner: &Owner,
        id: &WorldId,
        edit: &HeadEdit,
        attempt: Option<&Attempt>,
        now: Timestamp,
    ) -> Result<Outcome<Listed>, UpdateError> {
        retried!(self.try_update(owner, id, edit, attempt, now))
    }

    async fn edit(
        &self,
        owner: &Owner,
        world: &WorldId,
        edits: &[Edit],
        record: &ChangeId,
        attempt: Option<&Attempt>,
        now: Timestamp,
    ) -> Result<Outcome<Stored>, EditError> {
        retried!(self.try_edit(owner, world, edits, record, attempt, now))
    }

    async fn delete(&self, owner: &Owner, id: &WorldId) -> Result<bool, StoreError> {
        let mut rows = self.0.writing().await?;
        rows.lock(owner, id).await?;
        let deleted = rows.delete_world(owner, id).await?;
        rows.commit().await?;
        Ok(deleted)
    }

    async fn apply(
        &self,
        owner: &Owner,
        change: &NewChange,
        now: Timestamp,
    ) -> Result<Outcome<Change>, ApplyError> {
        retried!(self.try_apply(owner, change, now))
    }

    async fn close(
        &self,
        owner: &Owner,
        world: &WorldId,
        id: &ChangeId,
    ) -> Result<Option<Change>, StoreError> {
        retried!(self.try_close(owner, world, id))
    }

    async fn revert(
        &self,
        owner: &Owner,
        id: &ChangeId,
        undo: &ChangeId,
        attempt: Option<&Attempt>,
        now: Timestamp,
    ) -> Result<Outcome<Change>, RevertError> {
        retried!(self.try_revert(owner, id, undo, attempt, now))
    }

    async fn reset(
        &self,
        owner: &Owner,
        world: &WorldId,
        reset: &ChangeId,
        attempt: Option<&Attempt>,
        now: Timestamp,
    ) -> Result<Outcome<Change>, ResetError> {
        retried!(self.try_reset(owner, world, reset, attempt, now))
    }

    async fn forget(&self, before: Timestamp) -> Result<u64, StoreError> {
        let mut rows = self.0.writing().await?;
        let forgotten = rows.forget(before).await?;
        rows.commit().await?;
        Ok(forgotten)
    }

    async fn change(&self, owner: &Owner, id: &ChangeId) -> Result<Option<Change>, StoreError> {
        Ok(applied(self.0.reading().await?.change(owner, id).await?))
    }

    async fn changes(
        &self,
        owner: &Owner,
        world: &WorldId,
        before: Option<i64>,
        most: usize,
    ) -> Result<Vec<Change>, StoreError> {
        let before = before.unwrap_or(i64::MAX);
        self.0.reading().await?.changes(owner, world, before, count(most)).await
    }
}

/// What a record is made from, beyond its rows and revisions.
struct Draft<'d> {
    id: &'d ChangeId,
    origin: Origin,
    operations: Vec<Operation>,
    summary: &'d str,
    labels: BTreeMap<String, String>,
    reverts: Option<ChangeId>,
    request: Digest,
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
        base_revision: world.content_revision,
        applied_revision: world.content_revision + 1,
        summary: draft.summary.to_owned(),
        labels: draft.labels,
        reverts: draft.reverts,
        reverted_by: None,
        applied_at: now,
    };
    rows.set_revision(owner, &world.id, record.applied_revision).await?;
    if !rows.insert_change(owner, &world.id, &record, draft.request.as_bytes()).await? {
        return Err(StoreError::Raced);
    }
    applied(rows.change(owner, draft.id).await?).ok_or_else(gone)
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
    let has_history = !rows.changes(owner, &world.id, i64::MAX, 1).await?.is_empty();
    if !world.dynamic_enabled && !has_history {
        return Ok(());
    }
    let names: Vec<&str> = edited.deleted.iter().map(|row| row.body.comment.as_str()).collect();
    let delete = |row: &Entry| Operation::Delete { target: row.id.clone() };
    let record = Record {
        id: id.clone(),
        origin: Origin::Manual,
        operations: edited.deleted.iter().map(delete).collect(),
        pairs: edited.manual(),
        base_revision: world.content_revision,
        applied_revision: world.content_revision + 1,
        summary: told(&names),
        labels: BTreeMap::new(),
        reverts: None,
        reverted_by: None,
        applied_at: now,
    };
    if rows.insert_change(owner, &world.id, &record, &[]).await? {
        Ok(())
    } else {
        Err(StoreError::Raced)
    }
}

fn told(names: &[&str]) -> String {
    let text = format!("Deleted by hand: {}", names.join(", "));
    text.chars().take(limits::CHANGE_SUMMARY_CHARS_MAX).collect()
}

/// The reference of an attempt that was answered before.
async fn replayed(
    rows: &mut dyn Rows,
    attempt: Option<&Attempt>,
) -> Result<Option<Vec<u8>>, StoreError> {
    let Some(attempt) = attempt else { return Ok(None) };
    let stored = rows.answer(&attempt.scope).await?;
    Ok(idempotency::decide(stored, &attempt.scope, &attempt.request)?)
}

async fn answered(
    rows: &mut dyn Rows,
    attempt: Option<&Attempt>,
    reference: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(attempt) = attempt else { return Ok(()) };
    let answer = Answer { request: attempt.request, reference: reference.into() };
    if rows.put_answer(&attempt.scope, &answer, now).await? {
        Ok(())
    } else {
        Err(StoreError::Raced)
    }
}

fn request_of(attempt: Option<&Attempt>) -> Digest {
    attempt.map_or(Digest::from_bytes([0; 32]), |attempt| attempt.request)
}

fn applied(row: Option<ChangeRow>) -> Option<Change> {
    match row {
        Some(ChangeRow::Applied { change, .. }) => Some(*change),
        Some(ChangeRow::Closed) | None => None,
    }
}

/// A row that this transaction has just seen or written.
fn gone() -> StoreError {
    StoreError::Database(sqlx::Error::RowNotFound)
}

fn count(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

macro_rules! may_be_lost {
    ($($error:ident)*) => {$(
        impl Lost for $error {
            fn store(&self) -> Option<&StoreError> {
                if let Self::Store(error) = self { Some(error) } else { None }
            }
        }
    )*};
}

may_be_lost! { UpdateError EditError ApplyError RevertError ResetError }

impl Lost for StoreError {
    fn store(&self) -> Option<&StoreError> {
        Some(self)
    }
}

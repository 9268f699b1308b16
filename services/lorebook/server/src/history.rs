//! Changes: applying and closing them for the mesh, undoing and reading them for their user.

use host::idempotency::Scope;
use kernel::{ChangeId, EntryId, Owner, WorldId};
use lorebook_core::{
    Book, Entry,
    change::{Operation, Refusal, Rejected, plan},
};

use crate::{
    Lorebook,
    error::{Error, no_world},
    store::{ApplyError, Attempt, Change, NewChange, Outcome, created_id},
};

/// What an operation would meet.
pub struct Verdict {
    pub problem: Option<Rejected>,
    /// Name and content of the live row that it is about.
    pub current: Option<(String, String)>,
}

// === impl Lorebook ===

impl Lorebook {
    pub async fn apply_change(
        &self,
        owner: &Owner,
        change: &NewChange,
    ) -> Result<Outcome<Change>, Error> {
        let applied = self.store.apply(owner, change, self.clock.now()).await;
        applied.map_err(|error| match error {
            ApplyError::NotFound => no_world(&change.world),
            other => Error::Apply(change.id.clone(), other),
        })
    }

    /// What each operation would meet if the change were applied now; nothing is stored.
    pub async fn verdicts(&self, owner: &Owner, change: &NewChange) -> Result<Vec<Verdict>, Error> {
        let stored = self.world_book(owner, &change.world).await?;
        let book = Book { world: stored.listed.world, entries: stored.entries };
        let new_id = |index| created_id(&change.world, &change.id, index);
        let rejected = match plan(&book, &change.operations, new_id) {
            Ok(_) => Vec::new(),
            Err(Refusal::Operations(rejected)) => rejected,
            Err(refusal) => return Err(Error::Apply(change.id.clone(), refusal.into())),
        };
        let verdict = |(index, operation): (usize, &Operation)| Verdict {
            problem: rejected.iter().find(|one| one.index == index).cloned(),
            current: operation.target().and_then(|id| book.entry(id)).map(told),
        };
        Ok(change.operations.iter().enumerate().map(verdict).collect())
    }

    pub async fn close_change(
        &self,
        owner: &Owner,
        world: &WorldId,
        id: &ChangeId,
    ) -> Result<Option<Change>, Error> {
        Ok(self.store.close(owner, world, id).await?)
    }

    pub async fn revert_change(
        &self,
        owner: &Owner,
        id: &ChangeId,
        scope: Option<Scope>,
    ) -> Result<Outcome<Change>, Error> {
        let attempt = Attempt::named(scope, id);
        let undo = self.new_id(attempt.as_ref(), ChangeId::derived, 0);
        let now = self.clock.now();
        let reverted = self.store.revert(owner, id, &undo, attempt.as_ref(), now).await;
        reverted.map_err(|error| Error::Revert(id.clone(), error))
    }

    pub async fn reset_world(
        &self,
        owner: &Owner,
        world: &WorldId,
        scope: Option<Scope>,
    ) -> Result<Outcome<Change>, Error> {
        let attempt = Attempt::named(scope, world);
        let reset = self.new_id(attempt.as_ref(), ChangeId::derived, 0);
        let now = self.clock.now();
        let done = self.store.reset(owner, world, &reset, attempt.as_ref(), now).await;
        done.map_err(|error| Error::Reset(world.clone(), error))
    }

    pub async fn change(&self, owner: &Owner, id: &ChangeId) -> Result<Change, Error> {
        self.store.change(owner, id).await?.ok_or_else(|| no_change(id))
    }

    /// The changes of a world before a position, newest first.
    pub async fn changes(
        &self,
        owner: &Owner,
        world: &WorldId,
        before: Option<i64>,
        most: usize,
    ) -> Result<Vec<Change>, Error> {
        if self.store.world(owner, world).await?.is_none() {
            return Err(no_world(world));
        }
        Ok(self.store.changes(owner, world, before, most).await?)
    }

    /// The authored rows that a change laid something over, as far as they are still there: what its
    /// replacements are compared with.
    pub async fn overlaid(&self, owner: &Owner, change: &Change) -> Result<Vec<Entry>, Error> {
        let overlaid: Vec<&EntryId> = change
            .record
            .pairs
            .iter()
            .filter(|pair| pair.before.is_none())
            .filter_map(|pair| pair.after.as_ref()?.supersedes_entry_id.as_ref())
            .collect();
        if overlaid.is_empty() {
            return Ok(Vec::new());
        }
        let stored = self.store.book(owner, &change.world).await?;
        let entries = stored.map_or_else(Vec::new, |stored| stored.entries);
        Ok(entries.into_iter().filter(|entry| overlaid.contains(&&entry.id)).collect())
    }
}

fn told(entry: &Entry) -> (String, String) {
    (entry.body.comment.clone(), entry.body.content.clone())
}

fn no_change(id: &ChangeId) -> Error {
    Error::NotFound { kind: "change", id: id.to_string() }
}

//! A store that waits before each of its verbs for its caller's turn.

use std::sync::Arc;

use async_trait::async_trait;
use kernel::{ChangeId, Owner, Timestamp, WorldId};
use lorebook_core::edit::Edit;
use lorebook_server::store::{
    ApplyError, Attempt, Backup, Change, CreateError, EditError, HeadEdit, Listed, NewBook,
    NewChange, Outcome, ResetError, RevertError, Store, StoreError, Stored, UpdateError,
};

use super::turnstile::Turnstile;

/// A guard that is missing, to see that the laws notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    None,
    /// A change is applied to whatever revision there is.
    ForcesStale,
    /// A change id that was closed is free again.
    ForgetsClosed,
    /// A repetition is another write.
    ForgetsAttempts,
}

pub struct Stepped {
    pub inner: Arc<dyn Store>,
    pub turnstile: Arc<Turnstile>,
    pub fault: Fault,
}

type Kept<T, E> = Result<Outcome<T>, E>;

// === impl Stepped ===

impl Stepped {
    fn attempt<'a>(&self, attempt: Option<&'a Attempt>) -> Option<&'a Attempt> {
        attempt.filter(|_| self.fault != Fault::ForgetsAttempts)
    }

    async fn change_to_apply(
        &self,
        owner: &Owner,
        new: &NewChange,
    ) -> Result<NewChange, StoreError> {
        let mut change = new.clone();
        if self.fault == Fault::ForcesStale {
            let listed = self.inner.world(owner, &new.world).await?;
            change.base_revision = listed.map_or(0, |listed| listed.world.content_revision);
        }
        Ok(change)
    }
}

#[async_trait]
impl Store for Stepped {
    async fn world(&self, owner: &Owner, id: &WorldId) -> Result<Option<Listed>, StoreError> {
        self.turnstile.step("world").await;
        self.inner.world(owner, id).await
    }

    async fn worlds(&self, owner: &Owner, ids: &[WorldId]) -> Result<Vec<Listed>, StoreError> {
        self.turnstile.step("worlds").await;
        self.inner.worlds(owner, ids).await
    }

    async fn list(
        &self,
        owner: &Owner,
        after: Option<&(String, WorldId)>,
        most: usize,
    ) -> Result<Vec<Listed>, StoreError> {
        self.turnstile.step("list").await;
        self.inner.list(owner, after, most).await
    }

    async fn book(&self, owner: &Owner, id: &WorldId) -> Result<Option<Stored>, StoreError> {
        self.turnstile.step("book").await;
        self.inner.book(owner, id).await
    }

    async fn backup(&self, owner: &Owner, id: &WorldId) -> Result<Option<Backup>, StoreError> {
        self.turnstile.step("backup").await;
        self.inner.backup(owner, id).await
    }

    async fn create(
        &self,
        owner: &Owner,
        book: &NewBook,
        attempt: Option<&Attempt>,
        now: Timestamp,
    ) -> Kept<Listed, CreateError> {
        self.turnstile.step("create").await;
        self.inner.create(owner, book, self.attempt(attempt), now).await
    }

    async fn update(
        &self,
        owner: &Owner,
        id: &WorldId,
        edit: &HeadEdit,
        attempt: Option<&Attempt>,
        now: Timestamp,
    ) -> Kept<Listed, UpdateError> {
        self.turnstile.step("update").await;
        self.inner.update(owner, id, edit, self.attempt(attempt), now).await
    }

    async fn edit(
        &self,
        owner: &Owner,
        world: &WorldId,
        edits: &[Edit],
        record: &ChangeId,
        attempt: Option<&Attempt>,
        now: Timestamp,
    ) -> Kept<Stored, EditError> {
        self.turnstile.step("edit").await;
        self.inner.edit(owner, world, edits, record, self.attempt(attempt), now).await
    }

    async fn delete(&self, owner: &Owner, id: &WorldId) -> Result<bool, StoreError> {
        self.turnstile.step("delete").await;
        self.inner.delete(owner, id).await
    }

    async fn apply(
        &self,
        owner: &Owner,
        change: &NewChange,
        now: Timestamp,
    ) -> Kept<Change, ApplyError> {
        self.turnstile.step("apply").await;
        let change = self.change_to_apply(owner, change).await?;
        self.inner.apply(owner, &change, now).await
    }

    async fn close(
        &self,
        owner: &Owner,
        world: &WorldId,
        id: &ChangeId,
    ) -> Result<Option<Change>, StoreError> {
        self.turnstile.step("close").await;
        match self.fault {
            Fault::ForgetsClosed => self.inner.change(owner, id).await,
            _ => self.inner.close(owner, world, id).await,
        }
    }

    async fn revert(
        &self,
        owner: &Owner,
        id: &ChangeId,
        undo: &ChangeId,
        attempt: Option<&Attempt>,
        now: Timestamp,
    ) -> Kept<Change, RevertError> {
        self.turnstile.step("revert").await;
        self.inner.revert(owner, id, undo, self.attempt(attempt), now).await
    }

    async fn reset(
        &self,
        owner: &Owner,
        world: &WorldId,
        reset: &ChangeId,
        attempt: Option<&Attempt>,
        now: Timestamp,
    ) -> Kept<Change, ResetError> {
        self.turnstile.step("reset").await;
        self.inner.reset(owner, world, reset, self.attempt(attempt), now).await
    }

    async fn change(&self, owner: &Owner, id: &ChangeId) -> Result<Option<Change>, StoreError> {
        self.turnstile.step("change").await;
        self.inner.change(owner, id).await
    }

    async fn forget(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.inner.forget(before).await
    }

    async fn changes(
        &self,
        owner: &Owner,
        world: &WorldId,
        before: Option<i64>,
        most: usize,
    ) -> Result<Vec<Change>, StoreError> {
        self.turnstile.step("changes").await;
        self.inner.changes(owner, world, before, most).await
    }
}

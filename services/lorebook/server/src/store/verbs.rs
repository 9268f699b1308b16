//! The store over either database: each verb is one transaction, made again while others win the race.

mod answers;
mod changes;
mod edits;
mod worlds;

use async_trait::async_trait;
use host::database::{Failure, failure};
use kernel::{ChangeId, Owner, Timestamp, WorldId};
use lorebook_core::edit::Edit;

use super::{
    ApplyError, Attempt, Backup, Change, CreateError, EditError, HeadEdit, Listed, NewBook,
    NewChange, Outcome, ResetError, RevertError, Store, StoreError, Stored, UpdateError,
    rows::Backend,
};

/// The store on either database.
pub struct SqlStore(Box<dyn Backend>);

/// Lost races after which a verb gives up; each means that another writer got through.
const ATTEMPTS: usize = 8;

/// Makes a verb over a transaction of its own, and again while another one wins the race.
macro_rules! retried {
    ($self:ident, |$rows:ident| $verb:expr) => {{
        let mut left = ATTEMPTS;
        loop {
            left -= 1;
            let $rows = $self.0.writing().await?;
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
}

#[async_trait]
impl Store for SqlStore {
    async fn world(&self, owner: &Owner, id: &WorldId) -> Result<Option<Listed>, StoreError> {
        self.0.reading().await?.world(owner, id).await
    }

    async fn worlds(&self, owner: &Owner, ids: &[WorldId]) -> Result<Vec<Listed>, StoreError> {
        worlds::named(self.0.reading().await?, owner, ids).await
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
        worlds::book(&mut *self.0.reading().await?, owner, id).await
    }

    async fn backup(&self, owner: &Owner, id: &WorldId) -> Result<Option<Backup>, StoreError> {
        worlds::backup(self.0.reading().await?, owner, id).await
    }

    async fn create(
        &self,
        owner: &Owner,
        book: &NewBook,
        attempt: Option<&Attempt>,
        now: Timestamp,
    ) -> Result<Outcome<Listed>, CreateError> {
        retried!(self, |rows| worlds::create(rows, owner, book, attempt, now))
    }

    async fn update(
        &self,
        owner: &Owner,
        id: &WorldId,
        edit: &HeadEdit,
        attempt: Option<&Attempt>,
        now: Timestamp,
    ) -> Result<Outcome<Listed>, UpdateError> {
        retried!(self, |rows| worlds::update(rows, owner, id, edit, attempt, now))
    }

    async fn delete(&self, owner: &Owner, id: &WorldId) -> Result<bool, StoreError> {
        retried!(self, |rows| worlds::delete(rows, owner, id))
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
        retried!(self, |rows| edits::edit_rows(rows, owner, world, edits, record, attempt, now))
    }

    async fn apply(
        &self,
        owner: &Owner,
        change: &NewChange,
        now: Timestamp,
    ) -> Result<Outcome<Change>, ApplyError> {
        retried!(self, |rows| changes::apply(rows, owner, change, now))
    }

    async fn close(
        &self,
        owner: &Owner,
        world: &WorldId,
        id: &ChangeId,
    ) -> Result<Option<Change>, StoreError> {
        retried!(self, |rows| changes::close(rows, owner, world, id))
    }

    async fn revert(
        &self,
        owner: &Owner,
        id: &ChangeId,
        undo: &ChangeId,
        attempt: Option<&Attempt>,
        now: Timestamp,
    ) -> Result<Outcome<Change>, RevertError> {
        retried!(self, |rows| changes::revert(rows, owner, id, undo, attempt, now))
    }

    async fn reset(
        &self,
        owner: &Owner,
        world: &WorldId,
        reset: &ChangeId,
        attempt: Option<&Attempt>,
        now: Timestamp,
    ) -> Result<Outcome<Change>, ResetError> {
        retried!(self, |rows| changes::reset(rows, owner, world, reset, attempt, now))
    }

    async fn forget(&self, before: Timestamp) -> Result<u64, StoreError> {
        retried!(self, |rows| answers::forget(rows, before))
    }

    async fn change(&self, owner: &Owner, id: &ChangeId) -> Result<Option<Change>, StoreError> {
        changes::applied(&mut *self.0.reading().await?, owner, id).await
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

fn count(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

/// A row that this transaction has just seen or written.
fn gone() -> StoreError {
    StoreError::Database(sqlx::Error::RowNotFound)
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

may_be_lost! { CreateError UpdateError EditError ApplyError RevertError ResetError }

impl Lost for StoreError {
    fn store(&self) -> Option<&StoreError> {
        Some(self)
    }
}

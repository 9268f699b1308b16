//! One open transaction, as the verbs compose it; nobody else sees it.

use async_trait::async_trait;
use host::idempotency::{Answer, Scope};
use kernel::{ChangeId, Owner, Timestamp, WorldId};
use lorebook_core::{Entry, World, change::Record};

use super::{Change, Listed, StoreError};

/// A place that opens transactions.
#[async_trait]
pub(super) trait Backend: Send + Sync + 'static {
    /// For reads that see one instant.
    async fn reading(&self) -> Result<Transaction, StoreError>;

    async fn writing(&self) -> Result<Transaction, StoreError>;
}

pub(super) type Transaction = Box<dyn Rows>;

/// One open transaction; dropped, it leaves nothing behind.
#[async_trait]
pub(super) trait Rows: Send {
    async fn commit(self: Box<Self>) -> Result<(), StoreError>;

    async fn world(&mut self, owner: &Owner, id: &WorldId) -> Result<Option<Listed>, StoreError>;

    /// Those of `ids` that exist, in no order.
    async fn worlds(&mut self, owner: &Owner, ids: &[WorldId]) -> Result<Vec<Listed>, StoreError>;

    /// The one, held against every other writer until the end of the transaction.
    async fn lock(&mut self, owner: &Owner, id: &WorldId) -> Result<Option<Listed>, StoreError>;

    async fn list(
        &mut self,
        owner: &Owner,
        after: (&str, &str),
        most: i64,
    ) -> Result<Vec<Listed>, StoreError>;

    /// False if the world exists already.
    async fn insert_world(
        &mut self,
        owner: &Owner,
        world: &World,
        now: Timestamp,
    ) -> Result<bool, StoreError>;

    async fn update_world(&mut self, owner: &Owner, world: &World) -> Result<(), StoreError>;

    async fn set_revision(
        &mut self,
        owner: &Owner,
        id: &WorldId,
        revision: u64,
    ) -> Result<(), StoreError>;

    async fn entries(&mut self, owner: &Owner, id: &WorldId) -> Result<Vec<Entry>, StoreError>;

    /// Inserts or overwrites rows in the name of `writer`, whom the database's own guards look at.
    async fn put_entries(
        &mut self,
        owner: &Owner,
        id: &WorldId,
        entries: &[&Entry],
        writer: Writer,
    ) -> Result<(), StoreError>;

    /// Deletes rows in the name of their user, the only one who may.
    async fn delete_entries(
        &mut self,
        owner: &Owner,
        id: &WorldId,
        entries: &[Entry],
    ) -> Result<(), StoreError>;

    /// Deletes the world with its rows and its History. False if there was none.
    async fn delete_world(&mut self, owner: &Owner, id: &WorldId) -> Result<bool, StoreError>;

    async fn change(
        &mut self,
        owner: &Owner,
        id: &ChangeId,
    ) -> Result<Option<ChangeRow>, StoreError>;

    async fn changes(
        &mut self,
        owner: &Owner,
        world: &WorldId,
        before: i64,
        most: i64,
    ) -> Result<Vec<Change>, StoreError>;

    /// All applied changes of a world with their rows, oldest first.
    async fn history(&mut self, owner: &Owner, world: &WorldId) -> Result<Vec<Record>, StoreError>;

    /// Adds an applied change to the end of its world's History. False if the id is taken.
    async fn insert_change(
        &mut self,
        owner: &Owner,
        world: &WorldId,
        record: &Record,
        request: &[u8],
    ) -> Result<bool, StoreError>;

    /// False if the id is taken.
    async fn insert_closed(
        &mut self,
        owner: &Owner,
        world: &WorldId,
        id: &ChangeId,
    ) -> Result<bool, StoreError>;

    async fn mark_reverted(
        &mut self,
        owner: &Owner,
        id: &ChangeId,
        by: &ChangeId,
    ) -> Result<(), StoreError>;

    async fn answer(&mut self, scope: &Scope) -> Result<Option<Answer>, StoreError>;

    /// False when a concurrent call with the same id was first.
    async fn put_answer(
        &mut self,
        scope: &Scope,
        answer: &Answer,
        now: Timestamp,
    ) -> Result<bool, StoreError>;

    async fn forget(&mut self, before: Timestamp) -> Result<u64, StoreError>;
}

/// On whose behalf rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writer {
    User,
    Import,
    Change,
}

/// What is stored under a change id.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ChangeRow {
    Applied { request: Vec<u8>, change: Box<Change> },
    Closed,
}

// === impl Writer ===

impl Writer {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Import => "import",
            Self::Change => "change",
        }
    }
}

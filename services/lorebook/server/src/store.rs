//! What the lorebook keeps, as verbs of the domain: each is one transaction, and none leaks.

mod decode;
pub mod postgres;
mod rows;
mod sql;
pub mod sqlite;
mod statements;
mod verbs;

use std::collections::BTreeMap;

use async_trait::async_trait;
use host::idempotency::{Reused, Scope};
use kernel::{ChangeId, Digest, EntryId, Owner, Timestamp, WorldId, digest};
use lorebook_core::{
    Entry, World, WorldSettings,
    change::{NothingToReset, Operation, Origin, Record, Refusal, RevertRefused},
    edit::{Edit, EditRefused},
};
use serde::Serialize;

pub use verbs::SqlStore;

/// Worlds, entries and History of all owners; an owner's verbs see nothing of another's.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    async fn world(&self, owner: &Owner, id: &WorldId) -> Result<Option<Listed>, StoreError>;

    /// Those of `ids` that exist, in their order.
    async fn worlds(&self, owner: &Owner, ids: &[WorldId]) -> Result<Vec<Listed>, StoreError>;

    /// Up to `most` worlds by name and id after `after`; embedded books are left out.
    async fn list(
        &self,
        owner: &Owner,
        after: Option<&(String, WorldId)>,
        most: usize,
    ) -> Result<Vec<Listed>, StoreError>;

    /// A world with all its rows, as of one instant.
    async fn book(&self, owner: &Owner, id: &WorldId) -> Result<Option<Stored>, StoreError>;

    /// A world with all its rows and changes, as of one instant.
    async fn backup(&self, owner: &Owner, id: &WorldId) -> Result<Option<Backup>, StoreError>;

    /// A whole book in one transaction; what exists under its id already is left as it is.
    async fn create(
        &self,
        owner: &Owner,
        book: &NewBook,
        attempt: Option<&Attempt>,
        now: Timestamp,
    ) -> Result<Outcome<Listed>, CreateError>;

    /// Changes a world's head, never its `content_revision`.
    async fn update(
        &self,
        owner: &Owner,
        id: &WorldId,
        edit: &HeadEdit,
        attempt: Option<&Attempt>,
        now: Timestamp,
    ) -> Result<Outcome<Listed>, UpdateError>;

    /// The user's own edit of rows. A deletion is recorded where the world is dynamic or has a History;
    /// `record` names that record.
    async fn edit(
        &self,
        owner: &Owner,
        world: &WorldId,
        edits: &[Edit],
        record: &ChangeId,
        attempt: Option<&Attempt>,
        now: Timestamp,
    ) -> Result<Outcome<Stored>, EditError>;

    /// Deletes a world with its rows and its History. False if there is none, a repetition included.
    async fn delete(&self, owner: &Owner, id: &WorldId) -> Result<bool, StoreError>;

    /// Applies a change to the rows as they stand. Idempotent by its id.
    async fn apply(
        &self,
        owner: &Owner,
        change: &NewChange,
        now: Timestamp,
    ) -> Result<Outcome<Change>, ApplyError>;

    /// Sees to it that a change id never applies; answers the change if it has.
    async fn close(
        &self,
        owner: &Owner,
        world: &WorldId,
        id: &ChangeId,
    ) -> Result<Option<Change>, StoreError>;

    /// Takes a change back by another one, `undo`.
    async fn revert(
        &self,
        owner: &Owner,
        id: &ChangeId,
        undo: &ChangeId,
        attempt: Option<&Attempt>,
        now: Timestamp,
    ) -> Result<Outcome<Change>, RevertError>;

    /// Retires every overlay of a world by one change, `reset`.
    async fn reset(
        &self,
        owner: &Owner,
        world: &WorldId,
        reset: &ChangeId,
        attempt: Option<&Attempt>,
        now: Timestamp,
    ) -> Result<Outcome<Change>, ResetError>;

    /// An applied change with its rows.
    async fn change(&self, owner: &Owner, id: &ChangeId) -> Result<Option<Change>, StoreError>;

    /// Forgets answers given before `before`; tells how many.
    async fn forget(&self, before: Timestamp) -> Result<u64, StoreError>;

    /// Up to `most` applied changes of a world before position `before`, newest first, without rows.
    async fn changes(
        &self,
        owner: &Owner,
        world: &WorldId,
        before: Option<i64>,
        most: usize,
    ) -> Result<Vec<Change>, StoreError>;
}

/// A world's head with what lists show of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    pub world: World,
    /// Moves with every write of the head.
    pub version: u64,
    pub entries: u32,
    pub dynamic_entries: u32,
    pub created_at: Timestamp,
}

/// A world's head and rows as of one instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    pub listed: Listed,
    /// Ascending by ordinal.
    pub entries: Vec<Entry>,
}

/// A world with its History as of one instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Backup {
    pub stored: Stored,
    /// Oldest first.
    pub history: Vec<Record>,
}

/// A book about to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct NewBook {
    pub world: World,
    pub entries: Vec<Entry>,
    /// Of a restored backup.
    pub history: Vec<Record>,
}

/// What of a world's head is to change. Its serde form leaves out what the caller saw of it before.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct HeadEdit {
    /// The etag that the caller saw.
    #[serde(skip)]
    pub expected_version: Option<u64>,
    pub name: Option<String>,
    pub enabled: Option<bool>,
    pub dynamic_enabled: Option<bool>,
    pub scan: Option<ScanEdit>,
}

/// All scan settings, replaced together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ScanEdit {
    pub scan_depth: Option<u32>,
    pub token_budget: Option<u32>,
    pub recursive: Option<bool>,
    pub case_sensitive: Option<bool>,
    pub match_whole_words: Option<bool>,
}

/// A change about to be applied.
#[derive(Debug, Clone, PartialEq)]
pub struct NewChange {
    pub id: ChangeId,
    pub world: WorldId,
    pub base_revision: u64,
    pub operations: Vec<Operation>,
    /// One per operation.
    pub rationales: Vec<String>,
    pub origin: Origin,
    pub summary: String,
    pub labels: BTreeMap<String, String>,
    /// Of the world, the base revision and the operations: another change under the same id is refused.
    pub request: Digest,
}

/// An applied change.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub world: WorldId,
    /// Among the world's changes, from 1.
    pub position: i64,
    pub record: Record,
}

/// One attempt at a write, by the caller's name for it.
#[derive(Debug, Clone)]
pub struct Attempt {
    pub scope: Scope,
    pub request: Digest,
}

/// What a write led to.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome<T> {
    pub value: T,
    /// It was answered before; nothing was written this time.
    pub replayed: bool,
}

/// Why the store did not do its part.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    Reused(#[from] Reused),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("other transactions were first, again and again")]
    Raced,
    #[error("stored {kind} {id} cannot be read")]
    Unreadable { kind: &'static str, id: String, source: serde_json::Error },
}

#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    #[error("the world that this request made was deleted")]
    Deleted,
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    #[error("there is no such world")]
    NotFound,
    #[error("an embedded book is immutable")]
    Immutable,
    #[error("the world has version {live}, not {expected}")]
    EtagMismatch { expected: u64, live: u64 },
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error("there is no such world")]
    NotFound,
    #[error(transparent)]
    Refused(#[from] EditRefused),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    #[error("there is no such world")]
    NotFound,
    #[error("the change id was used for another change")]
    IdReused,
    #[error("the change id was closed")]
    Closed,
    #[error("the world is at revision {live}, the change was made for {base}")]
    Stale { base: u64, live: u64 },
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug, thiserror::Error)]
pub enum RevertError {
    #[error("there is no such change")]
    NotFound,
    #[error(transparent)]
    Refused(#[from] RevertRefused),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug, thiserror::Error)]
pub enum ResetError {
    #[error("there is no such world")]
    NotFound,
    #[error(transparent)]
    Nothing(#[from] NothingToReset),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The row that operation `index` of a change creates.
pub fn created_id(world: &WorldId, change: &ChangeId, index: usize) -> EntryId {
    EntryId::derived(&[world.as_str(), change.as_str(), &index.to_string()])
}

// === impl Attempt ===

impl Attempt {
    /// An attempt at what `asked` says, if its caller named it. What is not asked for, because no mask names it or
    /// because it only guards the write, is not in `asked`: with other such values the request is the same.
    pub fn named(scope: Option<Scope>, asked: &impl Serialize) -> Option<Self> {
        let request = digest(&serde_json::to_vec(asked).unwrap_or_default());
        scope.map(|scope| Self { scope, request })
    }
}

// === impl Outcome ===

impl<T> Outcome<T> {
    pub const fn new(value: T) -> Self {
        Self { value, replayed: false }
    }

    pub const fn again(value: T) -> Self {
        Self { value, replayed: true }
    }
}

// === impl HeadEdit ===

impl HeadEdit {
    /// The head as the edit leaves it.
    pub fn apply(&self, world: &World) -> World {
        let mut edited = world.clone();
        if let Some(name) = &self.name {
            edited.name.clone_from(name);
        }
        edited.enabled = self.enabled.unwrap_or(world.enabled);
        edited.dynamic_enabled = self.dynamic_enabled.unwrap_or(world.dynamic_enabled);
        if let Some(scan) = self.scan {
            let kept = edited.settings;
            edited.settings = WorldSettings {
                scan_depth: scan.scan_depth,
                token_budget: scan.token_budget,
                recursive_scanning: scan.recursive,
                case_sensitive: scan.case_sensitive,
                match_whole_words: scan.match_whole_words,
                ..kept
            };
        }
        edited
    }
}

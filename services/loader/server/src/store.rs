//! What the loader asks of a database, in its own verbs; each verb is one transaction.
//!
//! Every verb that changes something locks the owner's row first, so that the running guard and the
//! leases of `begin_compile` never miss each other. Two implementations keep this contract, and
//! `contract` runs the same suite over both.

use std::sync::Arc;

use async_trait::async_trait;
use host::idempotency::{Reused, Scope};
use kernel::{
    CharacterId, Digest, GenerationId, Owner, PresetId, SessionId, Timestamp, UserId, WorldId,
};
use loader_core::{
    User,
    format::card::Container,
    selection::{Bindings, Part, Selection, Worlds},
};

pub mod postgres;
pub mod sqlite;

#[cfg(test)]
mod contract;

/// A preset as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct PresetRow {
    pub id: PresetId,
    /// At most 200 characters.
    pub name: String,
    /// Of the imported bytes.
    pub hash: Digest,
    /// The JSON as imported.
    pub document: Vec<u8>,
    pub revision: u64,
    pub created_at: Timestamp,
}

/// A character as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct CharacterRow {
    pub id: CharacterId,
    pub name: String,
    pub hash: Digest,
    pub spec: String,
    pub container: Container,
    /// The card's JSON as the file holds it.
    pub document: Vec<u8>,
    pub embedded_world: Option<WorldId>,
    pub revision: u64,
    pub created_at: Timestamp,
}

/// A user as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct UserRow {
    pub id: UserId,
    pub user: User,
    pub revision: u64,
    pub created_at: Timestamp,
}

/// A resource without its texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    pub id: String,
    pub name: String,
    /// Of a preset or character.
    pub hash: Option<Digest>,
    /// Of a character: its specification and its file's kind.
    pub card: Option<(String, Container)>,
    pub revision: u64,
    pub created_at: Timestamp,
}

/// Where a page of resources begins: behind this name and id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct After {
    pub name: String,
    pub id: String,
}

/// A kind of resource that selections point at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Preset,
    Character,
    User,
}

/// What worlds are attached to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    User(UserId),
    Preset(PresetId),
    Character(CharacterId),
    /// All sessions of the owner.
    Global,
}

/// A write's request id, and the hash of the request that it came with.
#[derive(Debug, Clone)]
pub struct Attempt {
    pub scope: Scope,
    pub request: Digest,
}

/// What a write did.
#[derive(Debug, Clone, PartialEq)]
pub struct Done<T> {
    pub value: T,
    /// The same attempt had done it before; the value is the earlier one's.
    pub replayed: bool,
}

/// An import's resource.
#[derive(Debug, Clone, PartialEq)]
pub struct Added<T> {
    pub row: T,
    /// These bytes had been imported before; nothing was stored.
    pub already: bool,
}

/// A selection with its revision.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSelection {
    pub selection: Selection,
    pub revision: u64,
}

/// Where a new session's selection comes from.
#[derive(Debug, Clone)]
pub enum Origin {
    Given(Selection),
    /// The parent's at this moment; the defaults if it has none.
    Parent(SessionId),
    Defaults,
}

/// A generation's hold on its session.
#[derive(Debug, Clone)]
pub struct Lease {
    pub generation: GenerationId,
    /// How long it lasts by the database's clock.
    pub for_ms: i64,
}

/// Everything that a compile reads, as of one instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    pub selection: Selection,
    /// `None` where nothing is selected or the selected one is gone.
    pub preset: Option<PresetRow>,
    pub character: Option<CharacterRow>,
    pub user: Option<UserRow>,
    pub bindings: Bindings,
    /// `None`: the shipped text.
    pub rp_policy: Option<String>,
}

/// Why a read has no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    #[error("the database is unavailable")]
    Unavailable(#[source] Arc<sqlx::Error>),
    #[error("{table}: {problem}")]
    Inconsistent { table: &'static str, problem: String },
}

/// Why a write was refused; nothing was stored.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    RequestIdReused(#[from] Reused),
    #[error("{kind} {id} not found")]
    NotFound { kind: &'static str, id: String },
    #[error("the etag is not the present one")]
    EtagMismatch { kind: &'static str, id: String },
    #[error("{} sessions are running", sessions.len())]
    Running { part: Part, sessions: Vec<SessionId> },
}

/// The loader's store.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Whether an attempt was answered before: its write will be a replay.
    async fn answered(&self, attempt: &Attempt) -> Result<bool, WriteError>;

    /// Adds a preset, unless the owner has one of the same bytes.
    async fn add_preset(
        &self,
        owner: &Owner,
        preset: &PresetRow,
        attempt: Option<&Attempt>,
    ) -> Result<Done<Added<PresetRow>>, WriteError>;

    /// Adds a character, unless the owner has one of the same bytes. `original` is the whole file
    /// where the card came inside another.
    async fn add_character(
        &self,
        owner: &Owner,
        character: &CharacterRow,
        original: Option<&[u8]>,
        attempt: Option<&Attempt>,
    ) -> Result<Done<Added<CharacterRow>>, WriteError>;

    async fn add_user(
        &self,
        owner: &Owner,
        user: &UserRow,
        attempt: Option<&Attempt>,
    ) -> Result<Done<UserRow>, WriteError>;

    async fn preset(&self, owner: &Owner, id: &PresetId) -> Result<Option<PresetRow>, StoreError>;

    async fn character(
        &self,
        owner: &Owner,
        id: &CharacterId,
    ) -> Result<Option<CharacterRow>, StoreError>;

    async fn user(&self, owner: &Owner, id: &UserId) -> Result<Option<UserRow>, StoreError>;

    /// The character of these bytes, if the owner has one.
    async fn character_by_hash(
        &self,
        owner: &Owner,
        hash: &Digest,
    ) -> Result<Option<CharacterRow>, StoreError>;

    /// At most `limit` resources behind `after`, by name, then id.
    async fn list(
        &self,
        owner: &Owner,
        kind: Kind,
        after: &After,
        limit: usize,
    ) -> Result<Vec<Summary>, StoreError>;

    /// Deletes a resource with its bindings, and clears it from every selection and from the
    /// owner's defaults; how many selections and bindings that were. Refused while one of those
    /// sessions is running.
    async fn delete(
        &self,
        owner: &Owner,
        kind: Kind,
        id: &str,
        attempt: Option<&Attempt>,
    ) -> Result<Done<u64>, WriteError>;

    async fn selection(
        &self,
        owner: &Owner,
        session: &SessionId,
    ) -> Result<Option<StoredSelection>, StoreError>;

    /// The worlds attached to what a selection names.
    async fn bindings_of(
        &self,
        owner: &Owner,
        selection: &Selection,
    ) -> Result<Bindings, StoreError>;

    /// Replaces a session's selection. Refused while the session is running, if anything changes.
    async fn set_selection(
        &self,
        owner: &Owner,
        session: &SessionId,
        selection: &Selection,
        expected_revision: Option<u64>,
        attempt: Option<&Attempt>,
    ) -> Result<Done<StoredSelection>, WriteError>;

    /// Gives a session its first selection; one that has a selection keeps it.
    async fn init_selection(
        &self,
        owner: &Owner,
        session: &SessionId,
        origin: &Origin,
    ) -> Result<Selection, WriteError>;

    /// `None` if there is no such holder.
    async fn bindings(&self, owner: &Owner, holder: &Holder) -> Result<Option<Worlds>, StoreError>;

    /// Replaces the worlds of a holder. `expected` is the etag that the caller saw. Refused while a
    /// session that the holder takes part in is running, if anything changes.
    async fn set_bindings(
        &self,
        owner: &Owner,
        holder: &Holder,
        worlds: &Worlds,
        expected: Option<&str>,
        attempt: Option<&Attempt>,
    ) -> Result<Done<Worlds>, WriteError>;

    /// Reads what a compile needs and takes the session's lease, replacing another generation's.
    /// A session without a selection takes the owner's defaults and keeps them.
    async fn begin_compile(
        &self,
        owner: &Owner,
        session: &SessionId,
        lease: &Lease,
    ) -> Result<Snapshot, StoreError>;

    /// Reads the same without a lease; `None` if the session has no selection.
    async fn peek(
        &self,
        owner: &Owner,
        session: &SessionId,
    ) -> Result<Option<Snapshot>, StoreError>;

    /// Forgets what was answered before `before`; how much it was.
    async fn forget(&self, before: Timestamp) -> Result<u64, StoreError>;

    /// Ends a generation's lease; another generation's stays.
    async fn release(
        &self,
        owner: &Owner,
        session: &SessionId,
        generation: &GenerationId,
    ) -> Result<(), StoreError>;
}

/// What a client compares when it replaces bindings.
pub fn bindings_etag(worlds: &Worlds) -> String {
    let ids: Vec<&[u8]> = worlds.as_slice().iter().map(|id| id.as_str().as_bytes()).collect();
    kernel::digest_parts(&ids).to_hex()[..16].to_owned()
}

// === impl StoreError ===

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        Self::Unavailable(Arc::new(error))
    }
}

// === impl Kind ===

impl Kind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Preset => "preset",
            Self::Character => "character",
            Self::User => "user",
        }
    }

    /// The part of a selection that points at it.
    pub const fn part(self) -> Part {
        match self {
            Self::Preset => Part::Preset,
            Self::Character => Part::Character,
            Self::User => Part::User,
        }
    }
}

// === impl Holder ===

impl Holder {
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::User(_) => "user",
            Self::Preset(_) => "preset",
            Self::Character(_) => "character",
            Self::Global => "global",
        }
    }

    /// Empty for the global one.
    pub fn id(&self) -> &str {
        match self {
            Self::User(id) => id.as_str(),
            Self::Preset(id) => id.as_str(),
            Self::Character(id) => id.as_str(),
            Self::Global => "",
        }
    }
}

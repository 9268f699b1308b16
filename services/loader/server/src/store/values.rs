//! What goes into the loader's store and comes out of it.

use std::sync::Arc;

use host::{
    database::{Failure, failure},
    idempotency::{Reused, Scope},
};
use kernel::{
    CharacterId, Digest, GenerationId, PresetId, SessionId, TemplateId, Timestamp, UserId, WorldId,
    limits::{RESOURCES_PER_OWNER_MAX, SELECTIONS_PER_OWNER_MAX, TEMPLATES_PER_OWNER_MAX},
};
use loader_core::{
    User,
    format::card::Container,
    selection::{Bindings, Part, Selection, Worlds},
};

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

/// A selection under a name.
#[derive(Debug, Clone, PartialEq)]
pub struct TemplateRow {
    pub id: TemplateId,
    pub name: String,
    /// What it names may be gone.
    pub selection: Selection,
    pub created_at: Timestamp,
}

/// What an owner's new sessions take.
#[derive(Debug, Clone, PartialEq)]
pub struct Defaults {
    pub selection: Selection,
    pub etag: String,
}

/// What an owner's sessions are told in role-play; `None`: the shipped text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpPolicy {
    pub text: Option<String>,
    pub etag: String,
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
    /// The worlds that a session's own selection names.
    Session(SessionId),
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

/// What an owner may keep at the most; what goes beyond is refused, never evicted.
#[derive(Debug, Clone, Copy)]
pub struct Capacity {
    /// Of each kind.
    pub resources: usize,
    pub selections: usize,
    pub templates: usize,
}

/// An import's resource.
#[derive(Debug, Clone, PartialEq)]
pub struct Added<T> {
    pub row: T,
    /// These bytes had been imported before; nothing was stored.
    pub already: bool,
}

/// A resource after an edit.
#[derive(Debug, Clone, PartialEq)]
pub struct Edited<T> {
    pub row: T,
    /// Sessions that are running with it: they see the edit with their next turn.
    pub running: Vec<SessionId>,
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
    #[error("{kind} {id}: {problem}")]
    Damaged { kind: &'static str, id: String, problem: String },
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
    #[error("{what} of one owner are {max} at the most")]
    Full { what: &'static str, max: usize },
    #[error("{} sessions are running", sessions.len())]
    Running { part: Part, sessions: Vec<SessionId> },
}

/// What a client compares when it replaces bindings.
pub fn bindings_etag(worlds: &Worlds) -> String {
    let ids: Vec<&[u8]> = worlds.as_slice().iter().map(|id| id.as_str().as_bytes()).collect();
    etag(&ids)
}

/// The same parts have the same etag.
pub fn etag(parts: &[&[u8]]) -> String {
    kernel::digest_parts(parts).to_hex()[..16].to_owned()
}

// === impl Attempt ===
impl Attempt {
    /// The id of what this attempt makes: the same for ever, and another for another request, so that
    /// a request id that was forgotten and is used again makes something new.
    pub fn derive<T>(&self, derived: impl FnOnce(&[&str]) -> T) -> T {
        let [tenant, subject, method, id] = self.scope.parts();
        derived(&[tenant, subject, method, id, &self.request.to_hex()])
    }
}

// === impl Capacity ===

impl Default for Capacity {
    fn default() -> Self {
        Self {
            resources: RESOURCES_PER_OWNER_MAX,
            selections: SELECTIONS_PER_OWNER_MAX,
            templates: TEMPLATES_PER_OWNER_MAX,
        }
    }
}

// === impl StoreError ===

impl StoreError {
    /// The same error where it says that a row cannot be read; which, is known here.
    pub fn within(self, kind: &'static str, id: &str) -> Self {
        let problem = match self {
            Self::Inconsistent { problem, .. } => problem,
            Self::Unavailable(error) if failure(&error) == Failure::Corrupt => error.to_string(),
            other => return other,
        };
        Self::Damaged { kind, id: id.to_owned(), problem }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        Self::Unavailable(Arc::new(error))
    }
}

// === impl Kind ===

impl Kind {
    pub const ALL: [Kind; 3] = [Self::Preset, Self::Character, Self::User];

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
            Self::Session(_) => "session",
            Self::User(_) => "user",
            Self::Preset(_) => "preset",
            Self::Character(_) => "character",
            Self::Global => "global",
        }
    }

    /// Empty for the global one.
    pub fn id(&self) -> &str {
        match self {
            Self::Session(id) => id.as_str(),
            Self::User(id) => id.as_str(),
            Self::Preset(id) => id.as_str(),
            Self::Character(id) => id.as_str(),
            Self::Global => "",
        }
    }
}

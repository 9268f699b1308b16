//! What the loader asks of a database, in its own verbs; each verb is one transaction.
//!
//! Every verb that changes something locks the owner's row first, so that the running guard and the
//! leases of `begin_compile` never miss each other. Two implementations keep this contract, and
//! `contract` runs the same suite over both.

use async_trait::async_trait;
use kernel::{
    CharacterId, Digest, GenerationId, Owner, PresetId, SessionId, TemplateId, Timestamp, UserId,
    WorldId,
};
use loader_core::selection::{Bindings, Selection, Worlds};

pub mod postgres;
pub mod sqlite;

mod intact;
mod values;

#[cfg(test)]
mod contract;

pub use values::{
    Added, After, Attempt, Capacity, CharacterRow, Defaults, Done, Edited, Holder, Kind, Lease,
    Origin, PresetRow, RpPolicy, Snapshot, StoreError, StoredSelection, Summary, TemplateRow,
    UserRow, WriteError, bindings_etag, etag,
};

/// The loader's store.
pub trait Store:
    AnswerStore
    + ResourceStore
    + BookStore
    + SelectionStore
    + OwnerStore
    + TemplateStore
    + WorldStore
    + LeaseStore
{
}

/// What retried requests are answered with.
#[async_trait]
pub trait AnswerStore: Send + Sync + 'static {
    /// Whether an attempt was answered before: its write will be a replay.
    async fn answered(&self, attempt: &Attempt) -> Result<bool, WriteError>;

    /// Forgets what was answered before `before`; how much it was.
    async fn forget(&self, before: Timestamp) -> Result<u64, StoreError>;
}

/// Presets, characters and users.
#[async_trait]
pub trait ResourceStore: Send + Sync + 'static {
    /// Adds a preset, unless the owner has one of the same bytes.
    async fn add_preset(
        &self,
        owner: &Owner,
        preset: &PresetRow,
        attempt: Option<&Attempt>,
    ) -> Result<Done<Added<PresetRow>>, WriteError>;

    /// Adds a character, unless the owner has one of the same bytes. `original` is the whole file
    /// where the card came inside another. Refused as a world that is not there if the running copy of
    /// the card's book was collected since it was begun.
    async fn add_character(
        &self,
        owner: &Owner,
        character: &CharacterRow,
        original: Option<&[u8]>,
        attempt: Option<&Attempt>,
    ) -> Result<Done<Added<CharacterRow>>, WriteError>;

    /// Adds users; those whose ids the owner has already stay as they are.
    async fn add_users(
        &self,
        owner: &Owner,
        users: &[UserRow],
        attempt: Option<&Attempt>,
    ) -> Result<Done<Added<Vec<UserRow>>>, WriteError>;

    async fn preset(&self, owner: &Owner, id: &PresetId) -> Result<Option<PresetRow>, StoreError>;

    async fn character(
        &self,
        owner: &Owner,
        id: &CharacterId,
    ) -> Result<Option<CharacterRow>, StoreError>;

    /// The file that a card came in; `None` where the document is the file.
    async fn original(
        &self,
        owner: &Owner,
        id: &CharacterId,
    ) -> Result<Option<Vec<u8>>, StoreError>;

    async fn user(&self, owner: &Owner, id: &UserId) -> Result<Option<UserRow>, StoreError>;

    /// The character that these bytes were imported as, if the owner has it unedited.
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

    /// Puts an edited preset in the place of the one that it was made from, whose revision it has.
    /// Refused if that has moved, or, with `reject_running`, while a session is running with it.
    async fn edit_preset(
        &self,
        owner: &Owner,
        preset: &PresetRow,
        reject_running: bool,
        attempt: Option<&Attempt>,
    ) -> Result<Done<Edited<PresetRow>>, WriteError>;

    /// The same for a character, and a collected copy as `add_character`; the file that it came in
    /// stays.
    async fn edit_character(
        &self,
        owner: &Owner,
        character: &CharacterRow,
        reject_running: bool,
        attempt: Option<&Attempt>,
    ) -> Result<Done<Edited<CharacterRow>>, WriteError>;

    /// The same for a user.
    async fn edit_user(
        &self,
        owner: &Owner,
        user: &UserRow,
        reject_running: bool,
        attempt: Option<&Attempt>,
    ) -> Result<Done<Edited<UserRow>>, WriteError>;

    /// Deletes a resource with its bindings, and clears it from every selection and from the
    /// owner's defaults; how many selections and bindings that were. Refused while one of those
    /// sessions is running.
    async fn delete(
        &self,
        owner: &Owner,
        kind: Kind,
        id: &str,
        expected_revision: Option<u64>,
        attempt: Option<&Attempt>,
    ) -> Result<Done<u64>, WriteError>;
}

/// The running copies of cards' books, which live in the lorebook.
#[async_trait]
pub trait BookStore: Send + Sync + 'static {
    /// Names the running copy of a book of these bytes, before the lorebook is told of it. Nobody
    /// collects it for so long, though no card points at it yet. One whose deletion was decided never
    /// comes back: the same book is another world then, so that a late deletion harms nobody.
    async fn begin_book(
        &self,
        owner: &Owner,
        content: &Digest,
        keep_ms: i64,
    ) -> Result<WorldId, WriteError>;

    /// Decides the deletion of the owner's copies that no card, no relation and no running session
    /// uses; which those are.
    async fn collect_books(&self, owner: &Owner) -> Result<Vec<WorldId>, WriteError>;

    /// Owners that have such copies, `limit` at the most.
    async fn owners_of_unused_books(&self, limit: usize) -> Result<Vec<Owner>, StoreError>;
}

/// What sessions have bound.
#[async_trait]
pub trait SelectionStore: Send + Sync + 'static {
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

    /// Refuses what `set_selection` would refuse, and writes nothing.
    async fn check_selection(
        &self,
        owner: &Owner,
        session: &SessionId,
        selection: &Selection,
        expected_revision: Option<u64>,
    ) -> Result<(), WriteError>;

    /// Replaces the selection of `to` by that of `from`, under the same guard.
    async fn copy_selection(
        &self,
        owner: &Owner,
        from: &SessionId,
        to: &SessionId,
        expected_revision: Option<u64>,
        attempt: Option<&Attempt>,
    ) -> Result<Done<StoredSelection>, WriteError>;

    /// Forgets a session with its lease.
    async fn forget_session(&self, owner: &Owner, session: &SessionId) -> Result<(), WriteError>;

    /// Gives a session its first selection; one that has a selection keeps it.
    async fn init_selection(
        &self,
        owner: &Owner,
        session: &SessionId,
        origin: &Origin,
    ) -> Result<Selection, WriteError>;
}

/// What an owner says for all sessions.
#[async_trait]
pub trait OwnerStore: Send + Sync + 'static {
    async fn defaults(&self, owner: &Owner) -> Result<Defaults, StoreError>;

    async fn set_defaults(
        &self,
        owner: &Owner,
        selection: &Selection,
        expected: Option<&str>,
        attempt: Option<&Attempt>,
    ) -> Result<Done<Defaults>, WriteError>;

    async fn rp_policy(&self, owner: &Owner) -> Result<RpPolicy, StoreError>;

    /// Replaces the policy; which running sessions are in role-play.
    async fn set_rp_policy(
        &self,
        owner: &Owner,
        text: Option<&str>,
        expected: Option<&str>,
        attempt: Option<&Attempt>,
    ) -> Result<Done<Vec<SessionId>>, WriteError>;
}

/// Selections under a name.
#[async_trait]
pub trait TemplateStore: Send + Sync + 'static {
    async fn add_template(
        &self,
        owner: &Owner,
        template: &TemplateRow,
        attempt: Option<&Attempt>,
    ) -> Result<Done<TemplateRow>, WriteError>;

    async fn template(
        &self,
        owner: &Owner,
        id: &TemplateId,
    ) -> Result<Option<TemplateRow>, StoreError>;

    /// At most `limit` templates behind `after`, by name, then id.
    async fn templates(
        &self,
        owner: &Owner,
        after: &After,
        limit: usize,
    ) -> Result<Vec<TemplateRow>, StoreError>;

    async fn delete_template(
        &self,
        owner: &Owner,
        id: &TemplateId,
        attempt: Option<&Attempt>,
    ) -> Result<Done<()>, WriteError>;
}

/// The worlds that resources hold.
#[async_trait]
pub trait WorldStore: Send + Sync + 'static {
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

    /// Decides that a world is deleted, and clears it from every selection, binding and default; how
    /// many those were. Refused while a session that it takes part in is running.
    async fn delete_world(
        &self,
        owner: &Owner,
        world: &WorldId,
        attempt: Option<&Attempt>,
    ) -> Result<Done<u64>, WriteError>;

    /// The lorebook holds the world no more.
    async fn world_deleted(&self, owner: &Owner, world: &WorldId) -> Result<(), StoreError>;

    /// The oldest deletions, `limit` at the most, that the lorebook may not have heard of.
    async fn pending_deletions(&self, limit: usize) -> Result<Vec<(Owner, WorldId)>, StoreError>;
}

/// Which sessions are running, and what their compiles read.
#[async_trait]
pub trait LeaseStore: Send + Sync + 'static {
    /// Reads what a compile needs and takes the session's lease, replacing another generation's.
    /// A session without a selection takes the owner's defaults and keeps them.
    async fn begin_compile(
        &self,
        owner: &Owner,
        session: &SessionId,
        lease: &Lease,
    ) -> Result<Snapshot, WriteError>;

    /// Reads the same without a lease; `None` if the session has no selection.
    async fn peek(
        &self,
        owner: &Owner,
        session: &SessionId,
    ) -> Result<Option<Snapshot>, StoreError>;

    /// Ends a generation's lease; another generation's stays.
    async fn release(
        &self,
        owner: &Owner,
        session: &SessionId,
        generation: &GenerationId,
    ) -> Result<(), StoreError>;
}

impl<T> Store for T where
    T: AnswerStore
        + ResourceStore
        + BookStore
        + SelectionStore
        + OwnerStore
        + TemplateStore
        + WorldStore
        + LeaseStore
{
}

//! Entries by their user's own hand.

use host::idempotency::Scope;
use kernel::{ChangeId, EntryId, Owner, WorldId};
use lorebook_core::{
    Entry,
    edit::Edit,
    export::{View, rows},
};

use crate::{
    Lorebook,
    error::{Error, no_world},
    store::{Attempt, EditError, Outcome, Stored},
};

/// A world as edits left it.
pub struct Edited {
    pub outcome: Outcome<Stored>,
    /// The rows that the edits are about, in their order.
    pub ids: Vec<EntryId>,
}

// === impl Edited ===

impl Edited {
    /// The row of a single edit; none if a repetition comes after it was deleted.
    pub fn entry(&self) -> Option<&Entry> {
        let id = self.ids.first()?;
        self.outcome.value.entries.iter().find(|entry| entry.id == *id)
    }
}

// === impl Lorebook ===

impl Lorebook {
    pub async fn entry(
        &self,
        owner: &Owner,
        world: &WorldId,
        id: &EntryId,
    ) -> Result<Entry, Error> {
        let stored = self.world_book(owner, world).await?;
        let found = stored.entries.into_iter().find(|entry| entry.id == *id);
        found.ok_or_else(|| no_entry(id))
    }

    /// Entries of a view that hold the text, whatever its case, behind the first `skip` such.
    pub async fn search(
        &self,
        owner: &Owner,
        world: &WorldId,
        view: View,
        text: &str,
        skip: usize,
    ) -> Result<Vec<Entry>, Error> {
        let stored = self.world_book(owner, world).await?;
        let text = text.to_lowercase();
        let found = rows(&stored.entries, view).into_iter().filter(|entry| holds(entry, &text));
        Ok(found.skip(skip).cloned().collect())
    }

    /// Edits rows; those to be created are named here.
    pub async fn edit_entries(
        &self,
        owner: &Owner,
        world: &WorldId,
        mut edits: Vec<Edit>,
        scope: Option<Scope>,
    ) -> Result<Edited, Error> {
        let attempt = Attempt::named(scope, &(world, &edits));
        let attempt = attempt.as_ref();
        for (at, edit) in edits.iter_mut().enumerate() {
            if let Edit::Create { id, .. } = edit {
                *id = self.new_id(attempt, EntryId::derived, at);
            }
        }
        let record = self.new_id(attempt, ChangeId::derived, 0);
        let now = self.clock.now();
        let edited = self.store.edit(owner, world, &edits, &record, attempt, now).await;
        let outcome = edited.map_err(|error| match error {
            EditError::NotFound => no_world(world),
            other => Error::Edit(world.clone(), other),
        })?;
        Ok(Edited { outcome, ids: edits.iter().filter_map(target).cloned().collect() })
    }
}

/// The row that an edit is about.
fn target(edit: &Edit) -> Option<&EntryId> {
    match edit {
        Edit::Create { id, .. } | Edit::Update { id, .. } | Edit::Delete { id, .. } => Some(id),
        Edit::Reorder { .. } => None,
    }
}

fn holds(entry: &Entry, text: &str) -> bool {
    let body = &entry.body;
    let keys = body.keys.iter().chain(&body.secondary_keys);
    let mut texts = [&body.comment, &body.content].into_iter().chain(keys);
    texts.any(|found| found.to_lowercase().contains(text))
}

fn no_entry(id: &EntryId) -> Error {
    Error::NotFound { kind: "entry", id: id.to_string() }
}

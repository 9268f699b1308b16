//! Entries by their user's own hand.

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

    /// The new row of a named attempt has the same id however often it is made.
    pub fn new_entry_id(&self, attempt: Option<&Attempt>, at: usize) -> EntryId {
        match attempt {
            None => EntryId::from(self.clock.fresh()),
            Some(attempt) => {
                let [tenant, subject, method, request_id] = attempt.scope.parts();
                EntryId::derived(&[tenant, subject, method, request_id, &at.to_string()])
            }
        }
    }

    pub async fn edit_entries(
        &self,
        owner: &Owner,
        world: &WorldId,
        edits: &[Edit],
        attempt: Option<Attempt>,
    ) -> Result<Outcome<Stored>, Error> {
        let record = match &attempt {
            None => ChangeId::from(self.clock.fresh()),
            Some(attempt) => ChangeId::derived(&attempt.scope.parts()),
        };
        let now = self.clock.now();
        let edited = self.store.edit(owner, world, edits, &record, attempt.as_ref(), now).await;
        edited.map_err(|error| match error {
            EditError::NotFound => no_world(world),
            other => Error::Edit(world.clone(), other),
        })
    }
}

fn holds(entry: &Entry, text: &str) -> bool {
    let body = &entry.body;
    let keys = body.keys.iter().chain(&body.secondary_keys);
    let mut texts = [&body.comment, &body.content].into_iter().chain(keys);
    texts.any(|found| found.to_lowercase().contains(text))
}

pub fn no_entry(id: &EntryId) -> Error {
    Error::NotFound { kind: "entry", id: id.to_string() }
}

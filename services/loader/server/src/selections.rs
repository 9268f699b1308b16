//! What sessions have bound, and the worlds that take part through it.

use host::caller::Caller;
use kernel::{SessionId, WorldId};
use loader_core::selection::{EffectiveWorld, Selection, effective_worlds};

use crate::{
    Loader,
    error::Error,
    store::{Attempt, Done, Origin, StoredSelection},
};

impl Loader {
    pub async fn selection(
        &self,
        caller: &Caller,
        session: &SessionId,
    ) -> Result<(StoredSelection, Vec<EffectiveWorld>), Error> {
        let owner = &caller.principal.owner;
        let stored = self.store.selection(owner, session).await?;
        let stored = stored.ok_or_else(|| Error::not_found("session", session))?;
        let bindings = self.store.bindings_of(owner, &stored.selection).await?;
        let effective = effective_worlds(&stored.selection, &bindings);
        Ok((stored, effective))
    }

    pub async fn set_selection(
        &self,
        caller: &Caller,
        session: &SessionId,
        selection: Selection,
        expected_revision: Option<u64>,
        attempt: Option<Attempt>,
    ) -> Result<Done<StoredSelection>, Error> {
        if !self.answered(attempt.as_ref()).await? {
            self.check_worlds(caller, selection.worlds.as_slice()).await?;
        }
        let owner = &caller.principal.owner;
        let set = self.store.set_selection(
            owner,
            session,
            &selection,
            expected_revision,
            attempt.as_ref(),
        );
        Ok(set.await?)
    }

    pub async fn copy_selection(
        &self,
        caller: &Caller,
        from: &SessionId,
        to: &SessionId,
        expected: Option<u64>,
        attempt: Option<Attempt>,
    ) -> Result<Done<StoredSelection>, Error> {
        let owner = &caller.principal.owner;
        Ok(self.store.copy_selection(owner, from, to, expected, attempt.as_ref()).await?)
    }

    /// A deleted session leaves nothing here.
    pub async fn forget_session(&self, caller: &Caller, session: &SessionId) -> Result<(), Error> {
        Ok(self.store.forget_session(&caller.principal.owner, session).await?)
    }

    /// A session that has a selection keeps it, whatever has become of its parts.
    pub async fn init_selection(
        &self,
        caller: &Caller,
        session: &SessionId,
        origin: Origin,
    ) -> Result<Selection, Error> {
        let owner = &caller.principal.owner;
        if let Some(stored) = self.store.selection(owner, session).await? {
            return Ok(stored.selection);
        }
        if let Origin::Given(selection) = &origin {
            self.check_worlds(caller, selection.worlds.as_slice()).await?;
        }
        Ok(self.store.init_selection(owner, session, &origin).await?)
    }

    /// Whether the write that follows is a replay, which checks nothing again.
    pub async fn answered(&self, attempt: Option<&Attempt>) -> Result<bool, Error> {
        match attempt {
            Some(attempt) => Ok(self.store.answered(attempt).await?),
            None => Ok(false),
        }
    }

    /// The first world that is not there is named.
    pub async fn check_worlds(&self, caller: &Caller, worlds: &[WorldId]) -> Result<(), Error> {
        match self.missing_worlds(caller, worlds).await?.first() {
            Some(missing) => Err(Error::not_found("world", missing)),
            None => Ok(()),
        }
    }
}

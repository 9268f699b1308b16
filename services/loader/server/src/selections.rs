//! What sessions have bound, and the worlds that take part through it.

use host::caller::Caller;
use kernel::{SessionId, WorldId};
use loader_core::selection::{EffectiveWorld, Selection, effective_worlds};
use wire::mesh::v1::{BatchGetWorldsRequest, lore_service_client::LoreServiceClient};

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

    /// Worlds live in the lorebook: the first one that is not there is named.
    pub async fn check_worlds(&self, caller: &Caller, worlds: &[WorldId]) -> Result<(), Error> {
        if worlds.is_empty() {
            return Ok(());
        }
        let world_ids: Vec<String> = worlds.iter().map(WorldId::to_string).collect();
        let mut lorebook = LoreServiceClient::new(self.lorebook.acting_for(caller));
        let answer = lorebook.batch_get_worlds(BatchGetWorldsRequest { world_ids }).await;
        let known = answer.map_err(Error::peer)?.into_inner().worlds;
        match worlds.iter().find(|id| !known.iter().any(|world| world.world_id == id.as_str())) {
            Some(missing) => Err(Error::not_found("world", missing)),
            None => Ok(()),
        }
    }
}

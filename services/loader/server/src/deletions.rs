//! Worlds are deleted: decided and cleared here, then gone from the lorebook, at once or by the sweeper. So are
//! the running copies of cards' books that nothing uses any more.

use host::caller::Caller;
use kernel::{Owner, Principal, WorldId, limits::PENDING_DELETIONS_MAX};
use wire::{
    lorebook::v1::World,
    mesh::v1::{BatchGetWorldsRequest, DeleteWorldRequest, lore_service_client::LoreServiceClient},
};

use crate::{
    Loader,
    error::Error,
    store::{Attempt, Done, WriteError},
};

/// A decided deletion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deleted {
    /// Selections, bindings and defaults that the world was cleared from.
    pub cleared: u64,
    /// The lorebook has not confirmed it.
    pub pending: bool,
}

impl Loader {
    /// The commit point is the loader's own transaction; what follows is retried until it is done.
    pub async fn delete_world(
        &self,
        caller: &Caller,
        world: &WorldId,
        etag: &str,
        attempt: Option<Attempt>,
    ) -> Result<Done<Deleted>, Error> {
        let owner = &caller.principal.owner;
        if !self.answered(attempt.as_ref()).await? {
            self.check_deletable(caller, world, etag).await?;
        }
        let Done { value: cleared, replayed } =
            self.store.delete_world(owner, world, attempt.as_ref()).await?;
        let pending = match self.finish_deletion(caller, world).await {
            Ok(()) => false,
            Err(error) => {
                tracing::warn!(%error, %world, "a world's deletion waits for the lorebook");
                true
            }
        };
        Ok(Done { value: Deleted { cleared, pending }, replayed })
    }

    /// Finishes what a crash or an absent lorebook left over, and what was collected.
    pub async fn finish_deletions(&self) -> Result<(), Error> {
        loop {
            let pending = self.store.pending_deletions(PENDING_DELETIONS_MAX).await?;
            let is_last = pending.len() < PENDING_DELETIONS_MAX;
            for (owner, world) in pending {
                let Owner { tenant, subject } = owner;
                let caller = Caller::of_job(Principal::new(tenant, subject, []));
                self.finish_deletion(&caller, &world).await?;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Decides the deletion of the cards' books that nothing uses any more, whoever owns them.
    pub async fn collect_books(&self) -> Result<(), Error> {
        loop {
            let owners = self.store.owners_of_unused_books(PENDING_DELETIONS_MAX).await?;
            for owner in &owners {
                let worlds = self.store.collect_books(owner).await?;
                tracing::debug!(?worlds, "nothing uses these copies of cards' books");
            }
            if owners.len() < PENDING_DELETIONS_MAX {
                return Ok(());
            }
        }
    }

    async fn finish_deletion(&self, caller: &Caller, world: &WorldId) -> Result<(), Error> {
        let request = DeleteWorldRequest { world_id: world.to_string() };
        let mut lorebook = LoreServiceClient::new(self.lorebook.acting_for(caller));
        lorebook.delete_world(request).await.map_err(Error::peer)?;
        Ok(self.store.world_deleted(&caller.principal.owner, world).await?)
    }

    async fn check_deletable(
        &self,
        caller: &Caller,
        world: &WorldId,
        etag: &str,
    ) -> Result<(), Error> {
        let request = BatchGetWorldsRequest { world_ids: vec![world.to_string()] };
        let mut lorebook = LoreServiceClient::new(self.lorebook.acting_for(caller));
        let known = lorebook.batch_get_worlds(request).await.map_err(Error::peer)?;
        let Some(World { embedded, etag: present, .. }) = known.into_inner().worlds.pop() else {
            return Err(Error::not_found("world", world));
        };
        if embedded {
            return Err(Error::WorldImmutable(world.clone()));
        }
        if !etag.is_empty() && etag != present {
            let id = world.to_string();
            return Err(WriteError::EtagMismatch { kind: "world", id }.into());
        }
        Ok(())
    }
}

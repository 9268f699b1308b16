//! Worlds attached to users, presets, characters, or to all sessions of an owner.

use host::caller::Caller;
use loader_core::selection::Worlds;

use crate::{
    Loader,
    error::Error,
    store::{Attempt, Done, Holder},
};

impl Loader {
    pub async fn bindings(&self, caller: &Caller, holder: &Holder) -> Result<Worlds, Error> {
        let worlds = self.store.bindings(&caller.principal.owner, holder).await?;
        worlds.ok_or_else(|| Error::not_found(holder.kind(), holder.id()))
    }

    pub async fn set_bindings(
        &self,
        caller: &Caller,
        holder: &Holder,
        worlds: Worlds,
        expected: Option<&str>,
        attempt: Option<Attempt>,
    ) -> Result<Done<Worlds>, Error> {
        if !self.answered(attempt.as_ref()).await? {
            self.check_worlds(caller, worlds.as_slice()).await?;
        }
        let owner = &caller.principal.owner;
        Ok(self.store.set_bindings(owner, holder, &worlds, expected, attempt.as_ref()).await?)
    }
}

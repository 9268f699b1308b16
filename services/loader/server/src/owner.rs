//! What an owner says for all sessions: the defaults, and the role-play policy.

use host::caller::Caller;
use kernel::SessionId;
use loader_core::selection::{Rp, Selection};

use crate::{
    Loader,
    error::Error,
    store::{Attempt, Defaults, Done, RpPolicy},
};

impl Loader {
    pub async fn defaults(&self, caller: &Caller) -> Result<Defaults, Error> {
        Ok(self.store.defaults(&caller.principal.owner).await?)
    }

    pub async fn set_defaults(
        &self,
        caller: &Caller,
        selection: Selection,
        expected: Option<&str>,
        attempt: Option<Attempt>,
    ) -> Result<Done<Defaults>, Error> {
        if !self.answered(attempt.as_ref()).await? {
            self.check_worlds(caller, selection.worlds.as_slice()).await?;
        }
        let owner = &caller.principal.owner;
        Ok(self.store.set_defaults(owner, &selection, expected, attempt.as_ref()).await?)
    }

    /// The policy, and the text in force.
    pub async fn rp_policy(&self, caller: &Caller) -> Result<(RpPolicy, String), Error> {
        let policy = self.store.rp_policy(&caller.principal.owner).await?;
        let text = policy.text.clone().unwrap_or_else(|| Rp::POLICY_DEFAULT.to_owned());
        Ok((policy, text))
    }

    /// Which running sessions keep the text that they were compiled with.
    pub async fn set_rp_policy(
        &self,
        caller: &Caller,
        text: Option<&str>,
        expected: Option<&str>,
        attempt: Option<Attempt>,
    ) -> Result<Done<Vec<SessionId>>, Error> {
        let owner = &caller.principal.owner;
        Ok(self.store.set_rp_policy(owner, text, expected, attempt.as_ref()).await?)
    }
}

//! Users: created, read, listed, deleted; and what lists and deletes share.

use host::caller::Caller;
use kernel::UserId;
use loader_core::User;

use crate::{
    Loader,
    error::Error,
    store::{After, Attempt, Done, Kind, Summary, UserRow},
};

impl Loader {
    pub async fn create_user(
        &self,
        caller: &Caller,
        user: User,
        attempt: Option<Attempt>,
    ) -> Result<Done<UserRow>, Error> {
        let id = attempt.as_ref().map(|attempt| UserId::derived(&attempt.scope.parts()));
        let row = UserRow {
            id: id.unwrap_or_else(|| self.clock.fresh().into()),
            user,
            revision: 1,
            created_at: self.clock.now(),
        };
        Ok(self.store.add_user(&caller.principal.owner, &row, attempt.as_ref()).await?)
    }

    pub async fn user(&self, caller: &Caller, id: &UserId) -> Result<UserRow, Error> {
        let row = self.store.user(&caller.principal.owner, id).await?;
        row.ok_or_else(|| Error::not_found(Kind::User.name(), id))
    }

    /// A page of resources, and whether more follow.
    pub async fn list(
        &self,
        caller: &Caller,
        kind: Kind,
        after: &After,
        size: usize,
    ) -> Result<(Vec<Summary>, bool), Error> {
        let mut page = self.store.list(&caller.principal.owner, kind, after, size + 1).await?;
        let more = page.len() > size;
        page.truncate(size);
        Ok((page, more))
    }

    pub async fn delete(
        &self,
        caller: &Caller,
        kind: Kind,
        id: &str,
        attempt: Option<Attempt>,
    ) -> Result<Done<u64>, Error> {
        Ok(self.store.delete(&caller.principal.owner, kind, id, attempt.as_ref()).await?)
    }
}

//! Users: created, imported, read, listed, deleted; and what lists and deletes share.

use host::{caller::Caller, upload::Upload};
use kernel::{UserId, limits::USERS_PER_FILE_MAX};
use loader_core::{
    User,
    format::{
        FormatError,
        persona::{self, ImportedUser, ImportedUsers},
    },
};

use crate::{
    Loader,
    error::Error,
    presets::Imported,
    store::{Added, After, Attempt, Done, Kind, Summary, UserRow},
};

impl Loader {
    pub async fn create_user(
        &self,
        caller: &Caller,
        user: User,
        attempt: Option<Attempt>,
    ) -> Result<Done<UserRow>, Error> {
        let id = attempt.as_ref().map(|attempt| attempt.derive(UserId::derived));
        let row = UserRow {
            id: id.unwrap_or_else(|| self.clock.fresh().into()),
            user,
            revision: 1,
            created_at: self.clock.now(),
        };
        let owner = &caller.principal.owner;
        let done =
            self.store.add_users(owner, std::slice::from_ref(&row), attempt.as_ref()).await?;
        let Done { value: Added { row: mut rows, .. }, replayed } = done;
        let value = rows.pop().ok_or_else(|| Error::not_found(Kind::User.name(), &row.id))?;
        Ok(Done { value, replayed })
    }

    /// The same persona of the same file is the same user.
    pub async fn import_users(
        &self,
        caller: &Caller,
        upload: Upload,
        attempt: Option<Attempt>,
    ) -> Result<Imported<Vec<UserRow>>, Error> {
        let (upload, read) = tokio::task::spawn_blocking(move || {
            let read = persona::read(&upload.bytes);
            (upload, read)
        })
        .await?;
        let ImportedUsers { users, report } = read?;
        if users.len() > USERS_PER_FILE_MAX {
            let what = format!("{} users", users.len());
            return Err(FormatError::limit("personas", what, USERS_PER_FILE_MAX).into());
        }
        if upload.validate_only {
            return Ok(Imported { row: None, report, already: false, replayed: false });
        }
        let owner = &caller.principal.owner;
        let file = kernel::digest(&upload.bytes).to_hex();
        let created_at = self.clock.now();
        let row = |(at, user): (usize, ImportedUser)| {
            let key = user.key.unwrap_or_else(|| at.to_string());
            let parts = [owner.tenant.as_str(), owner.subject.as_str(), &file, &key];
            UserRow { id: UserId::derived(&parts), user: user.user, revision: 1, created_at }
        };
        let rows: Vec<_> = users.into_iter().enumerate().map(row).collect();
        let done = self.store.add_users(owner, &rows, attempt.as_ref()).await?;
        Ok(Imported::of(done, report))
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
        expected: Option<u64>,
        attempt: Option<Attempt>,
    ) -> Result<Done<u64>, Error> {
        let owner = &caller.principal.owner;
        let done = self.store.delete(owner, kind, id, expected, attempt.as_ref()).await?;
        if kind == Kind::Character {
            self.released.notify_one();
        }
        Ok(done)
    }
}

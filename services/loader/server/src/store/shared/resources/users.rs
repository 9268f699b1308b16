//! The rows of users.

use kernel::{Owner, Timestamp, UserId};
use loader_core::User;
use sqlx::Row as _;

use super::{
    super::{Connection, Row, inconsistent, of_owner, parsed, revision},
    Resource, row_of,
};
use crate::store::{Kind, StoreError, UserRow, WriteError};

const INSERT: &str = "
    insert into users (tenant, subject, user_id, name, description, revision, created_at)
    values ($1, $2, $3, $4, $5, 1, $6)";

const UPDATE: &str = "
    update users
    set name = $4, description = $5, revision = revision + 1
    where tenant = $1
        and subject = $2
        and user_id = $3";

const BY_ID: &str = "
    select user_id, name, description, revision, created_at
    from users
    where tenant = $1
        and subject = $2
        and user_id = $3";

pub(in super::super) async fn by_id(
    tx: &mut Connection,
    owner: &Owner,
    id: &str,
) -> Result<Option<UserRow>, StoreError> {
    let row = row_of(tx, owner, BY_ID, id).await?.map(|row| user_of(&row)).transpose();
    row.map_err(|error| error.within(Kind::User.name(), id))
}

/// Those of `users` that the owner has, as they are now.
pub(super) async fn present(
    tx: &mut Connection,
    owner: &Owner,
    users: &[UserRow],
) -> Result<Vec<UserRow>, StoreError> {
    let mut present = Vec::with_capacity(users.len());
    for user in users {
        present.extend(by_id(tx, owner, user.id.as_str()).await?);
    }
    Ok(present)
}

pub(super) async fn insert(
    tx: &mut Connection,
    owner: &Owner,
    user: &UserRow,
) -> Result<(), StoreError> {
    of_owner(INSERT, owner)
        .bind(user.id.as_str())
        .bind(user.user.name())
        .bind(user.user.description().as_bytes())
        .bind(user.created_at.micros())
        .execute(tx)
        .await?;
    Ok(())
}

impl Resource for UserRow {
    const KIND: Kind = Kind::User;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn revision(&self) -> u64 {
        self.revision
    }

    fn updated(&self) -> Self {
        Self { revision: self.revision + 1, ..self.clone() }
    }

    async fn by_id(
        tx: &mut Connection,
        owner: &Owner,
        id: &str,
    ) -> Result<Option<Self>, StoreError> {
        by_id(tx, owner, id).await
    }

    async fn update(&self, tx: &mut Connection, owner: &Owner) -> Result<(), WriteError> {
        let update = of_owner(UPDATE, owner)
            .bind(self.id.as_str())
            .bind(self.user.name())
            .bind(self.user.description().as_bytes())
            .execute(tx);
        update.await.map_err(StoreError::from)?;
        Ok(())
    }
}

fn user_of(row: &Row) -> Result<UserRow, StoreError> {
    let description: Vec<u8> = row.try_get("description")?;
    let description =
        String::from_utf8(description).map_err(|error| inconsistent("users", error))?;
    let user = User::new(row.try_get("name")?, description);
    Ok(UserRow {
        id: parsed(row, "users", "user_id", UserId::new)?,
        user: user.map_err(|error| inconsistent("users", error))?,
        revision: revision(row, "users")?,
        created_at: Timestamp::from_micros(row.try_get("created_at")?),
    })
}

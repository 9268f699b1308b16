//! Presets, characters and users: what they share; deleted with everything that points at them.

use async_trait::async_trait;
use kernel::{CharacterId, Digest, Owner, PresetId, Timestamp, UserId};
use sqlx::Row as _;

use super::{
    Backend, Connection, Row, Write, bindings, books, check_room, defaults, leases, names, number,
    of_owner, parsed, revision, selections,
};
use crate::store::{
    Added, After, Attempt, CharacterRow, Done, Edited, Kind, PresetRow, ResourceStore, StoreError,
    Summary, UserRow, WriteError,
};

pub(super) mod characters;
pub(super) mod presets;
pub(super) mod users;

#[async_trait]
impl ResourceStore for Backend {
    async fn add_preset(
        &self,
        owner: &Owner,
        preset: &PresetRow,
        attempt: Option<&Attempt>,
    ) -> Result<Done<Added<PresetRow>>, WriteError> {
        let (mut write, answered) = self.begin(owner, attempt).await?;
        if let Some(id) = answered {
            let row = presets::by_id(&mut write.tx, owner, &id).await?;
            return Ok(replayed(row.ok_or_else(|| gone(Kind::Preset, &id))?));
        }
        if let Some(row) = presets::known(&mut write.tx, owner, preset).await? {
            return write.done(row.id.to_string(), Added { row, already: true }).await;
        }
        write.check_room(Kind::Preset, self.capacity.resources).await?;
        presets::insert(&mut write.tx, owner, preset).await?;
        write.done(preset.id.as_str(), Added { row: preset.clone(), already: false }).await
    }

    async fn add_character(
        &self,
        owner: &Owner,
        character: &CharacterRow,
        original: Option<&[u8]>,
        attempt: Option<&Attempt>,
    ) -> Result<Done<Added<CharacterRow>>, WriteError> {
        let (mut write, answered) = self.begin(owner, attempt).await?;
        if let Some(id) = answered {
            let row = characters::by_id(&mut write.tx, owner, &id).await?;
            return Ok(replayed(row.ok_or_else(|| gone(Kind::Character, &id))?));
        }
        if let Some(row) = characters::known(&mut write.tx, owner, character).await? {
            return write.done(row.id.to_string(), Added { row, already: true }).await;
        }
        write.check_room(Kind::Character, self.capacity.resources).await?;
        books::claim(&mut write.tx, owner, character.embedded_world.as_ref()).await?;
        characters::insert(&mut write.tx, owner, character, original).await?;
        write.done(character.id.as_str(), Added { row: character.clone(), already: false }).await
    }

    async fn add_users(
        &self,
        owner: &Owner,
        users: &[UserRow],
        attempt: Option<&Attempt>,
    ) -> Result<Done<Added<Vec<UserRow>>>, WriteError> {
        let (mut write, answered) = self.begin(owner, attempt).await?;
        if answered.is_some() {
            return Ok(replayed(users::present(&mut write.tx, owner, users).await?));
        }
        let mut already = true;
        for user in users {
            if users::by_id(&mut write.tx, owner, user.id.as_str()).await?.is_none() {
                write.check_room(Kind::User, self.capacity.resources).await?;
                users::insert(&mut write.tx, owner, user).await?;
                already = false;
            }
        }
        let row = users::present(&mut write.tx, owner, users).await?;
        write.done("", Added { row, already }).await
    }

    async fn preset(&self, owner: &Owner, id: &PresetId) -> Result<Option<PresetRow>, StoreError> {
        presets::by_id(&mut *self.read().await?, owner, id.as_str()).await
    }

    async fn character(
        &self,
        owner: &Owner,
        id: &CharacterId,
    ) -> Result<Option<CharacterRow>, StoreError> {
        characters::by_id(&mut *self.read().await?, owner, id.as_str()).await
    }

    async fn original(
        &self,
        owner: &Owner,
        id: &CharacterId,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        characters::original(&mut *self.read().await?, owner, id).await
    }

    async fn user(&self, owner: &Owner, id: &UserId) -> Result<Option<UserRow>, StoreError> {
        users::by_id(&mut *self.read().await?, owner, id.as_str()).await
    }

    async fn character_by_hash(
        &self,
        owner: &Owner,
        hash: &Digest,
    ) -> Result<Option<CharacterRow>, StoreError> {
        characters::by_hash(&mut *self.read().await?, owner, hash).await
    }

    async fn list(
        &self,
        owner: &Owner,
        kind: Kind,
        after: &After,
        limit: usize,
    ) -> Result<Vec<Summary>, StoreError> {
        let rows = of_owner(names::of(kind).page, owner)
            .bind(after.name.as_str())
            .bind(after.id.as_str())
            .bind(i64::try_from(limit).unwrap_or(i64::MAX))
            .fetch_all(&mut *self.read().await?)
            .await?;
        rows.iter().map(|row| summary_of(row, kind)).collect()
    }

    async fn edit_preset(
        &self,
        owner: &Owner,
        preset: &PresetRow,
        reject_running: bool,
        attempt: Option<&Attempt>,
    ) -> Result<Done<Edited<PresetRow>>, WriteError> {
        self.edit(owner, preset, reject_running, attempt).await
    }

    async fn edit_character(
        &self,
        owner: &Owner,
        character: &CharacterRow,
        reject_running: bool,
        attempt: Option<&Attempt>,
    ) -> Result<Done<Edited<CharacterRow>>, WriteError> {
        self.edit(owner, character, reject_running, attempt).await
    }

    async fn edit_user(
        &self,
        owner: &Owner,
        user: &UserRow,
        reject_running: bool,
        attempt: Option<&Attempt>,
    ) -> Result<Done<Edited<UserRow>>, WriteError> {
        self.edit(owner, user, reject_running, attempt).await
    }

    async fn delete(
        &self,
        owner: &Owner,
        kind: Kind,
        id: &str,
        expected_revision: Option<u64>,
        attempt: Option<&Attempt>,
    ) -> Result<Done<u64>, WriteError> {
        let (mut write, answered) = self.begin(owner, attempt).await?;
        if let Some(cleared) = answered {
            return Ok(Done { value: number(&cleared)?, replayed: true });
        }
        let tx = &mut write.tx;
        check_revision(tx, owner, kind, id, expected_revision).await?;
        leases::refuse(kind.part(), leases::running_with(tx, owner, kind, id).await?)?;
        let unbound = bindings::unbind(tx, owner, kind, id).await?;
        let selected = selections::clear(tx, owner, kind, id).await?;
        let default = defaults::without(tx, owner, kind, id).await?;
        let cleared = unbound + selected + u64::from(default);
        let book = books::of(tx, owner, kind, id).await?;
        let delete = of_owner(names::of(kind).delete, owner).bind(id.to_owned());
        delete.execute(&mut **tx).await.map_err(StoreError::from)?;
        books::release(tx, owner, book.as_ref()).await?;
        write.done(cleared.to_string(), cleared).await
    }
}

/// A row that is edited as a whole.
trait Resource: Clone + Send + Sync {
    const KIND: Kind;

    fn id(&self) -> &str;

    fn revision(&self) -> u64;

    /// The row as its update leaves it.
    fn updated(&self) -> Self;

    fn by_id(
        tx: &mut Connection,
        owner: &Owner,
        id: &str,
    ) -> impl Future<Output = Result<Option<Self>, StoreError>> + Send;

    fn update(
        &self,
        tx: &mut Connection,
        owner: &Owner,
    ) -> impl Future<Output = Result<(), WriteError>> + Send;
}

// === impl Backend ===

impl Backend {
    /// Writes the row over the one at its revision; `running` are the sessions that run with it.
    async fn edit<R: Resource>(
        &self,
        owner: &Owner,
        resource: &R,
        reject_running: bool,
        attempt: Option<&Attempt>,
    ) -> Result<Done<Edited<R>>, WriteError> {
        let (mut write, answered) = self.begin(owner, attempt).await?;
        if let Some(running) = answered {
            let row = R::by_id(&mut write.tx, owner, resource.id()).await?;
            let row = row.ok_or_else(|| gone(R::KIND, resource.id()))?;
            let value = Edited { row, running: leases::listed(&running)? };
            return Ok(Done { value, replayed: true });
        }
        let (id, expected) = (resource.id(), Some(resource.revision()));
        check_revision(&mut write.tx, owner, R::KIND, id, expected).await?;
        let running = leases::running_with(&mut write.tx, owner, R::KIND, id).await?;
        if reject_running {
            leases::refuse(R::KIND.part(), running.clone())?;
        }
        resource.update(&mut write.tx, owner).await?;
        let row = resource.updated();
        write.done(leases::list(&running), Edited { row, running }).await
    }
}

// === impl Write ===

impl Write<'_> {
    async fn check_room(&mut self, kind: Kind, max: usize) -> Result<(), WriteError> {
        let what = match kind {
            Kind::Preset => "presets",
            Kind::Character => "characters",
            Kind::User => "users",
        };
        check_room(&mut self.tx, self.owner, names::of(kind).count, what, max).await
    }
}

pub(super) async fn exists(
    tx: &mut Connection,
    owner: &Owner,
    kind: Kind,
    id: &str,
) -> Result<bool, StoreError> {
    Ok(row_of(tx, owner, names::of(kind).revision, id).await?.is_some())
}

/// Refuses if there is no such resource, or none at this revision.
async fn check_revision(
    tx: &mut Connection,
    owner: &Owner,
    kind: Kind,
    id: &str,
    expected: Option<u64>,
) -> Result<(), WriteError> {
    let row = row_of(tx, owner, names::of(kind).revision, id).await?;
    let present = revision(&row.ok_or_else(|| gone(kind, id))?, kind.name())?;
    if expected.is_some_and(|expected| expected != present) {
        return Err(WriteError::EtagMismatch { kind: kind.name(), id: id.to_owned() });
    }
    Ok(())
}

pub(super) fn gone(kind: Kind, id: &str) -> WriteError {
    WriteError::NotFound { kind: kind.name(), id: id.to_owned() }
}

/// The one row that an owner and a key name.
async fn row_of(
    tx: &mut Connection,
    owner: &Owner,
    sql: &'static str,
    key: &str,
) -> Result<Option<Row>, StoreError> {
    Ok(of_owner(sql, owner).bind(key.to_owned()).fetch_optional(tx).await?)
}

fn replayed<T>(row: T) -> Done<Added<T>> {
    Done { value: Added { row, already: false }, replayed: true }
}

fn summary_of(row: &Row, kind: Kind) -> Result<Summary, StoreError> {
    let hash = match kind {
        Kind::User => None,
        _ => Some(parsed(row, kind.name(), "hash", |hash| Digest::from_hex(&hash))?),
    };
    let card = match kind {
        Kind::Character => Some((row.try_get("spec")?, characters::container(row)?)),
        _ => None,
    };
    Ok(Summary {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        hash,
        card,
        revision: revision(row, kind.name())?,
        created_at: Timestamp::from_micros(row.try_get("created_at")?),
    })
}

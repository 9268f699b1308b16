//! The rows of characters.

use kernel::{CharacterId, Digest, Owner, Timestamp, WorldId};
use loader_core::format::card::Container;
use sqlx::Row as _;

use super::{
    super::{Connection, Row, books, inconsistent, of_owner, parsed, revision},
    Resource, row_of,
};
use crate::store::{CharacterRow, Kind, StoreError, WriteError};

const INSERT: &str = "
    insert into characters (tenant, subject, character_id, name, hash, spec, container, document,
        original, embedded_world_id, revision, created_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 1, $11)";

const UPDATE: &str = "
    update characters
    set name = $4, hash = $5, spec = $6, document = $7, embedded_world_id = $8,
        revision = revision + 1
    where tenant = $1
        and subject = $2
        and character_id = $3";

const BY_ID: &str = "
    select character_id, name, hash, spec, container, document, embedded_world_id, revision, created_at
    from characters
    where tenant = $1
        and subject = $2
        and character_id = $3";

/// One that was edited is not what was imported any more.
const BY_HASH: &str = "
    select character_id, name, hash, spec, container, document, embedded_world_id, revision, created_at
    from characters
    where tenant = $1
        and subject = $2
        and hash = $3
        and revision = 1";

const ORIGINAL: &str = "
    select original
    from characters
    where tenant = $1
        and subject = $2
        and character_id = $3";

const EMBEDDED: &str = "
    select embedded_world_id
    from characters
    where tenant = $1
        and subject = $2
        and character_id = $3";

pub(in super::super) async fn by_id(
    tx: &mut Connection,
    owner: &Owner,
    id: &str,
) -> Result<Option<CharacterRow>, StoreError> {
    let row = row_of(tx, owner, BY_ID, id).await?.map(|row| character_of(&row)).transpose();
    row.map_err(|error| error.within(Kind::Character.name(), id))
}

pub(super) async fn by_hash(
    tx: &mut Connection,
    owner: &Owner,
    hash: &Digest,
) -> Result<Option<CharacterRow>, StoreError> {
    row_of(tx, owner, BY_HASH, &hash.to_hex()).await?.map(|row| character_of(&row)).transpose()
}

pub(super) async fn original(
    tx: &mut Connection,
    owner: &Owner,
    id: &CharacterId,
) -> Result<Option<Vec<u8>>, StoreError> {
    let row = row_of(tx, owner, ORIGINAL, id.as_str()).await?;
    Ok(row.map(|row| row.try_get("original")).transpose()?.flatten())
}

/// The character that the owner has of the same bytes, or by the same attempt.
pub(super) async fn known(
    tx: &mut Connection,
    owner: &Owner,
    character: &CharacterRow,
) -> Result<Option<CharacterRow>, StoreError> {
    match by_hash(tx, owner, &character.hash).await? {
        Some(row) => Ok(Some(row)),
        None => by_id(tx, owner, character.id.as_str()).await,
    }
}

/// The running copy of a card's book, without reading the card.
pub(in super::super) async fn embedded_world(
    tx: &mut Connection,
    owner: &Owner,
    id: &str,
) -> Result<Option<WorldId>, StoreError> {
    let row = row_of(tx, owner, EMBEDDED, id).await?;
    row.map(|row| world_of(&row)).transpose().map(Option::flatten)
}

pub(super) async fn insert(
    tx: &mut Connection,
    owner: &Owner,
    character: &CharacterRow,
    original: Option<&[u8]>,
) -> Result<(), StoreError> {
    of_owner(INSERT, owner)
        .bind(character.id.as_str())
        .bind(character.name.as_str())
        .bind(character.hash.to_hex())
        .bind(character.spec.as_str())
        .bind(character.container.name())
        .bind(character.document.as_slice())
        .bind(original)
        .bind(character.embedded_world.as_ref().map(WorldId::as_str))
        .bind(character.created_at.micros())
        .execute(tx)
        .await?;
    Ok(())
}

impl Resource for CharacterRow {
    const KIND: Kind = Kind::Character;

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
        let old = embedded_world(tx, owner, self.id.as_str()).await?;
        books::claim(tx, owner, self.embedded_world.as_ref()).await?;
        let update = of_owner(UPDATE, owner)
            .bind(self.id.as_str())
            .bind(self.name.as_str())
            .bind(self.hash.to_hex())
            .bind(self.spec.as_str())
            .bind(self.document.as_slice())
            .bind(self.embedded_world.as_ref().map(WorldId::as_str))
            .execute(&mut *tx);
        update.await.map_err(StoreError::from)?;
        Ok(books::release(tx, owner, old.as_ref()).await?)
    }
}

pub(super) fn container(row: &Row) -> Result<Container, StoreError> {
    parsed(row, "characters", "container", |name| Container::from_name(&name).ok_or(name))
}

fn character_of(row: &Row) -> Result<CharacterRow, StoreError> {
    Ok(CharacterRow {
        id: parsed(row, "characters", "character_id", CharacterId::new)?,
        name: row.try_get("name")?,
        hash: parsed(row, "characters", "hash", |hash| Digest::from_hex(&hash))?,
        spec: row.try_get("spec")?,
        container: container(row)?,
        document: row.try_get("document")?,
        embedded_world: world_of(row)?,
        revision: revision(row, "characters")?,
        created_at: Timestamp::from_micros(row.try_get("created_at")?),
    })
}

fn world_of(row: &Row) -> Result<Option<WorldId>, StoreError> {
    let world: Option<String> = row.try_get("embedded_world_id")?;
    world.map(WorldId::new).transpose().map_err(|error| inconsistent("characters", error))
}

//! Presets, characters and users: added once for each content, listed by name, deleted with what points at them.

use kernel::{CharacterId, Digest, Owner, PresetId, Timestamp, UserId, WorldId};
use loader_core::{User, format::card::Container};
use sqlx::Row as _;

use super::{
    Connection, Row, answer, answered, inconsistent, leases, lock_owner, of_owner, parsed,
    selections,
};
use crate::store::{
    Added, After, Attempt, CharacterRow, Done, Kind, PresetRow, StoreError, Summary, UserRow,
    WriteError,
};

const ADD_PRESET: &str = "
    insert into presets (tenant, subject, preset_id, name, hash, document, revision, created_at)
    values ($1, $2, $3, $4, $5, $6, 1, $7)
    on conflict do nothing";

const PRESET: &str = "
    select preset_id, name, hash, document, revision, created_at
    from presets
    where tenant = $1
        and subject = $2
        and preset_id = $3";

const PRESET_BY_HASH: &str = "
    select preset_id, name, hash, document, revision, created_at
    from presets
    where tenant = $1
        and subject = $2
        and hash = $3";

const PRESETS: &str = "
    select preset_id as id, name, hash, revision, created_at
    from presets
    where tenant = $1
        and subject = $2
        and (name > $3 or (name = $3 and preset_id > $4))
    order by name, preset_id
    limit $5";

const ADD_CHARACTER: &str = "
    insert into characters (tenant, subject, character_id, name, hash, spec, container, document,
        original, embedded_world_id, revision, created_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 1, $11)
    on conflict do nothing";

const CHARACTER: &str = "
    select character_id, name, hash, spec, container, document, embedded_world_id, revision, created_at
    from characters
    where tenant = $1
        and subject = $2
        and character_id = $3";

const CHARACTER_BY_HASH: &str = "
    select character_id, name, hash, spec, container, document, embedded_world_id, revision, created_at
    from characters
    where tenant = $1
        and subject = $2
        and hash = $3";

const CHARACTERS: &str = "
    select character_id as id, name, hash, spec, container, revision, created_at
    from characters
    where tenant = $1
        and subject = $2
        and (name > $3 or (name = $3 and character_id > $4))
    order by name, character_id
    limit $5";

const ADD_USER: &str = "
    insert into users (tenant, subject, user_id, name, description, revision, created_at)
    values ($1, $2, $3, $4, $5, 1, $6)
    on conflict do nothing";

const USER: &str = "
    select user_id, name, description, revision, created_at
    from users
    where tenant = $1
        and subject = $2
        and user_id = $3";

const USERS: &str = "
    select user_id as id, name, revision, created_at
    from users
    where tenant = $1
        and subject = $2
        and (name > $3 or (name = $3 and user_id > $4))
    order by name, user_id
    limit $5";

const DELETE_PRESET: &str = "
    delete from presets
    where tenant = $1
        and subject = $2
        and preset_id = $3";

const DELETE_CHARACTER: &str = "
    delete from characters
    where tenant = $1
        and subject = $2
        and character_id = $3";

const DELETE_USER: &str = "
    delete from users
    where tenant = $1
        and subject = $2
        and user_id = $3";

const DELETE_BINDINGS: &str = "
    delete from bindings
    where tenant = $1
        and subject = $2
        and holder_kind = $3
        and holder_id = $4";

pub(super) async fn add_preset(
    tx: &mut Connection,
    owner: &Owner,
    preset: &PresetRow,
    attempt: Option<&Attempt>,
    now: Timestamp,
) -> Result<Done<Added<PresetRow>>, WriteError> {
    lock_owner(tx, owner).await?;
    if let Some(id) = answered(tx, attempt).await? {
        let row = row_of(tx, owner, PRESET, &id).await?;
        let row = row.ok_or_else(|| gone(Kind::Preset, &id))?;
        return Ok(replayed(preset_of(&row)?));
    }
    let added = of_owner(ADD_PRESET, owner)
        .bind(preset.id.as_str())
        .bind(preset.name.as_str())
        .bind(preset.hash.to_hex())
        .bind(preset.document.as_slice())
        .bind(preset.created_at.micros())
        .execute(&mut *tx)
        .await
        .map_err(StoreError::from)?;
    let row = row_of(tx, owner, PRESET_BY_HASH, &preset.hash.to_hex()).await?;
    let row = preset_of(&row.ok_or_else(|| inconsistent("presets", "an id is taken"))?)?;
    answer(tx, attempt, row.id.as_str(), now).await?;
    Ok(new(row, added.rows_affected()))
}

pub(super) async fn add_character(
    tx: &mut Connection,
    owner: &Owner,
    character: &CharacterRow,
    original: Option<&[u8]>,
    attempt: Option<&Attempt>,
    now: Timestamp,
) -> Result<Done<Added<CharacterRow>>, WriteError> {
    lock_owner(tx, owner).await?;
    if let Some(id) = answered(tx, attempt).await? {
        let row = row_of(tx, owner, CHARACTER, &id).await?;
        let row = row.ok_or_else(|| gone(Kind::Character, &id))?;
        return Ok(replayed(character_of(&row)?));
    }
    let added = of_owner(ADD_CHARACTER, owner)
        .bind(character.id.as_str())
        .bind(character.name.as_str())
        .bind(character.hash.to_hex())
        .bind(character.spec.as_str())
        .bind(character.container.name())
        .bind(character.document.as_slice())
        .bind(original)
        .bind(character.embedded_world.as_ref().map(WorldId::as_str))
        .bind(character.created_at.micros())
        .execute(&mut *tx)
        .await
        .map_err(StoreError::from)?;
    let row = row_of(tx, owner, CHARACTER_BY_HASH, &character.hash.to_hex()).await?;
    let row = character_of(&row.ok_or_else(|| inconsistent("characters", "an id is taken"))?)?;
    answer(tx, attempt, row.id.as_str(), now).await?;
    Ok(new(row, added.rows_affected()))
}

pub(super) async fn add_user(
    tx: &mut Connection,
    owner: &Owner,
    user: &UserRow,
    attempt: Option<&Attempt>,
    now: Timestamp,
) -> Result<Done<UserRow>, WriteError> {
    lock_owner(tx, owner).await?;
    if let Some(id) = answered(tx, attempt).await? {
        let row = row_of(tx, owner, USER, &id).await?;
        let row = row.ok_or_else(|| gone(Kind::User, &id))?;
        return Ok(Done { value: user_of(&row)?, replayed: true });
    }
    of_owner(ADD_USER, owner)
        .bind(user.id.as_str())
        .bind(user.user.name())
        .bind(user.user.description().as_bytes())
        .bind(user.created_at.micros())
        .execute(&mut *tx)
        .await
        .map_err(StoreError::from)?;
    answer(tx, attempt, user.id.as_str(), now).await?;
    Ok(Done { value: user.clone(), replayed: false })
}

pub(super) async fn preset(
    tx: &mut Connection,
    owner: &Owner,
    id: &PresetId,
) -> Result<Option<PresetRow>, StoreError> {
    row_of(tx, owner, PRESET, id.as_str()).await?.map(|row| preset_of(&row)).transpose()
}

pub(super) async fn character(
    tx: &mut Connection,
    owner: &Owner,
    id: &CharacterId,
) -> Result<Option<CharacterRow>, StoreError> {
    row_of(tx, owner, CHARACTER, id.as_str()).await?.map(|row| character_of(&row)).transpose()
}

pub(super) async fn character_by_hash(
    tx: &mut Connection,
    owner: &Owner,
    hash: &Digest,
) -> Result<Option<CharacterRow>, StoreError> {
    let row = row_of(tx, owner, CHARACTER_BY_HASH, &hash.to_hex()).await?;
    row.map(|row| character_of(&row)).transpose()
}

pub(super) async fn user(
    tx: &mut Connection,
    owner: &Owner,
    id: &UserId,
) -> Result<Option<UserRow>, StoreError> {
    row_of(tx, owner, USER, id.as_str()).await?.map(|row| user_of(&row)).transpose()
}

pub(super) async fn list(
    tx: &mut Connection,
    owner: &Owner,
    kind: Kind,
    after: &After,
    limit: usize,
) -> Result<Vec<Summary>, StoreError> {
    let sql = match kind {
        Kind::Preset => PRESETS,
        Kind::Character => CHARACTERS,
        Kind::User => USERS,
    };
    let rows = of_owner(sql, owner)
        .bind(after.name.as_str())
        .bind(after.id.as_str())
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(tx)
        .await?;
    rows.iter().map(|row| summary_of(row, kind)).collect()
}

pub(super) async fn delete(
    tx: &mut Connection,
    owner: &Owner,
    kind: Kind,
    id: &str,
    attempt: Option<&Attempt>,
    now: Timestamp,
) -> Result<Done<u64>, WriteError> {
    lock_owner(tx, owner).await?;
    if let Some(cleared) = answered(tx, attempt).await? {
        let cleared = cleared.parse().map_err(|error| inconsistent("answers", error))?;
        return Ok(Done { value: cleared, replayed: true });
    }
    if !exists(tx, owner, kind, id).await? {
        return Err(gone(kind, id));
    }
    let running = leases::running_with(tx, owner, kind, id).await?;
    if !running.is_empty() {
        return Err(WriteError::Running { part: kind.part(), sessions: running });
    }
    let unbound = of_owner(DELETE_BINDINGS, owner)
        .bind(kind.name())
        .bind(id.to_owned())
        .execute(&mut *tx)
        .await
        .map_err(StoreError::from)?;
    let cleared = unbound.rows_affected() + selections::clear(tx, owner, kind, id).await?;
    let sql = match kind {
        Kind::Preset => DELETE_PRESET,
        Kind::Character => DELETE_CHARACTER,
        Kind::User => DELETE_USER,
    };
    of_owner(sql, owner).bind(id.to_owned()).execute(&mut *tx).await.map_err(StoreError::from)?;
    answer(tx, attempt, cleared.to_string(), now).await?;
    Ok(Done { value: cleared, replayed: false })
}

pub(super) async fn exists(
    tx: &mut Connection,
    owner: &Owner,
    kind: Kind,
    id: &str,
) -> Result<bool, StoreError> {
    const PRESET: &str =
        "select 1 from presets where tenant = $1 and subject = $2 and preset_id = $3";
    const CHARACTER: &str =
        "select 1 from characters where tenant = $1 and subject = $2 and character_id = $3";
    const USER: &str = "select 1 from users where tenant = $1 and subject = $2 and user_id = $3";
    let sql = match kind {
        Kind::Preset => PRESET,
        Kind::Character => CHARACTER,
        Kind::User => USER,
    };
    Ok(row_of(tx, owner, sql, id).await?.is_some())
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

fn new<T>(row: T, added: u64) -> Done<Added<T>> {
    Done { value: Added { row, already: added == 0 }, replayed: false }
}

fn replayed<T>(row: T) -> Done<Added<T>> {
    Done { value: Added { row, already: false }, replayed: true }
}

fn preset_of(row: &Row) -> Result<PresetRow, StoreError> {
    Ok(PresetRow {
        id: parsed(row, "presets", "preset_id", PresetId::new)?,
        name: row.try_get("name")?,
        hash: parsed(row, "presets", "hash", |hash| Digest::from_hex(&hash))?,
        document: row.try_get("document")?,
        revision: revision(row)?,
        created_at: Timestamp::from_micros(row.try_get("created_at")?),
    })
}

fn character_of(row: &Row) -> Result<CharacterRow, StoreError> {
    let world: Option<String> = row.try_get("embedded_world_id")?;
    let world = world.map(WorldId::new).transpose();
    Ok(CharacterRow {
        id: parsed(row, "characters", "character_id", CharacterId::new)?,
        name: row.try_get("name")?,
        hash: parsed(row, "characters", "hash", |hash| Digest::from_hex(&hash))?,
        spec: row.try_get("spec")?,
        container: container(row)?,
        document: row.try_get("document")?,
        embedded_world: world.map_err(|error| inconsistent("characters", error))?,
        revision: revision(row)?,
        created_at: Timestamp::from_micros(row.try_get("created_at")?),
    })
}

fn user_of(row: &Row) -> Result<UserRow, StoreError> {
    let description: Vec<u8> = row.try_get("description")?;
    let description =
        String::from_utf8(description).map_err(|error| inconsistent("users", error))?;
    let user = User::new(row.try_get("name")?, description);
    Ok(UserRow {
        id: parsed(row, "users", "user_id", UserId::new)?,
        user: user.map_err(|error| inconsistent("users", error))?,
        revision: revision(row)?,
        created_at: Timestamp::from_micros(row.try_get("created_at")?),
    })
}

fn summary_of(row: &Row, kind: Kind) -> Result<Summary, StoreError> {
    let hash = match kind {
        Kind::User => None,
        _ => Some(parsed(row, kind.name(), "hash", |hash| Digest::from_hex(&hash))?),
    };
    let card = match kind {
        Kind::Character => Some((row.try_get("spec")?, container(row)?)),
        _ => None,
    };
    Ok(Summary {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        hash,
        card,
        revision: revision(row)?,
        created_at: Timestamp::from_micros(row.try_get("created_at")?),
    })
}

fn container(row: &Row) -> Result<Container, StoreError> {
    parsed(row, "characters", "container", |name| Container::from_name(&name).ok_or(name))
}

fn revision(row: &Row) -> Result<u64, StoreError> {
    let revision: i64 = row.try_get("revision")?;
    u64::try_from(revision).map_err(|error| inconsistent("a resource", error))
}

//! Worlds attached to users, presets, characters, or to all sessions of an owner.

use kernel::{Owner, Timestamp, WorldId};
use loader_core::selection::{Bindings, Part, Selection, Worlds};

use super::{Connection, answer, answered, inconsistent, leases, lock_owner, of_owner, resources};
use crate::store::{Attempt, Done, Holder, Kind, StoreError, WriteError, bindings_etag};

const READ: &str = "
    select world_id
    from bindings
    where tenant = $1
        and subject = $2
        and holder_kind = $3
        and holder_id = $4
    order by place";

const DELETE: &str = "
    delete from bindings
    where tenant = $1
        and subject = $2
        and holder_kind = $3
        and holder_id = $4";

const INSERT: &str = "
    insert into bindings (tenant, subject, holder_kind, holder_id, place, world_id)
    values ($1, $2, $3, $4, $5, $6)";

pub(super) struct Change<'a> {
    pub holder: &'a Holder,
    pub worlds: &'a Worlds,
    pub expected: Option<&'a str>,
}

pub(super) async fn read(
    tx: &mut Connection,
    owner: &Owner,
    holder: &Holder,
) -> Result<Option<Worlds>, StoreError> {
    if !is_there(tx, owner, holder).await? {
        return Ok(None);
    }
    let worlds = Worlds::new(worlds_of(tx, owner, holder).await?);
    worlds.map(Some).map_err(|error| inconsistent("bindings", error))
}

pub(super) async fn of_selection(
    tx: &mut Connection,
    owner: &Owner,
    selection: &Selection,
) -> Result<Bindings, StoreError> {
    let Selection { preset, character, user, .. } = selection.clone();
    let mut bindings =
        Bindings { global: worlds_of(tx, owner, &Holder::Global).await?, ..Bindings::default() };
    if let Some(id) = user {
        bindings.user = worlds_of(tx, owner, &Holder::User(id)).await?;
    }
    if let Some(id) = preset {
        bindings.preset = worlds_of(tx, owner, &Holder::Preset(id)).await?;
    }
    if let Some(id) = character {
        let row = resources::character(tx, owner, &id).await?;
        bindings.embedded = row.and_then(|row| row.embedded_world);
        bindings.character = worlds_of(tx, owner, &Holder::Character(id)).await?;
    }
    Ok(bindings)
}

pub(super) async fn set(
    tx: &mut Connection,
    owner: &Owner,
    change: Change<'_>,
    attempt: Option<&Attempt>,
    now: Timestamp,
) -> Result<Done<Worlds>, WriteError> {
    let Change { holder, worlds, expected } = change;
    lock_owner(tx, owner).await?;
    if answered(tx, attempt).await?.is_some() {
        return Ok(Done { value: worlds.clone(), replayed: true });
    }
    let Some(old) = read(tx, owner, holder).await? else {
        return Err(WriteError::NotFound { kind: holder.kind(), id: holder.id().to_owned() });
    };
    if expected.is_some_and(|expected| expected != bindings_etag(&old)) {
        return Err(WriteError::EtagMismatch { kind: "bindings", id: holder.id().to_owned() });
    }
    if old != *worlds {
        let running = running_with(tx, owner, holder).await?;
        if !running.is_empty() {
            return Err(WriteError::Running { part: Part::Worlds, sessions: running });
        }
        replace(tx, owner, holder, worlds).await?;
    }
    answer(tx, attempt, bindings_etag(worlds), now).await?;
    Ok(Done { value: worlds.clone(), replayed: false })
}

/// The running sessions that the holder takes part in.
async fn running_with(
    tx: &mut Connection,
    owner: &Owner,
    holder: &Holder,
) -> Result<Vec<kernel::SessionId>, StoreError> {
    let kind = match holder {
        Holder::Global => return leases::running(tx, owner).await,
        Holder::User(_) => Kind::User,
        Holder::Preset(_) => Kind::Preset,
        Holder::Character(_) => Kind::Character,
    };
    leases::running_with(tx, owner, kind, holder.id()).await
}

async fn replace(
    tx: &mut Connection,
    owner: &Owner,
    holder: &Holder,
    worlds: &Worlds,
) -> Result<(), StoreError> {
    let id = holder.id().to_owned();
    of_owner(DELETE, owner).bind(holder.kind()).bind(id.clone()).execute(&mut *tx).await?;
    for (place, world) in (0_i64..).zip(worlds.as_slice()) {
        of_owner(INSERT, owner)
            .bind(holder.kind())
            .bind(id.clone())
            .bind(place)
            .bind(world.as_str())
            .execute(&mut *tx)
            .await?;
    }
    Ok(())
}

async fn worlds_of(
    tx: &mut Connection,
    owner: &Owner,
    holder: &Holder,
) -> Result<Vec<WorldId>, StoreError> {
    let rows = of_owner(READ, owner)
        .bind(holder.kind())
        .bind(holder.id().to_owned())
        .fetch_all(tx)
        .await?;
    let id = |row: &super::Row| super::parsed(row, "bindings", "world_id", WorldId::new);
    rows.iter().map(id).collect()
}

async fn is_there(tx: &mut Connection, owner: &Owner, holder: &Holder) -> Result<bool, StoreError> {
    match holder {
        Holder::Global => Ok(true),
        Holder::User(id) => resources::exists(tx, owner, Kind::User, id.as_str()).await,
        Holder::Preset(id) => resources::exists(tx, owner, Kind::Preset, id.as_str()).await,
        Holder::Character(id) => resources::exists(tx, owner, Kind::Character, id.as_str()).await,
    }
}

//! Worlds attached to sessions, users, presets, characters, or to all sessions of an owner.

use async_trait::async_trait;
use kernel::{Owner, WorldId};
use loader_core::selection::{Bindings, Part, Selection, Worlds};

use super::{
    Backend, Connection, deletions, inconsistent, leases, number, of_owner, parsed,
    resources::{self, characters},
    selections,
};
use crate::store::{
    Attempt, Done, Holder, Kind, StoreError, WorldStore, WriteError, bindings_etag,
};

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

#[async_trait]
impl WorldStore for Backend {
    async fn bindings(&self, owner: &Owner, holder: &Holder) -> Result<Option<Worlds>, StoreError> {
        read(&mut *self.read().await?, owner, holder).await
    }

    async fn set_bindings(
        &self,
        owner: &Owner,
        holder: &Holder,
        worlds: &Worlds,
        expected: Option<&str>,
        attempt: Option<&Attempt>,
    ) -> Result<Done<Worlds>, WriteError> {
        let (mut write, answered) = self.begin(owner, attempt).await?;
        if answered.is_some() {
            return Ok(Done { value: worlds.clone(), replayed: true });
        }
        let Some(old) = read(&mut write.tx, owner, holder).await? else {
            return Err(WriteError::NotFound { kind: holder.kind(), id: holder.id().to_owned() });
        };
        if expected.is_some_and(|expected| expected != bindings_etag(&old)) {
            return Err(WriteError::EtagMismatch { kind: "bindings", id: holder.id().to_owned() });
        }
        if old != *worlds {
            deletions::check(&mut write.tx, owner, worlds).await?;
            leases::refuse(Part::Worlds, leases::running_for(&mut write.tx, owner, holder).await?)?;
            replace(&mut write.tx, owner, holder, worlds).await?;
        }
        write.done(bindings_etag(worlds), worlds.clone()).await
    }

    async fn delete_world(
        &self,
        owner: &Owner,
        world: &WorldId,
        attempt: Option<&Attempt>,
    ) -> Result<Done<u64>, WriteError> {
        let (mut write, answered) = self.begin(owner, attempt).await?;
        if let Some(cleared) = answered {
            return Ok(Done { value: number(&cleared)?, replayed: true });
        }
        let running = leases::running_with_world(&mut write.tx, owner, world).await?;
        leases::refuse(Part::Worlds, running)?;
        let cleared = deletions::clear(&mut write.tx, owner, world).await?;
        deletions::decide(&mut write.tx, owner, world, write.now).await?;
        write.done(cleared.to_string(), cleared).await
    }

    async fn world_deleted(&self, owner: &Owner, world: &WorldId) -> Result<(), StoreError> {
        let mut tx = self.write().await?;
        deletions::finish(&mut tx, owner, world, self.clock.now()).await?;
        Ok(tx.commit().await?)
    }

    async fn pending_deletions(&self, limit: usize) -> Result<Vec<(Owner, WorldId)>, StoreError> {
        deletions::pending(&mut *self.read().await?, limit).await
    }
}

/// Everything that is attached to what a selection names.
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
        bindings.embedded = characters::embedded_world(tx, owner, id.as_str()).await?;
        bindings.character = worlds_of(tx, owner, &Holder::Character(id)).await?;
    }
    Ok(bindings)
}

/// Takes away what a resource holds; how many worlds that were.
pub(super) async fn unbind(
    tx: &mut Connection,
    owner: &Owner,
    kind: Kind,
    id: &str,
) -> Result<u64, StoreError> {
    let unbound = of_owner(DELETE, owner).bind(kind.name()).bind(id.to_owned()).execute(tx).await?;
    Ok(unbound.rows_affected())
}

pub(super) async fn replace(
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

pub(super) async fn worlds_of(
    tx: &mut Connection,
    owner: &Owner,
    holder: &Holder,
) -> Result<Vec<WorldId>, StoreError> {
    let rows = of_owner(READ, owner)
        .bind(holder.kind())
        .bind(holder.id().to_owned())
        .fetch_all(tx)
        .await?;
    rows.iter().map(|row| parsed(row, "bindings", "world_id", WorldId::new)).collect()
}

async fn read(
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

async fn is_there(tx: &mut Connection, owner: &Owner, holder: &Holder) -> Result<bool, StoreError> {
    match holder {
        Holder::Global => Ok(true),
        Holder::Session(id) => Ok(selections::read(tx, owner, id).await?.is_some()),
        Holder::User(id) => resources::exists(tx, owner, Kind::User, id.as_str()).await,
        Holder::Preset(id) => resources::exists(tx, owner, Kind::Preset, id.as_str()).await,
        Holder::Character(id) => resources::exists(tx, owner, Kind::Character, id.as_str()).await,
    }
}

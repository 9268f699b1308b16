//! Worlds whose deletion is decided: cleared from everything here at once, in the lorebook soon after.

use kernel::{Owner, Subject, TenantId, Timestamp, WorldId};
use loader_core::selection::Worlds;

use super::{Connection, defaults, of_owner, parsed};
use crate::store::{StoreError, WriteError};

const DECIDE: &str = "
    insert into world_deletions (tenant, subject, world_id, requested_at)
    values ($1, $2, $3, $4)
    on conflict do nothing";

const FINISH: &str = "
    update world_deletions
    set finished_at = $4
    where tenant = $1
        and subject = $2
        and world_id = $3";

const DECIDED: &str = "
    select world_id
    from world_deletions
    where tenant = $1
        and subject = $2
        and world_id = $3";

const PENDING: &str = "
    select tenant, subject, world_id
    from world_deletions
    where finished_at is null
    order by requested_at
    limit $1";

const FORGET: &str = "
    delete from world_deletions
    where finished_at < $1";

const UNBIND: &str = "
    delete from bindings
    where tenant = $1
        and subject = $2
        and world_id = $3";

const TOUCH_SELECTIONS: &str = "
    update selections
    set revision = revision + 1
    where tenant = $1
        and subject = $2
        and session_id in (
            select holder_id
            from bindings
            where tenant = $1
                and subject = $2
                and holder_kind = 'session'
                and world_id = $3
        )";

/// Takes a world out of every selection, binding and default; out of how many.
pub(super) async fn clear(
    tx: &mut Connection,
    owner: &Owner,
    world: &WorldId,
) -> Result<u64, StoreError> {
    of_owner(TOUCH_SELECTIONS, owner).bind(world.as_str()).execute(&mut *tx).await?;
    let unbound = of_owner(UNBIND, owner).bind(world.as_str()).execute(&mut *tx).await?;
    let default = defaults::without_world(tx, owner, world).await?;
    Ok(unbound.rows_affected() + u64::from(default))
}

pub(super) async fn decide(
    tx: &mut Connection,
    owner: &Owner,
    world: &WorldId,
    now: Timestamp,
) -> Result<(), StoreError> {
    of_owner(DECIDE, owner).bind(world.as_str()).bind(now.micros()).execute(tx).await?;
    Ok(())
}

pub(super) async fn finish(
    tx: &mut Connection,
    owner: &Owner,
    world: &WorldId,
    now: Timestamp,
) -> Result<(), StoreError> {
    of_owner(FINISH, owner).bind(world.as_str()).bind(now.micros()).execute(tx).await?;
    Ok(())
}

/// Refuses a world whose deletion is decided, whatever the lorebook still says of it.
pub(super) async fn check(
    tx: &mut Connection,
    owner: &Owner,
    worlds: &Worlds,
) -> Result<(), WriteError> {
    for world in worlds.as_slice() {
        if is_decided(tx, owner, world).await? {
            return Err(WriteError::NotFound { kind: "world", id: world.to_string() });
        }
    }
    Ok(())
}

/// Whether a world is being deleted, or was not long ago.
pub(super) async fn is_decided(
    tx: &mut Connection,
    owner: &Owner,
    world: &WorldId,
) -> Result<bool, StoreError> {
    let row = of_owner(DECIDED, owner).bind(world.as_str()).fetch_optional(tx).await?;
    Ok(row.is_some())
}

pub(super) async fn pending(
    tx: &mut Connection,
    limit: usize,
) -> Result<Vec<(Owner, WorldId)>, StoreError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = sqlx::query(PENDING).bind(limit).fetch_all(tx).await?;
    let deletion = |row| {
        let owner = Owner {
            tenant: parsed(row, "world_deletions", "tenant", TenantId::new)?,
            subject: parsed(row, "world_deletions", "subject", Subject::new)?,
        };
        Ok((owner, parsed(row, "world_deletions", "world_id", WorldId::new)?))
    };
    rows.iter().map(deletion).collect()
}

/// A finished deletion is remembered for as long as a call that saw the world before may take.
pub(super) async fn forget(tx: &mut Connection, before: Timestamp) -> Result<(), StoreError> {
    sqlx::query(FORGET).bind(before.micros()).execute(tx).await?;
    Ok(())
}

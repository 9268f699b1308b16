//! Which sessions are running, and what a compile reads as it takes its lease.

use kernel::{GenerationId, Owner, SessionId};
use loader_core::selection::Selection;
use sqlx::Row as _;

use super::{Connection, NOW, bindings, lock_owner, of_owner, parsed, resources, selections};
use crate::store::{Kind, Lease, Snapshot, StoreError};

const TAKE: &str = "
    insert into leases (tenant, subject, session_id, generation_id, expires_at)
    values ($1, $2, $3, $4, $5)
    on conflict (tenant, subject, session_id) do update
    set generation_id = excluded.generation_id, expires_at = excluded.expires_at";

const RELEASE: &str = "
    delete from leases
    where tenant = $1
        and subject = $2
        and session_id = $3
        and generation_id = $4";

const RUNNING: &str = "
    select session_id
    from leases
    where tenant = $1
        and subject = $2
        and expires_at > $3
    order by session_id";

const RUNNING_WITH_PRESET: &str = "
    select leases.session_id
    from leases
    join selections using (tenant, subject, session_id)
    where leases.tenant = $1
        and leases.subject = $2
        and leases.expires_at > $3
        and selections.preset_id = $4
    order by leases.session_id";

const RUNNING_WITH_CHARACTER: &str = "
    select leases.session_id
    from leases
    join selections using (tenant, subject, session_id)
    where leases.tenant = $1
        and leases.subject = $2
        and leases.expires_at > $3
        and selections.character_id = $4
    order by leases.session_id";

const RUNNING_WITH_USER: &str = "
    select leases.session_id
    from leases
    join selections using (tenant, subject, session_id)
    where leases.tenant = $1
        and leases.subject = $2
        and leases.expires_at > $3
        and selections.user_id = $4
    order by leases.session_id";

const RP_POLICY: &str = "
    select rp_policy
    from owners
    where tenant = $1
        and subject = $2";

pub(super) async fn begin_compile(
    tx: &mut Connection,
    owner: &Owner,
    session: &SessionId,
    lease: &Lease,
) -> Result<Snapshot, StoreError> {
    lock_owner(tx, owner).await?;
    let expires_at = now(tx).await? + lease.for_ms * 1_000;
    of_owner(TAKE, owner)
        .bind(session.as_str())
        .bind(lease.generation.as_str())
        .bind(expires_at)
        .execute(&mut *tx)
        .await?;
    let selection = selections::read_or_default(tx, owner, session).await?;
    snapshot(tx, owner, selection).await
}

pub(super) async fn snapshot(
    tx: &mut Connection,
    owner: &Owner,
    selection: Selection,
) -> Result<Snapshot, StoreError> {
    let preset = match &selection.preset {
        Some(id) => resources::preset(tx, owner, id).await?,
        None => None,
    };
    let character = match &selection.character {
        Some(id) => resources::character(tx, owner, id).await?,
        None => None,
    };
    let user = match &selection.user {
        Some(id) => resources::user(tx, owner, id).await?,
        None => None,
    };
    let bindings = bindings::of_selection(tx, owner, &selection).await?;
    let row = of_owner(RP_POLICY, owner).fetch_optional(tx).await?;
    let rp_policy = row.map(|row| row.try_get("rp_policy")).transpose()?.flatten();
    Ok(Snapshot { selection, preset, character, user, bindings, rp_policy })
}

pub(super) async fn release(
    tx: &mut Connection,
    owner: &Owner,
    session: &SessionId,
    generation: &GenerationId,
) -> Result<(), StoreError> {
    of_owner(RELEASE, owner).bind(session.as_str()).bind(generation.as_str()).execute(tx).await?;
    Ok(())
}

/// All running sessions of the owner.
pub(super) async fn running(
    tx: &mut Connection,
    owner: &Owner,
) -> Result<Vec<SessionId>, StoreError> {
    let now = now(tx).await?;
    let rows = of_owner(RUNNING, owner).bind(now).fetch_all(tx).await?;
    rows.iter().map(|row| parsed(row, "leases", "session_id", SessionId::new)).collect()
}

/// The running sessions that have selected a resource.
pub(super) async fn running_with(
    tx: &mut Connection,
    owner: &Owner,
    kind: Kind,
    id: &str,
) -> Result<Vec<SessionId>, StoreError> {
    let sql = match kind {
        Kind::Preset => RUNNING_WITH_PRESET,
        Kind::Character => RUNNING_WITH_CHARACTER,
        Kind::User => RUNNING_WITH_USER,
    };
    let now = now(tx).await?;
    let rows = of_owner(sql, owner).bind(now).bind(id.to_owned()).fetch_all(tx).await?;
    rows.iter().map(|row| parsed(row, "leases", "session_id", SessionId::new)).collect()
}

async fn now(tx: &mut Connection) -> Result<i64, StoreError> {
    Ok(sqlx::query(NOW).fetch_one(tx).await?.try_get("now")?)
}

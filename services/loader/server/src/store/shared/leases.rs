//! Which sessions are running, and what a compile reads as it takes its lease.

use async_trait::async_trait;
use kernel::{GenerationId, Owner, SessionId, WorldId};
use loader_core::selection::{Part, Selection};
use sqlx::Row as _;

use super::{
    Backend, Connection, NOW, Row, bindings, defaults, inconsistent, names, of_owner, parsed,
    resources::{characters, presets, users},
    selections,
};
use crate::store::{Holder, Kind, Lease, LeaseStore, Snapshot, StoreError, WriteError};

const TAKE: &str = "
    insert into leases (tenant, subject, session_id, generation_id, expires_at, book_world_id)
    values ($1, $2, $3, $4, $5, $6)
    on conflict (tenant, subject, session_id) do update
    set generation_id = excluded.generation_id,
        expires_at = excluded.expires_at,
        book_world_id = excluded.book_world_id";

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

/// A world takes part through the session itself, through what it has selected, or through the owner.
const RUNNING_WITH_WORLD: &str = "
    select leases.session_id
    from leases
    join selections using (tenant, subject, session_id)
    where leases.tenant = $1
        and leases.subject = $2
        and leases.expires_at > $3
        and exists (
            select 1
            from bindings
            where bindings.tenant = leases.tenant
                and bindings.subject = leases.subject
                and bindings.world_id = $4
                and (
                    holder_kind = 'global'
                    or holder_kind = 'session' and holder_id = leases.session_id
                    or holder_kind = 'user' and holder_id = selections.user_id
                    or holder_kind = 'preset' and holder_id = selections.preset_id
                    or holder_kind = 'character' and holder_id = selections.character_id
                )
        )
    order by leases.session_id";

#[async_trait]
impl LeaseStore for Backend {
    async fn begin_compile(
        &self,
        owner: &Owner,
        session: &SessionId,
        lease: &Lease,
    ) -> Result<Snapshot, WriteError> {
        let (mut write, _) = self.begin(owner, None).await?;
        let tx = &mut write.tx;
        let room = self.capacity.selections;
        let selection = selections::read_or_default(tx, owner, session, room).await?;
        let snapshot = snapshot(tx, owner, selection).await?;
        let expires_at = now(tx).await? + lease.for_ms * 1_000;
        let take = of_owner(TAKE, owner)
            .bind(session.as_str())
            .bind(lease.generation.as_str())
            .bind(expires_at)
            .bind(snapshot.bindings.embedded.as_ref().map(WorldId::as_str))
            .execute(&mut **tx);
        take.await.map_err(StoreError::from)?;
        write.commit().await?;
        Ok(snapshot)
    }

    async fn peek(
        &self,
        owner: &Owner,
        session: &SessionId,
    ) -> Result<Option<Snapshot>, StoreError> {
        let mut tx = self.read().await?;
        match selections::read(&mut tx, owner, session).await? {
            Some(stored) => snapshot(&mut tx, owner, stored.selection).await.map(Some),
            None => Ok(None),
        }
    }

    async fn release(
        &self,
        owner: &Owner,
        session: &SessionId,
        generation: &GenerationId,
    ) -> Result<(), StoreError> {
        let mut tx = self.write().await?;
        let release = of_owner(RELEASE, owner).bind(session.as_str()).bind(generation.as_str());
        release.execute(&mut *tx).await?;
        Ok(tx.commit().await?)
    }
}

async fn snapshot(
    tx: &mut Connection,
    owner: &Owner,
    selection: Selection,
) -> Result<Snapshot, StoreError> {
    let preset = match &selection.preset {
        Some(id) => presets::by_id(tx, owner, id.as_str()).await?,
        None => None,
    };
    let character = match &selection.character {
        Some(id) => characters::by_id(tx, owner, id.as_str()).await?,
        None => None,
    };
    let user = match &selection.user {
        Some(id) => users::by_id(tx, owner, id.as_str()).await?,
        None => None,
    };
    let bindings = bindings::of_selection(tx, owner, &selection).await?;
    let rp_policy = defaults::policy(tx, owner).await?.text;
    Ok(Snapshot { selection, preset, character, user, bindings, rp_policy })
}

/// The running guard: nothing changes for a session that is running.
pub(super) fn refuse(part: Part, running: Vec<SessionId>) -> Result<(), WriteError> {
    if running.is_empty() {
        return Ok(());
    }
    Err(WriteError::Running { part, sessions: running })
}

/// All running sessions of the owner.
pub(super) async fn running(
    tx: &mut Connection,
    owner: &Owner,
) -> Result<Vec<SessionId>, StoreError> {
    let now = now(tx).await?;
    sessions(of_owner(RUNNING, owner).bind(now).fetch_all(tx).await?)
}

/// The running sessions that have selected a resource.
pub(super) async fn running_with(
    tx: &mut Connection,
    owner: &Owner,
    kind: Kind,
    id: &str,
) -> Result<Vec<SessionId>, StoreError> {
    let now = now(tx).await?;
    let running = of_owner(names::of(kind).running, owner).bind(now).bind(id.to_owned());
    sessions(running.fetch_all(tx).await?)
}

/// The running sessions that a world takes part in.
pub(super) async fn running_with_world(
    tx: &mut Connection,
    owner: &Owner,
    world: &WorldId,
) -> Result<Vec<SessionId>, StoreError> {
    let now = now(tx).await?;
    let running = of_owner(RUNNING_WITH_WORLD, owner).bind(now).bind(world.as_str());
    sessions(running.fetch_all(tx).await?)
}

/// The running sessions that the worlds of a holder reach.
pub(super) async fn running_for(
    tx: &mut Connection,
    owner: &Owner,
    holder: &Holder,
) -> Result<Vec<SessionId>, StoreError> {
    match holder {
        Holder::Global => running(tx, owner).await,
        Holder::Session(id) => {
            let mut running = running(tx, owner).await?;
            running.retain(|session| session == id);
            Ok(running)
        }
        Holder::User(id) => running_with(tx, owner, Kind::User, id.as_str()).await,
        Holder::Preset(id) => running_with(tx, owner, Kind::Preset, id.as_str()).await,
        Holder::Character(id) => running_with(tx, owner, Kind::Character, id.as_str()).await,
    }
}

/// Sessions as an answer keeps them; an id holds no blank.
pub(super) fn list(sessions: &[SessionId]) -> String {
    sessions.iter().map(SessionId::as_str).collect::<Vec<_>>().join(" ")
}

pub(super) fn listed(sessions: &str) -> Result<Vec<SessionId>, StoreError> {
    let sessions = sessions.split_whitespace().map(SessionId::new);
    sessions.collect::<Result<_, _>>().map_err(|error| inconsistent("answers", error))
}

fn sessions(rows: Vec<Row>) -> Result<Vec<SessionId>, StoreError> {
    rows.iter().map(|row| parsed(row, "leases", "session_id", SessionId::new)).collect()
}

pub(super) async fn now(tx: &mut Connection) -> Result<i64, StoreError> {
    Ok(sqlx::query(NOW).fetch_one(tx).await?.try_get("now")?)
}

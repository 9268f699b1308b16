//! What an owner says for all sessions, and the form in which a selection is kept apart from them.

use async_trait::async_trait;
use kernel::{CharacterId, Owner, PresetId, SessionId, UserId, WorldId};
use loader_core::selection::{Options, Rp, Selection, Worlds};
use serde::{Deserialize, Serialize};
use sqlx::Row as _;

use super::{Backend, Connection, inconsistent, leases, of_owner, resources, selections};
use crate::store::{
    Attempt, Defaults, Done, Kind, OwnerStore, RpPolicy, StoreError, WriteError, etag,
};

const READ: &str = "
    select default_selection
    from owners
    where tenant = $1
        and subject = $2";

const WRITE: &str = "
    update owners
    set default_selection = $3
    where tenant = $1
        and subject = $2";

const READ_POLICY: &str = "
    select rp_policy
    from owners
    where tenant = $1
        and subject = $2";

const WRITE_POLICY: &str = "
    update owners
    set rp_policy = $3
    where tenant = $1
        and subject = $2";

/// A selection without a session.
#[derive(Serialize, Deserialize)]
struct Projection {
    preset: Option<PresetId>,
    character: Option<CharacterId>,
    user: Option<UserId>,
    worlds: Worlds,
    options: Options,
    rp: Rp,
}

#[async_trait]
impl OwnerStore for Backend {
    async fn defaults(&self, owner: &Owner) -> Result<Defaults, StoreError> {
        with_etag(present(&mut *self.read().await?, owner).await?)
    }

    async fn set_defaults(
        &self,
        owner: &Owner,
        selection: &Selection,
        expected: Option<&str>,
        attempt: Option<&Attempt>,
    ) -> Result<Done<Defaults>, WriteError> {
        let (mut write, answered) = self.begin(owner, attempt).await?;
        let new = with_etag(selection.clone())?;
        if answered.is_some() {
            return Ok(Done { value: new, replayed: true });
        }
        let old = with_etag(present(&mut write.tx, owner).await?)?;
        refuse_moved("defaults", expected, &old.etag)?;
        selections::check(&mut write.tx, owner, selection).await?;
        put(&mut write.tx, owner, selection).await?;
        write.done("", new).await
    }

    async fn rp_policy(&self, owner: &Owner) -> Result<RpPolicy, StoreError> {
        policy(&mut *self.read().await?, owner).await
    }

    async fn set_rp_policy(
        &self,
        owner: &Owner,
        text: Option<&str>,
        expected: Option<&str>,
        attempt: Option<&Attempt>,
    ) -> Result<Done<Vec<SessionId>>, WriteError> {
        let (mut write, answered) = self.begin(owner, attempt).await?;
        if let Some(running) = answered {
            return Ok(Done { value: leases::listed(&running)?, replayed: true });
        }
        refuse_moved("rp_policy", expected, &policy(&mut write.tx, owner).await?.etag)?;
        let put = of_owner(WRITE_POLICY, owner).bind(text.map(str::to_owned));
        put.execute(&mut *write.tx).await.map_err(StoreError::from)?;
        let running = in_role_play(&mut write.tx, owner).await?;
        write.done(leases::list(&running), running).await
    }
}

/// The policy as it was set.
pub(super) async fn policy(tx: &mut Connection, owner: &Owner) -> Result<RpPolicy, StoreError> {
    let row = of_owner(READ_POLICY, owner).fetch_optional(tx).await?;
    let text: Option<String> = row.map(|row| row.try_get("rp_policy")).transpose()?.flatten();
    let etag = etag(&text.iter().map(String::as_bytes).collect::<Vec<_>>());
    Ok(RpPolicy { text, etag })
}

/// As it was set; nothing if nobody set any.
async fn read(tx: &mut Connection, owner: &Owner) -> Result<Option<Selection>, StoreError> {
    let row = of_owner(READ, owner).fetch_optional(tx).await?;
    let json: Option<Vec<u8>> =
        row.map(|row| row.try_get("default_selection")).transpose()?.flatten();
    json.map(|json| selection_of(&json, "owners")).transpose()
}

/// The owner's row is there: every write locks it first.
async fn put(tx: &mut Connection, owner: &Owner, selection: &Selection) -> Result<(), StoreError> {
    of_owner(WRITE, owner).bind(json_of(selection)?).execute(tx).await?;
    Ok(())
}

/// What a session takes that nobody gave a selection. A default that is not there counts as none.
pub(super) async fn present(tx: &mut Connection, owner: &Owner) -> Result<Selection, StoreError> {
    let mut selection = read(tx, owner).await?.unwrap_or_default();
    for (kind, id) in selections::named(&selection) {
        if !resources::exists(tx, owner, kind, &id).await? {
            clear(&mut selection, kind);
        }
    }
    Ok(selection)
}

/// Takes a deleted resource out; whether it was there.
pub(super) async fn without(
    tx: &mut Connection,
    owner: &Owner,
    kind: Kind,
    id: &str,
) -> Result<bool, StoreError> {
    let Some(mut selection) = read(tx, owner).await? else { return Ok(false) };
    let named = selections::named(&selection).any(|named| named == (kind, id.to_owned()));
    if named {
        clear(&mut selection, kind);
        put(tx, owner, &selection).await?;
    }
    Ok(named)
}

/// Takes a deleted world out; whether it was there.
pub(super) async fn without_world(
    tx: &mut Connection,
    owner: &Owner,
    world: &WorldId,
) -> Result<bool, StoreError> {
    let Some(mut selection) = read(tx, owner).await? else { return Ok(false) };
    let named = selection.worlds.as_slice().contains(world);
    if named {
        let others = selection.worlds.as_slice().iter().filter(|id| *id != world).cloned();
        selection.worlds = Worlds::new(others).map_err(|error| inconsistent("owners", error))?;
        put(tx, owner, &selection).await?;
    }
    Ok(named)
}

pub(super) fn json_of(selection: &Selection) -> Result<Vec<u8>, StoreError> {
    let Selection { preset, character, user, worlds, options, rp } = selection.clone();
    let projection = Projection { preset, character, user, worlds, options, rp };
    serde_json::to_vec(&projection).map_err(|error| inconsistent("owners", error))
}

pub(super) fn selection_of(json: &[u8], table: &'static str) -> Result<Selection, StoreError> {
    let projection = serde_json::from_slice(json).map_err(|error| inconsistent(table, error))?;
    let Projection { preset, character, user, worlds, options, rp } = projection;
    Ok(Selection { preset, character, user, worlds, options, rp })
}

fn with_etag(selection: Selection) -> Result<Defaults, StoreError> {
    let etag = etag(&[&json_of(&selection)?]);
    Ok(Defaults { selection, etag })
}

fn refuse_moved(
    kind: &'static str,
    expected: Option<&str>,
    present: &str,
) -> Result<(), WriteError> {
    match expected {
        Some(expected) if expected != present => {
            Err(WriteError::EtagMismatch { kind, id: String::new() })
        }
        _ => Ok(()),
    }
}

async fn in_role_play(tx: &mut Connection, owner: &Owner) -> Result<Vec<SessionId>, StoreError> {
    let mut running = Vec::new();
    for session in leases::running(tx, owner).await? {
        let stored = selections::read(tx, owner, &session).await?;
        running.extend(stored.filter(|stored| stored.selection.rp.active).map(|_| session));
    }
    Ok(running)
}

fn clear(selection: &mut Selection, kind: Kind) {
    match kind {
        Kind::Preset => selection.preset = None,
        Kind::Character => selection.character = None,
        Kind::User => selection.user = None,
    }
}

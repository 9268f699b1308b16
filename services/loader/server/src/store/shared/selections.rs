//! What sessions have bound.

use async_trait::async_trait;
use kernel::{CharacterId, Owner, PresetId, SessionId, UserId};
use loader_core::selection::{Bindings, Options, Part, Rp, Selection, Worlds};
use serde::{Deserialize, Serialize};
use sqlx::Row as _;

use super::{
    Backend, Connection, Row, bindings, check_room, defaults, deletions, inconsistent, leases,
    names, number, of_owner, resources, revision,
};
use crate::store::{
    Attempt, Done, Holder, Kind, Origin, SelectionStore, StoreError, StoredSelection, WriteError,
};

const READ: &str = "
    select preset_id, character_id, user_id, rest, revision
    from selections
    where tenant = $1
        and subject = $2
        and session_id = $3";

const INSERT: &str = "
    insert into selections (tenant, subject, session_id, preset_id, character_id, user_id, rest, revision)
    values ($1, $2, $3, $4, $5, $6, $7, 1)";

const UPDATE: &str = "
    update selections
    set preset_id = $4, character_id = $5, user_id = $6, rest = $7, revision = revision + 1
    where tenant = $1
        and subject = $2
        and session_id = $3";

const DELETE: &str = "
    delete from selections
    where tenant = $1
        and subject = $2
        and session_id = $3";

const DELETE_WORLDS: &str = "
    delete from bindings
    where tenant = $1
        and subject = $2
        and holder_kind = 'session'
        and holder_id = $3";

const DELETE_LEASE: &str = "
    delete from leases
    where tenant = $1
        and subject = $2
        and session_id = $3";

const COUNT: &str = "
    select count(*) as count
    from selections
    where tenant = $1
        and subject = $2";

/// The parts of a selection that no relation holds.
#[derive(Serialize, Deserialize)]
struct Rest {
    options: Options,
    rp: Rp,
}

/// A selection that takes the place of another.
struct Change<'a> {
    session: &'a SessionId,
    selection: &'a Selection,
    expected_revision: Option<u64>,
}

#[async_trait]
impl SelectionStore for Backend {
    async fn selection(
        &self,
        owner: &Owner,
        session: &SessionId,
    ) -> Result<Option<StoredSelection>, StoreError> {
        read(&mut *self.read().await?, owner, session).await
    }

    async fn bindings_of(
        &self,
        owner: &Owner,
        selection: &Selection,
    ) -> Result<Bindings, StoreError> {
        bindings::of_selection(&mut *self.read().await?, owner, selection).await
    }

    async fn set_selection(
        &self,
        owner: &Owner,
        session: &SessionId,
        selection: &Selection,
        expected_revision: Option<u64>,
        attempt: Option<&Attempt>,
    ) -> Result<Done<StoredSelection>, WriteError> {
        let (mut write, answered) = self.begin(owner, attempt).await?;
        if let Some(revision) = answered {
            let (selection, revision) = (selection.clone(), number(&revision)?);
            return Ok(Done { value: StoredSelection { selection, revision }, replayed: true });
        }
        let change = Change { session, selection, expected_revision };
        let revision = change.put(&mut write.tx, owner).await?;
        let value = StoredSelection { selection: selection.clone(), revision };
        write.done(revision.to_string(), value).await
    }

    async fn check_selection(
        &self,
        owner: &Owner,
        session: &SessionId,
        selection: &Selection,
        expected_revision: Option<u64>,
    ) -> Result<(), WriteError> {
        let change = Change { session, selection, expected_revision };
        change.check(&mut *self.read().await?, owner).await.map(drop)
    }

    async fn copy_selection(
        &self,
        owner: &Owner,
        from: &SessionId,
        to: &SessionId,
        expected_revision: Option<u64>,
        attempt: Option<&Attempt>,
    ) -> Result<Done<StoredSelection>, WriteError> {
        let (mut write, answered) = self.begin(owner, attempt).await?;
        if answered.is_some() {
            let value = read(&mut write.tx, owner, to).await?.ok_or_else(|| unknown(to))?;
            return Ok(Done { value, replayed: true });
        }
        let source = read(&mut write.tx, owner, from).await?.ok_or_else(|| unknown(from))?;
        let selection = source.selection;
        let change = Change { session: to, selection: &selection, expected_revision };
        let revision = change.put(&mut write.tx, owner).await?;
        write.done(revision.to_string(), StoredSelection { selection, revision }).await
    }

    async fn forget_session(&self, owner: &Owner, session: &SessionId) -> Result<(), WriteError> {
        let (mut write, _) = self.begin(owner, None).await?;
        for sql in [DELETE, DELETE_WORLDS, DELETE_LEASE] {
            let delete = of_owner(sql, owner).bind(session.as_str().to_owned());
            delete.execute(&mut *write.tx).await.map_err(StoreError::from)?;
        }
        Ok(write.commit().await?)
    }

    async fn init_selection(
        &self,
        owner: &Owner,
        session: &SessionId,
        origin: &Origin,
    ) -> Result<Selection, WriteError> {
        let (mut write, _) = self.begin(owner, None).await?;
        let tx = &mut write.tx;
        if let Some(stored) = read(tx, owner, session).await? {
            return Ok(stored.selection);
        }
        let selection = match origin {
            Origin::Given(selection) => {
                check(tx, owner, selection).await?;
                selection.clone()
            }
            Origin::Parent(parent) => match read(tx, owner, parent).await? {
                Some(stored) => stored.selection,
                None => defaults::present(tx, owner).await?,
            },
            Origin::Defaults => defaults::present(tx, owner).await?,
        };
        insert(tx, owner, session, &selection, self.capacity.selections).await?;
        write.commit().await?;
        Ok(selection)
    }
}

// === impl Change ===

impl Change<'_> {
    /// Refuses what is not there, has moved, or runs; what would change, and the present revision.
    async fn check(
        &self,
        tx: &mut Connection,
        owner: &Owner,
    ) -> Result<(Option<Part>, u64), WriteError> {
        let Self { session, selection, expected_revision } = self;
        let old = read(tx, owner, session).await?.ok_or_else(|| unknown(session))?;
        check(tx, owner, selection).await?;
        if expected_revision.is_some_and(|expected| expected != old.revision) {
            return Err(WriteError::EtagMismatch { kind: "selection", id: session.to_string() });
        }
        let part = old.selection.changed_part(selection);
        if let Some(part) = part {
            let this = Holder::Session((*session).clone());
            leases::refuse(part, leases::running_for(tx, owner, &this).await?)?;
        }
        Ok((part, old.revision))
    }

    /// The revision after it.
    async fn put(&self, tx: &mut Connection, owner: &Owner) -> Result<u64, WriteError> {
        let (part, revision) = self.check(tx, owner).await?;
        if part.is_some() {
            put(tx, UPDATE, owner, self.session, self.selection).await?;
        }
        Ok(revision + u64::from(part.is_some()))
    }
}

fn unknown(session: &SessionId) -> WriteError {
    WriteError::NotFound { kind: "session", id: session.to_string() }
}

pub(super) async fn read(
    tx: &mut Connection,
    owner: &Owner,
    session: &SessionId,
) -> Result<Option<StoredSelection>, StoreError> {
    let row = of_owner(READ, owner).bind(session.as_str()).fetch_optional(&mut *tx).await?;
    let Some(row) = row else { return Ok(None) };
    let worlds = bindings::worlds_of(tx, owner, &Holder::Session(session.clone())).await?;
    let worlds = Worlds::new(worlds).map_err(|error| inconsistent("bindings", error))?;
    let stored = stored(&row, worlds).map_err(|error| error.within("session", session.as_str()));
    stored.map(Some)
}

/// The session's selection; a session without one takes the defaults and keeps them.
pub(super) async fn read_or_default(
    tx: &mut Connection,
    owner: &Owner,
    session: &SessionId,
    room: usize,
) -> Result<Selection, WriteError> {
    if let Some(stored) = read(tx, owner, session).await? {
        return Ok(stored.selection);
    }
    let selection = defaults::present(tx, owner).await?;
    insert(tx, owner, session, &selection, room).await?;
    Ok(selection)
}

/// Takes a deleted resource out of every selection; out of how many.
pub(super) async fn clear(
    tx: &mut Connection,
    owner: &Owner,
    kind: Kind,
    id: &str,
) -> Result<u64, StoreError> {
    let clear = of_owner(names::of(kind).clear, owner).bind(id.to_owned());
    Ok(clear.execute(tx).await?.rows_affected())
}

async fn insert(
    tx: &mut Connection,
    owner: &Owner,
    session: &SessionId,
    selection: &Selection,
    room: usize,
) -> Result<(), WriteError> {
    check_room(tx, owner, COUNT, "selections", room).await?;
    Ok(put(tx, INSERT, owner, session, selection).await?)
}

/// Refuses a selection that names what is not there.
pub(super) async fn check(
    tx: &mut Connection,
    owner: &Owner,
    selection: &Selection,
) -> Result<(), WriteError> {
    deletions::check(tx, owner, &selection.worlds).await?;
    for (kind, id) in named(selection) {
        if !resources::exists(tx, owner, kind, &id).await? {
            return Err(resources::gone(kind, &id));
        }
    }
    Ok(())
}

pub(super) fn named(selection: &Selection) -> impl Iterator<Item = (Kind, String)> + use<> {
    let preset = selection.preset.as_ref().map(|id| (Kind::Preset, id.to_string()));
    let character = selection.character.as_ref().map(|id| (Kind::Character, id.to_string()));
    let user = selection.user.as_ref().map(|id| (Kind::User, id.to_string()));
    preset.into_iter().chain(character).chain(user)
}

async fn put(
    tx: &mut Connection,
    sql: &'static str,
    owner: &Owner,
    session: &SessionId,
    selection: &Selection,
) -> Result<(), StoreError> {
    let Selection { preset, character, user, worlds, options, rp } = selection.clone();
    let rest = serde_json::to_vec(&Rest { options, rp })
        .map_err(|error| inconsistent("selections", error))?;
    of_owner(sql, owner)
        .bind(session.as_str())
        .bind(preset.map(String::from))
        .bind(character.map(String::from))
        .bind(user.map(String::from))
        .bind(rest)
        .execute(&mut *tx)
        .await?;
    bindings::replace(tx, owner, &Holder::Session(session.clone()), &worlds).await
}

fn stored(row: &Row, worlds: Worlds) -> Result<StoredSelection, StoreError> {
    fn id<T, E: std::fmt::Display>(
        row: &Row,
        column: &str,
        parse: fn(String) -> Result<T, E>,
    ) -> Result<Option<T>, StoreError> {
        let text: Option<String> = row.try_get(column)?;
        text.map(parse).transpose().map_err(|error| inconsistent("selections", error))
    }
    let rest: Vec<u8> = row.try_get("rest")?;
    let Rest { options, rp } =
        serde_json::from_slice(&rest).map_err(|error| inconsistent("selections", error))?;
    let selection = Selection {
        preset: id(row, "preset_id", PresetId::new)?,
        character: id(row, "character_id", CharacterId::new)?,
        user: id(row, "user_id", UserId::new)?,
        worlds,
        options,
        rp,
    };
    Ok(StoredSelection { selection, revision: revision(row, "selections")? })
}

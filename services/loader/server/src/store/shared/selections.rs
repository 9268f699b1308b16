//! What sessions have bound.

use kernel::{CharacterId, Owner, PresetId, SessionId, Timestamp, UserId};
use loader_core::selection::{Options, Part, Rp, Selection, Worlds};
use serde::{Deserialize, Serialize};
use sqlx::Row as _;

use super::{
    Connection, Row, answer, answered, inconsistent, leases, lock_owner, of_owner, resources,
};
use crate::store::{Attempt, Done, Kind, Origin, StoreError, StoredSelection, WriteError};

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

const CLEAR_PRESET: &str = "
    update selections
    set preset_id = null, revision = revision + 1
    where tenant = $1
        and subject = $2
        and preset_id = $3";

const CLEAR_CHARACTER: &str = "
    update selections
    set character_id = null, revision = revision + 1
    where tenant = $1
        and subject = $2
        and character_id = $3";

const CLEAR_USER: &str = "
    update selections
    set user_id = null, revision = revision + 1
    where tenant = $1
        and subject = $2
        and user_id = $3";

const DEFAULTS: &str = "
    select default_selection
    from owners
    where tenant = $1
        and subject = $2";

/// The parts of a selection that no row points at.
#[derive(Serialize, Deserialize)]
struct Rest {
    worlds: Worlds,
    options: Options,
    rp: Rp,
}

/// A selection as the owner's defaults hold it.
#[derive(Serialize, Deserialize)]
struct Defaults {
    preset: Option<PresetId>,
    character: Option<CharacterId>,
    user: Option<UserId>,
    #[serde(flatten)]
    rest: Rest,
}

pub(super) struct Change<'a> {
    pub session: &'a SessionId,
    pub selection: &'a Selection,
    pub expected_revision: Option<u64>,
}

pub(super) async fn read(
    tx: &mut Connection,
    owner: &Owner,
    session: &SessionId,
) -> Result<Option<StoredSelection>, StoreError> {
    let row = of_owner(READ, owner).bind(session.as_str()).fetch_optional(tx).await?;
    row.map(|row| stored(&row)).transpose()
}

pub(super) async fn set(
    tx: &mut Connection,
    owner: &Owner,
    change: Change<'_>,
    attempt: Option<&Attempt>,
    now: Timestamp,
) -> Result<Done<StoredSelection>, WriteError> {
    let Change { session, selection, expected_revision } = change;
    lock_owner(tx, owner).await?;
    if let Some(revision) = answered(tx, attempt).await? {
        let revision = revision.parse().map_err(|error| inconsistent("answers", error))?;
        let value = StoredSelection { selection: selection.clone(), revision };
        return Ok(Done { value, replayed: true });
    }
    let Some(old) = read(tx, owner, session).await? else {
        return Err(WriteError::NotFound { kind: "session", id: session.to_string() });
    };
    check_resources(tx, owner, selection).await?;
    if expected_revision.is_some_and(|expected| expected != old.revision) {
        return Err(WriteError::EtagMismatch { kind: "selection", id: session.to_string() });
    }
    let part = old.selection.changed_part(selection);
    if let Some(part) = part {
        refuse_running(tx, owner, session, part).await?;
        write(tx, UPDATE, owner, session, selection).await?;
    }
    let revision = old.revision + u64::from(part.is_some());
    answer(tx, attempt, revision.to_string(), now).await?;
    let value = StoredSelection { selection: selection.clone(), revision };
    Ok(Done { value, replayed: false })
}

async fn refuse_running(
    tx: &mut Connection,
    owner: &Owner,
    session: &SessionId,
    part: Part,
) -> Result<(), WriteError> {
    let running = leases::running(tx, owner).await?;
    if running.contains(session) {
        return Err(WriteError::Running { part, sessions: vec![session.clone()] });
    }
    Ok(())
}

pub(super) async fn init(
    tx: &mut Connection,
    owner: &Owner,
    session: &SessionId,
    origin: &Origin,
) -> Result<Selection, WriteError> {
    lock_owner(tx, owner).await?;
    if let Some(stored) = read(tx, owner, session).await? {
        return Ok(stored.selection);
    }
    let selection = match origin {
        Origin::Given(selection) => {
            check_resources(tx, owner, selection).await?;
            selection.clone()
        }
        Origin::Parent(parent) => match read(tx, owner, parent).await? {
            Some(stored) => stored.selection,
            None => defaults(tx, owner).await?,
        },
        Origin::Defaults => defaults(tx, owner).await?,
    };
    write(tx, INSERT, owner, session, &selection).await?;
    Ok(selection)
}

/// The session's selection; a session without one takes the defaults and keeps them.
pub(super) async fn read_or_default(
    tx: &mut Connection,
    owner: &Owner,
    session: &SessionId,
) -> Result<Selection, StoreError> {
    if let Some(stored) = read(tx, owner, session).await? {
        return Ok(stored.selection);
    }
    let selection = defaults(tx, owner).await?;
    write(tx, INSERT, owner, session, &selection).await?;
    Ok(selection)
}

/// Takes a deleted resource out of every selection; out of how many.
pub(super) async fn clear(
    tx: &mut Connection,
    owner: &Owner,
    kind: Kind,
    id: &str,
) -> Result<u64, StoreError> {
    let sql = match kind {
        Kind::Preset => CLEAR_PRESET,
        Kind::Character => CLEAR_CHARACTER,
        Kind::User => CLEAR_USER,
    };
    let cleared = of_owner(sql, owner).bind(id.to_owned()).execute(tx).await?;
    Ok(cleared.rows_affected())
}

/// What a session takes that nobody gave a selection. A default that was deleted since counts as none.
async fn defaults(tx: &mut Connection, owner: &Owner) -> Result<Selection, StoreError> {
    let row = of_owner(DEFAULTS, owner).fetch_optional(&mut *tx).await?;
    let json: Option<Vec<u8>> =
        row.map(|row| row.try_get("default_selection")).transpose()?.flatten();
    let Some(json) = json else { return Ok(Selection::default()) };
    let defaults: Defaults =
        serde_json::from_slice(&json).map_err(|error| inconsistent("owners", error))?;
    let Defaults { preset, character, user, rest: Rest { worlds, options, rp } } = defaults;
    let mut selection = Selection { preset, character, user, worlds, options, rp };
    for (kind, id) in named(&selection) {
        if resources::exists(tx, owner, kind, &id).await? {
            continue;
        }
        match kind {
            Kind::Preset => selection.preset = None,
            Kind::Character => selection.character = None,
            Kind::User => selection.user = None,
        }
    }
    Ok(selection)
}

async fn check_resources(
    tx: &mut Connection,
    owner: &Owner,
    selection: &Selection,
) -> Result<(), WriteError> {
    for (kind, id) in named(selection) {
        if !resources::exists(tx, owner, kind, &id).await? {
            return Err(resources::gone(kind, &id));
        }
    }
    Ok(())
}

fn named(selection: &Selection) -> impl Iterator<Item = (Kind, String)> + use<> {
    let preset = selection.preset.as_ref().map(|id| (Kind::Preset, id.to_string()));
    let character = selection.character.as_ref().map(|id| (Kind::Character, id.to_string()));
    let user = selection.user.as_ref().map(|id| (Kind::User, id.to_string()));
    preset.into_iter().chain(character).chain(user)
}

async fn write(
    tx: &mut Connection,
    sql: &'static str,
    owner: &Owner,
    session: &SessionId,
    selection: &Selection,
) -> Result<(), StoreError> {
    let Selection { preset, character, user, worlds, options, rp } = selection.clone();
    let rest = serde_json::to_vec(&Rest { worlds, options, rp })
        .map_err(|error| inconsistent("selections", error))?;
    of_owner(sql, owner)
        .bind(session.as_str())
        .bind(preset.map(String::from))
        .bind(character.map(String::from))
        .bind(user.map(String::from))
        .bind(rest)
        .execute(tx)
        .await?;
    Ok(())
}

fn stored(row: &Row) -> Result<StoredSelection, StoreError> {
    fn id<T, E: std::fmt::Display>(
        row: &Row,
        column: &str,
        parse: fn(String) -> Result<T, E>,
    ) -> Result<Option<T>, StoreError> {
        let text: Option<String> = row.try_get(column)?;
        text.map(parse).transpose().map_err(|error| inconsistent("selections", error))
    }
    let rest: Vec<u8> = row.try_get("rest")?;
    let Rest { worlds, options, rp } =
        serde_json::from_slice(&rest).map_err(|error| inconsistent("selections", error))?;
    let selection = Selection {
        preset: id(row, "preset_id", PresetId::new)?,
        character: id(row, "character_id", CharacterId::new)?,
        user: id(row, "user_id", UserId::new)?,
        worlds,
        options,
        rp,
    };
    let revision: i64 = row.try_get("revision")?;
    let revision = u64::try_from(revision).map_err(|error| inconsistent("selections", error))?;
    Ok(StoredSelection { selection, revision })
}

//! The verbs of the store; this text is compiled for each database, which says what differs.

use async_trait::async_trait;
use host::idempotency::{self, Answer};
use kernel::{CharacterId, Digest, GenerationId, Owner, PresetId, SessionId, Timestamp, UserId};
use loader_core::selection::{Bindings, Selection, Worlds};
use sqlx::query::Query;

use super::{Backend, Connection, Db, NOW, Row, answers};
use crate::store::{
    Added, After, Attempt, CharacterRow, Done, Holder, Kind, Lease, Origin, PresetRow, Snapshot,
    Store, StoreError, StoredSelection, Summary, UserRow, WriteError,
};

mod bindings;
mod leases;
mod resources;
mod selections;

/// Locks the owner's row until the transaction ends, and makes it if need be.
const LOCK_OWNER: &str = "
    insert into owners (tenant, subject)
    values ($1, $2)
    on conflict (tenant, subject) do update set subject = excluded.subject";

#[async_trait]
impl Store for Backend {
    async fn answered(&self, attempt: &Attempt) -> Result<bool, WriteError> {
        Ok(answered(&mut *self.read().await?, Some(attempt)).await?.is_some())
    }

    async fn add_preset(
        &self,
        owner: &Owner,
        preset: &PresetRow,
        attempt: Option<&Attempt>,
    ) -> Result<Done<Added<PresetRow>>, WriteError> {
        let mut tx = self.write().await?;
        let done = resources::add_preset(&mut tx, owner, preset, attempt, self.clock.now()).await?;
        commit(tx, done).await
    }

    async fn add_character(
        &self,
        owner: &Owner,
        character: &CharacterRow,
        original: Option<&[u8]>,
        attempt: Option<&Attempt>,
    ) -> Result<Done<Added<CharacterRow>>, WriteError> {
        let mut tx = self.write().await?;
        let now = self.clock.now();
        let done =
            resources::add_character(&mut tx, owner, character, original, attempt, now).await?;
        commit(tx, done).await
    }

    async fn add_user(
        &self,
        owner: &Owner,
        user: &UserRow,
        attempt: Option<&Attempt>,
    ) -> Result<Done<UserRow>, WriteError> {
        let mut tx = self.write().await?;
        let done = resources::add_user(&mut tx, owner, user, attempt, self.clock.now()).await?;
        commit(tx, done).await
    }

    async fn preset(&self, owner: &Owner, id: &PresetId) -> Result<Option<PresetRow>, StoreError> {
        resources::preset(&mut *self.read().await?, owner, id).await
    }

    async fn character(
        &self,
        owner: &Owner,
        id: &CharacterId,
    ) -> Result<Option<CharacterRow>, StoreError> {
        resources::character(&mut *self.read().await?, owner, id).await
    }

    async fn user(&self, owner: &Owner, id: &UserId) -> Result<Option<UserRow>, StoreError> {
        resources::user(&mut *self.read().await?, owner, id).await
    }

    async fn character_by_hash(
        &self,
        owner: &Owner,
        hash: &Digest,
    ) -> Result<Option<CharacterRow>, StoreError> {
        resources::character_by_hash(&mut *self.read().await?, owner, hash).await
    }

    async fn list(
        &self,
        owner: &Owner,
        kind: Kind,
        after: &After,
        limit: usize,
    ) -> Result<Vec<Summary>, StoreError> {
        resources::list(&mut *self.read().await?, owner, kind, after, limit).await
    }

    async fn delete(
        &self,
        owner: &Owner,
        kind: Kind,
        id: &str,
        attempt: Option<&Attempt>,
    ) -> Result<Done<u64>, WriteError> {
        let mut tx = self.write().await?;
        let done = resources::delete(&mut tx, owner, kind, id, attempt, self.clock.now()).await?;
        commit(tx, done).await
    }

    async fn selection(
        &self,
        owner: &Owner,
        session: &SessionId,
    ) -> Result<Option<StoredSelection>, StoreError> {
        selections::read(&mut *self.read().await?, owner, session).await
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
        let mut tx = self.write().await?;
        let now = self.clock.now();
        let change = selections::Change { session, selection, expected_revision };
        let done = selections::set(&mut tx, owner, change, attempt, now).await?;
        commit(tx, done).await
    }

    async fn init_selection(
        &self,
        owner: &Owner,
        session: &SessionId,
        origin: &Origin,
    ) -> Result<Selection, WriteError> {
        let mut tx = self.write().await?;
        let selection = selections::init(&mut tx, owner, session, origin).await?;
        commit(tx, selection).await
    }

    async fn bindings(&self, owner: &Owner, holder: &Holder) -> Result<Option<Worlds>, StoreError> {
        bindings::read(&mut *self.read().await?, owner, holder).await
    }

    async fn set_bindings(
        &self,
        owner: &Owner,
        holder: &Holder,
        worlds: &Worlds,
        expected: Option<&str>,
        attempt: Option<&Attempt>,
    ) -> Result<Done<Worlds>, WriteError> {
        let mut tx = self.write().await?;
        let change = bindings::Change { holder, worlds, expected };
        let done = bindings::set(&mut tx, owner, change, attempt, self.clock.now()).await?;
        commit(tx, done).await
    }

    async fn begin_compile(
        &self,
        owner: &Owner,
        session: &SessionId,
        lease: &Lease,
    ) -> Result<Snapshot, StoreError> {
        let mut tx = self.write().await?;
        let snapshot = leases::begin_compile(&mut tx, owner, session, lease).await?;
        commit(tx, snapshot).await
    }

    async fn peek(
        &self,
        owner: &Owner,
        session: &SessionId,
    ) -> Result<Option<Snapshot>, StoreError> {
        let mut tx = self.read().await?;
        match selections::read(&mut tx, owner, session).await? {
            Some(stored) => leases::snapshot(&mut tx, owner, stored.selection).await.map(Some),
            None => Ok(None),
        }
    }

    async fn forget(&self, before: Timestamp) -> Result<u64, StoreError> {
        let mut tx = self.write().await?;
        let forgotten = answers::forget(&mut tx, before).await?;
        commit(tx, forgotten).await
    }

    async fn release(
        &self,
        owner: &Owner,
        session: &SessionId,
        generation: &GenerationId,
    ) -> Result<(), StoreError> {
        let mut tx = self.write().await?;
        leases::release(&mut tx, owner, session, generation).await?;
        commit(tx, ()).await
    }
}

async fn commit<T, E: From<StoreError>>(tx: super::Transaction, value: T) -> Result<T, E> {
    tx.commit().await.map_err(StoreError::from)?;
    Ok(value)
}

/// A statement whose first two arguments are the owner.
fn of_owner(
    sql: &'static str,
    owner: &Owner,
) -> Query<'static, Db, <Db as sqlx::Database>::Arguments> {
    sqlx::query(sql).bind(owner.tenant.as_str().to_owned()).bind(owner.subject.as_str().to_owned())
}

async fn lock_owner(tx: &mut Connection, owner: &Owner) -> Result<(), StoreError> {
    of_owner(LOCK_OWNER, owner).execute(tx).await?;
    Ok(())
}

/// The reference that this attempt was answered with before.
async fn answered(
    tx: &mut Connection,
    attempt: Option<&Attempt>,
) -> Result<Option<String>, WriteError> {
    let Some(attempt) = attempt else { return Ok(None) };
    let stored = answers::find(tx, &attempt.scope).await.map_err(StoreError::from)?;
    let reference = idempotency::decide(stored, &attempt.scope, &attempt.request)?;
    reference
        .map(String::from_utf8)
        .transpose()
        .map_err(|error| inconsistent("answers", error).into())
}

/// Keeps what the attempt is answered with. The owner's row is locked, so nobody can be first.
async fn answer(
    tx: &mut Connection,
    attempt: Option<&Attempt>,
    reference: impl Into<String>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(attempt) = attempt else { return Ok(()) };
    let answer = Answer { request: attempt.request, reference: reference.into().into_bytes() };
    answers::store(tx, &attempt.scope, &answer, now).await?;
    Ok(())
}

fn inconsistent(table: &'static str, problem: impl std::fmt::Display) -> StoreError {
    StoreError::Inconsistent { table, problem: problem.to_string() }
}

/// A text column that holds a valid value.
fn parsed<T, E: std::fmt::Display>(
    row: &Row,
    table: &'static str,
    column: &'static str,
    parse: impl FnOnce(String) -> Result<T, E>,
) -> Result<T, StoreError> {
    use sqlx::Row as _;
    parse(row.try_get(column)?).map_err(|error| inconsistent(table, format!("{column}: {error}")))
}

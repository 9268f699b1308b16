//! The statements, once: both databases take the same texts, so both get the same primitives from them.
//!
//! `Rows` is one open transaction; the verbs compose it and nobody else sees it.

use async_trait::async_trait;
use host::idempotency::{Answer, Scope};
use kernel::{ChangeId, EntryId, Owner, Timestamp, WorldId};
use lorebook_core::{
    Entry, Layer, OverlayAction, World,
    change::{Operation, Pair, Record},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Change, Listed, StoreError};

/// Rows of one statement: 14 values each, below both databases' limits on parameters.
const BATCH: usize = 500;

/// A place that opens transactions.
#[async_trait]
pub(super) trait Backend: Send + Sync + 'static {
    /// For reads that see one instant.
    async fn reading(&self) -> Result<Box<dyn Rows>, StoreError>;

    async fn writing(&self) -> Result<Box<dyn Rows>, StoreError>;
}

/// One open transaction; dropped, it leaves nothing behind.
#[async_trait]
pub(super) trait Rows: Send {
    async fn commit(self: Box<Self>) -> Result<(), StoreError>;

    async fn world(&mut self, owner: &Owner, id: &WorldId) -> Result<Option<Listed>, StoreError>;

    /// The same, held against every other writer until the end of the transaction.
    async fn lock(&mut self, owner: &Owner, id: &WorldId) -> Result<Option<Listed>, StoreError>;

    async fn list(
        &mut self,
        owner: &Owner,
        after: (&str, &str),
        most: i64,
    ) -> Result<Vec<Listed>, StoreError>;

    /// False if the world exists already.
    async fn insert_world(
        &mut self,
        owner: &Owner,
        world: &World,
        now: Timestamp,
    ) -> Result<bool, StoreError>;

    async fn update_world(&mut self, owner: &Owner, world: &World) -> Result<(), StoreError>;

    async fn set_revision(
        &mut self,
        owner: &Owner,
        id: &WorldId,
        revision: u64,
    ) -> Result<(), StoreError>;

    async fn entries(&mut self, owner: &Owner, id: &WorldId) -> Result<Vec<Entry>, StoreError>;

    /// Inserts or overwrites rows in the name of `writer`, whom the database's own guards look at.
    async fn put_entries(
        &mut self,
        owner: &Owner,
        id: &WorldId,
        entries: &[&Entry],
        writer: Writer,
    ) -> Result<(), StoreError>;

    async fn change(
        &mut self,
        owner: &Owner,
        id: &ChangeId,
    ) -> Result<Option<ChangeRow>, StoreError>;

    async fn changes(
        &mut self,
        owner: &Owner,
        world: &WorldId,
        before: i64,
        most: i64,
    ) -> Result<Vec<Change>, StoreError>;

    /// Adds an applied change to the end of its world's History. False if the id is taken.
    async fn insert_change(
        &mut self,
        owner: &Owner,
        world: &WorldId,
        record: &Record,
        request: &[u8],
    ) -> Result<bool, StoreError>;

    /// False if the id is taken.
    async fn insert_closed(
        &mut self,
        owner: &Owner,
        world: &WorldId,
        id: &ChangeId,
    ) -> Result<bool, StoreError>;

    async fn mark_reverted(
        &mut self,
        owner: &Owner,
        id: &ChangeId,
        by: &ChangeId,
    ) -> Result<(), StoreError>;

    async fn answer(&mut self, scope: &Scope) -> Result<Option<Answer>, StoreError>;

    /// False when a concurrent call with the same id was first.
    async fn put_answer(
        &mut self,
        scope: &Scope,
        answer: &Answer,
        now: Timestamp,
    ) -> Result<bool, StoreError>;
}

/// On whose behalf rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writer {
    Import,
    Change,
}

/// What is stored under a change id.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ChangeRow {
    Applied { request: Vec<u8>, change: Box<Change> },
    Closed,
}

pub(super) const WORLD: &str = "\
select w.world_id, w.name, w.enabled, w.dynamic_enabled, w.embedded, w.content_revision, w.version,
    w.settings, w.created_at,
    (
        select count(*) from entries e
        where e.tenant = w.tenant and e.subject = w.subject and e.world_id = w.world_id
    ),
    (
        select count(*) from entries e
        where e.tenant = w.tenant and e.subject = w.subject and e.world_id = w.world_id
            and e.layer = 'dynamic'
    )
from worlds w
where w.tenant = $1 and w.subject = $2";

pub(super) const INSERT_WORLD: &str = "\
insert into worlds (tenant, subject, world_id, name, enabled, dynamic_enabled, embedded,
    content_revision, version, settings, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, 1, $9, $10)
on conflict do nothing";

pub(super) const UPDATE_WORLD: &str = "\
update worlds
set name = $4, enabled = $5, dynamic_enabled = $6, settings = $7, version = version + 1
where tenant = $1 and subject = $2 and world_id = $3";

pub(super) const SET_REVISION: &str = "\
update worlds
set content_revision = $4
where tenant = $1 and subject = $2 and world_id = $3";

pub(super) const ENTRIES: &str = "\
select entry_id, uid, ordinal, layer, overlay_action, supersedes_entry_id, archived, locked,
    entry_revision, body
from entries
where tenant = $1 and subject = $2 and world_id = $3
order by ordinal, entry_id";

pub(super) const PUT_ENTRIES: &str = "\
insert into entries (tenant, subject, world_id, entry_id, uid, ordinal, layer, overlay_action,
    supersedes_entry_id, archived, locked, entry_revision, body, writer) ";

pub(super) const OR_OVERWRITE: &str = "\
 on conflict (tenant, subject, world_id, entry_id)
do update set uid = excluded.uid, ordinal = excluded.ordinal, layer = excluded.layer,
    overlay_action = excluded.overlay_action, supersedes_entry_id = excluded.supersedes_entry_id,
    archived = excluded.archived, locked = excluded.locked,
    entry_revision = excluded.entry_revision, body = excluded.body, writer = excluded.writer";

pub(super) const CHANGE: &str = "\
select world_id, state, request_hash, position, reverted_by, head, rows
from changes
where tenant = $1 and subject = $2 and change_id = $3";

pub(super) const CHANGES: &str = "\
select world_id, position, reverted_by, head
from changes
where tenant = $1 and subject = $2 and world_id = $3 and position < $4
order by position desc
limit $5";

/// The next position is decided under the world's lock.
pub(super) const INSERT_CHANGE: &str = "\
insert into changes (tenant, subject, change_id, world_id, state, request_hash, position, reverted_by,
    head, rows)
select $1, $2, $3, $4, 'applied', $5, coalesce(max(position), 0) + 1, $6, $7, $8
from changes
where tenant = $1 and subject = $2 and world_id = $4
on conflict do nothing";

pub(super) const INSERT_CLOSED: &str = "\
insert into changes (tenant, subject, change_id, world_id, state, request_hash)
values ($1, $2, $3, $4, 'closed', $5)
on conflict do nothing";

pub(super) const MARK_REVERTED: &str = "\
update changes
set reverted_by = $4
where tenant = $1 and subject = $2 and change_id = $3";

pub(super) type WorldTuple = (String, String, bool, bool, bool, i64, i64, Vec<u8>, i64, i64, i64);
pub(super) type EntryTuple =
    (String, i64, i64, String, Option<String>, Option<String>, bool, bool, i64, Vec<u8>);
pub(super) type ChangeTuple =
    (String, String, Vec<u8>, Option<i64>, Option<String>, Option<Vec<u8>>, Option<Vec<u8>>);
pub(super) type HeadTuple = (String, i64, Option<String>, Vec<u8>);

/// The part of a record that lists leave out.
#[derive(Serialize, Deserialize)]
struct RecordRows {
    operations: Vec<Operation>,
    pairs: Vec<Pair>,
}

pub(super) fn listed(row: WorldTuple) -> Result<Listed, StoreError> {
    let (
        id,
        name,
        enabled,
        dynamic_enabled,
        embedded,
        revision,
        version,
        settings,
        at,
        all,
        dynamic,
    ) = row;
    let world = World {
        id: stored_id(WorldId::new(&id))?,
        name,
        enabled,
        dynamic_enabled,
        embedded,
        content_revision: unsigned(revision),
        settings: read_json("world", &id, &settings)?,
    };
    Ok(Listed {
        world,
        version: unsigned(version),
        entries: u32::try_from(all).unwrap_or(u32::MAX),
        dynamic_entries: u32::try_from(dynamic).unwrap_or(u32::MAX),
        created_at: Timestamp::from_micros(at),
    })
}

pub(super) fn entry(row: EntryTuple) -> Result<Entry, StoreError> {
    let (id, uid, ordinal, layer, action, supersedes, archived, locked, revision, body) = row;
    Ok(Entry {
        uid,
        ordinal,
        layer: if layer == Layer::Dynamic.name() { Layer::Dynamic } else { Layer::Authored },
        overlay_action: action.as_deref().and_then(OverlayAction::from_name),
        supersedes_entry_id: supersedes.map(|id| stored_id(EntryId::new(id))).transpose()?,
        archived,
        locked,
        entry_revision: unsigned(revision),
        body: read_json("entry", &id, &body)?,
        id: stored_id(EntryId::new(&id))?,
    })
}

pub(super) fn change_row(id: &ChangeId, row: ChangeTuple) -> Result<ChangeRow, StoreError> {
    let (world, state, request, position, reverted_by, head, rows) = row;
    let (Some(position), Some(head), "applied") = (position, head, state.as_str()) else {
        return Ok(ChangeRow::Closed);
    };
    let mut change = change_head((world, position, reverted_by, head))?;
    if let Some(rows) = rows {
        let RecordRows { operations, pairs } = read_json("change", id.as_str(), &rows)?;
        change.record.operations = operations;
        change.record.pairs = pairs;
    }
    Ok(ChangeRow::Applied { request, change: Box::new(change) })
}

pub(super) fn change_head(row: HeadTuple) -> Result<Change, StoreError> {
    let (world, position, reverted_by, head) = row;
    let mut record: Record = read_json("change of world", &world, &head)?;
    record.reverted_by = reverted_by.map(|id| stored_id(ChangeId::new(id))).transpose()?;
    Ok(Change { world: stored_id(WorldId::new(world))?, position, record })
}

/// A record as its two stored parts.
pub(super) fn record_parts(record: &Record) -> Result<(Vec<u8>, Vec<u8>), StoreError> {
    let head = Record { operations: Vec::new(), pairs: Vec::new(), ..record.clone() };
    let rows = RecordRows { operations: record.operations.clone(), pairs: record.pairs.clone() };
    Ok((write_json(&head)?, write_json(&rows)?))
}

pub(super) fn write_json<T: Serialize>(value: &T) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(value).map_err(|why| sqlx::Error::Encode(why.into()).into())
}

fn read_json<T: DeserializeOwned>(
    kind: &'static str,
    id: &str,
    bytes: &[u8],
) -> Result<T, StoreError> {
    let unreadable = |source| StoreError::Unreadable { kind, id: id.to_owned(), source };
    serde_json::from_slice(bytes).map_err(unreadable)
}

fn stored_id<T>(id: Result<T, kernel::InvalidId>) -> Result<T, StoreError> {
    id.map_err(|why| sqlx::Error::Decode(why.into()).into())
}

pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn batches<'e>(entries: &'e [&'e Entry]) -> impl Iterator<Item = &'e [&'e Entry]> {
    entries.chunks(BATCH)
}

/// Gives one database's transaction the primitives above.
macro_rules! rows {
    ($rows:ty, $database:ty, $answers:path, $lock:literal) => {
        #[async_trait::async_trait]
        impl $crate::store::rows::Rows for $rows {
            async fn commit(self: Box<Self>) -> Result<(), StoreError> {
                Ok(self.0.commit().await?)
            }

            async fn world(
                &mut self,
                owner: &Owner,
                id: &WorldId,
            ) -> Result<Option<Listed>, StoreError> {
                let text = format!("{}\n    and w.world_id = $3", rows::WORLD);
                self.one_world(text, owner, id).await
            }

            async fn lock(
                &mut self,
                owner: &Owner,
                id: &WorldId,
            ) -> Result<Option<Listed>, StoreError> {
                let text = format!("{}\n    and w.world_id = $3\n{}", rows::WORLD, $lock);
                self.one_world(text, owner, id).await
            }

            async fn list(
                &mut self,
                owner: &Owner,
                (name, id): (&str, &str),
                most: i64,
            ) -> Result<Vec<Listed>, StoreError> {
                let text = format!(
                    "{}\n    and w.embedded = $3 and (w.name, w.world_id) > ($4, $5)\n\
                    order by w.name, w.world_id\nlimit $6",
                    rows::WORLD
                );
                let found: Vec<rows::WorldTuple> = sqlx::query_as(sqlx::AssertSqlSafe(text))
                    .bind(owner.tenant.as_str())
                    .bind(owner.subject.as_str())
                    .bind(false)
                    .bind(name)
                    .bind(id)
                    .bind(most)
                    .fetch_all(&mut *self.0)
                    .await?;
                found.into_iter().map(rows::listed).collect()
            }

            async fn insert_world(
                &mut self,
                owner: &Owner,
                world: &World,
                now: Timestamp,
            ) -> Result<bool, StoreError> {
                let inserted = sqlx::query(rows::INSERT_WORLD)
                    .bind(owner.tenant.as_str())
                    .bind(owner.subject.as_str())
                    .bind(world.id.as_str())
                    .bind(world.name.as_str())
                    .bind(world.enabled)
                    .bind(world.dynamic_enabled)
                    .bind(world.embedded)
                    .bind(rows::signed(world.content_revision))
                    .bind(rows::write_json(&world.settings)?)
                    .bind(now.micros())
                    .execute(&mut *self.0)
                    .await?;
                Ok(inserted.rows_affected() == 1)
            }

            async fn update_world(
                &mut self,
                owner: &Owner,
                world: &World,
            ) -> Result<(), StoreError> {
                sqlx::query(rows::UPDATE_WORLD)
                    .bind(owner.tenant.as_str())
                    .bind(owner.subject.as_str())
                    .bind(world.id.as_str())
                    .bind(world.name.as_str())
                    .bind(world.enabled)
                    .bind(world.dynamic_enabled)
                    .bind(rows::write_json(&world.settings)?)
                    .execute(&mut *self.0)
                    .await?;
                Ok(())
            }

            async fn set_revision(
                &mut self,
                owner: &Owner,
                id: &WorldId,
                revision: u64,
            ) -> Result<(), StoreError> {
                sqlx::query(rows::SET_REVISION)
                    .bind(owner.tenant.as_str())
                    .bind(owner.subject.as_str())
                    .bind(id.as_str())
                    .bind(rows::signed(revision))
                    .execute(&mut *self.0)
                    .await?;
                Ok(())
            }

            async fn entries(
                &mut self,
                owner: &Owner,
                id: &WorldId,
            ) -> Result<Vec<Entry>, StoreError> {
                let found: Vec<rows::EntryTuple> = sqlx::query_as(rows::ENTRIES)
                    .bind(owner.tenant.as_str())
                    .bind(owner.subject.as_str())
                    .bind(id.as_str())
                    .fetch_all(&mut *self.0)
                    .await?;
                found.into_iter().map(rows::entry).collect()
            }

            async fn put_entries(
                &mut self,
                owner: &Owner,
                id: &WorldId,
                entries: &[&Entry],
                writer: Writer,
            ) -> Result<(), StoreError> {
                for batch in rows::batches(entries) {
                    let bodies: Vec<Vec<u8>> = batch
                        .iter()
                        .map(|entry| rows::write_json(&entry.body))
                        .collect::<Result<_, _>>()?;
                    let mut query = sqlx::QueryBuilder::<$database>::new(rows::PUT_ENTRIES);
                    query.push_values(batch.iter().zip(bodies), |mut row, (entry, body)| {
                        row.push_bind(owner.tenant.as_str())
                            .push_bind(owner.subject.as_str())
                            .push_bind(id.as_str())
                            .push_bind(entry.id.as_str())
                            .push_bind(entry.uid)
                            .push_bind(entry.ordinal)
                            .push_bind(entry.layer.name())
                            .push_bind(entry.overlay_action.map(|action| action.name()))
                            .push_bind(entry.supersedes_entry_id.as_ref().map(|id| id.as_str()))
                            .push_bind(entry.archived)
                            .push_bind(entry.locked)
                            .push_bind(rows::signed(entry.entry_revision))
                            .push_bind(body)
                            .push_bind(writer.name());
                    });
                    query.push(rows::OR_OVERWRITE);
                    query.build().execute(&mut *self.0).await?;
                }
                Ok(())
            }

            async fn change(
                &mut self,
                owner: &Owner,
                id: &ChangeId,
            ) -> Result<Option<ChangeRow>, StoreError> {
                let found: Option<rows::ChangeTuple> = sqlx::query_as(rows::CHANGE)
                    .bind(owner.tenant.as_str())
                    .bind(owner.subject.as_str())
                    .bind(id.as_str())
                    .fetch_optional(&mut *self.0)
                    .await?;
                found.map(|row| rows::change_row(id, row)).transpose()
            }

            async fn changes(
                &mut self,
                owner: &Owner,
                world: &WorldId,
                before: i64,
                most: i64,
            ) -> Result<Vec<Change>, StoreError> {
                let found: Vec<rows::HeadTuple> = sqlx::query_as(rows::CHANGES)
                    .bind(owner.tenant.as_str())
                    .bind(owner.subject.as_str())
                    .bind(world.as_str())
                    .bind(before)
                    .bind(most)
                    .fetch_all(&mut *self.0)
                    .await?;
                found.into_iter().map(rows::change_head).collect()
            }

            async fn insert_change(
                &mut self,
                owner: &Owner,
                world: &WorldId,
                record: &Record,
                request: &[u8],
            ) -> Result<bool, StoreError> {
                let (head, rows) = rows::record_parts(record)?;
                let inserted = sqlx::query(rows::INSERT_CHANGE)
                    .bind(owner.tenant.as_str())
                    .bind(owner.subject.as_str())
                    .bind(record.id.as_str())
                    .bind(world.as_str())
                    .bind(request)
                    .bind(record.reverted_by.as_ref().map(|id| id.as_str()))
                    .bind(head)
                    .bind(rows)
                    .execute(&mut *self.0)
                    .await?;
                Ok(inserted.rows_affected() == 1)
            }

            async fn insert_closed(
                &mut self,
                owner: &Owner,
                world: &WorldId,
                id: &ChangeId,
            ) -> Result<bool, StoreError> {
                let inserted = sqlx::query(rows::INSERT_CLOSED)
                    .bind(owner.tenant.as_str())
                    .bind(owner.subject.as_str())
                    .bind(id.as_str())
                    .bind(world.as_str())
                    .bind(Vec::<u8>::new())
                    .execute(&mut *self.0)
                    .await?;
                Ok(inserted.rows_affected() == 1)
            }

            async fn mark_reverted(
                &mut self,
                owner: &Owner,
                id: &ChangeId,
                by: &ChangeId,
            ) -> Result<(), StoreError> {
                sqlx::query(rows::MARK_REVERTED)
                    .bind(owner.tenant.as_str())
                    .bind(owner.subject.as_str())
                    .bind(id.as_str())
                    .bind(by.as_str())
                    .execute(&mut *self.0)
                    .await?;
                Ok(())
            }

            async fn answer(&mut self, scope: &Scope) -> Result<Option<Answer>, StoreError> {
                use $answers as answers;
                Ok(answers::find(&mut self.0, scope).await?)
            }

            async fn put_answer(
                &mut self,
                scope: &Scope,
                answer: &Answer,
                now: Timestamp,
            ) -> Result<bool, StoreError> {
                use $answers as answers;
                Ok(answers::store(&mut self.0, scope, answer, now).await?)
            }
        }

        impl $rows {
            async fn one_world(
                &mut self,
                text: String,
                owner: &Owner,
                id: &WorldId,
            ) -> Result<Option<Listed>, StoreError> {
                let found: Option<rows::WorldTuple> = sqlx::query_as(sqlx::AssertSqlSafe(text))
                    .bind(owner.tenant.as_str())
                    .bind(owner.subject.as_str())
                    .bind(id.as_str())
                    .fetch_optional(&mut *self.0)
                    .await?;
                found.map(rows::listed).transpose()
            }
        }
    };
}

pub(super) use rows;

// === impl Writer ===

impl Writer {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Import => "import",
            Self::Change => "change",
        }
    }
}

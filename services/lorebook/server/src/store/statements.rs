//! The statements: one text each, which both databases take, beside what its rows are read as.

pub(in crate::store) const WORLD: &str = "\
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

pub(in crate::store) const INSERT_WORLD: &str = "\
insert into worlds (tenant, subject, world_id, name, enabled, dynamic_enabled, embedded,
    content_revision, version, settings, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, 1, $9, $10)
on conflict do nothing";

pub(in crate::store) const UPDATE_WORLD: &str = "\
update worlds
set name = $4, enabled = $5, dynamic_enabled = $6, settings = $7, version = version + 1
where tenant = $1 and subject = $2 and world_id = $3";

pub(in crate::store) const SET_REVISION: &str = "\
update worlds
set content_revision = $4
where tenant = $1 and subject = $2 and world_id = $3";

pub(in crate::store) const ENTRIES: &str = "\
select entry_id, uid, ordinal, layer, overlay_action, supersedes_entry_id, archived, locked,
    entry_revision, body
from entries
where tenant = $1 and subject = $2 and world_id = $3
order by ordinal, entry_id";

pub(in crate::store) const PUT_ENTRIES: &str = "\
insert into entries (tenant, subject, world_id, entry_id, uid, ordinal, layer, overlay_action,
    supersedes_entry_id, archived, locked, entry_revision, body, writer) ";

pub(in crate::store) const OR_OVERWRITE: &str = "\
 on conflict (tenant, subject, world_id, entry_id)
do update set uid = excluded.uid, ordinal = excluded.ordinal, layer = excluded.layer,
    overlay_action = excluded.overlay_action, supersedes_entry_id = excluded.supersedes_entry_id,
    archived = excluded.archived, locked = excluded.locked,
    entry_revision = excluded.entry_revision, body = excluded.body, writer = excluded.writer,
    writes = entries.writes + 1";

/// The mark by which the database knows that its user deletes the row.
pub(in crate::store) const MARK_DELETED: &str = "\
update entries
set writer = 'user_delete', writes = writes + 1
where tenant = $1 and subject = $2 and world_id = $3 and entry_id = $4";

pub(in crate::store) const DELETE_ENTRY: &str = "\
delete from entries
where tenant = $1 and subject = $2 and world_id = $3 and entry_id = $4";

pub(in crate::store) const DELETE_WORLD: &str = "\
delete from worlds
where tenant = $1 and subject = $2 and world_id = $3";

pub(in crate::store) const DELETE_HISTORY: &str = "\
delete from changes
where tenant = $1 and subject = $2 and world_id = $3";

pub(in crate::store) const CHANGE: &str = "\
select world_id, state, request_hash, position, reverted_by, head, rows
from changes
where tenant = $1 and subject = $2 and change_id = $3";

pub(in crate::store) const CHANGES: &str = "\
select world_id, position, reverted_by, head
from changes
where tenant = $1 and subject = $2 and world_id = $3 and position < $4
order by position desc
limit $5";

pub(in crate::store) const HISTORY: &str = "\
select world_id, position, reverted_by, head, rows
from changes
where tenant = $1 and subject = $2 and world_id = $3 and position is not null
order by position";

/// The next position is decided under the world's lock.
pub(in crate::store) const INSERT_CHANGE: &str = "\
insert into changes (tenant, subject, change_id, world_id, state, request_hash, position, reverted_by,
    head, rows)
select $1, $2, $3, $4, 'applied', $5, coalesce(max(position), 0) + 1, $6, $7, $8
from changes
where tenant = $1 and subject = $2 and world_id = $4
on conflict do nothing";

pub(in crate::store) const INSERT_CLOSED: &str = "\
insert into changes (tenant, subject, change_id, world_id, state, request_hash)
values ($1, $2, $3, $4, 'closed', $5)
on conflict do nothing";

pub(in crate::store) const MARK_REVERTED: &str = "\
update changes
set reverted_by = $4
where tenant = $1 and subject = $2 and change_id = $3";

pub(in crate::store) type WorldTuple =
    (String, String, bool, bool, bool, i64, i64, Vec<u8>, i64, i64, i64);
pub(in crate::store) type EntryTuple =
    (String, i64, i64, String, Option<String>, Option<String>, bool, bool, i64, Vec<u8>);
pub(in crate::store) type ChangeTuple =
    (String, String, Vec<u8>, Option<i64>, Option<String>, Option<Vec<u8>>, Option<Vec<u8>>);
pub(in crate::store) type HeadTuple = (String, i64, Option<String>, Vec<u8>);
pub(in crate::store) type RecordTuple = (String, i64, Option<String>, Vec<u8>, Vec<u8>);

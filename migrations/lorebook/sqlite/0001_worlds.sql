-- Worlds, their entries in two layers, their History. Tenant and subject lead every key.

create table worlds (
    tenant text not null,
    subject text not null,
    world_id text not null,
    name text not null,
    enabled integer not null,
    dynamic_enabled integer not null,
    embedded integer not null,
    content_revision integer not null,
    -- Moves with every write to this row; the etag.
    version integer not null,
    -- JSON: the scan settings, and what the file says beyond them.
    settings blob not null,
    created_at integer not null,
    primary key (tenant, subject, world_id)
) strict, without rowid;

create index worlds_by_name on worlds (tenant, subject, embedded, name, world_id);

create table entries (
    tenant text not null,
    subject text not null,
    world_id text not null,
    entry_id text not null,
    uid integer not null,
    ordinal integer not null,
    layer text not null check (layer in ('authored', 'dynamic')),
    overlay_action text check (overlay_action in ('add', 'replace', 'suppress')),
    supersedes_entry_id text,
    archived integer not null,
    locked integer not null,
    entry_revision integer not null,
    -- JSON: the fields of the file format.
    body blob not null,
    -- Who wrote the row last: what the guards below look at.
    writer text not null check (writer in ('user', 'user_delete', 'import', 'change')),
    primary key (tenant, subject, world_id, entry_id),
    foreign key (tenant, subject, world_id) references worlds on delete cascade,
    check ((layer = 'dynamic') = (overlay_action is not null))
) strict;

create index entries_in_order on entries (tenant, subject, world_id, ordinal, entry_id);
create index entries_over on entries (tenant, subject, world_id, supersedes_entry_id)
where supersedes_entry_id is not null;

-- No change may write an authored row, whatever code asks for it.
create trigger entries_authored_insert before insert on entries
when new.writer = 'change' and new.layer = 'authored'
begin
    select raise(abort, 'authored_row: a change may not insert an authored entry');
end;

create trigger entries_authored_update before update on entries
when new.writer = 'change' and (old.layer = 'authored' or new.layer = 'authored')
begin
    select raise(abort, 'authored_row: a change may not write an authored entry');
end;

create trigger entries_authored_delete before delete on entries
when old.layer = 'authored' and old.writer <> 'user_delete'
    and exists (
        select 1 from worlds
        where tenant = old.tenant and subject = old.subject and world_id = old.world_id
    )
begin
    select raise(abort, 'authored_row: only its user may delete an authored entry');
end;

-- Dynamic rows come from changes, and from the restore of a backup.
create trigger entries_dynamic_insert before insert on entries
when new.layer = 'dynamic' and new.writer not in ('change', 'import')
    -- An upsert over a row that is there is an update.
    and not exists (
        select 1 from entries
        where tenant = new.tenant and subject = new.subject and world_id = new.world_id
            and entry_id = new.entry_id
    )
begin
    select raise(abort, 'authored_row: a dynamic entry comes from a change or a backup');
end;

create trigger entries_layer before update of layer on entries
when new.layer <> old.layer
begin
    select raise(abort, 'authored_row: an entry never changes its layer');
end;

-- An overlay outlives what it lay over.
create trigger entries_orphan after delete on entries
when old.layer = 'authored'
begin
    update entries set supersedes_entry_id = null
    where tenant = old.tenant and subject = old.subject and world_id = old.world_id
        and supersedes_entry_id = old.entry_id;
end;

create table changes (
    tenant text not null,
    subject text not null,
    change_id text not null,
    world_id text not null,
    -- `applied`, or `closed`: it will never apply.
    state text not null check (state in ('applied', 'closed')),
    -- Of what was asked for: the same id with another hash is refused.
    request_hash blob not null,
    -- Counts a world's applied changes from 1; null when closed.
    position integer,
    reverted_by text,
    -- JSON: the record without its rows.
    head blob,
    -- JSON: operations and rows before and after.
    rows blob,
    primary key (tenant, subject, change_id)
) strict, without rowid;

create unique index changes_in_order on changes (tenant, subject, world_id, position)
where position is not null;

-- Answers to repeated requests.
create table answers (
    tenant text not null,
    subject text not null,
    method text not null,
    request_id text not null,
    request blob not null,
    reference blob not null,
    answered_at integer not null,
    primary key (tenant, subject, method, request_id)
) without rowid;
create index answers_by_age on answers (answered_at);

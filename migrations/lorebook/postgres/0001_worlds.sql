-- Worlds, their entries in two layers, their History. Tenant and subject lead every key.

create table worlds (
    tenant text collate "C" not null,
    subject text collate "C" not null,
    world_id text collate "C" not null,
    name text collate "C" not null,
    enabled boolean not null,
    dynamic_enabled boolean not null,
    embedded boolean not null,
    content_revision bigint not null,
    -- Moves with every write to this row; the etag.
    version bigint not null,
    -- JSON: the scan settings, and what the file says beyond them.
    settings bytea not null,
    created_at bigint not null,
    primary key (tenant, subject, world_id)
);

create index worlds_by_name on worlds (tenant, subject, embedded, name, world_id);

create table entries (
    tenant text collate "C" not null,
    subject text collate "C" not null,
    world_id text collate "C" not null,
    entry_id text collate "C" not null,
    uid bigint not null,
    ordinal bigint not null,
    layer text collate "C" not null check (layer in ('authored', 'dynamic')),
    overlay_action text collate "C" check (overlay_action in ('add', 'replace', 'suppress')),
    supersedes_entry_id text collate "C",
    archived boolean not null,
    locked boolean not null,
    entry_revision bigint not null,
    -- JSON: the fields of the file format.
    body bytea not null,
    -- Who wrote the row last: what the guards below look at.
    writer text collate "C" not null check (writer in ('user', 'user_delete', 'import', 'change')),
    primary key (tenant, subject, world_id, entry_id),
    foreign key (tenant, subject, world_id) references worlds on delete cascade,
    check ((layer = 'dynamic') = (overlay_action is not null))
);

create index entries_in_order on entries (tenant, subject, world_id, ordinal, entry_id);
create index entries_over on entries (tenant, subject, world_id, supersedes_entry_id)
where supersedes_entry_id is not null;

-- No change may write an authored row, whatever code asks for it.
create function guard_entry() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' then
        if old.layer = 'authored' and old.writer <> 'user_delete'
            and exists (
                select 1 from worlds
                where tenant = old.tenant and subject = old.subject and world_id = old.world_id
            )
        then
            raise exception 'authored_row: only its user may delete an authored entry';
        end if;
        return old;
    end if;
    if new.writer = 'change' and new.layer = 'authored' then
        raise exception 'authored_row: a change may not write an authored entry';
    end if;
    if tg_op = 'UPDATE' and new.layer <> old.layer then
        raise exception 'authored_row: an entry never changes its layer';
    end if;
    -- Dynamic rows come from changes, and from the restore of a backup.
    if tg_op = 'INSERT' and new.layer = 'dynamic' and new.writer not in ('change', 'import')
        -- An upsert over a row that is there is an update.
        and not exists (
            select 1 from entries
            where tenant = new.tenant and subject = new.subject and world_id = new.world_id
                and entry_id = new.entry_id
        )
    then
        raise exception 'authored_row: a dynamic entry comes from a change or a backup';
    end if;
    return new;
end
$$;

create trigger entries_guard before insert or update or delete on entries
for each row execute function guard_entry();

-- An overlay outlives what it lay over.
create function orphan_overlays() returns trigger language plpgsql as $$
begin
    update entries set supersedes_entry_id = null
    where tenant = old.tenant and subject = old.subject and world_id = old.world_id
        and supersedes_entry_id = old.entry_id;
    return null;
end
$$;

create trigger entries_orphan after delete on entries
for each row when (old.layer = 'authored') execute function orphan_overlays();

create table changes (
    tenant text collate "C" not null,
    subject text collate "C" not null,
    change_id text collate "C" not null,
    world_id text collate "C" not null,
    -- `applied`, or `closed`: it will never apply.
    state text collate "C" not null check (state in ('applied', 'closed')),
    -- Of what was asked for: the same id with another hash is refused.
    request_hash bytea not null,
    -- Counts a world's applied changes from 1; null when closed.
    position bigint,
    reverted_by text collate "C",
    -- JSON: the record without its rows.
    head bytea,
    -- JSON: operations and rows before and after.
    rows bytea,
    primary key (tenant, subject, change_id)
);

create unique index changes_in_order on changes (tenant, subject, world_id, position)
where position is not null;

-- Answers to repeated requests.
create table answers (
    tenant text collate "C" not null,
    subject text collate "C" not null,
    method text collate "C" not null,
    request_id text collate "C" not null,
    request bytea not null,
    reference bytea not null,
    answered_at bigint not null,
    primary key (tenant, subject, method, request_id)
);
create index answers_by_age on answers (answered_at);

-- Worlds whose deletion is decided: nothing points at them any more, and nothing may again.
create table world_deletions (
    tenant text not null,
    subject text not null,
    world_id text not null,
    requested_at integer not null,
    -- null: the lorebook may still hold it
    finished_at integer,
    primary key (tenant, subject, world_id)
) without rowid;

create index world_deletions_pending on world_deletions (requested_at) where finished_at is null;

-- Worlds whose deletion is decided: nothing points at them any more, and nothing may again.
create table world_deletions (
    tenant text collate "C" not null,
    subject text collate "C" not null,
    world_id text collate "C" not null,
    requested_at bigint not null,
    -- null: the lorebook may still hold it
    finished_at bigint,
    primary key (tenant, subject, world_id)
);

create index world_deletions_pending on world_deletions (requested_at) where finished_at is null;

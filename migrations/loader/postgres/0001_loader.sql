-- The loader: what people brought, what their sessions have bound, and which sessions are running.

-- one row per owner: lease and guard transactions lock it first, so that neither misses the other
create table owners (
    tenant text collate "C" not null,
    subject text collate "C" not null,
    -- the selection of a session that nobody gave one (JSON); null: nothing is selected
    default_selection bytea,
    -- null: the shipped text
    rp_policy text collate "C",
    primary key (tenant, subject)
);

create table presets (
    tenant text collate "C" not null,
    subject text collate "C" not null,
    preset_id text collate "C" not null,
    -- at most 200 characters
    name text collate "C" not null,
    -- of the imported bytes, or of the document once it was edited
    hash text collate "C" not null,
    -- the JSON as imported or edited
    document bytea not null,
    revision bigint not null,
    created_at bigint not null,
    primary key (tenant, subject, preset_id)
);

-- what was edited is not what was imported any more
create unique index presets_by_hash on presets (tenant, subject, hash) where revision = 1;
create index presets_by_name on presets (tenant, subject, name, preset_id);

create table characters (
    tenant text collate "C" not null,
    subject text collate "C" not null,
    character_id text collate "C" not null,
    name text collate "C" not null,
    hash text collate "C" not null,
    -- v1 | v2 | v3 | pygmalion
    spec text collate "C" not null,
    -- json | png | charx
    container text collate "C" not null,
    -- the card's JSON exactly as the file holds it, or as edited
    document bytea not null,
    -- the whole file, where the card came inside another
    original bytea,
    -- the running copy of the card's book, in the lorebook
    embedded_world_id text collate "C",
    revision bigint not null,
    created_at bigint not null,
    primary key (tenant, subject, character_id)
);

create unique index characters_by_hash on characters (tenant, subject, hash) where revision = 1;
create index characters_by_name on characters (tenant, subject, name, character_id);

create table users (
    tenant text collate "C" not null,
    subject text collate "C" not null,
    user_id text collate "C" not null,
    name text collate "C" not null,
    -- UTF-8
    description bytea not null,
    revision bigint not null,
    created_at bigint not null,
    primary key (tenant, subject, user_id)
);

create index users_by_name on users (tenant, subject, name, user_id);

create table selections (
    tenant text collate "C" not null,
    subject text collate "C" not null,
    session_id text collate "C" not null,
    preset_id text collate "C",
    character_id text collate "C",
    user_id text collate "C",
    -- options and role-play (JSON); its worlds are bindings
    rest bytea not null,
    revision bigint not null,
    primary key (tenant, subject, session_id)
);

create index selections_by_preset on selections (tenant, subject, preset_id);
create index selections_by_character on selections (tenant, subject, character_id);
create index selections_by_user on selections (tenant, subject, user_id);

create table bindings (
    tenant text collate "C" not null,
    subject text collate "C" not null,
    -- session | user | preset | character | global
    holder_kind text collate "C" not null,
    -- empty for global
    holder_id text collate "C" not null,
    place bigint not null,
    world_id text collate "C" not null,
    primary key (tenant, subject, holder_kind, holder_id, place)
);

create index bindings_by_world on bindings (tenant, subject, world_id);

-- a session is running while its lease lasts
create table leases (
    tenant text collate "C" not null,
    subject text collate "C" not null,
    session_id text collate "C" not null,
    generation_id text collate "C" not null,
    -- by the database's clock, microseconds since 1970
    expires_at bigint not null,
    primary key (tenant, subject, session_id)
);

-- what retried requests are answered with
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

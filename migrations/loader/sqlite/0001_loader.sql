-- The loader: what people brought, what their sessions have bound, and which sessions are running.

-- one row per owner: lease and guard transactions lock it first, so that neither misses the other
create table owners (
    tenant text not null,
    subject text not null,
    -- the selection of a session that nobody gave one (JSON); null: nothing is selected
    default_selection blob,
    -- null: the shipped text
    rp_policy text,
    primary key (tenant, subject)
) without rowid;

create table presets (
    tenant text not null,
    subject text not null,
    preset_id text not null,
    -- at most 200 characters
    name text not null,
    -- of the imported bytes, or of the document once it was edited
    hash text not null,
    -- the JSON as imported or edited
    document blob not null,
    revision integer not null,
    created_at integer not null,
    primary key (tenant, subject, preset_id)
);

-- what was edited is not what was imported any more
create unique index presets_by_hash on presets (tenant, subject, hash) where revision = 1;
create index presets_by_name on presets (tenant, subject, name, preset_id);

create table characters (
    tenant text not null,
    subject text not null,
    character_id text not null,
    name text not null,
    hash text not null,
    -- v1 | v2 | v3 | pygmalion
    spec text not null,
    -- json | png | charx
    container text not null,
    -- the card's JSON exactly as the file holds it, or as edited
    document blob not null,
    -- the whole file, where the card came inside another
    original blob,
    -- the running copy of the card's book, in the lorebook
    embedded_world_id text,
    revision integer not null,
    created_at integer not null,
    primary key (tenant, subject, character_id)
);

create unique index characters_by_hash on characters (tenant, subject, hash) where revision = 1;
create index characters_by_name on characters (tenant, subject, name, character_id);

create table users (
    tenant text not null,
    subject text not null,
    user_id text not null,
    name text not null,
    -- UTF-8
    description blob not null,
    revision integer not null,
    created_at integer not null,
    primary key (tenant, subject, user_id)
);

create index users_by_name on users (tenant, subject, name, user_id);

create table selections (
    tenant text not null,
    subject text not null,
    session_id text not null,
    preset_id text,
    character_id text,
    user_id text,
    -- options and role-play (JSON); its worlds are bindings
    rest blob not null,
    revision integer not null,
    primary key (tenant, subject, session_id)
) without rowid;

create index selections_by_preset on selections (tenant, subject, preset_id);
create index selections_by_character on selections (tenant, subject, character_id);
create index selections_by_user on selections (tenant, subject, user_id);

create table bindings (
    tenant text not null,
    subject text not null,
    -- session | user | preset | character | global
    holder_kind text not null,
    -- empty for global
    holder_id text not null,
    place integer not null,
    world_id text not null,
    primary key (tenant, subject, holder_kind, holder_id, place)
) without rowid;

create index bindings_by_world on bindings (tenant, subject, world_id);

-- a session is running while its lease lasts
create table leases (
    tenant text not null,
    subject text not null,
    session_id text not null,
    generation_id text not null,
    -- by the database's clock, microseconds since 1970
    expires_at integer not null,
    primary key (tenant, subject, session_id)
) without rowid;

-- what retried requests are answered with
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

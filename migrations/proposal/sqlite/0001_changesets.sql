-- Times are microseconds since 1970. Texts of people and models stand in JSON bytes only.

create table evaluations (
    tenant text not null,
    subject text not null,
    evaluation_id text not null,
    session_id text not null,
    turn_seq integer not null,
    alternative_id text not null,
    attempt integer not null,
    outcome text not null,
    -- reason, rejected, model, input_tokens, output_tokens
    body blob not null,
    judged_at integer not null,
    primary key (tenant, subject, evaluation_id)
) strict, without rowid;
create unique index evaluations_by_turn
    on evaluations (tenant, subject, session_id, turn_seq, alternative_id, attempt);

create table changesets (
    tenant text not null,
    subject text not null,
    changeset_id text not null,
    evaluation_id text not null,
    world_id text not null,
    base_revision integer not null,
    stage text not null,
    version integer not null,
    attempts integer not null,
    -- null once the session is deleted
    session_id text,
    turn_seq integer,
    alternative_id text,
    -- world_name, summary, operations, excerpt, labels
    body blob not null,
    -- the frozen operations and their change id
    application blob,
    -- null unless APPLYING
    applying_since integer,
    stale_reason text not null,
    created_at integer not null,
    decided_at integer,
    primary key (tenant, subject, changeset_id)
) strict, without rowid;
create index changesets_by_age on changesets (tenant, subject, created_at, changeset_id);
create index changesets_by_evaluation on changesets (tenant, subject, evaluation_id);
create index changesets_by_source on changesets (tenant, subject, session_id, turn_seq);
create index changesets_applying on changesets (applying_since) where applying_since is not null;

create table answers (
    tenant text not null,
    subject text not null,
    method text not null,
    request_id text not null,
    request blob not null,
    reference blob not null,
    answered_at integer not null,
    primary key (tenant, subject, method, request_id)
) strict, without rowid;
create index answers_by_age on answers (answered_at);

-- Times are microseconds since 1970. Texts of people and models stand in JSON bytes only.

create table evaluations (
    tenant text collate "C" not null,
    subject text collate "C" not null,
    evaluation_id text collate "C" not null,
    session_id text collate "C" not null,
    turn_seq bigint not null,
    alternative_id text collate "C" not null,
    attempt bigint not null,
    outcome text collate "C" not null,
    -- reason, rejected, model, input_tokens, output_tokens
    body bytea not null,
    judged_at bigint not null,
    primary key (tenant, subject, evaluation_id)
);
create unique index evaluations_by_turn
    on evaluations (tenant, subject, session_id, turn_seq, alternative_id, attempt);

create table changesets (
    tenant text collate "C" not null,
    subject text collate "C" not null,
    changeset_id text collate "C" not null,
    evaluation_id text collate "C" not null,
    world_id text collate "C" not null,
    base_revision bigint not null,
    stage text collate "C" not null,
    version bigint not null,
    attempts bigint not null,
    -- null once the session is deleted
    session_id text collate "C",
    turn_seq bigint,
    alternative_id text collate "C",
    -- world_name, summary, operations, excerpt, labels
    body bytea not null,
    -- the frozen operations and their change id
    application bytea,
    -- null unless APPLYING
    applying_since bigint,
    stale_reason text collate "C" not null,
    created_at bigint not null,
    decided_at bigint,
    primary key (tenant, subject, changeset_id)
);
create index changesets_by_age on changesets (tenant, subject, created_at, changeset_id);
create index changesets_by_evaluation on changesets (tenant, subject, evaluation_id);
create index changesets_by_source on changesets (tenant, subject, session_id, turn_seq);
create index changesets_applying on changesets (applying_since) where applying_since is not null;

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

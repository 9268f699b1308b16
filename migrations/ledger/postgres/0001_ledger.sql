-- The ledger: events are the only truth; everything else can be rebuilt from them or waits to be done.

create table sessions (
    tenant text collate "C" not null,
    subject text collate "C" not null,
    session_id text collate "C" not null,
    -- pending | live | deleted
    status text collate "C" not null,
    -- what a pending session still needs in order to be finished (JSON)
    pending bytea,
    title text collate "C" not null,
    created_at bigint not null,
    head bigint not null,
    -- what lists show, as the events up to the head leave it; empty while pending
    turn_count bigint not null default 0,
    settings bytea,
    primary key (tenant, session_id)
);

create index sessions_by_owner on sessions (tenant, subject, created_at desc, session_id);

create table events (
    tenant text collate "C" not null,
    session_id text collate "C" not null,
    at_offset bigint not null,
    recorded_at bigint not null,
    actor text collate "C" not null,
    kind text collate "C" not null,
    request_id text collate "C",
    -- both null once erased; the chain still verifies
    payload bytea,
    salt bytea,
    commitment bytea not null,
    chain bytea not null,
    primary key (tenant, session_id, at_offset)
);

-- what the loader said of a request, beside its stamp
create table requests (
    tenant text collate "C" not null,
    session_id text collate "C" not null,
    at_offset bigint not null,
    record bytea not null,
    primary key (tenant, session_id, at_offset)
);

-- texts of profiles that are rebuilt for each request, by content
create table segment_texts (
    tenant text collate "C" not null,
    subject text collate "C" not null,
    digest text collate "C" not null,
    content bytea not null,
    primary key (tenant, subject, digest)
);

create table generations (
    tenant text collate "C" not null,
    subject text collate "C" not null,
    generation_id text collate "C" not null,
    session_id text collate "C" not null,
    reply_seq bigint not null,
    fence bigint not null,
    -- running | closed
    status text collate "C" not null,
    lease_until bigint not null,
    -- the process that holds the lease; leases of an older one are dead
    epoch text collate "C" not null,
    primary key (tenant, generation_id)
);

-- at most one active generation per session
create unique index generations_running on generations (tenant, session_id) where status = 'running';

-- a running reply's text, so that any replica can continue it
create table chunks (
    tenant text collate "C" not null,
    generation_id text collate "C" not null,
    fence bigint not null,
    byte_offset bigint not null,
    content text collate "C" not null,
    primary key (tenant, generation_id, fence, byte_offset)
);

create table snapshots (
    tenant text collate "C" not null,
    session_id text collate "C" not null,
    at_offset bigint not null,
    state bytea not null,
    primary key (tenant, session_id)
);

create table jobs (
    tenant text collate "C" not null,
    job_id text collate "C" not null,
    subject text collate "C" not null,
    session_id text collate "C" not null,
    -- the offset of the event that queued it: the order within the session
    place bigint not null,
    work bytea not null,
    -- ready | leased | parked; a finished job's row is gone
    status text collate "C" not null,
    ready_at bigint not null,
    lease_until bigint not null,
    epoch text collate "C" not null,
    worker text collate "C" not null,
    attempt bigint not null,
    fence bigint not null,
    failure text collate "C" not null,
    primary key (tenant, job_id)
);

create index jobs_by_session on jobs (tenant, session_id, place);
create index jobs_by_time on jobs (status, ready_at);

-- answered request ids: a hash and a reference, never texts
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

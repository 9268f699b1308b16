-- The ledger: events are the only truth; everything else can be rebuilt from them or waits to be done.

create table sessions (
    tenant text not null,
    subject text not null,
    session_id text not null,
    -- pending | live | deleted
    status text not null,
    -- what a pending session still needs in order to be finished (JSON)
    pending blob,
    title text not null,
    created_at integer not null,
    head integer not null,
    -- what lists show, as the events up to the head leave it; empty while pending
    turn_count integer not null default 0,
    settings blob,
    primary key (tenant, session_id)
) without rowid;

create index sessions_by_owner on sessions (tenant, subject, created_at desc, session_id);

create table events (
    tenant text not null,
    session_id text not null,
    at_offset integer not null,
    recorded_at integer not null,
    actor text not null,
    kind text not null,
    request_id text,
    -- both null once erased; the chain still verifies
    payload blob,
    salt blob,
    commitment blob not null,
    chain blob not null,
    primary key (tenant, session_id, at_offset)
) without rowid;

-- what the loader said of a request, beside its stamp
create table requests (
    tenant text not null,
    session_id text not null,
    at_offset integer not null,
    record blob not null,
    primary key (tenant, session_id, at_offset)
) without rowid;

-- texts of profiles that are rebuilt for each request, by content
create table segment_texts (
    tenant text not null,
    subject text not null,
    digest text not null,
    content blob not null,
    primary key (tenant, subject, digest)
) without rowid;

create table generations (
    tenant text not null,
    subject text not null,
    generation_id text not null,
    session_id text not null,
    reply_seq integer not null,
    fence integer not null,
    -- running | closed
    status text not null,
    lease_until integer not null,
    -- the process that holds the lease; leases of an older one are dead
    epoch text not null,
    primary key (tenant, generation_id)
) without rowid;

-- at most one active generation per session
create unique index generations_running on generations (tenant, session_id) where status = 'running';

-- a running reply's text, so that any replica can continue it
create table chunks (
    tenant text not null,
    generation_id text not null,
    fence integer not null,
    byte_offset integer not null,
    content text not null,
    primary key (tenant, generation_id, fence, byte_offset)
) without rowid;

create table snapshots (
    tenant text not null,
    session_id text not null,
    at_offset integer not null,
    state blob not null,
    primary key (tenant, session_id)
) without rowid;

create table jobs (
    tenant text not null,
    job_id text not null,
    subject text not null,
    session_id text not null,
    -- the offset of the event that queued it: the order within the session
    place integer not null,
    work blob not null,
    -- ready | leased | parked; a finished job's row is gone
    status text not null,
    ready_at integer not null,
    lease_until integer not null,
    epoch text not null,
    worker text not null,
    attempt integer not null,
    fence integer not null,
    failure text not null,
    primary key (tenant, job_id)
) without rowid;

create index jobs_by_session on jobs (tenant, session_id, place);
create index jobs_by_time on jobs (status, ready_at);

-- answered request ids: a hash and a reference, never texts
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

//! The statements that both databases understand, and the few whose words differ between them.

pub(super) const SESSION: &str = "
    select session_id, title, created_at, head
    from sessions
    where tenant = $1
        and subject = $2
        and session_id = $3
        and status = 'live'";

pub(super) const SESSIONS: &str = "
    select s.session_id, s.title, s.created_at, s.head, s.turn_count, s.settings, g.generation_id
    from sessions s
    left join generations g
        on g.tenant = s.tenant
        and g.session_id = s.session_id
        and g.status = 'running'
    where s.tenant = $1
        and s.subject = $2
        and s.status = 'live'
        and (s.created_at < $3 or (s.created_at = $3 and s.session_id > $4))
    order by s.created_at desc, s.session_id
    limit $5";

pub(super) const PENDING: &str = "
    select tenant, subject, session_id, created_at
    from sessions
    where status = 'pending'
        and created_at < $1
    order by created_at
    limit $2";

pub(super) const BEGIN_SESSION: &str = "
    insert into sessions (tenant, subject, session_id, status, title, created_at, head)
    values ($1, $2, $3, 'pending', '', $4, 0)
    on conflict (tenant, session_id) do nothing";

pub(super) const DROP_PENDING: &str = "
    delete from sessions
    where tenant = $1
        and subject = $2
        and session_id = $3
        and status = 'pending'";

pub(super) const EVENTS: &str = "
    select session_id, at_offset, recorded_at, actor, kind, request_id, payload, salt, commitment, chain
    from events
    where tenant = $1
        and session_id = $2
        and at_offset >= $3
    order by at_offset
    limit $4";

pub(super) const EVENTS_OF: &str = "
    select session_id, at_offset, recorded_at, actor, kind, request_id, payload, salt, commitment, chain
    from events
    where tenant = $1
        and session_id = $2
        and kind = $3
        and at_offset > $4
    order by at_offset";

pub(super) const SNAPSHOT: &str = "
    select at_offset, state
    from snapshots
    where tenant = $1
        and session_id = $2";

pub(super) const PUT_SNAPSHOT: &str = "
    insert into snapshots (tenant, session_id, at_offset, state)
    values ($1, $2, $3, $4)
    on conflict (tenant, session_id) do update
    set at_offset = excluded.at_offset, state = excluded.state
    where excluded.at_offset > snapshots.at_offset";

pub(super) const REQUEST: &str = "
    select at_offset, record
    from requests
    where tenant = $1
        and session_id = $2
        and at_offset = $3";

pub(super) const REQUEST_BEFORE: &str = "
    select at_offset, record
    from requests
    where tenant = $1
        and session_id = $2
        and at_offset < $3
    order by at_offset desc
    limit 1";

pub(super) const REQUESTS: &str = "
    select at_offset, record
    from requests
    where tenant = $1
        and session_id = $2
        and at_offset > $3
    order by at_offset
    limit $4";

pub(super) const PUT_CHUNK: &str = "
    insert into chunks (tenant, generation_id, fence, byte_offset, content)
    values ($1, $2, $3, $4, $5)
    on conflict (tenant, generation_id, fence, byte_offset) do nothing";

pub(super) const CHUNKS: &str = "
    select content
    from chunks
    where tenant = $1
        and generation_id = $2
        and fence = $3
    order by byte_offset";

pub(super) const JOB: &str = "
    select status, failure
    from jobs
    where tenant = $1
        and job_id = $2";

pub(super) const LEASED_JOB: &str = "
    select tenant, subject, session_id, job_id, fence, attempt, work
    from jobs
    where tenant = $1
        and job_id = $2
        and fence = $3
        and status = 'leased'";

/// Statements that ask for the time or take a list.
///
/// `$1` of the timed ones is the time, and `$2` of those that look at leases the process that holds the living
/// ones. PostgreSQL has a time of its own, the same for every process, and is given none; there no lease names
/// a process.
pub(super) struct Dialect {
    pub events_at: &'static str,
    pub texts: &'static str,
    pub generation: &'static str,
    pub running: &'static str,
    pub renew: &'static str,
    pub park_exhausted: &'static str,
    pub lease_jobs: &'static str,
    pub release_job: &'static str,
}

macro_rules! dialect {
    (now: $now:literal, in_third: $in_third:literal) => {
        Dialect {
            events_at: concat!(
                "
    select session_id, at_offset, recorded_at, actor, kind, request_id, payload, salt, commitment, chain
    from events
    where tenant = $1
        and session_id = $2
        and at_offset ",
                $in_third,
                "
    order by at_offset"
            ),
            texts: concat!(
                "
    select digest, content
    from segment_texts
    where tenant = $1
        and subject = $2
        and digest ",
                $in_third
            ),
            generation: concat!(
                "
    select tenant, subject, session_id, generation_id, reply_seq, fence, status,
        cast(case when lease_until < ",
                $now,
                " or epoch <> $2 then 1 else 0 end as bigint) as dead
    from generations
    where tenant = $3
        and subject = $4
        and generation_id = $5"
            ),
            running: concat!(
                "
    select tenant, subject, session_id, generation_id, reply_seq, fence, status,
        cast(case when lease_until < ",
                $now,
                " or epoch <> $2 then 1 else 0 end as bigint) as dead
    from generations
    where tenant = $3
        and subject = $4
        and session_id = $5
        and status = 'running'"
            ),
            renew: concat!(
                "
    update generations
    set lease_until = ",
                $now,
                " + $5
    where tenant = $2
        and generation_id = $3
        and fence = $4
        and status = 'running'
    returning generation_id"
            ),
            // Jobs whose every attempt died with its worker.
            park_exhausted: concat!(
                "
    update jobs
    set status = 'parked', failure = 'every attempt died with its worker'
    where status = 'leased'
        and attempt >= $3
        and (lease_until < ",
                $now,
                " or epoch <> $2)"
            ),
            // The oldest job of each session, tenants in turn; parked jobs hold nobody up. Of two workers
            // that see the same job, the second finds its fence moved and goes without.
            lease_jobs: concat!(
                "
    with heads as (
        select tenant, job_id, fence, ready_at,
            row_number() over (partition by tenant order by ready_at, job_id) as turn
        from jobs j
        where status <> 'parked'
            and ready_at <= ",
                $now,
                "
            and (status = 'ready' or lease_until < ",
                $now,
                " or epoch <> $2)
            and not exists (
                select 1
                from jobs earlier
                where earlier.tenant = j.tenant
                    and earlier.session_id = j.session_id
                    and earlier.status <> 'parked'
                    and (earlier.place, earlier.job_id) < (j.place, j.job_id)
            )
        order by turn, ready_at
        limit $3
    )
    update jobs
    set status = 'leased', lease_until = ",
                $now,
                " + $4, epoch = $2, worker = $5, attempt = attempt + 1, fence = jobs.fence + 1
    from heads
    where jobs.tenant = heads.tenant
        and jobs.job_id = heads.job_id
        and jobs.fence = heads.fence
    returning jobs.tenant, subject, session_id, jobs.job_id, jobs.fence, attempt, work"
            ),
            release_job: concat!(
                "
    update jobs
    set status = $5, failure = $7, ready_at = ",
                $now,
                " + $6
    where tenant = $2
        and job_id = $3
        and fence = $4
        and status = 'leased'
    returning job_id"
            ),
        }
    };
}

pub(super) const SQLITE: Dialect =
    dialect!(now: "$1", in_third: "in (select value from json_each($3))");
pub(super) const POSTGRES: Dialect = dialect!(
    now: "coalesce($1, (extract(epoch from clock_timestamp()) * 1000000)::bigint)",
    in_third: "= any($3)"
);

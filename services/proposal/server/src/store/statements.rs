//! The statements, the same text for both databases. `$1` and `$2` are the owner wherever there is one.

macro_rules! evaluations {
    ($rest:literal) => {
        concat!(
            "select tenant, subject, evaluation_id, session_id, turn_seq, alternative_id, attempt, outcome, body,\n",
            "  judged_at\n",
            "from evaluations\n",
            $rest
        )
    };
}

macro_rules! changesets {
    ($rest:literal) => {
        concat!(
            "select tenant, subject, changeset_id, evaluation_id, world_id, base_revision, stage, version, attempts,\n",
            "  session_id, turn_seq, alternative_id, body, application, stale_reason, created_at, decided_at\n",
            "from changesets\n",
            $rest
        )
    };
}

pub(super) const EVALUATION: &str = evaluations!(
    "where tenant = $1 and subject = $2
  and session_id = $3 and turn_seq = $4 and alternative_id = $5 and attempt = $6"
);

pub(super) const NEWEST_EVALUATION: &str = evaluations!(
    "where tenant = $1 and subject = $2
  and session_id = $3 and turn_seq = $4
order by judged_at desc, attempt desc
limit 1"
);

pub(super) const INSERT_EVALUATION: &str = "\
insert into evaluations
  (tenant, subject, evaluation_id, session_id, turn_seq, alternative_id, attempt, outcome, body, judged_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
on conflict do nothing";

pub(super) const INSERT_CHANGESET: &str = "\
insert into changesets
  (tenant, subject, changeset_id, evaluation_id, world_id, base_revision, stage, version, attempts, session_id,
  turn_seq, alternative_id, body, stale_reason, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, $10, $11, $12, '', $13)";

pub(super) const EVALUATION_MOVED: &str = "\
update evaluations
set outcome = 'TURN_MOVED'
where tenant = $1 and subject = $2 and evaluation_id = $3";

pub(super) const EXPIRE_OF_EVALUATION: &str = "\
update changesets
set stage = 'STALE', stale_reason = $4, decided_at = $5, version = version + 1
where tenant = $1 and subject = $2 and evaluation_id = $3
  and stage = 'PENDING'";

pub(super) const EXPIRE_OF_TURN: &str = "\
update changesets
set stage = 'STALE', stale_reason = $5, decided_at = $6, version = version + 1
where tenant = $1 and subject = $2 and session_id = $3 and turn_seq = $4
  and stage = 'PENDING'";

pub(super) const EXPIRE_OF_SESSION: &str = "\
update changesets
set stage = 'STALE', stale_reason = $4, decided_at = $5, version = version + 1
where tenant = $1 and subject = $2 and session_id = $3
  and stage = 'PENDING'";

pub(super) const FORGET_SESSION: &str = "\
update changesets
set session_id = null, turn_seq = null, alternative_id = null, version = version + 1
where tenant = $1 and subject = $2 and session_id = $3";

pub(super) const DELETE_EVALUATIONS: &str = "\
delete from evaluations
where tenant = $1 and subject = $2 and session_id = $3";

pub(super) const CHANGESET: &str =
    changesets!("where tenant = $1 and subject = $2 and changeset_id = $3");

pub(super) const CHANGESETS_OF_EVALUATION: &str = changesets!(
    "where tenant = $1 and subject = $2 and evaluation_id = $3
order by changeset_id"
);

/// `$3`, `$4`: a world and a session, or empty; `$5`: 0 all, 1 open, 2 decided; `$6`, `$7`: the position.
pub(super) const LIST: &str = changesets!(
    "where tenant = $1 and subject = $2
  and ($3 = '' or world_id = $3)
  and ($4 = '' or session_id = $4)
  and ($5 = 0 or ($5 = 1) = (stage in ('PENDING', 'APPLYING', 'STALE')))
  and (created_at, changeset_id) < ($6, $7)
order by created_at desc, changeset_id desc
limit $8"
);

pub(super) const UNFINISHED: &str = changesets!(
    "where applying_since < $1
order by applying_since
limit $2"
);

/// `$4`: the version that must be stored now.
pub(super) const REPLACE: &str = "\
update changesets
set version = version + 1, stage = $5, attempts = $6, body = $7, application = $8, applying_since = $9,
  stale_reason = $10, decided_at = $11
where tenant = $1 and subject = $2 and changeset_id = $3 and version = $4";

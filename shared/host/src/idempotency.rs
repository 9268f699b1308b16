//! Safe retries: the same request id gives the same answer, for as long as answers are kept.
//!
//! A service has the table [`SQLITE_TABLE`] or [`POSTGRES_TABLE`] in its migrations, and uses it inside its own
//! transaction, in this order:
//!
//! 1. [`sqlite::find`] (or [`postgres::find`]), then [`decide`]: a stored answer is replayed, another request
//!    under the same id is refused.
//! 2. The write, and [`sqlite::store`] with a reference to its result. False means that a concurrent call with
//!    the same id won: roll back, and begin again at 1.
//!
//! A refused request stores nothing. A stream of a replayed answer is read again by the reference.

use kernel::{Digest, Owner, RequestId, Timestamp, digest_parts};
use prost::Message;
use tonic::Status;
use wire::common::v1::Reason;

use crate::status;

/// Within whose and which calls a request id is unique.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    owner: Owner,
    method: &'static str,
    request_id: RequestId,
}

/// What is kept of an answered request: its hash, and what finds the result again. Never texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub request: Digest,
    pub reference: Vec<u8>,
}

/// A request id that came before with another request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the request id {0} was used for another request")]
pub struct Reused(pub RequestId);

pub const SQLITE_TABLE: &str = "\
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
";

pub const POSTGRES_TABLE: &str = "\
create table answers (
    tenant text collate \"C\" not null,
    subject text collate \"C\" not null,
    method text collate \"C\" not null,
    request_id text collate \"C\" not null,
    request bytea not null,
    reference bytea not null,
    answered_at bigint not null,
    primary key (tenant, subject, method, request_id)
);
create index answers_by_age on answers (answered_at);
";

/// `$1` to `$4`: the scope.
pub const FIND: &str = "\
select request, reference
from answers
where tenant = $1 and subject = $2 and method = $3 and request_id = $4";

/// `$1` to `$4`: the scope; then the request's hash, the reference, microseconds since 1970.
pub const STORE: &str = "\
insert into answers (tenant, subject, method, request_id, request, reference, answered_at)
values ($1, $2, $3, $4, $5, $6, $7)
on conflict do nothing";

/// `$1`: microseconds since 1970; at least `kernel::limits::ANSWER_KEPT_MS` ago.
pub const FORGET: &str = "\
delete from answers
where answered_at < $1";

/// Whether a request was answered before: its reference if so, nothing if it is new.
pub fn decide(
    stored: Option<Answer>,
    scope: &Scope,
    request: &Digest,
) -> Result<Option<Vec<u8>>, Reused> {
    match stored {
        None => Ok(None),
        Some(answer) if answer.request == *request => Ok(Some(answer.reference)),
        Some(_) => Err(Reused(scope.request_id.clone())),
    }
}

/// The hash of a request: of its encoding, once `clear` has emptied the request id (and nothing else).
///
/// Generated maps are ordered, so that the same request has the same encoding.
pub fn request_hash<M: Message + Clone>(request: &M, clear: impl FnOnce(&mut M)) -> Digest {
    let mut request = request.clone();
    clear(&mut request);
    digest_parts(&[&request.encode_to_vec()])
}

// === impl Scope ===

impl Scope {
    /// `method` is the full name: `skald.ledger.v1.TurnService/SubmitTurn`.
    pub fn new(owner: &Owner, method: &'static str, request_id: RequestId) -> Self {
        Self { owner: owner.clone(), method, request_id }
    }

    /// What ids of new resources are derived from: `SessionId::derived(&scope.parts())`.
    pub fn parts(&self) -> [&str; 4] {
        let Owner { tenant, subject } = &self.owner;
        [tenant.as_str(), subject.as_str(), self.method, self.request_id.as_str()]
    }

    pub fn request_id(&self) -> &RequestId {
        &self.request_id
    }
}

impl From<Reused> for Status {
    fn from(reused: Reused) -> Status {
        let why = reused.to_string();
        status::already_exists(Reason::RequestIdReused, "request", reused.0.as_str(), why)
    }
}

/// The same three verbs on both databases; the statements are the same text.
macro_rules! on {
    ($name:ident, $database:literal, $connection:ty) => {
        #[doc = concat!("The answers of a service on ", $database, ".")]
        pub mod $name {
            use super::*;

            pub async fn find(
                connection: &mut $connection,
                scope: &Scope,
            ) -> Result<Option<Answer>, sqlx::Error> {
                let [tenant, subject, method, request_id] = scope.parts();
                let found: Option<(Vec<u8>, Vec<u8>)> = sqlx::query_as(FIND)
                    .bind(tenant)
                    .bind(subject)
                    .bind(method)
                    .bind(request_id)
                    .fetch_optional(connection)
                    .await?;
                found.map(read).transpose()
            }

            /// False when a concurrent call with the same id was first.
            pub async fn store(
                connection: &mut $connection,
                scope: &Scope,
                answer: &Answer,
                now: Timestamp,
            ) -> Result<bool, sqlx::Error> {
                let [tenant, subject, method, request_id] = scope.parts();
                let stored = sqlx::query(STORE)
                    .bind(tenant)
                    .bind(subject)
                    .bind(method)
                    .bind(request_id)
                    .bind(&answer.request.as_bytes()[..])
                    .bind(&answer.reference)
                    .bind(now.micros())
                    .execute(connection)
                    .await?;
                Ok(stored.rows_affected() == 1)
            }

            /// Forgets what was answered before `before`; tells how much it was.
            pub async fn forget(
                connection: &mut $connection,
                before: Timestamp,
            ) -> Result<u64, sqlx::Error> {
                let forgotten =
                    sqlx::query(FORGET).bind(before.micros()).execute(connection).await?;
                Ok(forgotten.rows_affected())
            }
        }
    };
}

on!(sqlite, "SQLite", sqlx::SqliteConnection);
on!(postgres, "PostgreSQL", sqlx::PgConnection);

fn read((request, reference): (Vec<u8>, Vec<u8>)) -> Result<Answer, sqlx::Error> {
    let request =
        Digest::from_slice(&request).map_err(|error| sqlx::Error::Decode(error.into()))?;
    Ok(Answer { request, reference })
}

#[cfg(test)]
mod tests {
    use kernel::{Subject, TenantId};
    use sqlx::Connection as _;
    use wire::ledger::v1::SubmitTurnRequest;

    use super::*;
    use crate::{
        database::{Postgres, Sqlite},
        testing,
    };

    const METHOD: &str = "skald.ledger.v1.TurnService/SubmitTurn";

    fn scope(subject: &str, id: &str) -> Scope {
        let tenant = TenantId::new("acme").expect("an id");
        let owner = Owner { tenant, subject: Subject::new(subject).expect("an id") };
        Scope::new(&owner, METHOD, RequestId::new(id).expect("an id"))
    }

    fn submit(request_id: &str, session_id: &str) -> Digest {
        let request = SubmitTurnRequest {
            request_id: request_id.to_owned(),
            session_id: session_id.to_owned(),
            ..Default::default()
        };
        request_hash(&request, |request| request.request_id.clear())
    }

    fn answer(request: Digest, reference: &str) -> Answer {
        Answer { request, reference: reference.into() }
    }

    #[test]
    fn the_request_id_is_no_part_of_the_request() {
        assert_eq!(submit("a", "s"), submit("b", "s"));
        assert_ne!(submit("a", "s"), submit("a", "t"));
    }

    #[test]
    fn the_same_request_is_replayed_and_another_is_refused() {
        let scope = scope("ada", "r1");
        let (this, other) = (submit("r1", "s"), submit("r1", "t"));
        assert_eq!(decide(None, &scope, &this), Ok(None));
        assert_eq!(decide(Some(answer(this, "x")), &scope, &this), Ok(Some(b"x".to_vec())));
        let reused = decide(Some(answer(this, "x")), &scope, &other).expect_err("another");
        let status = Status::from(reused);
        assert_eq!(status.code(), tonic::Code::AlreadyExists);
        assert_eq!(status::reason(&status), Some(Reason::RequestIdReused));
    }

    /// One suite, run on a connection of each database.
    macro_rules! suite {
        ($store:ident, $connection:expr) => {
            let connection = $connection;
            let (mine, hers) = (scope("ada", "r1"), scope("bob", "r1"));
            let first = answer(submit("r1", "s"), "first");
            assert_eq!($store::find(connection, &mine).await.expect("read"), None);
            let now = Timestamp::from_micros(10);
            assert!($store::store(connection, &mine, &first, now).await.expect("stored"));
            assert_eq!($store::find(connection, &mine).await.expect("read"), Some(first.clone()));
            assert_eq!($store::find(connection, &hers).await.expect("read"), None);

            let late = answer(submit("r1", "t"), "late");
            assert!(!$store::store(connection, &mine, &late, now).await.expect("refused"));
            assert_eq!($store::find(connection, &mine).await.expect("read"), Some(first.clone()));

            let mut refused = connection.begin().await.expect("begun");
            assert!($store::store(&mut refused, &hers, &late, now).await.expect("stored"));
            refused.rollback().await.expect("rolled back");
            assert_eq!($store::find(connection, &hers).await.expect("read"), None);

            assert_eq!($store::forget(connection, now).await.expect("forgotten"), 0);
            let later = Timestamp::from_micros(11);
            assert_eq!($store::forget(connection, later).await.expect("forgotten"), 1);
            assert_eq!($store::find(connection, &mine).await.expect("read"), None);
        };
    }

    #[tokio::test]
    async fn answers_are_kept_on_sqlite() {
        let (_folder, store): (_, Sqlite) =
            testing::sqlite("ledger", testing::migrator(&[SQLITE_TABLE])).await;
        suite!(sqlite, &mut *store.writer.acquire().await.expect("a connection"));
    }

    #[tokio::test]
    async fn answers_are_kept_on_postgres() {
        let Some(url) = testing::postgres().await else { return };
        let table = testing::migrator(&[POSTGRES_TABLE]);
        let store = Postgres::open(&url, "ledger", table, 2).await.expect("opened");
        suite!(postgres, &mut *store.pool.acquire().await.expect("a connection"));
    }

    #[tokio::test]
    async fn of_two_calls_with_one_id_the_second_waits_and_finds_the_first_ones_answer() {
        let Some(url) = testing::postgres().await else { return };
        let table = testing::migrator(&[POSTGRES_TABLE]);
        let store = Postgres::open(&url, "ledger", table, 2).await.expect("opened");
        let (scope, first) = (scope("ada", "r1"), answer(submit("r1", "s"), "first"));
        let now = Timestamp::from_micros(1);
        let mut winner = store.pool.begin().await.expect("begun");
        assert!(postgres::store(&mut winner, &scope, &first, now).await.expect("stored"));
        let mut loser = store.pool.begin().await.expect("begun");
        let waiting = postgres::store(&mut loser, &scope, &first, now);
        let (stored, committed) = tokio::join!(waiting, winner.commit());
        committed.expect("committed");
        assert!(!stored.expect("no error"), "the second may not win");
        loser.rollback().await.expect("rolled back");
        let mut after = store.pool.acquire().await.expect("a connection");
        assert_eq!(postgres::find(&mut after, &scope).await.expect("read"), Some(first));
    }
}

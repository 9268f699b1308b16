//! Fresh databases for tests: a SQLite file in a folder of its own, a PostgreSQL database for each test.
//!
//! PostgreSQL is the server of `SKALD_TEST_POSTGRES` where that is set; else a throwaway cluster, started from
//! installed server binaries and shared by all test processes that run at the same time; else there is none, and
//! tests say that they were skipped. With `SKALD_REQUIRE_POSTGRES=1`, none is a failure.

mod cluster;

use std::{
    env,
    io::{self, Write as _},
    str::FromStr as _,
};

use kernel::{Clock as _, ManualClock, SystemClock};
use sqlx::{
    AssertSqlSafe, Connection as _, PgConnection, SqlSafeStr as _,
    migrate::{Migration, MigrationType, Migrator},
    postgres::PgConnectOptions,
};
use tempfile::TempDir;
use tokio::sync::OnceCell;

use crate::database::{DataFolder, PostgresUrl, Sqlite};

/// A migrated SQLite file; the folder goes when the first value is dropped.
pub async fn sqlite(service: &'static str, migrations: Migrator) -> (TempDir, Sqlite) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = DataFolder::open(folder.path()).expect("a folder of our own");
    let store = Sqlite::open(&data, service, migrations).await.expect("a fresh file");
    (folder, store)
}

/// The address of an empty database that nobody else has, or nothing where there is no PostgreSQL.
///
/// A test that gets nothing returns: it was skipped, and the reason is printed.
pub async fn postgres() -> Option<PostgresUrl> {
    let url = postgres_url().await?;
    Some(url.parse().expect("an address that was just used"))
}

/// As [`postgres`], for handing to another process.
pub async fn postgres_url() -> Option<String> {
    static SERVER: OnceCell<Option<String>> = OnceCell::const_new();
    let Some(server) = SERVER.get_or_init(server).await else {
        let required = env::var("SKALD_REQUIRE_POSTGRES").is_ok_and(|value| value == "1");
        assert!(!required, "PostgreSQL is required and missing");
        return None;
    };
    let database = format!("{PREFIX}{}", SystemClock.fresh().simple());
    let mut connection = connect(server).await;
    let create = format!("create database {database}");
    sqlx::query(AssertSqlSafe(create)).execute(&mut connection).await.expect("created");
    connection.close().await.expect("closed");
    Some(with_database(server, &database))
}

/// A migrator of statements in a row: for tests of what is not a service.
pub fn migrator(statements: &[&'static str]) -> Migrator {
    let steps = statements.iter().zip(1..).map(|(sql, version)| {
        let kind = MigrationType::Simple;
        Migration::new(version, "step".into(), kind, sql.into_sql_str(), false)
    });
    Migrator::with_migrations(steps.collect())
}

/// Every test database begins with this; what follows is a UUID of its time, so that names sort by age.
const PREFIX: &str = "skald_test_";
const LEFTOVER_AFTER_MS: i64 = 60 * 60 * 1_000;

async fn server() -> Option<String> {
    if let Ok(url) = env::var("SKALD_TEST_POSTGRES") {
        drop_leftovers(&url).await;
        return Some(url);
    }
    match tokio::task::spawn_blocking(cluster::join).await.expect("no panic") {
        Ok(url) => Some(url),
        Err(why) => {
            // Written past the test harness, which would swallow what a passing test prints.
            let _ = writeln!(io::stderr(), "skipped: no PostgreSQL to test on ({why})");
            None
        }
    }
}

async fn connect(url: &str) -> PgConnection {
    let options = PgConnectOptions::from_str(url).expect("a PostgreSQL address");
    PgConnection::connect_with(&options).await.expect("a living server")
}

/// A server that stays would fill up with the databases of tests that ended long ago.
async fn drop_leftovers(url: &str) {
    let then = ManualClock::at(SystemClock.now().plus_ms(-LEFTOVER_AFTER_MS)).fresh();
    let mut connection = connect(url).await;
    let names: Vec<String> = sqlx::query_scalar(
        "select datname from pg_database where starts_with(datname, $1) and datname < $2",
    )
    .bind(PREFIX)
    .bind(format!("{PREFIX}{}", then.simple()))
    .fetch_all(&mut connection)
    .await
    .expect("the names of databases");
    for name in names {
        // Another test process may drop it first.
        let drop = format!("drop database if exists {name} with (force)");
        let _ = sqlx::query(AssertSqlSafe(drop)).execute(&mut connection).await;
    }
}

/// `postgres://user@host/old?x=y` with another database.
fn with_database(url: &str, database: &str) -> String {
    let (rest, query) = url.split_once('?').map_or((url, ""), |(rest, query)| (rest, query));
    let host_at = rest.find("://").map_or(0, |at| at + 3);
    let end = rest[host_at..].find('/').map_or(rest.len(), |at| host_at + at);
    let query = if query.is_empty() { String::new() } else { format!("?{query}") };
    format!("{}/{database}{query}", &rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, expected: &str) {
        assert_eq!(with_database(url, "new"), expected);
    }

    #[test]
    fn only_the_database_of_an_address_changes() {
        check("postgres://a:b@host:1/old", "postgres://a:b@host:1/new");
        check("postgres://host", "postgres://host/new");
        check("postgres:///old?host=/run/x", "postgres:///new?host=/run/x");
    }

    #[tokio::test]
    async fn each_test_has_a_database_of_its_own() {
        let (Some(a), Some(b)) = (postgres_url().await, postgres_url().await) else { return };
        assert_ne!(a, b);
        let mut connection = connect(&a).await;
        let select = "select current_database()";
        let name: String =
            sqlx::query_scalar(select).fetch_one(&mut connection).await.expect("a name");
        assert!(a.contains(&name));
    }
}

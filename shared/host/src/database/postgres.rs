//! PostgreSQL: one schema for each service, found through the search path.

use std::{
    fmt,
    str::FromStr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use kernel::limits::STORE_WAIT_MS;
use sqlx::{
    Connection as _, PgConnection, PgPool,
    migrate::Migrator,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use tokio::time::Instant;

use crate::database::{DatabaseError, migration_table};

const ACQUIRE_WITHIN: Duration = Duration::from_millis(STORE_WAIT_MS);
/// A connection that was idle this long is tested before use: it may have died with its server.
const TRUSTED_FOR: Duration = Duration::from_secs(5);
const STATEMENTS_CACHED: usize = 256;

/// When this process last found the server away: connections that were used before may be dead, too.
static LOST: Mutex<Option<Instant>> = Mutex::new(None);

/// Where PostgreSQL is, with the password, which is never printed: `postgres://user:password@host/database`.
#[derive(Clone)]
pub struct PostgresUrl(Box<PgConnectOptions>);

/// An open PostgreSQL schema.
#[derive(Debug, Clone)]
pub struct Postgres {
    pub pool: PgPool,
}

// === impl PostgresUrl ===

impl FromStr for PostgresUrl {
    type Err = DatabaseError;

    fn from_str(url: &str) -> Result<Self, DatabaseError> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(DatabaseError::Scheme);
        }
        let options = PgConnectOptions::from_str(url).map_err(DatabaseError::Url)?;
        Ok(Self(Box::new(options)))
    }
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, port) = (self.0.get_username(), self.0.get_port());
        let database = self.0.get_database().unwrap_or(user);
        match self.0.get_socket() {
            Some(socket) => write!(f, "postgres://{user}@{}/{database}", socket.display()),
            None => write!(f, "postgres://{user}@{}:{port}/{database}", self.0.get_host()),
        }
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresUrl({self})")
    }
}

// === impl Postgres ===

impl Postgres {
    /// Opens the schema named like the service and runs what is missing of `migrations`, under a lock that
    /// all replicas respect.
    pub async fn open(
        url: &PostgresUrl,
        service: &'static str,
        mut migrations: Migrator,
        connections: u32,
    ) -> Result<Self, DatabaseError> {
        let options = (*url.0)
            .clone()
            .options([("search_path", service)])
            .application_name(&format!("skald-{service}"))
            .statement_cache_capacity(STATEMENTS_CACHED);
        let pool = match pool(connections).connect_with(options.clone()).await {
            Ok(pool) => pool,
            Err(error) => {
                let source = why(error, &options).await;
                return Err(DatabaseError::Open { service, source });
            }
        };
        migrations.create_schema(service);
        migrations.dangerous_set_table_name(format!("{service}.{}", migration_table(service)));
        let migrated = migrations.run(&pool).await;
        migrated.map_err(|source| DatabaseError::Migrate { service, source })?;
        Ok(Self { pool })
    }

    pub async fn close(&self) {
        self.pool.close().await;
    }
}

/// A pool that waited in vain does not say what for; one attempt of our own does.
async fn why(error: sqlx::Error, options: &PgConnectOptions) -> sqlx::Error {
    if !matches!(error, sqlx::Error::PoolTimedOut) {
        return error;
    }
    match tokio::time::timeout(ACQUIRE_WITHIN, PgConnection::connect_with(options)).await {
        Ok(Err(cause)) => cause,
        Ok(Ok(_)) | Err(_) => error,
    }
}

/// A connection was found dead, or the server busy: the others are tested before they are used again.
pub(super) fn lost() {
    *LOST.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
}

fn lost_at() -> Option<Instant> {
    *LOST.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pool(connections: u32) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(ACQUIRE_WITHIN)
        .test_before_acquire(false)
        .before_acquire(|connection, idle| {
            Box::pin(async move {
                let used = Instant::now().checked_sub(idle.idle_for);
                if idle.idle_for > TRUSTED_FOR || used < lost_at() {
                    connection.ping().await?;
                }
                Ok(true)
            })
        })
}

#[cfg(test)]
mod tests {
    use sqlx::Row as _;

    use super::*;
    use crate::testing;

    #[test]
    fn a_password_is_never_printed() {
        let url: PostgresUrl = "postgres://ada:secret@db:5433/skald".parse().expect("a url");
        assert_eq!(url.to_string(), "postgres://ada@db:5433/skald");
        assert!(!format!("{url:?}").contains("secret"));
        assert!("mysql://x".parse::<PostgresUrl>().is_err());
    }

    #[tokio::test]
    async fn services_share_a_database_and_keep_apart() {
        let Some(url) = testing::postgres().await else { return };
        let table = || testing::migrator(&["create table t (id bigint primary key)"]);
        let ledger = Postgres::open(&url, "ledger", table(), 2).await.expect("opened");
        let loader = Postgres::open(&url, "loader", table(), 2).await.expect("opened");
        sqlx::query("insert into t values (1)").execute(&ledger.pool).await.expect("written");
        let rows = sqlx::query("select id from t").fetch_all(&loader.pool).await.expect("read");
        assert!(rows.is_empty());
        let row = sqlx::query("select count(*) from ledger.t").fetch_one(&loader.pool).await;
        assert_eq!(row.expect("read").get::<i64, _>(0), 1);
    }

    #[tokio::test]
    async fn replicas_that_start_together_migrate_once() {
        let Some(url) = testing::postgres().await else { return };
        let open = || async {
            let table = testing::migrator(&["create table t (id bigint primary key)"]);
            Postgres::open(&url, "ledger", table, 2).await
        };
        let (a, b, c, d) = tokio::join!(open(), open(), open(), open());
        for opened in [a, b, c, d] {
            opened.expect("migrated").close().await;
        }
    }
}

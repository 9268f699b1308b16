//! The ledger: the one writer of history, its lifecycle, and the rendered request.
//!
//! A request passes three hops: `grpc` reads it, a verb of [`ledger::Ledger`] loads, decides and
//! stores, `store` is one transaction. The rules themselves are in `ledger-core`.

use std::sync::Arc;

use host::{
    database::{self, DatabaseError, Place},
    gate::Services,
    link::Peer,
    shutdown::Shutdown,
};
use kernel::{Clock, SystemClock};
use sqlx::migrate::Migrator;

mod attempt;
mod board;
mod error;
mod grpc;
pub mod ledger;
pub mod store;

use ledger::Ledger;
use store::{Store, postgres::PostgresStore, sqlite::SqliteStore};

static SQLITE: Migrator = sqlx::migrate!("../../../migrations/ledger/sqlite");
static POSTGRES: Migrator = sqlx::migrate!("../../../migrations/ledger/postgres");

/// What the operator decides.
#[derive(Debug, Clone)]
pub struct Config {
    pub place: Place,
}

/// What the ledger calls.
#[derive(Clone)]
pub struct Links {
    pub loader: Peer,
    pub models: model::Registry,
}

/// The ledger, ready to be mounted.
#[derive(Clone)]
pub struct Server {
    ledger: Ledger,
}

/// Opens the database, brings it up to date, and starts the background work.
pub async fn build(
    config: Config,
    clock: Arc<dyn Clock>,
    links: Links,
    shutdown: Shutdown,
) -> Result<Server, DatabaseError> {
    let store = open(config, clock.clone()).await?;
    let ledger = Ledger::new(store, clock, links.models, links.loader, shutdown.clone());
    shutdown.spawn(ledger.clone().sweep());
    Ok(Server { ledger })
}

/// Brings the ledger's database up to date.
pub async fn migrate(place: Place) -> Result<(), DatabaseError> {
    open(Config { place }, Arc::new(SystemClock)).await.map(drop)
}

async fn open(config: Config, clock: Arc<dyn Clock>) -> Result<Arc<dyn Store>, DatabaseError> {
    Ok(match config.place {
        Place::Folder(folder) => {
            let sqlite = database::Sqlite::open(&folder, "ledger", migrations(&SQLITE)).await?;
            let unusable = |error: store::StoreError| DatabaseError::Open {
                service: "ledger",
                source: sqlx::Error::Protocol(error.to_string()),
            };
            Arc::new(SqliteStore::start(sqlite, clock).await.map_err(unusable)?)
        }
        Place::Postgres { url, connections } => {
            let migrations = migrations(&POSTGRES);
            let postgres =
                database::Postgres::open(&url, "ledger", migrations, connections).await?;
            Arc::new(PostgresStore::new(postgres, clock))
        }
    })
}

/// A migrator of one's own: its table name is set when it runs.
fn migrations(of: &'static Migrator) -> Migrator {
    Migrator { migrations: of.migrations.clone(), ..Migrator::DEFAULT }
}

// === impl Server ===

impl Server {
    /// Adds the ledger's services; the work queue among them is for mesh principals only.
    pub fn mount(&self, services: Services) -> Services {
        grpc::mount(&self.ledger, services)
    }
}

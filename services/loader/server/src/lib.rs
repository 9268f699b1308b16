//! The loader: presets, characters and users, what sessions have bound, and the profiles made of it.
//!
//! A call goes `grpc.rs` → a use case (`presets.rs`, `characters.rs`, …) → `store`, and back. Lore
//! comes from the lorebook, over a link; nobody else is called.

use std::{sync::Arc, time::Duration};

use host::{
    database::{DatabaseError, Place, Postgres, Sqlite},
    gate::Services,
    link::Peer,
    shutdown::Shutdown,
};
use kernel::{Clock, SystemClock, limits::ANSWER_KEPT_MS};
use sqlx::migrate::Migrator;
use tokio::sync::Notify;

use crate::{
    documents::Documents,
    store::{Store, postgres::PostgresStore, sqlite::SqliteStore},
};

pub mod store;

mod bindings;
mod characters;
mod deletions;
mod documents;
mod edits;
mod error;
mod exports;
mod grpc;
mod owner;
mod presets;
mod profiles;
mod selections;
mod templates;
mod users;

/// The service's name: of its schema, its file, and its logs.
pub const NAME: &str = "loader";

/// How often old answers are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(60 * 60);
/// How often deletions that wait for the lorebook, or for a session to end, are tried again.
const DELETE_EVERY: Duration = Duration::from_secs(30);

/// How the loader runs.
#[derive(Debug, Clone)]
pub struct Config {
    pub place: Place,
}

/// The services that the loader calls.
#[derive(Debug, Clone)]
pub struct Links {
    pub lorebook: Peer,
}

/// A loader that is ready to be mounted.
#[derive(Clone)]
pub struct Server {
    loader: Arc<Loader>,
}

/// What every use case works with.
struct Loader {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    lorebook: Peer,
    documents: Documents,
    /// Tells the sweeper that a card has let go of its book.
    released: Notify,
}

/// Opens and migrates the database; nothing is called yet.
pub async fn build(
    config: Config,
    clock: Arc<dyn Clock>,
    links: Links,
) -> Result<Server, DatabaseError> {
    let store = open(config, clock.clone()).await?;
    let Links { lorebook } = links;
    let (documents, released) = (Documents::default(), Notify::new());
    let loader = Loader { store, clock, lorebook, documents, released };
    Ok(Server { loader: Arc::new(loader) })
}

/// Brings the loader's database up to date.
pub async fn migrate(place: Place) -> Result<(), DatabaseError> {
    open(Config { place }, Arc::new(SystemClock)).await.map(drop)
}

async fn open(config: Config, clock: Arc<dyn Clock>) -> Result<Arc<dyn Store>, DatabaseError> {
    Ok(match config.place {
        Place::Folder(folder) => {
            let database = Sqlite::open(&folder, NAME, sqlite_migrations()).await?;
            Arc::new(SqliteStore::new(database, clock))
        }
        Place::Postgres { url, connections } => {
            let migrations = postgres_migrations();
            let database = Postgres::open(&url, NAME, migrations, connections).await?;
            Arc::new(PostgresStore::new(database, clock))
        }
    })
}

fn sqlite_migrations() -> Migrator {
    sqlx::migrate!("../../../migrations/loader/sqlite")
}

fn postgres_migrations() -> Migrator {
    sqlx::migrate!("../../../migrations/loader/postgres")
}

async fn sweep(loader: Arc<Loader>, shutdown: Shutdown) {
    let mut ticks = tokio::time::interval(SWEEP_EVERY);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = shutdown.stopping() => return,
        }
        let before = loader.clock.now().plus_ms(-ANSWER_KEPT_MS);
        if let Err(error) = loader.store.forget(before).await {
            tracing::warn!(%error, "old answers could not be forgotten");
        }
    }
}

async fn finish_deletions(loader: Arc<Loader>, shutdown: Shutdown) {
    let mut ticks = tokio::time::interval(DELETE_EVERY);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = loader.released.notified() => {}
            () = shutdown.stopping() => return,
        }
        tokio::select! {
            () = take_out_worlds(&loader) => {}
            () = shutdown.stopping() => return,
        }
    }
}

/// What is cut off here goes on with the next sweep.
async fn take_out_worlds(loader: &Loader) {
    if let Err(error) = loader.collect_books().await {
        tracing::warn!(%error, "cards' books that nothing uses could not be collected");
    }
    if let Err(error) = loader.finish_deletions().await {
        tracing::warn!(%error, "deleted worlds could not be taken out of the lorebook");
    }
}

// === impl Server ===

impl Server {
    /// Forgets old answers and finishes deletions now and then, until `shutdown` begins.
    pub fn run(&self, shutdown: &Shutdown) {
        shutdown.spawn(sweep(self.loader.clone(), shutdown.clone()));
        shutdown.spawn(finish_deletions(self.loader.clone(), shutdown.clone()));
    }

    /// Mounts everything that the loader serves; the gate hides the mesh part.
    pub fn mount(&self, services: Services) -> Services {
        grpc::mount(self.loader.clone(), services)
    }
}

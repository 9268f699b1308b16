//! The lorebook: worlds, their entries in two layers, their History, and what a text activates.
//!
//! A call goes `grpc.rs` → a use case (`worlds.rs`, `entries.rs`, `export.rs`, `embedded.rs`, `history.rs`,
//! `activate.rs`) → `store`, and back. Lorebook calls nobody.

use std::{sync::Arc, time::Duration};

use host::{
    database::{DatabaseError, Place},
    gate::Services,
    shutdown::Shutdown,
};
use kernel::{Clock, limits};
use uuid::Uuid;

use crate::{
    activate::Compiled,
    store::{Attempt, SqlStore, Store},
};

pub mod store;

mod activate;
mod embedded;
mod entries;
mod error;
mod export;
mod grpc;
mod history;
mod worlds;

/// The service's name: of its schema, its file, and its logs.
pub const NAME: &str = "lorebook";

/// How the lorebook runs.
#[derive(Debug, Clone)]
pub struct Config {
    pub place: Place,
}

/// A lorebook that is ready to be mounted.
#[derive(Clone)]
pub struct Server {
    lorebook: Arc<Lorebook>,
}

/// What every use case works with.
struct Lorebook {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    compiled: Compiled,
}

/// How often old answers are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(60 * 60);

/// Opens and migrates the database.
pub async fn build(config: Config, clock: Arc<dyn Clock>) -> Result<Server, DatabaseError> {
    Ok(Server::over(Arc::new(open(config.place).await?), clock))
}

/// Brings the lorebook's database up to date.
pub async fn migrate(place: Place) -> Result<(), DatabaseError> {
    open(place).await.map(drop)
}

async fn open(place: Place) -> Result<SqlStore, DatabaseError> {
    match place {
        Place::Folder(folder) => SqlStore::on_sqlite(&folder).await,
        Place::Postgres { url, connections } => SqlStore::on_postgres(&url, connections).await,
    }
}

async fn sweep(lorebook: Arc<Lorebook>, shutdown: Shutdown) {
    let mut ticks = tokio::time::interval(SWEEP_EVERY);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = shutdown.stopping() => return,
        }
        let before = lorebook.clock.now().plus_ms(-limits::ANSWER_KEPT_MS);
        if let Err(error) = lorebook.store.forget(before).await {
            tracing::warn!(%error, "old answers could not be forgotten");
        }
    }
}

// === impl Lorebook ===

impl Lorebook {
    /// The id of what an attempt makes at a place of its request: the same however often it is made, and another one
    /// for another request, so that a name that was forgotten and is used again makes something else.
    fn new_id<T: From<Uuid>>(
        &self,
        attempt: Option<&Attempt>,
        derived: fn(&[&str]) -> T,
        at: usize,
    ) -> T {
        let Some(Attempt { scope, request }) = attempt else { return self.clock.fresh().into() };
        let [tenant, subject, method, request_id] = scope.parts();
        let (request, at) = (request.to_hex(), at.to_string());
        derived(&[tenant, subject, method, request_id, &request, &at])
    }
}

// === impl Server ===

impl Server {
    /// A lorebook over any store.
    pub fn over(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        let compiled = Compiled::new(clock.fresh());
        Self { lorebook: Arc::new(Lorebook { store, clock, compiled }) }
    }

    /// Forgets old answers now and then, until `shutdown` begins.
    pub fn run(&self, shutdown: &Shutdown) {
        shutdown.spawn(sweep(self.lorebook.clone(), shutdown.clone()));
    }

    /// Mounts everything that the lorebook serves; the gate hides the mesh part.
    pub fn mount(&self, services: Services) -> Services {
        grpc::mount(self.lorebook.clone(), services)
    }
}

//! The proposal service: judges finished turns, keeps what a model proposes, and carries out what a person decides.
//!
//! It calls the ledger (for work) and lorebook (for worlds and changes); nobody calls it but people. What it
//! stages is invisible to everything else until lorebook has applied it.

mod error;
mod grpc;
mod judge;
mod lore;
mod proposals;
mod store;
mod worker;

use std::sync::Arc;

use host::{
    database::{DatabaseError, Place},
    gate::Services,
    link::Peer,
    shutdown::Shutdown,
};
use kernel::Clock;
use model::Registry;
use wire::proposal::v1::{
    changeset_service_server::ChangesetServiceServer,
    evaluation_service_server::EvaluationServiceServer,
};

use crate::{grpc::Handlers, judge::Judge, lore::Lore, proposals::Proposals, worker::Worker};

/// What an operator chooses.
#[derive(Debug, Clone)]
pub struct Config {
    pub place: Place,
    /// Turns judged at the same time by this process.
    pub judges: usize,
}

/// The services that this one calls, and the models it judges with.
pub struct Links {
    pub ledger: Peer,
    pub lorebook: Peer,
    pub models: Registry,
}

/// The built service: mount it, and let its background work run.
pub struct Server {
    proposals: Arc<Proposals>,
    worker: Arc<Worker>,
    judges: usize,
}

/// Opens the store and puts the service together; nothing runs yet.
pub async fn build(
    config: Config,
    clock: Arc<dyn Clock>,
    links: Links,
) -> Result<Server, DatabaseError> {
    let store = store::open(&config.place).await?;
    let lore = Lore::new(links.lorebook);
    let proposals = Arc::new(Proposals::new(store.clone(), clock.clone(), lore.clone()));
    let judge = Judge::new(store, clock, lore, links.models);
    let worker = Arc::new(Worker::new(links.ledger, judge));
    Ok(Server { proposals, worker, judges: config.judges })
}

/// Brings the proposals' database up to date.
pub async fn migrate(place: Place) -> Result<(), DatabaseError> {
    store::open(&place).await.map(drop)
}

// === impl Server ===

impl Server {
    pub fn mount(&self, services: Services) -> Services {
        let handlers = Handlers::new(self.proposals.clone());
        services
            .mount(ChangesetServiceServer::new(handlers.clone()))
            .mount(EvaluationServiceServer::new(handlers))
    }

    /// Starts leasing work and finishing what a crash left unfinished, until `shutdown` begins.
    pub fn run(&self, shutdown: &Shutdown) {
        shutdown.spawn(self.worker.clone().run(self.judges, shutdown.clone()));
        shutdown.spawn(self.proposals.clone().sweep(shutdown.clone()));
    }
}

//! The four services put together: all in one process over local links, or one of them with far peers.

use std::sync::Arc;

use clap::ValueEnum as _;
use host::{
    auth::{Authenticator, mesh::MeshToken},
    database::{DatabaseError, Place},
    door::Door,
    gate::Services,
    link::{self, InvalidPeerUrl, Link, Peer},
    shutdown::Shutdown,
};
use kernel::Clock;
use model::Registry;

use crate::cli::ServiceName;

/// What every service of a process shares.
#[derive(Clone)]
pub struct Common {
    pub place: Place,
    pub auth: Authenticator,
    pub mesh: MeshToken,
    pub clock: Arc<dyn Clock>,
    pub shutdown: Shutdown,
    pub models: Registry,
    /// Turns judged at the same time.
    pub judges: usize,
}

/// Where the peers of a single service answer.
#[derive(Debug, Clone, Default)]
pub struct PeerUrls {
    pub ledger: Option<String>,
    pub loader: Option<String>,
    pub lorebook: Option<String>,
}

/// Why a house cannot be put together.
#[derive(Debug, thiserror::Error)]
pub enum HouseError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Peer(#[from] InvalidPeerUrl),
    #[error("{service} calls {peer}, and {variable} does not say where that is")]
    PeerMissing { service: &'static str, peer: &'static str, variable: &'static str },
}

/// All four behind one door. Calls go ledger → loader → lorebook and proposal → ledger, lorebook; a
/// service reaches another through the other's own door, as it would from afar.
pub async fn all_in_one(common: &Common) -> Result<Door, HouseError> {
    let lorebook = lorebook(common).await?;
    let near_lorebook = common.near(lorebook.mount(Services::new()));
    let loader = loader(common, near_lorebook.clone()).await?;
    let near_loader = common.near(loader.mount(Services::new()));
    let ledger = ledger(common, near_loader).await?;
    let near_ledger = common.near(ledger.mount(Services::new()));
    let proposal = proposal(common, near_ledger, near_lorebook).await?;

    let services = lorebook.mount(Services::new());
    let services = ledger.mount(loader.mount(services));
    let door = common.door(proposal.mount(services));
    proposal.run(&common.shutdown);
    Ok(door)
}

/// One service behind its door.
pub async fn single(
    service: ServiceName,
    common: &Common,
    peers: &PeerUrls,
) -> Result<Door, HouseError> {
    let far = |peer: &'static str, variable: &'static str, url: &Option<String>| {
        let name = name(service);
        let missing = HouseError::PeerMissing { service: name, peer, variable };
        let link = link::remote(peer, url.as_deref().ok_or(missing)?)?;
        Ok::<Peer, HouseError>(common.peer(link))
    };
    let lorebook_at = || far("lorebook", "SKALD_LOREBOOK_URL", &peers.lorebook);
    let services = Services::new();
    Ok(match service {
        ServiceName::Lorebook => common.door(lorebook(common).await?.mount(services)),
        ServiceName::Loader => common.door(loader(common, lorebook_at()?).await?.mount(services)),
        ServiceName::Ledger => {
            let loader = far("loader", "SKALD_LOADER_URL", &peers.loader)?;
            common.door(ledger(common, loader).await?.mount(services))
        }
        ServiceName::Proposal => {
            let ledger = far("ledger", "SKALD_LEDGER_URL", &peers.ledger)?;
            let proposal = proposal(common, ledger, lorebook_at()?).await?;
            proposal.run(&common.shutdown);
            common.door(proposal.mount(services))
        }
    })
}

/// Brings one service's database up to date, or all four.
pub async fn migrate(service: Option<ServiceName>, place: Place) -> Result<(), DatabaseError> {
    let all = || ServiceName::value_variants().iter().copied();
    for service in service.map_or_else(|| all().collect(), |one| vec![one]) {
        match service {
            ServiceName::Ledger => ledger::migrate(place.clone()).await?,
            ServiceName::Loader => loader::migrate(place.clone()).await?,
            ServiceName::Lorebook => lorebook::migrate(place.clone()).await?,
            ServiceName::Proposal => proposal::migrate(place.clone()).await?,
        }
    }
    Ok(())
}

async fn lorebook(common: &Common) -> Result<lorebook::Server, DatabaseError> {
    let config = lorebook::Config { place: common.place.clone() };
    let server = lorebook::build(config, common.clock.clone()).await?;
    server.run(&common.shutdown);
    Ok(server)
}

async fn loader(common: &Common, lorebook: Peer) -> Result<loader::Server, DatabaseError> {
    let config = loader::Config { place: common.place.clone() };
    let links = loader::Links { lorebook };
    let server = loader::build(config, common.clock.clone(), links).await?;
    server.run(&common.shutdown);
    Ok(server)
}

async fn ledger(common: &Common, loader: Peer) -> Result<ledger::Server, DatabaseError> {
    let config = ledger::Config { place: common.place.clone() };
    let links = ledger::Links { loader, models: common.models.clone() };
    ledger::build(config, common.clock.clone(), links, common.shutdown.clone()).await
}

async fn proposal(
    common: &Common,
    ledger: Peer,
    lorebook: Peer,
) -> Result<proposal::Server, DatabaseError> {
    let config = proposal::Config { place: common.place.clone(), judges: common.judges };
    let links = proposal::Links { ledger, lorebook, models: common.models.clone() };
    proposal::build(config, common.clock.clone(), links).await
}

fn name(service: ServiceName) -> &'static str {
    match service {
        ServiceName::Ledger => "ledger",
        ServiceName::Loader => "loader",
        ServiceName::Lorebook => "lorebook",
        ServiceName::Proposal => "proposal",
    }
}

// === impl Common ===

impl Common {
    fn door(&self, services: Services) -> Door {
        Door::new(services, self.auth.clone(), self.shutdown.clone())
    }

    /// A peer in this process.
    fn near(&self, services: Services) -> Peer {
        self.peer(link::local(self.door(services)))
    }

    fn peer(&self, link: Link) -> Peer {
        Peer::new(link, self.mesh.clone())
    }
}

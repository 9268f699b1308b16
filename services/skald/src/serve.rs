//! Serving: a house, a port, and the signals that end it.

use std::sync::Arc;

use host::{database::Place, door::Door, shutdown::Shutdown, signal};
use kernel::SystemClock;
use tokio::net::TcpListener;

use crate::{
    Failure,
    cli::{MigrateArgs, ServeArgs},
    house::{self, Common, PeerUrls},
    providers,
};

/// A token made up by this process would be known to no other.
const MESH_TOKEN_MISSING: &str = "a service alone needs SKALD_MESH_TOKEN, the same in all of them: \
                                  its peers know it by that";

/// Serves until a signal ends the process.
pub(crate) async fn serve(args: ServeArgs) -> Result<(), Failure> {
    let shutdown = Shutdown::new();
    let place = args.host.place.open().map_err(Failure::run)?;
    let door = build(&args, place.clone(), &shutdown).await?;
    let address = args.host.listen;
    let listener = match TcpListener::bind(address).await {
        Ok(listener) => listener,
        Err(error) => {
            // The services have begun to work; they end as they would after a signal.
            shutdown.begin();
            shutdown.tasks_ended().await;
            place.settle().await;
            return Err(Failure::run(format!("{address} cannot be listened on: {error}")));
        }
    };
    signal::end_on_signal(&shutdown).map_err(Failure::run)?;
    let served = host::serve::serve(listener, door, args.host.serve_options()).await;
    place.settle().await;
    served.map_err(Failure::run)
}

/// Brings the databases of all four services up to date, or of one.
pub(crate) async fn migrate(args: MigrateArgs) -> Result<(), Failure> {
    let place = args.place.open().map_err(Failure::run)?;
    let migrated = house::migrate(args.service, place.clone()).await;
    place.settle().await;
    migrated.map_err(Failure::run)
}

async fn build(args: &ServeArgs, place: Place, shutdown: &Shutdown) -> Result<Door, Failure> {
    if args.service.is_some() && args.host.mesh_token.is_none() {
        return Err(Failure::usage(MESH_TOKEN_MISSING));
    }
    let mesh = args.host.mesh_token().map_err(Failure::run)?;
    let auth = args.host.authenticator(&mesh).map_err(Failure::usage)?;
    let models = providers::load(args.providers.providers.as_deref()).map_err(Failure::usage)?;
    let common = Common {
        place,
        auth,
        mesh,
        clock: Arc::new(SystemClock),
        shutdown: shutdown.clone(),
        models,
        judges: args.judges,
    };
    let peers = PeerUrls {
        ledger: args.ledger_url.clone(),
        loader: args.loader_url.clone(),
        lorebook: args.lorebook_url.clone(),
    };
    let door = match args.service {
        None => house::all_in_one(&common).await,
        Some(service) => house::single(service, &common, &peers).await,
    };
    door.map_err(|error| match error {
        house::HouseError::Database(_) => Failure::run(error),
        house::HouseError::Peer(_) | house::HouseError::PeerMissing { .. } => Failure::usage(error),
    })
}

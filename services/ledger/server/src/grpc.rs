//! The ledger's services: one short function for each RPC.

use std::pin::Pin;

use futures::Stream;
use host::gate::Services;
use tonic::Status;
use wire::{ledger::v1 as pb, mesh::v1 as mesh_pb};

use crate::ledger::Ledger;

mod authored;
mod capabilities;
mod context;
mod events;
mod from_proto;
mod generations;
mod sessions;
mod status;
mod to_proto;
mod turns;
mod work;

pub(crate) use status::status;

/// Every service of the ledger is this one handler.
#[derive(Clone)]
struct Handler {
    ledger: Ledger,
}

type Reply<T> = Result<tonic::Response<T>, Status>;
type Streamed<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Mounts the ledger's services.
pub(crate) fn mount(ledger: &Ledger, services: Services) -> Services {
    let handler = || Handler { ledger: ledger.clone() };
    services
        .mount(pb::session_service_server::SessionServiceServer::new(handler()))
        .mount(pb::turn_service_server::TurnServiceServer::new(handler()))
        .mount(pb::generation_service_server::GenerationServiceServer::new(handler()))
        .mount(pb::context_service_server::ContextServiceServer::new(handler()))
        .mount(pb::event_service_server::EventServiceServer::new(handler()))
        .mount(pb::capability_service_server::CapabilityServiceServer::new(handler()))
        .mount(pb::authored_history_service_server::AuthoredHistoryServiceServer::new(handler()))
        .mount(mesh_pb::work_service_server::WorkServiceServer::new(handler()))
}

/// Marks an answer that was given before.
fn replayable<T>(response: T, replayed: bool) -> tonic::Response<T> {
    let response = tonic::Response::new(response);
    if replayed { host::answer::replayed(response) } else { response }
}

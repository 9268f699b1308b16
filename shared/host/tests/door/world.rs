//! A small served process to look at: three stub services, one of them hidden, one of them mesh.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures::StreamExt as _;
use host::{
    auth::{AuthMode, Authenticator, hash_token, mesh::MeshToken},
    caller::{Caller, caller},
    door::Door,
    gate::Services,
    serve::{ServeError, ServeOptions, serve},
    shutdown::Shutdown,
};
use tokio::{net::TcpListener, task::JoinHandle};
use tonic::{Request, Response, Status, codegen::BoxStream};
use wire::{
    ledger::v1::{
        self as pb, authored_history_service_server as authored,
        capability_service_server as capability, event_service_server as event,
    },
    mesh::v1::{self as mesh, work_service_server as work},
};

pub const MESH: &str = "secret-of-the-mesh";
pub const ADA: &str = "ada-secret";
pub const BOB: &str = "bob-secret";

/// ada's tenant may see authored history, bob's may not.
const TOKENS: &str = r#"
    [[token]]
    hash = "ADA"
    tenant = "acme"
    subject = "ada"

    [[token]]
    hash = "BOB"
    tenant = "other"
    subject = "bob"

    [tenant.acme]
    grants = ["authored_history"]
"#;

/// Answers with what it sees of its caller.
#[derive(Clone, Default)]
pub struct Stub {
    pub shutdown: Shutdown,
    /// How many of the next answers are UNAVAILABLE.
    pub away: Arc<AtomicUsize>,
    /// How many calls arrived.
    pub arrived: Arc<AtomicUsize>,
    /// An event stream that ignores the end and never does anything.
    pub stubborn: bool,
}

pub struct World {
    pub address: SocketAddr,
    pub door: Door,
    pub served: JoinHandle<Result<(), ServeError>>,
    _tokens: tempfile::NamedTempFile,
}

pub fn door(stub: Stub, path: &std::path::Path) -> Door {
    let mesh = MESH.parse::<MeshToken>().expect("a token");
    let auth = Authenticator::open(&AuthMode::Tokens(path.to_owned()), &mesh).expect("tokens");
    let shutdown = stub.shutdown.clone();
    let services = Services::new()
        .mount(capability::CapabilityServiceServer::new(stub.clone()))
        .mount(event::EventServiceServer::new(stub.clone()))
        .mount(authored::AuthoredHistoryServiceServer::new(stub.clone()))
        .mount(work::WorkServiceServer::new(stub));
    Door::new(services, auth, shutdown)
}

pub fn tokens() -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let text = TOKENS.replace("ADA", &hash_token(ADA)).replace("BOB", &hash_token(BOB));
    std::fs::write(file.path(), text).expect("written");
    file
}

/// Serves on a port of its own.
pub async fn start(stub: Stub, options: ServeOptions) -> World {
    let tokens = tokens();
    let door = door(stub, tokens.path());
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    let served = tokio::spawn(serve(listener, door.clone(), options));
    World { address, door, served, _tokens: tokens }
}

pub fn with_token<T>(token: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    let value = format!("Bearer {token}").parse().expect("ascii");
    request.metadata_mut().insert("authorization", value);
    request
}

// === impl Stub ===

impl Stub {
    fn arrive(&self) -> Result<(), Status> {
        self.arrived.fetch_add(1, Ordering::SeqCst);
        let left =
            self.away.try_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        match left {
            Ok(_) => Err(host::status::peer_unavailable("away")),
            Err(_) => Ok(()),
        }
    }
}

fn describe(caller: &Caller) -> String {
    let owner = &caller.principal.owner;
    let passage = &caller.passage;
    let timed = if passage.deadline.is_some() { "timed" } else { "untimed" };
    format!(
        "{}/{} {} {timed}",
        owner.tenant,
        owner.subject,
        passage.request_id.to_str().expect("ascii")
    )
}

#[tonic::async_trait]
impl capability::CapabilityService for Stub {
    async fn get_capabilities(
        &self,
        request: Request<pb::GetCapabilitiesRequest>,
    ) -> Result<Response<pb::GetCapabilitiesResponse>, Status> {
        self.arrive()?;
        assert!(!request.metadata().contains_key("x-panic"), "asked to");
        let caller = caller(&request)?;
        let services = caller.services.iter().map(|name| (*name).to_owned()).collect();
        let answer = pb::GetCapabilitiesResponse {
            version: describe(caller),
            services,
            ..Default::default()
        };
        Ok(host::answer::replayed(Response::new(answer)))
    }
}

#[tonic::async_trait]
impl event::EventService for Stub {
    type ReadEventsStream = BoxStream<pb::ReadEventsResponse>;

    async fn read_events(
        &self,
        _: Request<pb::ReadEventsRequest>,
    ) -> Result<Response<Self::ReadEventsStream>, Status> {
        let first = futures::stream::once(async { Ok(pb::ReadEventsResponse::default()) });
        let rest = futures::stream::pending();
        if self.stubborn {
            return Ok(Response::new(first.chain(rest).boxed()));
        }
        let stopping = Box::pin(self.shutdown.stopping());
        Ok(Response::new(first.chain(rest.take_until(stopping)).boxed()))
    }

    async fn verify_session(
        &self,
        _: Request<pb::VerifySessionRequest>,
    ) -> Result<Response<pb::VerifySessionResponse>, Status> {
        std::future::pending().await
    }
}

#[tonic::async_trait]
impl authored::AuthoredHistoryService for Stub {
    async fn create_session_with_opening(
        &self,
        _: Request<pb::CreateSessionWithOpeningRequest>,
    ) -> Result<Response<pb::CreateSessionWithOpeningResponse>, Status> {
        Ok(Response::new(pb::CreateSessionWithOpeningResponse::default()))
    }

    async fn write_authored_turn(
        &self,
        _: Request<pb::WriteAuthoredTurnRequest>,
    ) -> Result<Response<pb::WriteAuthoredTurnResponse>, Status> {
        self.arrive()?;
        Ok(Response::new(pb::WriteAuthoredTurnResponse::default()))
    }
}

#[tonic::async_trait]
impl work::WorkService for Stub {
    async fn lease_work(
        &self,
        _: Request<mesh::LeaseWorkRequest>,
    ) -> Result<Response<mesh::LeaseWorkResponse>, Status> {
        Ok(Response::new(mesh::LeaseWorkResponse::default()))
    }

    async fn complete_work(
        &self,
        _: Request<mesh::CompleteWorkRequest>,
    ) -> Result<Response<mesh::CompleteWorkResponse>, Status> {
        Ok(Response::new(mesh::CompleteWorkResponse::default()))
    }
}

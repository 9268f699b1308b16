//! One small call through the whole house, beside a bare tonic call.

use std::time::{Duration, Instant};

use host::{
    link::{self, Link},
    serve::{ServeOptions, serve},
};
use tokio::net::TcpListener;
use tonic::transport::{Server, server::TcpIncoming};
use tonic_health::{
    ServingStatus,
    pb::{HealthCheckRequest, health_client::HealthClient, health_server::HealthServer},
    server::{HealthReporter, HealthService},
};
use wire::ledger::v1::{GetSessionRequest, session_service_client::SessionServiceClient};

use crate::{figure, scene::Scene};

const ROUNDS: usize = 15;
/// Calls of one round, one after the other.
const CALLS: u32 = 200;

pub async fn measure() {
    let scene = Scene::open(true).await;
    let bare = bare().await;
    println!("GetSession in process, beside a bare health call in process");
    let ours = SessionServiceClient::new(link::local(scene.door.clone()));
    compare("get_session_near_over_bare_call", 40.0, &scene, ours, link::local(bare.clone())).await;

    println!("GetSession over loopback, beside a bare health call over loopback");
    let incoming = || async { TcpListener::bind("127.0.0.1:0").await.expect("a port") };
    let (ours, floor) = (incoming().await, incoming().await);
    let url = |of: &TcpListener| format!("http://{}", of.local_addr().expect("an address"));
    let (ours_url, floor_url) = (url(&ours), url(&floor));
    tokio::spawn(serve(ours, scene.door.clone(), ServeOptions::default()));
    let incoming = TcpIncoming::from(floor).with_nodelay(Some(true));
    tokio::spawn(Server::builder().add_service(bare).serve_with_incoming(incoming));
    let ours = SessionServiceClient::new(link::remote("peer", &ours_url).expect("an address"));
    let floor = link::remote("peer", &floor_url).expect("an address");
    compare("get_session_far_over_bare_call", 4.0, &scene, ours, floor).await;
}

async fn compare(
    name: &str,
    bound: f64,
    scene: &Scene,
    mut ours: SessionServiceClient<Link>,
    floor: Link,
) {
    let mut floor = HealthClient::new(floor);
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let started = Instant::now();
        for _ in 0..CALLS {
            floor.check(HealthCheckRequest::default()).await.expect("healthy");
        }
        let floor = started.elapsed() / CALLS;
        rounds.push((floor, get_session(&mut ours, &scene.session).await));
    }
    figure(name, bound, &rounds);
}

async fn get_session(client: &mut SessionServiceClient<Link>, session: &str) -> Duration {
    let started = Instant::now();
    for _ in 0..CALLS {
        let request = GetSessionRequest { session_id: session.to_owned() };
        client.get_session(request).await.expect("read");
    }
    started.elapsed() / CALLS
}

async fn bare() -> HealthServer<HealthService> {
    let reporter = HealthReporter::new();
    reporter.set_service_status("", ServingStatus::Serving).await;
    HealthServer::new(HealthService::from_health_reporter(reporter))
}

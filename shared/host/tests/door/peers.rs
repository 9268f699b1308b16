//! Links: near and far behave the same, and a peer passes on for whom, how long, and under which id.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use host::{
    answer::REPLAYED,
    caller::Caller,
    link::{self, Link, Peer},
};
use http_body_util::BodyExt as _;
use kernel::{Principal, Subject, TenantId};
use tokio::time::Instant;
use tonic::{Code, Request, Status};
use tower::ServiceExt as _;
use wire::ledger::v1::{
    CreateSessionRequest, GetCapabilitiesRequest, GetCapabilitiesResponse, VerifySessionRequest,
    WriteAuthoredTurnRequest, authored_history_service_client::AuthoredHistoryServiceClient,
    capability_service_client::CapabilityServiceClient, event_service_client::EventServiceClient,
    session_service_client::SessionServiceClient,
};

use crate::world::{ADA, MESH, Stub, World, start, with_token};

/// The same process, next door and over the network.
async fn both(world: &World) -> [Link; 2] {
    let far = link::remote("peer", &format!("http://{}", world.address)).expect("a url");
    [link::local(world.door.clone()), far]
}

fn bob() -> Caller {
    let tenant = TenantId::new("acme").expect("an id");
    Caller::of_job(Principal::new(tenant, Subject::new("bob").expect("an id"), []))
}

fn peer(link: Link) -> Peer {
    Peer::new(link, MESH.parse().expect("a token"))
}

async fn describe(link: Link) -> Result<GetCapabilitiesResponse, Status> {
    let mut client = CapabilityServiceClient::new(link);
    let answer = client.get_capabilities(GetCapabilitiesRequest::default()).await?;
    Ok(answer.into_inner())
}

#[tokio::test]
async fn a_peer_acts_for_the_caller_with_its_deadline_and_request_id() {
    let world = start(Stub::default(), Default::default()).await;
    for link in both(&world).await {
        let mut caller = bob();
        caller.passage.request_id = http::HeaderValue::from_static("abc");
        let seen = describe(peer(link.clone()).acting_for(&caller)).await.expect("answered");
        assert_eq!(seen.version, "acme/bob abc untimed");
        caller.passage.deadline = Some(Instant::now() + Duration::from_secs(9));
        let seen = describe(peer(link).acting_for(&caller)).await.expect("answered");
        assert_eq!(seen.version, "acme/bob abc timed");
    }
}

#[tokio::test]
async fn a_peer_for_itself_is_the_mesh() {
    let world = start(Stub::default(), Default::default()).await;
    for link in both(&world).await {
        let seen = describe(peer(link).itself()).await.expect("answered");
        assert!(seen.version.starts_with("mesh/mesh "), "{}", seen.version);
        assert!(seen.services.iter().any(|name| name == "skald.mesh.v1.WorkService"));
    }
}

#[tokio::test]
async fn a_call_that_outlasts_its_deadline_answers_deadline_exceeded_near_and_far() {
    let world = start(Stub::default(), Default::default()).await;
    for link in both(&world).await {
        let mut request = with_token(ADA, VerifySessionRequest::default());
        request.set_timeout(Duration::from_millis(30));
        let mut client = EventServiceClient::new(link.clone());
        let status = client.verify_session(request).await.expect_err("too slow");
        assert_eq!(status.code(), Code::DeadlineExceeded);

        let mut caller = bob();
        caller.passage.deadline = Some(Instant::now() + Duration::from_millis(30));
        let mut client = EventServiceClient::new(peer(link).acting_for(&caller));
        let status = client.verify_session(VerifySessionRequest::default()).await;
        assert_eq!(status.expect_err("too slow").code(), Code::DeadlineExceeded);
    }
}

#[tokio::test]
async fn the_server_itself_keeps_the_deadline() {
    let world = start(Stub::default(), Default::default()).await;
    let request = http::Request::post("/skald.ledger.v1.EventService/VerifySession")
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("authorization", format!("Bearer {ADA}"))
        .header("grpc-timeout", "30m")
        .body(tonic::body::Body::new(http_body_util::Full::from(&[0_u8, 0, 0, 0, 0][..])))
        .expect("a request");
    // Sent to the door as the network would, but without a client that keeps time itself.
    let response = world.door.clone().oneshot(request).await.expect("infallible");
    assert_eq!(response.headers()["grpc-status"], "4");
}

#[tokio::test]
async fn a_handler_that_panics_is_an_internal_error_and_nothing_else_breaks() {
    let world = start(Stub::default(), Default::default()).await;
    for link in both(&world).await {
        let mut client = CapabilityServiceClient::new(link);
        let mut request = with_token(ADA, GetCapabilitiesRequest::default());
        request.metadata_mut().insert("x-panic", "yes".parse().expect("ascii"));
        let status = client.get_capabilities(request).await.expect_err("a panic");
        assert_eq!(status.code(), Code::Internal);
        let request = with_token(ADA, GetCapabilitiesRequest::default());
        client.get_capabilities(request).await.expect("as before");
    }
}

#[tokio::test]
async fn an_absent_peer_is_unavailable_with_a_reason() {
    let far = link::remote("peer", "http://127.0.0.1:1").expect("a url");
    let status = describe(far).await.expect_err("nobody there");
    assert_eq!(status.code(), Code::Unavailable);
    let reason = host::status::reason(&status).expect("ours");
    assert_eq!(reason, wire::common::v1::Reason::PeerUnavailable);
}

#[tokio::test]
async fn a_dead_replica_costs_no_call_neither_reads_nor_writes() {
    let world = start(Stub::default(), Default::default()).await;
    let urls = format!("http://127.0.0.1:1, http://{}", world.address);
    let far = link::remote("peer", &urls).expect("urls");
    for _ in 0..10 {
        let mut client = CapabilityServiceClient::new(far.clone());
        let request = with_token(ADA, GetCapabilitiesRequest::default());
        client.get_capabilities(request).await.expect("answered by the living one");
        let mut client = SessionServiceClient::new(far.clone());
        let request = with_token(ADA, CreateSessionRequest::default());
        let status = client.create_session(request).await.expect_err("not mounted here");
        assert_eq!(status.code(), Code::Unimplemented, "but reached");
    }
}

#[tokio::test]
async fn a_read_is_sent_again_while_the_peer_is_away_and_a_write_is_not() {
    let stub = Stub { away: Arc::new(AtomicUsize::new(3)), ..Default::default() };
    let arrived = stub.arrived.clone();
    let world = start(stub.clone(), Default::default()).await;
    let far = link::remote("peer", &format!("http://{}", world.address)).expect("a url");
    let mut client = CapabilityServiceClient::new(far.clone());
    let read = || with_token(ADA, GetCapabilitiesRequest::default());
    client.get_capabilities(read()).await.expect("the fourth attempt");
    assert_eq!(arrived.swap(0, Ordering::SeqCst), 4);

    stub.away.store(4, Ordering::SeqCst);
    let status = client.get_capabilities(read()).await.expect_err("away for too long");
    assert_eq!((status.code(), arrived.swap(0, Ordering::SeqCst)), (Code::Unavailable, 4));

    stub.away.store(1, Ordering::SeqCst);
    let mut client = AuthoredHistoryServiceClient::new(far);
    let write = with_token(ADA, WriteAuthoredTurnRequest::default());
    let status = client.write_authored_turn(write).await.expect_err("away");
    assert_eq!((status.code(), arrived.load(Ordering::SeqCst)), (Code::Unavailable, 1));
}

#[tokio::test]
async fn addresses_that_are_none_are_refused() {
    for url in ["", "ledger:50051", "https://ledger:1", "http://ok:1,,", "/tmp/socket"] {
        assert!(link::remote("peer", url).is_err(), "{url:?}");
    }
}

#[tokio::test]
async fn a_replay_says_so_in_its_trailers() {
    let world = start(Stub::default(), Default::default()).await;
    for link in both(&world).await {
        let request: Request<_> = with_token(ADA, ());
        let token = request.metadata().get("authorization").expect("set").as_bytes().to_owned();
        let request = http::Request::post("/skald.ledger.v1.CapabilityService/GetCapabilities")
            .header("content-type", "application/grpc")
            .header("authorization", token)
            .body(tonic::body::Body::new(http_body_util::Full::from(&[0_u8, 0, 0, 0, 0][..])))
            .expect("a request");
        let response = link.oneshot(request).await.expect("answered");
        assert!(!response.headers().contains_key(REPLAYED));
        let body = response.into_body().collect().await.expect("a body");
        assert_eq!(body.trailers().expect("trailers")[REPLAYED], "true");
    }
}

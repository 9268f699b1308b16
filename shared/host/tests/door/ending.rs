//! The end: streams finish, what does not finish is cut off, and nothing hangs.

use std::time::Duration;

use host::serve::{ServeError, ServeOptions};
use tokio_stream::StreamExt as _;
use tonic::{Code, Status, transport::Channel};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse, health_client::HealthClient};
use wire::ledger::v1::{
    ReadEventsRequest, ReadEventsResponse, VerifySessionRequest,
    event_service_client::EventServiceClient,
};

use crate::world::{ADA, Stub, World, start, with_token};

const PATIENCE: Duration = Duration::from_secs(20);

fn channel(world: &World) -> Channel {
    Channel::from_shared(format!("http://{}", world.address)).expect("a url").connect_lazy()
}

async fn open_stream(world: &World) -> tonic::Streaming<ReadEventsResponse> {
    let request = with_token(ADA, ReadEventsRequest::default());
    let mut client = EventServiceClient::new(channel(world));
    let mut events = client.read_events(request).await.expect("a stream").into_inner();
    events.next().await.expect("an event").expect("no error");
    events
}

async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what).await.expect("it comes to an end")
}

async fn ended(world: World) {
    within(world.served).await.expect("no panic").expect("no error");
}

#[tokio::test]
async fn an_open_stream_that_watches_the_end_finishes_in_good_order() {
    let world =
        start(Stub::default(), ServeOptions { drain: PATIENCE, ..Default::default() }).await;
    let mut events = open_stream(&world).await;
    world.door.shutdown().begin();
    assert!(within(events.next()).await.is_none());
    drop(events);
    ended(world).await;
}

#[tokio::test]
async fn what_does_not_end_by_itself_is_cut_off_as_unavailable() {
    let stub = Stub { stubborn: true, ..Default::default() };
    let options = ServeOptions { drain: Duration::from_millis(50), ..Default::default() };
    let world = start(stub, options).await;
    let mut events = open_stream(&world).await;
    let request = with_token(ADA, VerifySessionRequest::default());
    let mut client = EventServiceClient::new(channel(&world));
    let pending = tokio::spawn(async move { client.verify_session(request).await });
    let _second = open_stream(&world).await;
    world.door.shutdown().begin();
    let cut = within(events.next()).await.expect("a last word").expect_err("cut off");
    assert_eq!(cut.code(), Code::Unavailable);
    assert_eq!(host::status::reason(&cut), Some(wire::common::v1::Reason::Interrupted));
    let unanswered = within(pending).await.expect("no panic").expect_err("cut off or never begun");
    assert_eq!(unanswered.code(), Code::Unavailable);
    ended(world).await;
}

#[tokio::test]
async fn whoever_watches_health_hears_of_the_end() {
    let world = start(Stub::default(), Default::default()).await;
    let mut client = HealthClient::new(channel(&world));
    let request = HealthCheckRequest { service: String::new() };
    let mut watch = client.watch(request).await.expect("a stream").into_inner();
    let status = |answer: Option<Result<HealthCheckResponse, Status>>| {
        answer.map(|answer| answer.expect("no error").status)
    };
    assert_eq!(status(watch.next().await), Some(1));
    world.door.shutdown().begin();
    assert_eq!(status(within(watch.next()).await), Some(2));
    assert_eq!(status(within(watch.next()).await), None);
    drop((watch, client));
    ended(world).await;
}

#[tokio::test]
async fn the_drain_waits_for_tasks_that_outlive_their_calls() {
    let world = start(Stub::default(), Default::default()).await;
    let shutdown = world.door.shutdown().clone();
    let (saved, mut checkpoint) = tokio::sync::oneshot::channel();
    let stopping = shutdown.stopping();
    shutdown.spawn(async move {
        stopping.await;
        tokio::task::yield_now().await;
        saved.send(()).expect("somebody waits");
    });
    shutdown.begin();
    ended(world).await;
    assert_eq!(checkpoint.try_recv(), Ok(()));
}

#[tokio::test]
async fn a_port_for_the_world_without_authentication_is_refused() {
    use host::{auth::*, door::Door, gate::Services, serve::serve, shutdown::Shutdown};
    let mesh = mesh::MeshToken::random().expect("random");
    let auth = Authenticator::open(&AuthMode::None, &mesh).expect("nothing to read");
    let door = Door::new(Services::new(), auth, Shutdown::new());
    let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await.expect("a port");
    let refused = serve(listener, door, Default::default()).await.expect_err("refused");
    assert!(matches!(refused, ServeError::Auth(AuthError::OpenBind(_))), "{refused}");
}

#[tokio::test]
async fn a_connection_over_the_limit_waits_until_another_has_gone() {
    let world = start(Stub::default(), ServeOptions { connections: 1, ..Default::default() }).await;
    let first = HealthClient::new(channel(&world));
    let ask = |mut client: HealthClient<Channel>| async move {
        let request = HealthCheckRequest { service: String::new() };
        client.check(request).await.map(|answer| answer.into_inner().status)
    };
    assert_eq!(within(ask(first.clone())).await.expect("served"), 1);
    let waiting = tokio::spawn(ask(HealthClient::new(channel(&world))));
    for _ in 0..50 {
        assert_eq!(within(ask(first.clone())).await.expect("served"), 1);
    }
    assert!(!waiting.is_finished(), "there is no place for it");
    drop(first);
    assert_eq!(within(waiting).await.expect("no panic").expect("served now"), 1);
}

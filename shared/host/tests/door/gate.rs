//! Hidden features: for whom they exist, and that for all others nothing tells them from what was never built.

use http::{Response, Version};
use http_body_util::BodyExt as _;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_stream::StreamExt as _;
use tonic::{Code, Status, body::Body, transport::Channel};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
use tonic_reflection::pb::{
    v1::{
        ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
        server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
    },
    v1alpha,
};
use tower::ServiceExt as _;
use wire::{
    ledger::v1::{
        GetCapabilitiesRequest, WriteAuthoredTurnRequest,
        authored_history_service_client::AuthoredHistoryServiceClient,
        capability_service_client::CapabilityServiceClient,
    },
    mesh::v1::{LeaseWorkRequest, work_service_client::WorkServiceClient},
};

use crate::world::{ADA, BOB, MESH, Stub, World, start, with_token};

const AUTHORED: &str = "skald.ledger.v1.AuthoredHistoryService";
const WORK: &str = "skald.mesh.v1.WorkService";
const ABSENT: &str = "skald.ledger.v1.NeverBuiltService";
const OPEN: &str = "skald.ledger.v1.CapabilityService";

async fn world() -> (World, Channel) {
    let world = start(Stub::default(), Default::default()).await;
    let channel = Channel::from_shared(format!("http://{}", world.address)).expect("a url");
    (world, channel.connect_lazy())
}

async fn authored(channel: &Channel, token: &str) -> Result<(), Code> {
    let request = with_token(token, WriteAuthoredTurnRequest::default());
    let mut client = AuthoredHistoryServiceClient::new(channel.clone());
    client.write_authored_turn(request).await.map(|_| ()).map_err(|status| status.code())
}

async fn lease(channel: &Channel, token: &str) -> Result<(), Code> {
    let request = with_token(token, LeaseWorkRequest::default());
    let mut client = WorkServiceClient::new(channel.clone());
    client.lease_work(request).await.map(|_| ()).map_err(|status| status.code())
}

#[tokio::test]
async fn a_hidden_service_exists_for_those_who_were_granted_it() {
    let (_world, channel) = world().await;
    assert_eq!(authored(&channel, ADA).await, Ok(()));
    assert_eq!(authored(&channel, BOB).await, Err(Code::Unimplemented));
    assert_eq!(lease(&channel, MESH).await, Ok(()));
    assert_eq!(lease(&channel, ADA).await, Err(Code::Unimplemented));
}

#[tokio::test]
async fn who_asks_is_settled_before_what_is_asked() {
    let (_world, channel) = world().await;
    for token in ["", "guess"] {
        assert_eq!(authored(&channel, token).await, Err(Code::Unauthenticated));
        assert_eq!(lease(&channel, token).await, Err(Code::Unauthenticated));
    }
}

/// Everything that a gRPC client can observe, in the order in which it came.
async fn observed(channel: &Channel, token: &str, service: &str, kind: &str) -> String {
    let request = http::Request::post(format!("/{service}/WriteAuthoredTurn"))
        .version(Version::HTTP_2)
        .header("content-type", kind)
        .header("te", "trailers")
        .header("authorization", format!("Bearer {token}"))
        .body(Body::new(http_body_util::Full::from(&[0_u8, 0, 0, 0, 0][..])))
        .expect("a request");
    let response = channel.clone().oneshot(request).await.expect("an answer");
    let (head, body) = response.into_parts();
    let headers: Vec<_> = head.headers.iter().filter(|(name, _)| *name != "date").collect();
    let seen = format!("{} {:?} {headers:?}", head.status, head.version);
    let body = Response::new(body).into_body().collect().await.expect("a body");
    let trailers = body.trailers().cloned();
    format!("{seen} {:?} {trailers:?}", body.to_bytes())
}

#[tokio::test]
async fn a_hidden_service_and_an_absent_one_are_the_same_bytes_over_grpc() {
    let (_world, channel) = world().await;
    for kind in ["application/grpc", "application/grpc-web+proto", "text/plain"] {
        let absent = observed(&channel, BOB, ABSENT, kind).await;
        assert_eq!(observed(&channel, BOB, AUTHORED, kind).await, absent);
        assert_eq!(observed(&channel, BOB, WORK, kind).await, absent);
        assert_ne!(observed(&channel, BOB, OPEN, kind).await, absent);
        for disguised in ["skald%2Emesh.v1.WorkService", "/skald.mesh.v1.WorkService"] {
            assert_eq!(observed(&channel, BOB, disguised, kind).await, absent);
        }
    }
}

/// The raw answer to a gRPC-web call over HTTP/1.1, without its date.
async fn raw_web(world: &World, service: &str, verb: &str, kind: &str) -> String {
    let mut stream = TcpStream::connect(world.address).await.expect("connected");
    let frame = "\0\0\0\0\0";
    let request = format!(
        "{verb} /{service}/WriteAuthoredTurn HTTP/1.1\r\nhost: skald\r\nconnection: close\r\n\
         content-type: {kind}\r\nauthorization: Bearer {BOB}\r\ncontent-length: {}\r\n\r\n{frame}",
        frame.len()
    );
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("an answer");
    let text = String::from_utf8_lossy(&answer).into_owned();
    text.split("\r\n").filter(|line| !line.starts_with("date:")).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_hidden_service_and_an_absent_one_are_the_same_bytes_over_grpc_web() {
    let (world, _channel) = world().await;
    for kind in ["application/grpc-web+proto", "application/grpc-web-text", "text/html"] {
        for verb in ["POST", "GET", "OPTIONS"] {
            let absent = raw_web(&world, ABSENT, verb, kind).await;
            assert!(absent.starts_with("HTTP/1.1"), "{absent}");
            assert_eq!(raw_web(&world, AUTHORED, verb, kind).await, absent);
            assert_eq!(raw_web(&world, WORK, verb, kind).await, absent);
        }
    }
}

async fn reflect(channel: &Channel, token: &str, asked: MessageRequest) -> MessageResponse {
    let message = ServerReflectionRequest { host: String::new(), message_request: Some(asked) };
    let request = with_token(token, tokio_stream::iter([message]));
    let mut client = ServerReflectionClient::new(channel.clone());
    let mut answers = client.server_reflection_info(request).await.expect("a stream").into_inner();
    let answer = answers.next().await.expect("an answer").expect("no error");
    answer.message_response.expect("a message")
}

async fn listed(channel: &Channel, token: &str) -> Vec<String> {
    match reflect(channel, token, MessageRequest::ListServices(String::new())).await {
        MessageResponse::ListServicesResponse(list) => {
            list.service.into_iter().map(|service| service.name).collect()
        }
        other => panic!("not a list: {other:?}"),
    }
}

async fn listed_v1alpha(channel: &Channel, token: &str) -> Vec<String> {
    use v1alpha::{
        server_reflection_client::ServerReflectionClient,
        server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
    };
    let asked = Some(MessageRequest::ListServices(String::new()));
    let message = v1alpha::ServerReflectionRequest { host: String::new(), message_request: asked };
    let request = with_token(token, tokio_stream::iter([message]));
    let mut client = ServerReflectionClient::new(channel.clone());
    let mut answers = client.server_reflection_info(request).await.expect("a stream").into_inner();
    match answers.next().await.expect("an answer").expect("no error").message_response {
        Some(MessageResponse::ListServicesResponse(list)) => {
            list.service.into_iter().map(|service| service.name).collect()
        }
        other => panic!("not a list: {other:?}"),
    }
}

#[tokio::test]
async fn reflection_lists_what_its_caller_can_call_in_both_versions() {
    let (_world, channel) = world().await;
    let sees = |list: &[String], name: &str| list.iter().any(|listed| listed == name);
    for (token, authored, work) in [(ADA, true, false), (BOB, false, false), (MESH, false, true)] {
        let list = listed(&channel, token).await;
        assert_eq!(list, listed_v1alpha(&channel, token).await);
        assert_eq!((sees(&list, AUTHORED), sees(&list, WORK)), (authored, work), "{token}");
        assert!(sees(&list, OPEN) && sees(&list, "grpc.health.v1.Health"));
    }
}

#[tokio::test]
async fn reflection_describes_every_service_that_it_lists() {
    let (_world, channel) = world().await;
    for name in listed(&channel, ADA).await {
        let asked = MessageRequest::FileContainingSymbol(name.clone());
        let answer = reflect(&channel, ADA, asked).await;
        assert!(matches!(answer, MessageResponse::FileDescriptorResponse(_)), "{name}");
    }
}

/// The error with which reflection answers, as a status.
async fn undescribed(channel: &Channel, asked: MessageRequest) -> Status {
    let message = ServerReflectionRequest { host: String::new(), message_request: Some(asked) };
    let request = with_token(BOB, tokio_stream::iter([message]));
    let mut client = ServerReflectionClient::new(channel.clone());
    let mut answers = client.server_reflection_info(request).await.expect("a stream").into_inner();
    match answers.next().await.expect("an answer") {
        Err(status) => status,
        Ok(answer) => panic!("described: {answer:?}"),
    }
}

#[tokio::test]
async fn reflection_does_not_know_hidden_symbols_and_files() {
    let (_world, channel) = world().await;
    let absent = undescribed(&channel, MessageRequest::FileContainingSymbol(ABSENT.into())).await;
    for hidden in [AUTHORED, WORK, "skald.ledger.v1.AuthoredTurn", "skald.mesh.v1.Job"] {
        let symbol = MessageRequest::FileContainingSymbol(hidden.into());
        let status = undescribed(&channel, symbol).await;
        assert_eq!(status.code(), absent.code());
        assert_eq!(status.message(), absent.message().replace(ABSENT, hidden));
    }
    for hidden in ["skald/ledger/v1/authored_history.proto", "skald/mesh/v1/work.proto"] {
        let file = MessageRequest::FileByFilename(hidden.into());
        assert_eq!(undescribed(&channel, file).await.code(), Code::NotFound);
    }
}

async fn health(channel: &Channel, token: Option<&str>, service: &str) -> Result<i32, Status> {
    let message = HealthCheckRequest { service: service.into() };
    let request = match token {
        Some(token) => with_token(token, message),
        None => tonic::Request::new(message),
    };
    let answer = HealthClient::new(channel.clone()).check(request).await?;
    Ok(answer.into_inner().status)
}

#[tokio::test]
async fn health_by_name_knows_what_its_caller_can_call() {
    let (_world, channel) = world().await;
    for (token, service) in [(None, ""), (None, OPEN), (Some(ADA), AUTHORED), (Some(MESH), WORK)] {
        assert_eq!(health(&channel, token, service).await.expect("known"), 1, "{service}");
    }
    let absent = health(&channel, Some(BOB), ABSENT).await.expect_err("unknown");
    for (token, service) in [(Some(BOB), AUTHORED), (None, AUTHORED), (Some(ADA), WORK)] {
        let hidden = health(&channel, token, service).await.expect_err("unknown");
        assert_eq!(hidden.code(), absent.code());
        assert_eq!(hidden.message(), absent.message().replace(ABSENT, service));
    }
}

#[tokio::test]
async fn a_handler_can_name_the_services_that_its_caller_can_call() {
    let (_world, channel) = world().await;
    let mut client = CapabilityServiceClient::new(channel.clone());
    for (token, expected) in [(ADA, true), (BOB, false)] {
        let request = with_token(token, GetCapabilitiesRequest::default());
        let answer = client.get_capabilities(request).await.expect("answered").into_inner();
        assert_eq!(answer.services.iter().any(|name| name == AUTHORED), expected);
    }
}

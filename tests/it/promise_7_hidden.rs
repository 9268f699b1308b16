//! A feature that is not granted was never built, and what is another's does not exist: the same bytes.

use host::link::Link;
use prost::Message as _;
use tests::{
    clients::showing,
    observed::observe,
    prelude::*,
    world::{ADA, BOB, EVE, MESH},
};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
};

use common::ProfileMode;

const AUTHORED: &str = "skald.ledger.v1.AuthoredHistoryService";
const MESH_SERVICES: [&str; 3] =
    ["skald.mesh.v1.WorkService", "skald.mesh.v1.LoreService", "skald.mesh.v1.CompileService"];
const ABSENT: &str = "skald.ledger.v1.NeverBuiltHouseService";

#[tokio::test]
async fn the_ungranted_get_the_answer_of_a_service_that_was_never_built() {
    let (world, _url) = Plan::new().with_tokens().near_on_a_port().await;
    let link = &world.links().ledger;
    let opening = ledger::CreateSessionWithOpeningRequest {
        request_id: "open".to_owned(),
        opening: Some(job::authored("Welcome.")),
        ..Default::default()
    };
    let opening = opening.encode_to_vec();
    let absent = observe(link, EVE, &format!("/{ABSENT}/Do"), &[]).await;
    for method in ["CreateSessionWithOpening", "WriteAuthoredTurn", "NeverBuilt"] {
        let path = format!("/{AUTHORED}/{method}");
        assert_eq!(observe(link, EVE, &path, &opening).await, absent, "{method}, valid");
        assert_eq!(observe(link, EVE, &path, &[]).await, absent, "{method}, malformed");
    }
    for service in MESH_SERVICES {
        for token in [EVE, BOB, ADA] {
            let seen = observe(link, token, &format!("/{service}/LeaseWork"), &[]).await;
            assert_eq!(seen, absent, "{service}");
        }
    }
    let path = format!("/{AUTHORED}/CreateSessionWithOpening");
    let granted = observe(link, ADA, &path, &opening).await;
    assert_ne!(granted, absent, "for the granted it is there");
}

#[tokio::test]
async fn a_hidden_service_is_in_no_list_no_description_and_no_health_check() {
    let (world, _url) = Plan::new().with_tokens().near_on_a_port().await;
    for (token, sees) in [(ADA, true), (EVE, false)] {
        let link = showing(&world.links().ledger, token);
        let listed = services(&link).await;
        assert_eq!(listed.iter().any(|name| name == AUTHORED), sees);
        assert!(!listed.iter().any(|name| name.starts_with("skald.mesh.")), "{listed:?}");

        let capabilities = ledger::GetCapabilitiesRequest {};
        let mut clients = world.caller(token).capabilities;
        let offered = clients.get_capabilities(capabilities).await.expect("answered").into_inner();
        assert_eq!(offered.services.iter().any(|name| name == AUTHORED), sees);

        let health = healthy(&link, AUTHORED).await;
        let never = healthy(&link, ABSENT).await.refused();
        match health {
            Ok(()) => assert!(sees),
            Err(status) => {
                assert!(!sees);
                assert_eq!(status.code(), never.code());
                assert_eq!(status.message(), never.message().replace(ABSENT, AUTHORED));
                let details = String::from_utf8_lossy(never.details()).replace(ABSENT, AUTHORED);
                assert_eq!(String::from_utf8_lossy(status.details()), details);
            }
        }
    }
    let listed = services(&showing(&world.links().ledger, MESH)).await;
    assert!(listed.iter().any(|name| name == MESH_SERVICES[0]), "a peer sees the mesh");
}

async fn services(link: &Link) -> Vec<String> {
    let asked = MessageRequest::ListServices(String::new());
    let message = ServerReflectionRequest { host: String::new(), message_request: Some(asked) };
    let mut client = ServerReflectionClient::new(link.clone());
    let answers = client.server_reflection_info(futures::stream::iter([message])).await;
    let answer = answers.expect("a stream").into_inner().message().await.expect("no error");
    match answer.expect("an answer").message_response {
        Some(MessageResponse::ListServicesResponse(list)) => {
            list.service.into_iter().map(|service| service.name).collect()
        }
        other => panic!("not a list: {other:?}"),
    }
}

async fn healthy(link: &Link, service: &str) -> Result<(), Status> {
    let request = HealthCheckRequest { service: service.to_owned() };
    HealthClient::new(link.clone()).check(request).await.map(|_| ())
}

#[tokio::test]
async fn the_ungranted_fall_back_to_a_plain_session() {
    let world = Plan::new().with_tokens().near().await;
    let eve = world.caller(EVE);
    let cast = eve.cast().await.expect("imported");
    let hidden = eve.open(&cast, ProfileMode::Journal).await.refused();
    assert_eq!(hidden.code(), Code::Unimplemented);
    let session = eve.create("plain", Some(cast.selection())).await.expect("a plain session");
    let request = ledger::SubmitTurnRequest {
        session_id: session.clone(),
        request_id: "greet".to_owned(),
        ..Default::default()
    };
    let greeting = eve.submit(request).await.expect("the model speaks first");
    assert_eq!(greeting.reply().seq, 0);
    let told = eve.say(&session, "turn-1", job::FIRST).await.expect("and the talk goes on");
    assert!(!told.reply().content.is_empty());
    assert!(eve.kinds(&session).await.iter().all(|kind| kind != "turn-seeded"));
}

#[tokio::test]
async fn a_revoked_grant_is_gone_with_the_next_call_and_the_history_stays() {
    let world = Plan::new().with_tokens().near().await;
    let ada = world.caller(ADA);
    let session = ada.create("create", None).await.expect("a session");
    ada.write(&session, "write", job::authored("Welcome.")).await.expect("written");
    world.revoke_grants();
    let refused = ada.write(&session, "more", job::authored("Again.")).await.refused();
    assert_eq!(refused.code(), Code::Unimplemented);
    assert_eq!(ada.history(&session).await.expect("turns").len(), 1);
}

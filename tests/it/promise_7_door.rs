//! However the door is knocked at, those who may not see a hidden feature learn nothing of it.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use host::link::Link;
use http::{HeaderName, HeaderValue, Method, Version};
use http_body_util::BodyExt as _;
use tests::{
    clients::{plain, showing},
    prelude::*,
    world::{ADA, EVE},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tonic::body::Body;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
use tonic_reflection::pb::v1alpha::{
    ExtensionRequest, ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
};
use tower::ServiceExt as _;

const AUTHORED: &str = "skald.ledger.v1.AuthoredHistoryService";
const WORK: &str = "skald.mesh.v1.WorkService";
const ABSENT: &str = "skald.ledger.v1.NeverBuiltHouseService";
const METHOD: &str = "WriteAuthoredTurn";

/// One way to knock: a verb, headers beside the usual ones, and a body.
#[derive(Clone)]
struct Knock {
    name: &'static str,
    verb: Method,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

fn knocks() -> Vec<Knock> {
    let knock = |name, headers: &[(&'static str, &str)]| Knock {
        name,
        verb: Method::POST,
        headers: headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(),
        body: vec![0, 0, 0, 0, 0],
    };
    let plain = knock("plainly", &[]);
    let ada = STANDARD.encode(r#"{"owner":{"tenant":"acme","subject":"ada"},"scopes":[]}"#);
    vec![
        knock("nonsense for a time", &[("grpc-timeout", "soon")]),
        knock("compressed", &[("grpc-encoding", "gzip")]),
        knock("from a page of elsewhere", &[("origin", "https://evil.example")]),
        knock("as somebody else", &[("x-skald-principal", &ada[..])]),
        knock("as a page", &[("content-type", "application/grpc-web+proto")]),
        knock("as a form", &[("content-type", "text/plain")]),
        knock("with much to say", &[("x-much", &*"x".repeat(8_000))]),
        knock("with an endless name", &[("x-request-id", &*"x".repeat(4_000))]),
        Knock { verb: Method::GET, name: "to look", ..plain.clone() },
        Knock { verb: Method::OPTIONS, name: "to ask", ..plain.clone() },
        Knock { body: vec![0xff; 64], name: "with noise", ..plain.clone() },
        Knock {
            body: vec![0, 0xff, 0xff, 0xff, 0xff],
            name: "with a giant's length",
            ..plain.clone()
        },
        Knock { body: Vec::new(), name: "with nothing", ..plain.clone() },
        plain,
    ]
}

/// Everything that comes back, in the order in which it came.
async fn answered(link: &Link, service: &str, knock: &Knock) -> String {
    let mut request = http::Request::builder()
        .method(knock.verb.clone())
        .uri(format!("/{service}/{METHOD}"))
        .version(Version::HTTP_2)
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(Body::new(http_body_util::Full::from(knock.body.clone())))
        .expect("a request");
    for (name, value) in &knock.headers {
        let value = HeaderValue::try_from(value).expect("a header value");
        request.headers_mut().insert(HeaderName::from_static(name), value);
    }
    let response = match link.clone().oneshot(request).await {
        Ok(response) => response,
        Err(status) => return format!("{:?} {}", status.code(), status.message()),
    };
    let (head, body) = response.into_parts();
    let headers: Vec<_> = head.headers.iter().filter(|(name, _)| *name != "date").collect();
    let seen = format!("{} {headers:?}", head.status);
    match body.collect().await {
        Ok(body) => format!("{seen} {:?} {:?}", body.trailers().cloned(), body.to_bytes()),
        Err(status) => format!("{seen} {status:?}"),
    }
}

#[tokio::test]
async fn every_knock_at_a_hidden_service_is_answered_as_at_none() {
    let (_world, url) = Plan::new().with_tokens().near_on_a_port().await;
    let link = &plain(&url);
    let eve = showing(link, EVE);
    for knock in knocks() {
        let absent = answered(&eve, ABSENT, &knock).await;
        for hidden in [AUTHORED, WORK] {
            assert_eq!(answered(&eve, hidden, &knock).await, absent, "{}", knock.name);
        }
    }
    let ada = showing(link, ADA);
    let plainly = knocks().pop().expect("a knock");
    assert_ne!(answered(&ada, AUTHORED, &plainly).await, answered(&ada, ABSENT, &plainly).await);
}

#[tokio::test]
async fn who_is_not_known_learns_neither_what_is_hidden_nor_what_is_not() {
    let (_world, url) = Plan::new().with_tokens().near_on_a_port().await;
    let link = &plain(&url);
    let plainly = knocks().pop().expect("a knock");
    let long = "x".repeat(4_000);
    let strangers = ["guess", "", " ", "Bearer", long.as_str()];
    let open = "skald.ledger.v1.SessionService";
    for token in strangers {
        let link = showing(link, token);
        let absent = answered(&link, ABSENT, &plainly).await;
        assert!(absent.contains(r#"("grpc-status", "16")"#), "{absent}");
        for service in [AUTHORED, WORK, open] {
            assert_eq!(answered(&link, service, &plainly).await, absent, "{token:.10}");
        }
    }
    let absent = answered(link, ABSENT, &plainly).await;
    assert_eq!(answered(link, AUTHORED, &plainly).await, absent, "without a token");
}

#[tokio::test]
async fn headers_over_the_limit_are_turned_away_before_anything_is_looked_up() {
    let (_world, url) = Plan::new().with_tokens().near_on_a_port().await;
    let plainly = knocks().pop().expect("a knock");
    let much = vec![("x-much", "x".repeat(2 * kernel::limits::HEADER_BYTES_MAX as usize))];
    let knock = Knock { headers: much, name: "with more than is read", ..plainly };
    let eve = showing(&plain(&url), EVE);
    let absent = answered(&eve, ABSENT, &knock).await;
    for service in [AUTHORED, WORK, "skald.ledger.v1.SessionService"] {
        assert_eq!(answered(&eve, service, &knock).await, absent);
    }
}

/// What HTTP/1.1 answers to a page's call, without its date.
async fn page(url: &str, service: &str, headers: &str) -> String {
    let address = url.strip_prefix("http://").expect("a url");
    let mut stream = TcpStream::connect(address).await.expect("connected");
    let request = format!(
        "POST /{service}/{METHOD} HTTP/1.1\r\nhost: skald\r\nconnection: close\r\ncontent-length: 5\r\n\
         content-type: application/grpc-web+proto\r\nauthorization: Bearer {EVE}\r\n{headers}\r\n\0\0\0\0\0"
    );
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("an answer");
    let text = String::from_utf8_lossy(&answer).into_owned();
    text.split("\r\n").filter(|line| !line.starts_with("date:")).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_page_finds_no_more_than_a_program() {
    let (_world, url) = Plan::new().with_tokens().near_on_a_port().await;
    for headers in
        ["", "origin: https://evil.example\r\n", "origin: null\r\n", "grpc-timeout: 0S\r\n"]
    {
        let absent = page(&url, ABSENT, headers).await;
        assert!(absent.contains("grpc-status"), "{absent}");
        for hidden in [AUTHORED, WORK] {
            assert_eq!(page(&url, hidden, headers).await, absent, "{headers:?}");
        }
    }
}

/// What the older reflection says to one question, with the name that was asked for taken out.
async fn reflected(link: &Link, asked: MessageRequest, name: &str) -> String {
    let message = ServerReflectionRequest { host: String::new(), message_request: Some(asked) };
    let mut client = ServerReflectionClient::new(link.clone());
    let answers = client.server_reflection_info(futures::stream::iter([message])).await;
    let told = match answers.expect("a stream").into_inner().message().await {
        Err(status) => format!("{:?} {}", status.code(), status.message()),
        Ok(answer) => match answer.and_then(|answer| answer.message_response) {
            Some(MessageResponse::FileDescriptorResponse(files)) => {
                format!("{} files", files.file_descriptor_proto.len())
            }
            other => format!("{other:?}"),
        },
    };
    told.replace(name, "it")
}

#[tokio::test]
async fn no_question_to_the_older_reflection_finds_a_hidden_file_symbol_or_extension() {
    let (world, _url) = Plan::new().with_tokens().near_on_a_port().await;
    let (eve, ada) = (showing(&world.links().ledger, EVE), showing(&world.links().ledger, ADA));
    let method = format!("{AUTHORED}.{METHOD}");
    let symbol = |name: &str| MessageRequest::FileContainingSymbol(name.to_owned());
    let absent = reflected(&eve, symbol(ABSENT), ABSENT).await;
    let hidden =
        [AUTHORED, WORK, &method, "skald.ledger.v1.WriteAuthoredTurnRequest", "skald.mesh.v1.Job"];
    for name in hidden {
        assert_eq!(reflected(&eve, symbol(name), name).await, absent, "{name}");
    }
    assert!(reflected(&ada, symbol(AUTHORED), AUTHORED).await.ends_with("files"));
    let file = |name: &str| MessageRequest::FileByFilename(name.to_owned());
    let absent = reflected(&eve, file("no/such.proto"), "no/such.proto").await;
    for name in ["skald/ledger/v1/authored_history.proto", "skald/mesh/v1/work.proto"] {
        assert_eq!(reflected(&eve, file(name), name).await, absent, "{name}");
    }
    let asks: [fn(&str) -> MessageRequest; 2] = [
        |name| MessageRequest::AllExtensionNumbersOfType(name.to_owned()),
        |name| {
            let (containing_type, extension_number) = (name.to_owned(), 1);
            let asked = ExtensionRequest { containing_type, extension_number };
            MessageRequest::FileContainingExtension(asked)
        },
    ];
    for ask in asks {
        let absent = reflected(&eve, ask(ABSENT), ABSENT).await;
        for name in hidden {
            assert_eq!(reflected(&eve, ask(name), name).await, absent, "{name}");
        }
    }
}

#[tokio::test]
async fn watching_the_health_of_a_hidden_service_shows_what_watching_none_shows() {
    let (world, _url) = Plan::new().with_tokens().near_on_a_port().await;
    let first = async |token: &str, service: &str| {
        let request = HealthCheckRequest { service: service.to_owned() };
        let mut client = HealthClient::new(showing(&world.links().ledger, token));
        let mut watch = client.watch(request).await.expect("a stream").into_inner();
        watch.message().await.expect("no error").expect("an answer").status
    };
    let absent = first(EVE, ABSENT).await;
    assert_eq!([first(EVE, AUTHORED).await, first(EVE, WORK).await], [absent; 2]);
    assert_ne!(first(ADA, AUTHORED).await, absent);
}

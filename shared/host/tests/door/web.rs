//! Browsers: gRPC-web over HTTP/1.1, and only pages of the origins that were named.

use host::serve::ServeOptions;
use http::HeaderValue;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::world::{ADA, Stub, World, start};

const PATH: &str = "/skald.ledger.v1.CapabilityService/GetCapabilities";

async fn world() -> World {
    let origins = vec![HeaderValue::from_static("https://app.example")];
    start(Stub::default(), ServeOptions { origins, ..Default::default() }).await
}

async fn answer(world: &World, verb: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(world.address).await.expect("connected");
    let length = body.len();
    let request = format!(
        "{verb} {PATH} HTTP/1.1\r\nhost: skald\r\nconnection: close\r\n\
         content-length: {length}\r\n{headers}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("an answer");
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn a_page_of_a_named_origin_may_ask_and_sees_the_trailers() {
    let world = world().await;
    let headers = format!(
        "origin: https://app.example\r\ncontent-type: application/grpc-web+proto\r\n\
         authorization: Bearer {ADA}\r\n"
    );
    let answer = answer(&world, "POST", &headers, "\0\0\0\0\0").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("access-control-allow-origin: https://app.example"), "{answer}");
    assert!(answer.contains("grpc-status:0"), "{answer}");
    assert!(answer.contains("skald-replayed:true"), "{answer}");
}

#[tokio::test]
async fn a_preflight_is_answered_without_a_token_and_only_for_named_origins() {
    let world = world().await;
    let asks = "access-control-request-method: POST\r\n\
                access-control-request-headers: authorization,x-grpc-web\r\n";
    for (origin, expected) in [("https://app.example", true), ("https://evil.example", false)] {
        let headers = format!("origin: {origin}\r\n{asks}");
        let answer = answer(&world, "OPTIONS", &headers, "").await;
        assert_eq!(answer.contains("access-control-allow-origin"), expected, "{answer}");
        assert!(!answer.contains("grpc-status"), "{answer}");
    }
}

#[tokio::test]
async fn a_page_of_another_origin_finds_nothing_even_without_a_preflight() {
    let world = world().await;
    for origin in ["https://evil.example", "http://skald", "null"] {
        let headers = format!(
            "origin: {origin}\r\ncontent-type: application/grpc-web+proto\r\n\
             authorization: Bearer {ADA}\r\n"
        );
        let answer = answer(&world, "POST", &headers, "\0\0\0\0\0").await;
        assert!(answer.contains("grpc-status: 12"), "{answer}");
    }
}

//! Messages that cannot be read: the caller's mistake, with a reason and a field, and no bug of ours.

use http::Version;
use tonic::{Code, Status, body::Body, transport::Channel};
use tonic_types::StatusExt as _;
use tower::ServiceExt as _;

use crate::world::{ADA, Stub, start};

/// What is answered to these bytes as a call's whole body.
async fn refused(body: Vec<u8>) -> Status {
    let world = start(Stub::default(), Default::default()).await;
    let channel = Channel::from_shared(format!("http://{}", world.address)).expect("a url");
    let request = http::Request::post("/skald.ledger.v1.AuthoredHistoryService/WriteAuthoredTurn")
        .version(Version::HTTP_2)
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("authorization", format!("Bearer {ADA}"))
        .body(Body::new(http_body_util::Full::from(body)))
        .expect("a request");
    let response = channel.connect_lazy().oneshot(request).await.expect("an answer");
    Status::from_header_map(response.headers()).expect("a refusal")
}

/// A frame around a message.
fn frame(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).expect("short").to_be_bytes();
    [&[0], &length[..], message].concat()
}

fn check(status: &Status, code: Code, reason: &str) {
    assert_eq!(status.code(), code, "{status:?}");
    let info = status.get_details_error_info().expect("an error info");
    assert_eq!((info.domain.as_str(), info.reason.as_str()), ("skald", reason));
}

#[tokio::test]
async fn bytes_that_are_no_message_name_the_request() {
    let no_utf8 = [0x0a, 1, 0xff];
    for body in
        [frame(&[0xff; 20]), frame(&no_utf8), frame(&[0x0a, 9]), vec![7, 0, 0, 0, 0], vec![]]
    {
        let status = refused(body).await;
        check(&status, Code::InvalidArgument, "FIELD_INVALID");
        let request = status.get_details_bad_request().expect("a bad request");
        assert_eq!(request.field_violations[0].field, "request");
    }
}

#[tokio::test]
async fn a_message_over_the_limit_names_its_size_and_the_limit() {
    let status = refused(frame(&vec![0; 5 << 20])).await;
    check(&status, Code::ResourceExhausted, "LIMIT_EXCEEDED");
    assert_eq!(status.message(), "request has 5242880 bytes, at most 4194304 are allowed");
}

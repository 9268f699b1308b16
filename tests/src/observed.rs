//! An answer as bytes: everything that a client can observe of it.

use std::collections::BTreeMap;

use host::link::Link;
use http::{Version, header::HeaderMap};
use http_body_util::BodyExt as _;
use tonic::{Status, body::Body};
use tower::ServiceExt as _;

use crate::clients::showing;

const DETAILS: &str = "grpc-status-details-bin";

/// Everything that a client can observe of an answer, but for the date.
#[derive(Debug, PartialEq)]
pub struct Observed {
    pub status: u16,
    headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
    trailers: BTreeMap<String, String>,
    details: Vec<u8>,
}

/// Sends one message to a method and collects all of the answer.
pub async fn observe(link: &Link, token: &str, path: &str, encoded: &[u8]) -> Observed {
    let mut body = vec![0];
    body.extend(u32::try_from(encoded.len()).expect("small").to_be_bytes());
    body.extend(encoded);
    let request = http::Request::post(path)
        .version(Version::HTTP_2)
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(Body::new(http_body_util::Full::from(body)))
        .expect("a request");
    let response = showing(link, token).oneshot(request).await.expect("an answer");
    let (head, body) = response.into_parts();
    let body = body.collect().await.expect("a body");
    let trailers = body.trailers().cloned().unwrap_or_default();
    let status = [&trailers, &head.headers].into_iter().find_map(Status::from_header_map);
    Observed {
        status: head.status.as_u16(),
        headers: plain(&head.headers),
        trailers: plain(&trailers),
        details: status.map(|status| status.details().to_vec()).unwrap_or_default(),
        body: body.to_bytes().to_vec(),
    }
}

fn plain(headers: &HeaderMap) -> BTreeMap<String, String> {
    let shown = headers.iter().filter(|(name, _)| *name != "date" && *name != DETAILS);
    shown.map(|(name, value)| (name.to_string(), format!("{value:?}"))).collect()
}

// === impl Observed ===

impl Observed {
    /// The answer without the id that was asked for.
    pub fn shown(&self, id: &str) -> String {
        let details = String::from_utf8_lossy(&self.details);
        let Self { status, headers, body, trailers, .. } = self;
        format!("{status} {headers:?} {body:?} {trailers:?} {details}").replace(id, "the id")
    }

    /// The number of its status code.
    pub fn code(&self) -> &str {
        let code = self.trailers.get("grpc-status").or(self.headers.get("grpc-status"));
        code.expect("a status").trim_matches('"')
    }
}

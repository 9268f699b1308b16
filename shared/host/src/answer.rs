//! The body of an answer on its way out: its trailers, its last log line, and its end when the process ends.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use http::{HeaderMap, HeaderName, HeaderValue, Response};
use http_body::Frame;
use kernel::limits::MESSAGE_BYTES_MAX;
use tonic::{Code, Status, body::Body, codegen::Bytes};

use crate::{status, telemetry::Call};

/// The trailer that tells that an answer was given before: see [`replayed`].
pub const REPLAYED: HeaderName = HeaderName::from_static("skald-replayed");

#[derive(Debug, Clone, Copy)]
struct Replayed;

/// Marks an answer as a replay of an earlier one; it leaves with the trailer `skald-replayed: true`.
pub fn replayed<T>(mut response: tonic::Response<T>) -> tonic::Response<T> {
    response.extensions_mut().insert(Replayed);
    response
}

/// What a call answers that the end of the process cut off.
pub(crate) fn cut_off() -> Status {
    status::interrupted("the process is ending: retry with the same request id")
}

/// What tonic could not read is the caller's mistake, and no bug: it gets a reason and a field like every
/// refusal of ours. Ours have their details already.
fn with_reason(response: Response<Body>) -> Response<Body> {
    let refusal = Status::from_header_map(response.headers());
    let Some(refusal) = refusal.filter(|refusal| refusal.details().is_empty()) else {
        return response;
    };
    let told = refusal.message();
    match refusal.code() {
        Code::Internal => status::invalid("request", format!("cannot be read: {told}")).into_http(),
        // A message beyond the limit; its size is the first number that is told.
        Code::OutOfRange => {
            let size = told.split(' ').find_map(|word| word.parse().ok());
            let bytes = size.unwrap_or(MESSAGE_BYTES_MAX + 1);
            status::over("request", bytes, "bytes", MESSAGE_BYTES_MAX).into_http()
        }
        _ => response,
    }
}

/// Wraps the body so that `call` sees its end and `aborted` cuts it off.
pub(crate) fn finish(
    response: Response<Body>,
    mut call: Call,
    aborted: impl Future<Output = ()> + Send + 'static,
) -> Response<Body> {
    let response = with_reason(response);
    if let Some(status) = response.headers().get(Status::GRPC_STATUS) {
        call.ended(Code::from_bytes(status.as_bytes()));
        // A refusal has no body, and unwrapped it keeps saying so: its length stays zero.
        return response;
    }
    let replayed = response.extensions().get::<Replayed>().is_some();
    response.map(|body| {
        Body::new(Watched { body, call, replayed, aborted: Box::pin(aborted), ended: false })
    })
}

struct Watched {
    body: Body,
    call: Call,
    replayed: bool,
    aborted: Pin<Box<dyn Future<Output = ()> + Send>>,
    ended: bool,
}

// === impl Watched ===

impl Watched {
    /// The last frame: its status is logged, and a replay says that it is one.
    fn close(&mut self, mut trailers: HeaderMap) -> Frame<Bytes> {
        self.ended = true;
        if let Some(status) = trailers.get(Status::GRPC_STATUS) {
            self.call.ended(Code::from_bytes(status.as_bytes()));
        }
        if self.replayed {
            trailers.insert(REPLAYED, HeaderValue::from_static("true"));
        }
        Frame::trailers(trailers)
    }

    fn cut(&mut self) -> Frame<Bytes> {
        let mut trailers = HeaderMap::new();
        // The only failure is a message that is no header value, and this one is plain ASCII.
        let _ = cut_off().add_header(&mut trailers);
        self.close(trailers)
    }
}

impl http_body::Body for Watched {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => Poll::Ready(Some(Ok(match frame.into_trailers() {
                Ok(trailers) => self.close(trailers),
                Err(data) => data,
            }))),
            Poll::Pending if self.aborted.as_mut().poll(context).is_ready() => {
                Poll::Ready(Some(Ok(self.cut())))
            }
            other => other,
        }
    }
}

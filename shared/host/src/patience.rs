//! A request that comes piece by piece may pause, but not for ever: whoever holds a call open must go on with it.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use http_body::{Frame, SizeHint};
use kernel::limits::REQUEST_PAUSE_MS_MAX;
use tokio::time::{Sleep, sleep};
use tonic::{Status, body::Body, codegen::Bytes};
use wire::common::v1::Reason;

use crate::status::Refusal;

/// The body of a request; a handler that has waited for the next piece too long reads a refusal in its place.
pub(crate) struct Patient {
    body: Body,
    pause: Duration,
    /// Since somebody waits for the next piece.
    waiting: Option<Pin<Box<Sleep>>>,
}

fn paused(pause: Duration) -> Status {
    let why = format!("the request paused for more than {} ms", pause.as_millis());
    Refusal::new(Reason::Deadline, why).into()
}

// === impl Patient ===

impl Patient {
    pub(crate) fn body(body: Body) -> Body {
        match http_body::Body::is_end_stream(&body) {
            true => body,
            false => {
                let pause = Duration::from_millis(REQUEST_PAUSE_MS_MAX);
                Body::new(Self { body, pause, waiting: None })
            }
        }
    }
}

impl http_body::Body for Patient {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            self.waiting = None;
            return Poll::Ready(frame);
        }
        let pause = self.pause;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(pause)));
        waiting.as_mut().poll(context).map(|()| Some(Err(paused(pause))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use futures::{StreamExt as _, stream};
    use http_body_util::{BodyExt as _, StreamBody};
    use tonic::Code;

    use super::*;
    use crate::status;

    fn piece(bytes: &'static [u8]) -> Result<Frame<Bytes>, Status> {
        Ok(Frame::data(Bytes::from_static(bytes)))
    }

    #[tokio::test]
    async fn a_body_that_goes_on_is_read_to_its_end() {
        let slow = stream::iter(0..10).then(|_| async {
            tokio::task::yield_now().await;
            piece(b"x")
        });
        let body = Patient::body(Body::new(StreamBody::new(slow.boxed())));
        assert_eq!(body.collect().await.expect("whole").to_bytes().len(), 10);
    }

    #[tokio::test]
    async fn a_body_that_stops_is_given_up_on() {
        let stalled = stream::once(async { piece(b"x") }).chain(stream::pending());
        let body = Body::new(StreamBody::new(stalled.boxed()));
        let body = Patient { body, pause: Duration::from_millis(5), waiting: None };
        let refusal = body.collect().await.map(|_| ()).expect_err("given up on");
        assert_eq!(refusal.code(), Code::DeadlineExceeded);
        assert_eq!(status::reason(&refusal), Some(Reason::Deadline));
    }
}

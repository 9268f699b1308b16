//! A service in other processes: lazy channels to its replicas, and our own retries over them.
//!
//! tonic's balanced channel fails calls while one of its endpoints is dead, so each replica has a channel
//! of its own and a call moves on to the next one.

use std::{
    error::Error,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use http::{Request, Response, request::Parts};
use http_body_util::{BodyExt as _, Full, Limited};
use kernel::limits::{MESSAGE_BYTES_MAX, PEER_CONNECT_MS};
use tonic::{
    Code, ConnectError, Status, TimeoutExpired,
    body::Body,
    codegen::Bytes,
    transport::{Channel, Endpoint},
};
use tower::{ServiceExt as _, service_fn};

use crate::{
    deadline,
    link::{
        Link,
        retry::{Methods, Repeat},
    },
    status,
};

const CONNECT_WITHIN: Duration = Duration::from_millis(PEER_CONNECT_MS);
/// Without these, the connection of a healed partition stays dead.
const KEEPALIVE_EVERY: Duration = Duration::from_secs(10);
const KEEPALIVE_WITHIN: Duration = Duration::from_secs(5);
/// Waits before the second, third and fourth attempt. A replica that is down refuses at once.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(20), Duration::from_millis(100), Duration::from_millis(400)];
/// A gRPC frame's flag and length, before its message.
const FRAME_HEAD_BYTES: usize = 5;

static METHODS: LazyLock<Methods> =
    LazyLock::new(|| Methods::of(wire::DESCRIPTORS).expect("the descriptors that were built in"));

/// A peer's address that is none.
#[derive(Debug, thiserror::Error)]
#[error("{url:?} is not a peer's address such as http://ledger:50051")]
pub struct InvalidPeerUrl {
    url: String,
    #[source]
    source: Option<tonic::transport::Error>,
}

struct Replicas {
    /// What it is called in refusals and in the log.
    service: &'static str,
    channels: Vec<Channel>,
    next: AtomicUsize,
}

/// A service at one address, or at several, separated by commas: `http://a:1,http://b:1`.
///
/// Nothing is connected yet; must be called within a runtime.
pub fn remote(service: &'static str, urls: &str) -> Result<Link, InvalidPeerUrl> {
    let channels = urls.split(',').map(|url| channel(url.trim())).collect::<Result<Vec<_>, _>>()?;
    let replicas = Arc::new(Replicas { service, channels, next: AtomicUsize::new(0) });
    Ok(Link::new(service_fn(move |request: Request<Body>| {
        let replicas = replicas.clone();
        async move {
            let deadline = deadline::read(request.headers());
            deadline::keep(deadline, replicas.call(request)).await
        }
    })))
}

/// The addresses as they came, each of them one that [`remote`] takes; for a command line.
pub fn checked_urls(urls: &str) -> Result<String, InvalidPeerUrl> {
    urls.split(',').try_for_each(|url| endpoint(url.trim()).map(drop))?;
    Ok(urls.to_owned())
}

fn channel(url: &str) -> Result<Channel, InvalidPeerUrl> {
    Ok(endpoint(url)?
        .connect_timeout(CONNECT_WITHIN)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(KEEPALIVE_EVERY)
        .keep_alive_timeout(KEEPALIVE_WITHIN)
        .keep_alive_while_idle(true)
        .connect_lazy())
}

fn endpoint(url: &str) -> Result<Endpoint, InvalidPeerUrl> {
    let refuse = |source| InvalidPeerUrl { url: url.to_owned(), source };
    let endpoint = Endpoint::from_shared(url.to_owned()).map_err(|error| refuse(Some(error)))?;
    if endpoint.uri().scheme_str() != Some("http") || endpoint.uri().host().is_none() {
        return Err(refuse(None));
    }
    Ok(endpoint)
}

// === impl Replicas ===

impl Replicas {
    async fn call(&self, request: Request<Body>) -> Result<Response<Body>, Status> {
        let repeat = METHODS.repeat(request.uri().path());
        if repeat == Repeat::Never {
            return self.send(request).await.map_err(|error| self.refuse(&error));
        }
        let (head, body) = request.into_parts();
        let body = whole(body).await?;
        let mut pauses = PAUSES.into_iter();
        loop {
            let answer = self.send(again(&head, &body)).await;
            if !worth_repeating(&answer, repeat) {
                return answer.map_err(|error| self.refuse(&error));
            }
            match pauses.next() {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return answer.map_err(|error| self.refuse(&error)),
            }
        }
    }

    /// Each attempt goes to the next replica.
    async fn send(
        &self,
        request: Request<Body>,
    ) -> Result<Response<Body>, tonic::transport::Error> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        self.channels[turn % self.channels.len()].clone().oneshot(request).await
    }

    fn refuse(&self, error: &tonic::transport::Error) -> Status {
        if caused_by::<TimeoutExpired>(error) {
            return status::deadline_exceeded();
        }
        let service = self.service;
        tracing::warn!(peer = service, error = status::chain(error), "a peer is unavailable");
        status::peer_unavailable(format!("the {service}, which this service needs, is unavailable"))
    }
}

/// The one message of a call that does not stream its request.
async fn whole(body: Body) -> Result<Bytes, Status> {
    let limited = Limited::new(body, MESSAGE_BYTES_MAX + FRAME_HEAD_BYTES);
    let bytes = limited.collect().await.map_err(|error| match error.downcast::<Status>() {
        Ok(status) => *status,
        Err(error) => status::invalid("request", format!("cannot be sent: {error}")),
    })?;
    Ok(bytes.to_bytes())
}

fn again(head: &Parts, body: &Bytes) -> Request<Body> {
    Request::from_parts(head.clone(), Body::new(Full::new(body.clone())))
}

/// Only an answer without content can be thrown away: UNAVAILABLE in place of one, or no connection.
fn worth_repeating(
    answer: &Result<Response<Body>, tonic::transport::Error>,
    repeat: Repeat,
) -> bool {
    match answer {
        Ok(response) => {
            let away = response.headers().get(Status::GRPC_STATUS);
            repeat == Repeat::Freely
                && away.is_some_and(|code| Code::from_bytes(code.as_bytes()) == Code::Unavailable)
        }
        Err(error) => repeat == Repeat::Freely || caused_by::<ConnectError>(error),
    }
}

fn caused_by<E: Error + 'static>(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.is::<E>() {
            return true;
        }
        cause = error.source();
    }
    false
}

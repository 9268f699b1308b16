//! Serving a port until the end: gRPC, gRPC-web and CORS in front of a door, and a drain that does not hang.

use std::{io, time::Duration};

use http::{HeaderName, HeaderValue, Method, Request, Uri, header::ORIGIN};
use kernel::limits::{
    CONNECTION_CALLS_MAX, CONNECTIONS_MAX, DRAIN_SECONDS_DEFAULT, GREETING_MS_MAX, HEADER_BYTES_MAX,
};
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic_web::GrpcWebLayer;
use tower::util::MapRequestLayer;
use tower_http::cors::{AllowHeaders, CorsLayer, ExposeHeaders};

use crate::{answer::REPLAYED, auth::AuthError, door::Door, gate::NEVER_BUILT, incoming};

/// How a port is served.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Web origins whose pages may call: none by default.
    pub origins: Vec<HeaderValue>,
    /// How long open calls and tasks may take to end by themselves.
    pub drain: Duration,
    /// Connections at the same time.
    pub connections: usize,
}

/// Why a port was not served, or no longer is.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Auth(#[from] AuthError),
    #[error("the address of the listener is unknown")]
    Address(#[source] io::Error),
    #[error("the server failed")]
    Transport(#[from] tonic::transport::Error),
}

/// How long the cut answers may take to leave.
const CUT_GRACE: Duration = Duration::from_secs(1);
const GREETING_WITHIN: Duration = Duration::from_millis(GREETING_MS_MAX);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(30);
const KEEPALIVE_WITHIN: Duration = Duration::from_secs(10);

impl Default for ServeOptions {
    fn default() -> Self {
        let drain = Duration::from_secs(DRAIN_SECONDS_DEFAULT);
        Self { origins: Vec::new(), drain, connections: CONNECTIONS_MAX }
    }
}

/// Serves `door` until its shutdown begins, and returns when everything has ended or was cut off.
///
/// Refuses a listener that is not on loopback when nobody is authenticated.
pub async fn serve(
    listener: TcpListener,
    door: Door,
    options: ServeOptions,
) -> Result<(), ServeError> {
    let address = listener.local_addr().map_err(ServeError::Address)?;
    door.auth().allows(address)?;
    tracing::info!(%address, "serving");
    let shutdown = door.shutdown().clone();
    let named = options.origins.clone();
    let server = Server::builder()
        .accept_http1(true)
        .http2_keepalive_interval(Some(KEEPALIVE_EVERY))
        .http2_keepalive_timeout(Some(KEEPALIVE_WITHIN))
        .max_concurrent_streams(CONNECTION_CALLS_MAX)
        .http2_max_header_list_size(HEADER_BYTES_MAX)
        .layer(cors(options.origins))
        .layer(MapRequestLayer::new(move |request| turned_away(request, &named)))
        .layer(GrpcWebLayer::new())
        .serve_with_incoming_shutdown(
            door,
            incoming::counted(listener, options.connections, GREETING_WITHIN),
            shutdown.stopping(),
        );
    let ended = async {
        server.await?;
        shutdown.tasks_ended().await;
        Ok(())
    };
    let cut = async {
        shutdown.stopping().await;
        tokio::time::sleep(options.drain).await;
        tracing::warn!("the drain took too long; what is still open is cut off");
        shutdown.abort();
        tokio::time::sleep(CUT_GRACE).await;
    };
    tokio::select! { ended = ended => ended, () = cut => Ok(()) }
}

/// A page that is not of a named origin finds nothing, whatever its browser takes it for: once its own name
/// points at this machine (DNS rebinding), CORS does not apply to it any more.
fn turned_away<B>(mut request: Request<B>, named: &[HeaderValue]) -> Request<B> {
    let origin = request.headers().get(ORIGIN);
    if origin.is_some_and(|origin| !named.contains(origin)) {
        *request.uri_mut() = Uri::from_static(NEVER_BUILT);
    }
    request
}

/// Only the named origins: a page elsewhere must not reach a server that trusts its own machine.
fn cors(origins: Vec<HeaderValue>) -> CorsLayer {
    let exposed = ["grpc-status", "grpc-message", "grpc-status-details-bin"];
    let exposed = exposed.map(HeaderName::from_static).into_iter().chain([REPLAYED]);
    CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::POST])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(ExposeHeaders::list(exposed))
}

//! The one way in: every call, from the network or from a service next door, passes here in this order.

use std::{
    convert::Infallible,
    future::Future,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures::FutureExt as _;
use http::{Request, Response};
use tonic::{Status, body::Body, codegen::Service, service::Routes};
use tower::ServiceExt as _;
use tracing::Instrument as _;

use crate::{
    answer,
    auth::{Authenticator, Identity},
    caller::{Caller, Passage},
    deadline,
    gate::{Gate, Services, View},
    patience::Patient,
    shutdown::Shutdown,
    status, telemetry,
};

/// Services behind authentication and the gate. Cheap to clone; the same door serves a port and local links.
#[derive(Debug, Clone)]
pub struct Door(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    auth: Authenticator,
    gate: Gate,
    shutdown: Shutdown,
}

/// A handler that did not come to its end; the panic itself was printed where it happened.
#[derive(Debug, thiserror::Error)]
#[error("a handler panicked")]
struct Panicked;

/// The service that probes ask, who have no token.
const OPEN_TO_STRANGERS: &str = "/grpc.health.v1.Health/";

// === impl Door ===

impl Door {
    pub fn new(services: Services, auth: Authenticator, shutdown: Shutdown) -> Self {
        let gate = Gate::new(services, &shutdown);
        Self(Arc::new(Inner { auth, gate, shutdown }))
    }

    pub fn shutdown(&self) -> &Shutdown {
        &self.0.shutdown
    }

    pub(crate) fn auth(&self) -> &Authenticator {
        &self.0.auth
    }

    async fn enter(&self, request: Request<Body>) -> Response<Body> {
        let mut request = request.map(Patient::body);
        let passage = Passage::of(request.headers());
        let routes = match self.admit(passage.clone(), &mut request) {
            Ok(routes) => routes,
            Err(status) => return status.into_http(),
        };
        let call = telemetry::Call::begin(request.uri().path(), &passage);
        let span = call.span();
        let handled = AssertUnwindSafe(routes.oneshot(request)).catch_unwind().map(|handled| {
            let Ok(response) = handled.map_err(|_| status::internal(&Panicked))?;
            Ok(response)
        });
        let outcome = tokio::select! {
            outcome = deadline::keep(passage.deadline, handled).instrument(span) => outcome,
            () = self.0.shutdown.aborted() => Err(answer::cut_off()),
        };
        let response = outcome.unwrap_or_else(Status::into_http);
        answer::finish(response, call, self.0.shutdown.aborted())
    }

    /// Who asks, then what they may see; nothing of the request itself is looked at before.
    fn admit(&self, passage: Passage, request: &mut Request<Body>) -> Result<Routes, Status> {
        let inner = &self.0;
        let headers = request.headers();
        if inner.auth.is_anonymous(headers) && request.uri().path().starts_with(OPEN_TO_STRANGERS) {
            return Ok(inner.gate.admit(View::STRANGER, request).0);
        }
        let Identity { principal, grants, mesh } = inner.auth.authenticate(headers)?;
        let (routes, services) = inner.gate.admit(View { grants, mesh }, request);
        request.extensions_mut().insert(Caller { principal, grants, mesh, services, passage });
        Ok(routes)
    }
}

impl Service<Request<Body>> for Door {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let door = self.clone();
        Box::pin(async move { Ok(door.enter(request).await) })
    }
}

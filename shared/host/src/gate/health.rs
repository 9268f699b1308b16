//! Health by service name: serving until the end begins; what the caller may not see is unknown.

use std::{pin::Pin, sync::Arc};

use futures::{Stream, StreamExt as _, future, stream};
use tonic::{Request, Response, Status};
use tonic_health::pb::{
    HealthCheckRequest, HealthCheckResponse, health_check_response::ServingStatus, health_server,
};

use super::{Catalog, View};
use crate::{shutdown::Shutdown, status};

/// `grpc.health.v1.Health` for one view; the empty name is the process itself.
pub(super) struct Health {
    catalog: Arc<Catalog>,
    view: View,
    shutdown: Shutdown,
}

// === impl Health ===

impl Health {
    pub(super) fn new(catalog: Arc<Catalog>, view: View, shutdown: Shutdown) -> Self {
        Self { catalog, view, shutdown }
    }

    fn status(&self, service: &str) -> ServingStatus {
        if !service.is_empty() && !self.catalog.listed(self.view).any(|listed| listed == service) {
            ServingStatus::ServiceUnknown
        } else if self.shutdown.is_stopping() {
            ServingStatus::NotServing
        } else {
            ServingStatus::Serving
        }
    }
}

#[tonic::async_trait]
impl health_server::Health for Health {
    type WatchStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;

    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let service = request.into_inner().service;
        match self.status(&service) {
            ServingStatus::ServiceUnknown => Err(status::not_found("service", &service)),
            known => Ok(Response::new(answer(known))),
        }
    }

    /// The present status, and the last one when the end begins; an unknown service stays unknown until then.
    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let now = self.status(&request.into_inner().service);
        let first = stream::once(future::ready(Ok(answer(now))));
        let stopping = self.shutdown.stopping();
        let last = stream::once(async move {
            stopping.await;
            let known = now != ServingStatus::ServiceUnknown;
            Ok(answer(if known { ServingStatus::NotServing } else { now }))
        });
        Ok(Response::new(first.chain(last).boxed()))
    }
}

fn answer(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse { status: status.into() }
}

//! WorkService, for mesh principals.

use std::time::Duration;

use host::caller::caller;
use kernel::limits::{JOBS_LEASED_MAX, JOBS_WAIT_MS_MAX};
use wire::mesh::v1::{self as pb, work_service_server::WorkService};

use super::{Handler, Reply, from_proto, status::status, to_proto};

#[tonic::async_trait]
impl WorkService for Handler {
    async fn lease_work(
        &self,
        request: tonic::Request<pb::LeaseWorkRequest>,
    ) -> Reply<pb::LeaseWorkResponse> {
        let request = request.into_inner();
        let limit = request.max_jobs.clamp(1, JOBS_LEASED_MAX);
        let wait = Duration::from_millis(u64::from(request.wait_ms.min(JOBS_WAIT_MS_MAX)));
        let leased = self.ledger.lease_work(&request.worker, limit, wait).await.map_err(status)?;
        let jobs = leased.into_iter().map(to_proto::job).collect();
        Ok(tonic::Response::new(pb::LeaseWorkResponse { jobs }))
    }

    async fn complete_work(
        &self,
        request: tonic::Request<pb::CompleteWorkRequest>,
    ) -> Reply<pb::CompleteWorkResponse> {
        let caller = caller(&request)?.clone();
        let (lease, finish) = from_proto::finish(request.into_inner())?;
        self.ledger.complete_work(&caller, lease, finish).await.map_err(status)?;
        Ok(tonic::Response::new(pb::CompleteWorkResponse {}))
    }
}

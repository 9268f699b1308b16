//! What the loader would send, and why.

use host::caller::caller;
use tonic::{Request, Response, Status};
use wire::loader::v1::{self as pb, profile_service_server as profiles};

use super::{Grpc, from_proto, status::status, to_proto};

#[tonic::async_trait]
impl profiles::ProfileService for Grpc {
    async fn explain_profile(
        &self,
        request: Request<pb::ExplainProfileRequest>,
    ) -> Result<Response<pb::ExplainProfileResponse>, Status> {
        let caller = caller(&request)?.clone();
        let pb::ExplainProfileRequest { session_id, profile_mode, messages } = request.into_inner();
        let preview = pb::PreviewProfileRequest { session_id, profile_mode, messages };
        let job = from_proto::job::preview(preview, self.0.clock.now())?;
        let compiled = self.0.compile(&caller, job).await.map_err(status)?;
        Ok(Response::new(to_proto::explanation::explanation(compiled)))
    }

    async fn preview_profile(
        &self,
        request: Request<pb::PreviewProfileRequest>,
    ) -> Result<Response<pb::PreviewProfileResponse>, Status> {
        let caller = caller(&request)?.clone();
        let job = from_proto::job::preview(request.into_inner(), self.0.clock.now())?;
        let compiled = self.0.compile(&caller, job).await.map_err(status)?;
        Ok(Response::new(to_proto::profile::preview(compiled)))
    }
}

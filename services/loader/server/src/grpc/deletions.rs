//! Worlds leave.

use host::caller::caller;
use kernel::WorldId;
use tonic::{Request, Response, Status};
use wire::loader::v1::{self as pb, world_deletion_service_server as deletions};

use super::{
    Grpc,
    from_proto::{attempt, id},
    said, saturated,
    status::status,
};

#[tonic::async_trait]
impl deletions::WorldDeletionService for Grpc {
    async fn delete_world(
        &self,
        request: Request<pb::DeleteWorldRequest>,
    ) -> Result<Response<pb::DeleteWorldResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.WorldDeletionService/DeleteWorld";
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let world = id("world_id", &asked.world_id, |id| WorldId::new(id))?;
        let attempt =
            attempt(caller, METHOD, asked, &asked.request_id, |asked| asked.request_id.clear())?;
        let done = self.0.delete_world(caller, &world, &asked.etag, attempt).await;
        let done = done.map_err(status)?;
        let (cleared, pending) = (saturated(done.value.cleared), done.value.pending);
        Ok(said(pb::DeleteWorldResponse { cleared, pending }, done.replayed))
    }
}

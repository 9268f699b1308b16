//! GenerationService.

use futures::StreamExt;
use host::caller::caller;
use wire::ledger::v1::{self as pb, generation_service_server::GenerationService};

use super::{Handler, Reply, Streamed, from_proto, status::status, to_proto};

#[tonic::async_trait]
impl GenerationService for Handler {
    type ResumeGenerationStream = Streamed<pb::ResumeGenerationResponse>;

    async fn resume_generation(
        &self,
        request: tonic::Request<pb::ResumeGenerationRequest>,
    ) -> Reply<Self::ResumeGenerationStream> {
        let owner = caller(&request)?.principal.owner.clone();
        let request = request.into_inner();
        let generation = from_proto::generation_id(&request.generation_id)?;
        let frames = self.ledger.resume(&owner, &generation, request.after_byte).await;
        let frames = frames.map_err(status)?.map(|frame| {
            let frame = Some(to_proto::frame(&frame.map_err(status)?));
            Ok(pb::ResumeGenerationResponse { frame })
        });
        Ok(tonic::Response::new(Box::pin(frames)))
    }
}

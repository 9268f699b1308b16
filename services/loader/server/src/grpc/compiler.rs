//! The mesh part: compiles under a lease, and what sessions begin with.

use futures::stream;
use host::caller::caller;
use kernel::{GenerationId, SessionId};
use tonic::{Request, Response, Status};
use wire::mesh::v1::{self as mesh, compile_service_server as compiler};

use super::{
    Answers, Grpc,
    from_proto::{self, id},
    status::status,
    to_proto,
};

#[tonic::async_trait]
impl compiler::CompileService for Grpc {
    type CompileStream = Answers<mesh::CompileResponse>;

    async fn compile(
        &self,
        request: Request<mesh::CompileRequest>,
    ) -> Result<Response<Self::CompileStream>, Status> {
        let caller = caller(&request)?.clone();
        let job = from_proto::job::compile(request.into_inner())?;
        let compiled = self.0.compile(&caller, job).await.map_err(status)?;
        let parts = to_proto::profile::compiled(compiled).into_iter().map(Ok);
        Ok(Response::new(stream::iter(parts.collect::<Vec<_>>())))
    }

    async fn release_lease(
        &self,
        request: Request<mesh::ReleaseLeaseRequest>,
    ) -> Result<Response<mesh::ReleaseLeaseResponse>, Status> {
        let asked = request.get_ref();
        let session = id("session_id", &asked.session_id, |id| SessionId::new(id))?;
        let generation = id("generation_id", &asked.generation_id, |id| GenerationId::new(id))?;
        self.0.release(caller(&request)?, &session, &generation).await.map_err(status)?;
        Ok(Response::new(mesh::ReleaseLeaseResponse {}))
    }

    async fn forget_session(
        &self,
        request: Request<mesh::ForgetSessionRequest>,
    ) -> Result<Response<mesh::ForgetSessionResponse>, Status> {
        let session = id("session_id", &request.get_ref().session_id, |id| SessionId::new(id))?;
        self.0.forget_session(caller(&request)?, &session).await.map_err(status)?;
        Ok(Response::new(mesh::ForgetSessionResponse {}))
    }

    async fn init_selection(
        &self,
        request: Request<mesh::InitSelectionRequest>,
    ) -> Result<Response<mesh::InitSelectionResponse>, Status> {
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let session = id("session_id", &asked.session_id, |id| SessionId::new(id))?;
        let origin = from_proto::origin(asked.selection.clone(), &asked.parent_session_id)?;
        let selection = self.0.init_selection(caller, &session, origin).await.map_err(status)?;
        let selection = Some(to_proto::selection(selection));
        Ok(Response::new(mesh::InitSelectionResponse { selection }))
    }
}

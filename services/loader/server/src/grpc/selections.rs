//! Selections, what new sessions take, and bindings.

use host::caller::caller;
use kernel::SessionId;
use tonic::{Request, Response, Status};
use wire::loader::v1::{self as pb, selection_service_server as selections};

use super::{
    Grpc,
    from_proto::{self, attempt, id},
    said,
    status::status,
    to_proto,
};
use crate::store::{Defaults, Done, bindings_etag};

#[tonic::async_trait]
impl selections::SelectionService for Grpc {
    async fn get_selection(
        &self,
        request: Request<pb::GetSelectionRequest>,
    ) -> Result<Response<pb::GetSelectionResponse>, Status> {
        let session = id("session_id", &request.get_ref().session_id, |id| SessionId::new(id))?;
        let (stored, worlds) =
            self.0.selection(caller(&request)?, &session).await.map_err(status)?;
        Ok(Response::new(pb::GetSelectionResponse {
            selection: Some(to_proto::selection(stored.selection)),
            etag: stored.revision.to_string(),
            effective_worlds: worlds.into_iter().map(to_proto::effective_world).collect(),
        }))
    }

    async fn set_selection(
        &self,
        request: Request<pb::SetSelectionRequest>,
    ) -> Result<Response<pb::SetSelectionResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.SelectionService/SetSelection";
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let session = id("session_id", &asked.session_id, |id| SessionId::new(id))?;
        let selection = from_proto::selection(asked.selection.clone())?;
        let expected = from_proto::revision(&asked.etag);
        let attempt =
            attempt(caller, METHOD, asked, &asked.request_id, |asked| asked.request_id.clear())?;
        let done = self.0.set_selection(caller, &session, selection, expected, attempt).await;
        let done = done.map_err(status)?;
        let answer = pb::SetSelectionResponse {
            selection: Some(to_proto::selection(done.value.selection)),
            etag: done.value.revision.to_string(),
        };
        Ok(said(answer, done.replayed))
    }

    async fn copy_selection(
        &self,
        request: Request<pb::CopySelectionRequest>,
    ) -> Result<Response<pb::CopySelectionResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.SelectionService/CopySelection";
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let from = id("from_session_id", &asked.from_session_id, |id| SessionId::new(id))?;
        let to = id("to_session_id", &asked.to_session_id, |id| SessionId::new(id))?;
        let expected = from_proto::revision(&asked.etag);
        let attempt =
            attempt(caller, METHOD, asked, &asked.request_id, |asked| asked.request_id.clear())?;
        let done = self.0.copy_selection(caller, &from, &to, expected, attempt).await;
        let done = done.map_err(status)?;
        let answer = pb::CopySelectionResponse {
            selection: Some(to_proto::selection(done.value.selection)),
            etag: done.value.revision.to_string(),
        };
        Ok(said(answer, done.replayed))
    }

    async fn get_default_selection(
        &self,
        request: Request<pb::GetDefaultSelectionRequest>,
    ) -> Result<Response<pb::GetDefaultSelectionResponse>, Status> {
        let Defaults { selection, etag } =
            self.0.defaults(caller(&request)?).await.map_err(status)?;
        let selection = Some(to_proto::selection(selection));
        Ok(Response::new(pb::GetDefaultSelectionResponse { selection, etag }))
    }

    async fn set_default_selection(
        &self,
        request: Request<pb::SetDefaultSelectionRequest>,
    ) -> Result<Response<pb::SetDefaultSelectionResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.SelectionService/SetDefaultSelection";
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let selection = from_proto::selection(asked.selection.clone())?;
        let attempt =
            attempt(caller, METHOD, asked, &asked.request_id, |asked| asked.request_id.clear())?;
        let expected = from_proto::etag(&asked.etag);
        let done = self.0.set_defaults(caller, selection, expected, attempt).await;
        let Done { value: Defaults { selection, etag }, replayed } = done.map_err(status)?;
        let selection = Some(to_proto::selection(selection));
        Ok(said(pb::SetDefaultSelectionResponse { selection, etag }, replayed))
    }

    async fn get_bindings(
        &self,
        request: Request<pb::GetBindingsRequest>,
    ) -> Result<Response<pb::GetBindingsResponse>, Status> {
        let asked = request.get_ref();
        let holder = from_proto::holder(asked.owner, &asked.owner_id)?;
        let worlds = self.0.bindings(caller(&request)?, &holder).await.map_err(status)?;
        let (world_ids, etag) = (to_proto::world_ids(&worlds), bindings_etag(&worlds));
        Ok(Response::new(pb::GetBindingsResponse { world_ids, etag }))
    }

    async fn set_bindings(
        &self,
        request: Request<pb::SetBindingsRequest>,
    ) -> Result<Response<pb::SetBindingsResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.SelectionService/SetBindings";
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let holder = from_proto::holder(asked.owner, &asked.owner_id)?;
        let worlds = from_proto::worlds("world_ids", &asked.world_ids)?;
        let expected = from_proto::etag(&asked.etag);
        let attempt =
            attempt(caller, METHOD, asked, &asked.request_id, |asked| asked.request_id.clear())?;
        let done = self.0.set_bindings(caller, &holder, worlds, expected, attempt).await;
        let done = done.map_err(status)?;
        let (world_ids, etag) = (to_proto::world_ids(&done.value), bindings_etag(&done.value));
        Ok(said(pb::SetBindingsResponse { world_ids, etag }, done.replayed))
    }
}

//! `WorldService`.

use futures::{StreamExt as _, stream};
use host::page::{Filling, Listing};
use kernel::WorldId;
use lorebook_core::export;
use prost::Message as _;
use tonic::{Request, Response, Status, Streaming};
use wire::lorebook::v1::{self as pb, world_service_server as worlds};

use super::{
    Answers, Grpc,
    from_proto::{self, id, page_size, scope},
    owner, said,
    status::status,
    to_proto,
};

#[tonic::async_trait]
impl worlds::WorldService for Grpc {
    async fn import_world(
        &self,
        request: Request<Streaming<pb::ImportWorldRequest>>,
    ) -> Result<Response<pb::ImportWorldResponse>, Status> {
        let owner = owner(&request)?;
        let (scope, upload) = from_proto::upload(&owner, request.into_inner()).await?;
        let imported = self.0.import_world(&owner, scope, upload).await.map_err(status)?;
        let report = Some(to_proto::report(imported.format, imported.entries, imported.report));
        let again = imported.world.as_ref().is_some_and(|world| world.replayed);
        let world = imported.world.map(|world| to_proto::world(&world.value));
        Ok(said(pb::ImportWorldResponse { world, report }, again))
    }

    async fn create_world(
        &self,
        request: Request<pb::CreateWorldRequest>,
    ) -> Result<Response<pb::CreateWorldResponse>, Status> {
        const METHOD: &str = "skald.lorebook.v1.WorldService/CreateWorld";
        let owner = owner(&request)?;
        let request = request.into_inner();
        let scope = scope(&owner, METHOD, &request.request_id)?;
        let head = from_proto::new_head(&request)?;
        let created = self.0.create_world(&owner, head, scope).await.map_err(status)?;
        let answer = pb::CreateWorldResponse { world: Some(to_proto::world(&created.value)) };
        Ok(said(answer, created.replayed))
    }

    type GetWorldStream = Answers<pb::GetWorldResponse>;

    async fn get_world(
        &self,
        request: Request<pb::GetWorldRequest>,
    ) -> Result<Response<Self::GetWorldStream>, Status> {
        use pb::get_world_response::Part;
        let owner = owner(&request)?;
        let request = request.into_inner();
        let view = from_proto::view(request.view)?;
        let world: WorldId = id("world_id", &request.world_id, WorldId::new)?;
        let stored = self.0.world_book(&owner, &world).await.map_err(status)?;
        let shown = export::rows(&stored.entries, view).into_iter().cloned().collect::<Vec<_>>();
        let head = Part::World(to_proto::world(&stored.listed));
        let entries = stream::iter(shown).map(|entry| Part::Entry(to_proto::entry(&entry)));
        let parts = stream::iter([head]).chain(entries);
        let answers = parts.map(|part| Ok(pb::GetWorldResponse { part: Some(part) }));
        Ok(Response::new(Box::pin(answers)))
    }

    async fn list_worlds(
        &self,
        request: Request<pb::ListWorldsRequest>,
    ) -> Result<Response<pb::ListWorldsResponse>, Status> {
        const METHOD: &str = "skald.lorebook.v1.WorldService/ListWorlds";
        let owner = owner(&request)?;
        let request = request.into_inner();
        let listing = [METHOD, owner.tenant.as_str(), owner.subject.as_str()];
        let listing = Listing(&listing);
        let after = from_proto::after(listing.position(&request.page_token)?)?;
        let size = page_size(request.page_size)?;
        let listed = self.0.store.list(&owner, after.as_ref(), size + 1).await;
        let listed = listed.map_err(|error| status(error.into()))?;
        let mut filling = Filling::new(size);
        let found = listed.len();
        let page: Vec<pb::World> = listed
            .iter()
            .map(to_proto::world)
            .take_while(|world| filling.takes(world.encoded_len()))
            .collect();
        let last = listed[..page.len()].last().filter(|_| page.len() < found);
        let position = last.map(|last| format!("{}/{}", last.world.id, last.world.name));
        let next_page_token = position.map(|position| listing.token(&position)).unwrap_or_default();
        Ok(Response::new(pb::ListWorldsResponse { worlds: page, next_page_token }))
    }

    async fn update_world(
        &self,
        request: Request<pb::UpdateWorldRequest>,
    ) -> Result<Response<pb::UpdateWorldResponse>, Status> {
        const METHOD: &str = "skald.lorebook.v1.WorldService/UpdateWorld";
        let owner = owner(&request)?;
        let request = request.into_inner();
        let scope = scope(&owner, METHOD, &request.request_id)?;
        let (world, edit) = from_proto::head_edit(&request)?;
        let updated = self.0.update_world(&owner, &world, edit, scope).await.map_err(status)?;
        let answer = pb::UpdateWorldResponse { world: Some(to_proto::world(&updated.value)) };
        Ok(said(answer, updated.replayed))
    }

    type ExportWorldStream = Answers<pb::ExportWorldResponse>;

    async fn export_world(
        &self,
        request: Request<pb::ExportWorldRequest>,
    ) -> Result<Response<Self::ExportWorldStream>, Status> {
        let owner = owner(&request)?;
        let request = request.into_inner();
        let view = from_proto::view(request.view)?;
        let format = from_proto::format(request.format)?;
        let world = id("world_id", &request.world_id, WorldId::new)?;
        let chunks = self.0.export_world(&owner, &world, view, format).await.map_err(status)?;
        let answers = chunks.into_iter().map(|chunk| Ok(pb::ExportWorldResponse { chunk }));
        Ok(Response::new(Box::pin(stream::iter(answers))))
    }
}

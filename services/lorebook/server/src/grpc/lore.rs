//! `LoreService`: for the mesh alone.

use futures::stream;
use kernel::{ChangeId, WorldId};
use tonic::{Request, Response, Status, Streaming};
use wire::mesh::v1::{self as mesh, lore_service_server as lore};

use super::{
    Answers, Grpc,
    from_proto::{self, id},
    owner, said,
    status::status,
    to_proto,
};
use crate::{embedded::Registered, store::Outcome};

#[tonic::async_trait]
impl lore::LoreService for Grpc {
    type ActivateStream = Answers<mesh::ActivateResponse>;

    async fn activate(
        &self,
        request: Request<mesh::ActivateRequest>,
    ) -> Result<Response<Self::ActivateStream>, Status> {
        let owner = owner(&request)?;
        let ask = from_proto::ask(request.into_inner())?;
        let answer = self.0.activate(&owner, ask).await.map_err(status)?;
        let parts = to_proto::activation(answer)?;
        let parts = parts.into_iter().map(|part| Ok(mesh::ActivateResponse { part: Some(part) }));
        Ok(Response::new(Box::pin(stream::iter(parts))))
    }

    async fn register_embedded_book(
        &self,
        request: Request<Streaming<mesh::RegisterEmbeddedBookRequest>>,
    ) -> Result<Response<mesh::RegisterEmbeddedBookResponse>, Status> {
        let owner = owner(&request)?;
        let ((world, character), bytes) = from_proto::embedded(request.into_inner()).await?;
        let registered = self.0.register_book(&owner, world, &character, bytes).await;
        let registered = registered.map_err(status)?;
        Ok(Response::new(match registered {
            Registered::World(found) => mesh::RegisterEmbeddedBookResponse {
                world_id: found
                    .world
                    .map(|world| world.value.world.id.to_string())
                    .unwrap_or_default(),
                report: Some(to_proto::report(found.format, found.entries, found.report)),
            },
            Registered::Unusable(why) => mesh::RegisterEmbeddedBookResponse {
                world_id: String::new(),
                report: Some(to_proto::unusable(&why)),
            },
        }))
    }

    async fn batch_get_worlds(
        &self,
        request: Request<mesh::BatchGetWorldsRequest>,
    ) -> Result<Response<mesh::BatchGetWorldsResponse>, Status> {
        let owner = owner(&request)?;
        let ids = from_proto::ids("world_ids", &request.into_inner().world_ids, WorldId::new)?;
        let found = self.0.store.worlds(&owner, &ids).await;
        let found = found.map_err(|error| status(error.into()))?;
        let worlds = found.iter().map(to_proto::world).collect();
        Ok(Response::new(mesh::BatchGetWorldsResponse { worlds }))
    }

    async fn apply_change(
        &self,
        request: Request<mesh::ApplyChangeRequest>,
    ) -> Result<Response<mesh::ApplyChangeResponse>, Status> {
        let owner = owner(&request)?;
        let request = request.into_inner();
        let change = from_proto::change(&request)?;
        if request.validate_only {
            let verdicts = self.0.verdicts(&owner, &change).await.map_err(status)?;
            let verdicts = to_proto::verdicts(verdicts);
            return Ok(Response::new(mesh::ApplyChangeResponse { change: None, verdicts }));
        }
        let Outcome { value, replayed } =
            self.0.apply_change(&owner, &change).await.map_err(status)?;
        let verdicts = vec![mesh::OperationVerdict::default(); change.operations.len()];
        let change = Some(self.first_page(&owner, &value).await?);
        Ok(said(mesh::ApplyChangeResponse { change, verdicts }, replayed))
    }

    async fn close_change(
        &self,
        request: Request<mesh::CloseChangeRequest>,
    ) -> Result<Response<mesh::CloseChangeResponse>, Status> {
        let owner = owner(&request)?;
        let request = request.into_inner();
        let world = id("world_id", &request.world_id, WorldId::new)?;
        let change = id("change_id", &request.change_id, ChangeId::new)?;
        let found = self.0.close_change(&owner, &world, &change).await.map_err(status)?;
        let change = match found {
            Some(change) => Some(self.first_page(&owner, &change).await?),
            None => None,
        };
        Ok(Response::new(mesh::CloseChangeResponse { change }))
    }

    async fn delete_world(
        &self,
        request: Request<mesh::DeleteWorldRequest>,
    ) -> Result<Response<mesh::DeleteWorldResponse>, Status> {
        let owner = owner(&request)?;
        let world = id("world_id", &request.into_inner().world_id, WorldId::new)?;
        self.0.delete_world(&owner, &world).await.map_err(status)?;
        Ok(Response::new(mesh::DeleteWorldResponse {}))
    }
}

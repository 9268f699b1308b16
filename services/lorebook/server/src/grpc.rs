//! The lorebook's RPCs: each reads its request, calls its use case, and answers.

use std::{pin::Pin, sync::Arc};

use futures::{Stream, StreamExt as _, stream};
use host::{
    answer::replayed,
    caller::caller,
    gate::Services,
    page::{Filling, Listing},
};
use kernel::{ChangeId, Owner, WorldId, limits};
use lorebook_core::export;
use prost::Message as _;
use tonic::{Request, Response, Status, Streaming};
use wire::{
    lorebook::v1::{self as pb, history_service_server as history, world_service_server as worlds},
    mesh::v1::{self as mesh, lore_service_server as lore},
};

use self::{
    from_proto::{attempt, id, page_size},
    status::status,
};
use crate::{
    Lorebook,
    embedded::Registered,
    store::{Change, Outcome},
};

mod from_proto;
mod status;
mod to_proto;

/// All services of the lorebook over one set of use cases.
#[derive(Clone)]
struct Grpc(Arc<Lorebook>);

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

pub fn mount(lorebook: Arc<Lorebook>, services: Services) -> Services {
    let grpc = Grpc(lorebook);
    services
        .mount(worlds::WorldServiceServer::new(grpc.clone()))
        .mount(history::HistoryServiceServer::new(grpc.clone()))
        .mount(lore::LoreServiceServer::new(grpc))
}

// === impl Grpc ===

#[tonic::async_trait]
impl worlds::WorldService for Grpc {
    async fn import_world(
        &self,
        request: Request<Streaming<pb::ImportWorldRequest>>,
    ) -> Result<Response<pb::ImportWorldResponse>, Status> {
        let owner = owner(&request)?;
        let upload = from_proto::upload(&owner, request.into_inner()).await?;
        let imported = self.0.import_world(&owner, upload).await.map_err(status)?;
        let report = Some(to_proto::report(imported.format, imported.entries, imported.report));
        let again = imported.world.as_ref().is_some_and(|world| world.replayed);
        let world = imported.world.map(|world| to_proto::world(&world.value));
        Ok(said(pb::ImportWorldResponse { world, report }, again))
    }

    type GetWorldStream = Answers<pb::GetWorldResponse>;

    async fn get_world(
        &self,
        request: Request<pb::GetWorldRequest>,
    ) -> Result<Response<Self::GetWorldStream>, Status> {
        use pb::get_world_response::Part;
        let owner = owner(&request)?;
        let request = request.into_inner();
        let view = from_proto::view(request.view());
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
        let attempt =
            attempt(&owner, METHOD, &request, &request.request_id, |r| r.request_id.clear())?;
        let (world, edit) = from_proto::head_edit(&request)?;
        let updated = self.0.update_world(&owner, &world, edit, attempt).await.map_err(status)?;
        let answer = pb::UpdateWorldResponse { world: Some(to_proto::world(&updated.value)) };
        Ok(said(answer, updated.replayed))
    }
}

#[tonic::async_trait]
impl history::HistoryService for Grpc {
    async fn list_changes(
        &self,
        request: Request<pb::ListChangesRequest>,
    ) -> Result<Response<pb::ListChangesResponse>, Status> {
        const METHOD: &str = "skald.lorebook.v1.HistoryService/ListChanges";
        let owner = owner(&request)?;
        let request = request.into_inner();
        let world = id("world_id", &request.world_id, WorldId::new)?;
        let (tenant, subject) = (owner.tenant.as_str(), owner.subject.as_str());
        let listing = [METHOD, tenant, subject, world.as_str()];
        let listing = Listing(&listing);
        let before = from_proto::number(listing.position(&request.page_token)?)?;
        let size = page_size(request.page_size)?;
        let found = self.0.changes(&owner, &world, before, size + 1).await.map_err(status)?;
        let mut filling = Filling::new(size);
        let changes: Vec<pb::Change> = found
            .iter()
            .map(to_proto::change)
            .take_while(|change| filling.takes(change.encoded_len()))
            .collect();
        let last = found[..changes.len()].last().filter(|_| changes.len() < found.len());
        let token = last.map(|last| listing.token(&last.position.to_string()));
        let next_page_token = token.unwrap_or_default();
        Ok(Response::new(pb::ListChangesResponse { changes, next_page_token }))
    }

    async fn get_change(
        &self,
        request: Request<pb::GetChangeRequest>,
    ) -> Result<Response<pb::GetChangeResponse>, Status> {
        const METHOD: &str = "skald.lorebook.v1.HistoryService/GetChange";
        let owner = owner(&request)?;
        let request = request.into_inner();
        let change = id("change_id", &request.change_id, ChangeId::new)?;
        let (tenant, subject) = (owner.tenant.as_str(), owner.subject.as_str());
        let listing = [METHOD, tenant, subject, change.as_str()];
        let listing = Listing(&listing);
        let from = from_proto::number(listing.position(&request.page_token)?)?.unwrap_or(0);
        let size = page_size(request.page_size)?;
        let found = self.0.change(&owner, &change).await.map_err(status)?;
        let (change, next) = self.told(&owner, &found, from, size).await?;
        let next_page_token = next.map(|next| listing.token(&next.to_string())).unwrap_or_default();
        Ok(Response::new(pb::GetChangeResponse { change: Some(change), next_page_token }))
    }

    async fn revert_change(
        &self,
        request: Request<pb::RevertChangeRequest>,
    ) -> Result<Response<pb::RevertChangeResponse>, Status> {
        const METHOD: &str = "skald.lorebook.v1.HistoryService/RevertChange";
        let owner = owner(&request)?;
        let request = request.into_inner();
        let attempt =
            attempt(&owner, METHOD, &request, &request.request_id, |r| r.request_id.clear())?;
        let change = id("change_id", &request.change_id, ChangeId::new)?;
        let undone = self.0.revert_change(&owner, &change, attempt).await.map_err(status)?;
        let change = Some(self.first_page(&owner, &undone.value).await?);
        Ok(said(pb::RevertChangeResponse { change }, undone.replayed))
    }

    async fn reset_world(
        &self,
        request: Request<pb::ResetWorldRequest>,
    ) -> Result<Response<pb::ResetWorldResponse>, Status> {
        const METHOD: &str = "skald.lorebook.v1.HistoryService/ResetWorld";
        let owner = owner(&request)?;
        let request = request.into_inner();
        let attempt =
            attempt(&owner, METHOD, &request, &request.request_id, |r| r.request_id.clear())?;
        let world = id("world_id", &request.world_id, WorldId::new)?;
        let reset = self.0.reset_world(&owner, &world, attempt).await.map_err(status)?;
        let change = Some(self.first_page(&owner, &reset.value).await?);
        Ok(said(pb::ResetWorldResponse { change }, reset.replayed))
    }
}

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
        let (character, bytes) = from_proto::embedded(request.into_inner()).await?;
        let registered = self.0.register_book(&owner, &character, bytes).await.map_err(status)?;
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
            let verdicts = verdicts.into_iter().map(to_proto::verdict).collect();
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
}

impl Grpc {
    /// A change with as many of its rows as fit into one page.
    async fn first_page(&self, owner: &Owner, change: &Change) -> Result<pb::Change, Status> {
        Ok(self.told(owner, change, 0, limits::PAGE_SIZE_MAX).await?.0)
    }

    /// A change with a page of its rows, and where the next page begins.
    async fn told(
        &self,
        owner: &Owner,
        change: &Change,
        from: i64,
        size: usize,
    ) -> Result<(pb::Change, Option<usize>), Status> {
        let bases = self.0.overlaid(owner, change).await.map_err(status)?;
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        let mut filling = Filling::new(size);
        let pairs = change.record.pairs.get(from..).unwrap_or_default();
        let rows: Vec<pb::RowChange> = pairs
            .iter()
            .map(|pair| to_proto::row(pair, &bases))
            .take_while(|row| filling.takes(row.encoded_len()))
            .collect();
        let next = (rows.len() < pairs.len()).then_some(from + rows.len());
        Ok((pb::Change { rows, ..to_proto::change(change) }, next))
    }
}

fn owner<T>(request: &Request<T>) -> Result<Owner, Status> {
    Ok(caller(request)?.principal.owner.clone())
}

fn said<T>(answer: T, again: bool) -> Response<T> {
    let response = Response::new(answer);
    if again { replayed(response) } else { response }
}

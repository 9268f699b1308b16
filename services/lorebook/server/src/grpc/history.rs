//! `HistoryService`.

use host::page::{Filling, Listing};
use kernel::{ChangeId, WorldId};
use prost::Message as _;
use tonic::{Request, Response, Status};
use wire::lorebook::v1::{self as pb, history_service_server as history};

use super::{
    Grpc,
    from_proto::{self, id, page_size, scope},
    owner, said,
    status::status,
    to_proto,
};

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
        let scope = scope(&owner, METHOD, &request.request_id)?;
        let change = id("change_id", &request.change_id, ChangeId::new)?;
        let undone = self.0.revert_change(&owner, &change, scope).await.map_err(status)?;
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
        let scope = scope(&owner, METHOD, &request.request_id)?;
        let world = id("world_id", &request.world_id, WorldId::new)?;
        let reset = self.0.reset_world(&owner, &world, scope).await.map_err(status)?;
        let change = Some(self.first_page(&owner, &reset.value).await?);
        Ok(said(pb::ResetWorldResponse { change }, reset.replayed))
    }
}

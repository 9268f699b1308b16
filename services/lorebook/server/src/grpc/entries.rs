//! `EntryService`.

use host::{
    idempotency::Scope,
    page::{Filling, Listing},
};
use kernel::{EntryId, Owner, WorldId};
use lorebook_core::edit::Edit;
use prost::Message as _;
use tonic::{Request, Response, Status};
use wire::lorebook::v1::{self as pb, entry_service_server as entries};

use super::{
    Grpc,
    from_proto::{self, entry as read, id, page_size, scope},
    owner, said,
    status::status,
    to_proto,
};
use crate::entries::Edited;

#[tonic::async_trait]
impl entries::EntryService for Grpc {
    async fn get_entry(
        &self,
        request: Request<pb::GetEntryRequest>,
    ) -> Result<Response<pb::GetEntryResponse>, Status> {
        let owner = owner(&request)?;
        let request = request.into_inner();
        let world = id("world_id", &request.world_id, WorldId::new)?;
        let entry = id("entry_id", &request.entry_id, EntryId::new)?;
        let entry = self.0.entry(&owner, &world, &entry).await.map_err(status)?;
        Ok(Response::new(pb::GetEntryResponse { entry: Some(to_proto::entry(&entry)) }))
    }

    async fn search_entries(
        &self,
        request: Request<pb::SearchEntriesRequest>,
    ) -> Result<Response<pb::SearchEntriesResponse>, Status> {
        const METHOD: &str = "skald.lorebook.v1.EntryService/SearchEntries";
        let owner = owner(&request)?;
        let request = request.into_inner();
        let view = from_proto::view(request.view)?;
        let world = id("world_id", &request.world_id, WorldId::new)?;
        let text = from_proto::search_text(&request.text)?;
        let (tenant, subject) = (owner.tenant.as_str(), owner.subject.as_str());
        let listing = [METHOD, tenant, subject, world.as_str(), view.name(), text];
        let listing = Listing(&listing);
        let skip = from_proto::number(listing.position(&request.page_token)?)?.unwrap_or(0);
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let found = self.0.search(&owner, &world, view, text, skip).await.map_err(status)?;
        let mut filling = Filling::new(page_size(request.page_size)?);
        let entries: Vec<pb::Entry> = found
            .iter()
            .map(to_proto::entry)
            .take_while(|entry| filling.takes(entry.encoded_len()))
            .collect();
        let more = entries.len() < found.len();
        let next = more.then(|| listing.token(&(skip + entries.len()).to_string()));
        let next_page_token = next.unwrap_or_default();
        Ok(Response::new(pb::SearchEntriesResponse { entries, next_page_token }))
    }

    async fn create_entry(
        &self,
        request: Request<pb::CreateEntryRequest>,
    ) -> Result<Response<pb::CreateEntryResponse>, Status> {
        const METHOD: &str = "skald.lorebook.v1.EntryService/CreateEntry";
        let owner = owner(&request)?;
        let request = request.into_inner();
        let scope = scope(&owner, METHOD, &request.request_id)?;
        let edits = vec![read::create("", &request)?];
        let edited = self.edited(&owner, &request.world_id, edits, scope).await?;
        let (world, entry) = told(&edited);
        Ok(said(pb::CreateEntryResponse { entry, world }, edited.outcome.replayed))
    }

    async fn update_entry(
        &self,
        request: Request<pb::UpdateEntryRequest>,
    ) -> Result<Response<pb::UpdateEntryResponse>, Status> {
        const METHOD: &str = "skald.lorebook.v1.EntryService/UpdateEntry";
        let owner = owner(&request)?;
        let request = request.into_inner();
        let scope = scope(&owner, METHOD, &request.request_id)?;
        let edits = vec![read::update("", &request)?];
        let edited = self.edited(&owner, &request.world_id, edits, scope).await?;
        let (world, entry) = told(&edited);
        Ok(said(pb::UpdateEntryResponse { entry, world }, edited.outcome.replayed))
    }

    async fn delete_entry(
        &self,
        request: Request<pb::DeleteEntryRequest>,
    ) -> Result<Response<pb::DeleteEntryResponse>, Status> {
        const METHOD: &str = "skald.lorebook.v1.EntryService/DeleteEntry";
        let owner = owner(&request)?;
        let request = request.into_inner();
        let scope = scope(&owner, METHOD, &request.request_id)?;
        let edits = vec![read::delete("", &request)?];
        let edited = self.edited(&owner, &request.world_id, edits, scope).await?;
        let (world, _) = told(&edited);
        Ok(said(pb::DeleteEntryResponse { world }, edited.outcome.replayed))
    }

    async fn reorder_entries(
        &self,
        request: Request<pb::ReorderEntriesRequest>,
    ) -> Result<Response<pb::ReorderEntriesResponse>, Status> {
        const METHOD: &str = "skald.lorebook.v1.EntryService/ReorderEntries";
        let owner = owner(&request)?;
        let request = request.into_inner();
        let scope = scope(&owner, METHOD, &request.request_id)?;
        let edits = vec![read::reorder(&request)?];
        let edited = self.edited(&owner, &request.world_id, edits, scope).await?;
        let (world, _) = told(&edited);
        Ok(said(pb::ReorderEntriesResponse { world }, edited.outcome.replayed))
    }

    async fn batch_edit_entries(
        &self,
        request: Request<pb::BatchEditEntriesRequest>,
    ) -> Result<Response<pb::BatchEditEntriesResponse>, Status> {
        const METHOD: &str = "skald.lorebook.v1.EntryService/BatchEditEntries";
        let owner = owner(&request)?;
        let request = request.into_inner();
        let scope = scope(&owner, METHOD, &request.request_id)?;
        let edits = read::batch(&request)?;
        let edited = self.edited(&owner, &request.world_id, edits, scope).await?;
        let (world, _) = told(&edited);
        let entry_ids = edited.ids.iter().map(ToString::to_string).collect();
        Ok(said(pb::BatchEditEntriesResponse { world, entry_ids }, edited.outcome.replayed))
    }
}

// === impl Grpc ===

impl Grpc {
    async fn edited(
        &self,
        owner: &Owner,
        world_id: &str,
        edits: Vec<Edit>,
        scope: Option<Scope>,
    ) -> Result<Edited, Status> {
        let world = id("world_id", world_id, WorldId::new)?;
        self.0.edit_entries(owner, &world, edits, scope).await.map_err(status)
    }
}

/// The world as it is now, and the entry of a single edit if it is still there.
fn told(edited: &Edited) -> (Option<pb::World>, Option<pb::Entry>) {
    let world = to_proto::world(&edited.outcome.value.listed);
    (Some(world), edited.entry().map(to_proto::entry))
}

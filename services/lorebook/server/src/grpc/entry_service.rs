//! `EntryService`.

use host::page::{Filling, Listing};
use kernel::{EntryId, WorldId};
use lorebook_core::edit::Edit;
use prost::Message as _;
use tonic::{Request, Response, Status};
use wire::lorebook::v1::{self as pb, entry_service_server as entries};

use super::{
    Grpc,
    from_proto::{self, attempt, entry as read, id, page_size},
    owner, said,
    status::status,
    to_proto,
};
use crate::{entries::no_entry, store::Stored};

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
        let attempt =
            attempt(&owner, METHOD, &request, &request.request_id, |r| r.request_id.clear())?;
        let world = id("world_id", &request.world_id, WorldId::new)?;
        let new = self.0.new_entry_id(attempt.as_ref(), 0);
        let edits = [read::create("", &request, new.clone())?];
        let edited = self.0.edit_entries(&owner, &world, &edits, attempt).await.map_err(status)?;
        let (world, entry) = told(&edited.value, &new)?;
        let answer = pb::CreateEntryResponse { entry: Some(entry), world: Some(world) };
        Ok(said(answer, edited.replayed))
    }

    async fn update_entry(
        &self,
        request: Request<pb::UpdateEntryRequest>,
    ) -> Result<Response<pb::UpdateEntryResponse>, Status> {
        const METHOD: &str = "skald.lorebook.v1.EntryService/UpdateEntry";
        let owner = owner(&request)?;
        let request = request.into_inner();
        let attempt =
            attempt(&owner, METHOD, &request, &request.request_id, |r| r.request_id.clear())?;
        let world = id("world_id", &request.world_id, WorldId::new)?;
        let edits = [read::update("", &request)?];
        let target = target(&edits[0]);
        let edited = self.0.edit_entries(&owner, &world, &edits, attempt).await.map_err(status)?;
        let (world, entry) = told(&edited.value, &target)?;
        let answer = pb::UpdateEntryResponse { entry: Some(entry), world: Some(world) };
        Ok(said(answer, edited.replayed))
    }

    async fn delete_entry(
        &self,
        request: Request<pb::DeleteEntryRequest>,
    ) -> Result<Response<pb::DeleteEntryResponse>, Status> {
        const METHOD: &str = "skald.lorebook.v1.EntryService/DeleteEntry";
        let owner = owner(&request)?;
        let request = request.into_inner();
        let attempt =
            attempt(&owner, METHOD, &request, &request.request_id, |r| r.request_id.clear())?;
        let world = id("world_id", &request.world_id, WorldId::new)?;
        let edits = [read::delete("", &request)?];
        let edited = self.0.edit_entries(&owner, &world, &edits, attempt).await.map_err(status)?;
        let world = Some(to_proto::world(&edited.value.listed));
        Ok(said(pb::DeleteEntryResponse { world }, edited.replayed))
    }

    async fn reorder_entries(
        &self,
        request: Request<pb::ReorderEntriesRequest>,
    ) -> Result<Response<pb::ReorderEntriesResponse>, Status> {
        const METHOD: &str = "skald.lorebook.v1.EntryService/ReorderEntries";
        let owner = owner(&request)?;
        let request = request.into_inner();
        let attempt =
            attempt(&owner, METHOD, &request, &request.request_id, |r| r.request_id.clear())?;
        let world = id("world_id", &request.world_id, WorldId::new)?;
        let edits = [read::reorder(&request)?];
        let edited = self.0.edit_entries(&owner, &world, &edits, attempt).await.map_err(status)?;
        let world = Some(to_proto::world(&edited.value.listed));
        Ok(said(pb::ReorderEntriesResponse { world }, edited.replayed))
    }

    async fn batch_edit_entries(
        &self,
        request: Request<pb::BatchEditEntriesRequest>,
    ) -> Result<Response<pb::BatchEditEntriesResponse>, Status> {
        const METHOD: &str = "skald.lorebook.v1.EntryService/BatchEditEntries";
        let owner = owner(&request)?;
        let request = request.into_inner();
        let attempt =
            attempt(&owner, METHOD, &request, &request.request_id, |r| r.request_id.clear())?;
        let world = id("world_id", &request.world_id, WorldId::new)?;
        let edits = read::batch(&request, |at| self.0.new_entry_id(attempt.as_ref(), at))?;
        let entry_ids = edits.iter().map(|edit| target(edit).to_string()).collect();
        let edited = self.0.edit_entries(&owner, &world, &edits, attempt).await.map_err(status)?;
        let world = Some(to_proto::world(&edited.value.listed));
        Ok(said(pb::BatchEditEntriesResponse { world, entry_ids }, edited.replayed))
    }
}

/// The row that an edit is about.
fn target(edit: &Edit) -> EntryId {
    match edit {
        Edit::Create { id, .. } | Edit::Update { id, .. } | Edit::Delete { id, .. } => id.clone(),
        Edit::Reorder { ids } => ids.first().cloned().unwrap_or_else(|| EntryId::derived(&[])),
    }
}

/// The world and one of its entries; a repetition may come after the entry was deleted.
fn told(stored: &Stored, id: &EntryId) -> Result<(pb::World, pb::Entry), Status> {
    let entry = stored.entries.iter().find(|entry| entry.id == *id);
    let entry = entry.ok_or_else(|| status(no_entry(id)))?;
    Ok((to_proto::world(&stored.listed), to_proto::entry(entry)))
}

//! A lorebook in memory, with the faults that a test asks for.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
};

use host::status;
use tonic::{Request, Response, Status, codegen::BoxStream};
use wire::{
    common::v1::Reason,
    lorebook::v1::{
        self as pb, history_service_server::HistoryService, world_service_server::WorldService,
    },
    mesh::v1::{self as mesh, lore_service_server::LoreService},
};

/// Shared with the test, which reads and bends it.
#[derive(Clone, Default)]
pub struct Lorebook(Arc<Mutex<State>>);

#[derive(Default)]
pub struct State {
    pub worlds: BTreeMap<String, (pb::World, Vec<pb::Entry>)>,
    /// In the order in which they were applied.
    pub changes: Vec<pb::Change>,
    pub closed: BTreeSet<String>,
    /// What the next applications meet, before or after the change is made.
    pub faults: VecDeque<Fault>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing was done, and the caller cannot tell.
    LostBefore,
    /// It was done, and the caller cannot tell.
    LostAfter,
    /// The world moves on between the check and the change.
    MovesOn,
}

// === impl Lorebook ===

impl Lorebook {
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("unpoisoned")
    }

    /// An enabled, opted-in world at revision 1 with one authored entry `<id>-king`.
    pub fn add(&self, id: &str) {
        let world = pb::World {
            world_id: id.into(),
            name: id.to_uppercase(),
            enabled: true,
            dynamic_enabled: true,
            content_revision: 1,
            ..Default::default()
        };
        let king = pb::Entry {
            entry_id: format!("{id}-king"),
            name: "King".into(),
            content: "The king lives.\n".into(),
            keys: vec!["king".into()],
            enabled: true,
            layer: pb::Layer::Authored.into(),
            ..Default::default()
        };
        self.state().worlds.insert(id.into(), (world, vec![king]));
    }

    pub fn move_on(&self, id: &str) {
        self.state().move_on(id);
    }
}

impl State {
    pub fn world(&mut self, id: &str) -> &mut pb::World {
        &mut self.worlds.get_mut(id).expect("a world").0
    }

    fn move_on(&mut self, id: &str) {
        self.world(id).content_revision += 1;
    }

    fn apply(&mut self, request: &mesh::ApplyChangeRequest) -> Result<pb::Change, Status> {
        let id = &request.change_id;
        if let Some(made) = self.changes.iter().find(|change| change.change_id == *id) {
            return Ok(made.clone());
        }
        if self.closed.contains(id) {
            return Err(status::precondition(Reason::ChangeClosed, id, "closed"));
        }
        let head = self.worlds.get(&request.world_id).map(|(world, _)| world.clone());
        let head = head.ok_or_else(|| status::not_found("world", &request.world_id))?;
        if head.content_revision != request.base_revision {
            return Err(status::aborted(Reason::StaleRevision, "world", &head.world_id, "moved"));
        }
        self.move_on(&request.world_id);
        let row = |operation: &pb::Operation| pb::RowChange {
            after: Some(pb::Entry {
                name: operation.name.clone().unwrap_or_default(),
                content: operation.content.clone().unwrap_or_default(),
                ..Default::default()
            }),
            content_diff: "a diff".into(),
            ..Default::default()
        };
        let change = pb::Change {
            change_id: id.clone(),
            world_id: request.world_id.clone(),
            base_revision: request.base_revision,
            applied_revision: request.base_revision + 1,
            rows: request.operations.iter().map(row).collect(),
            ..Default::default()
        };
        self.changes.push(change.clone());
        Ok(change)
    }

    /// An operation holds unless it says `bad`.
    fn verdict(&self, world: &str, operation: &pb::Operation) -> mesh::OperationVerdict {
        let entries = self.worlds.get(world).map(|(_, entries)| entries.as_slice());
        let target = entries.unwrap_or_default();
        let target = target.iter().find(|entry| entry.entry_id == operation.target_entry_id);
        let bad = operation.content.as_deref().is_some_and(|content| content.contains("bad"));
        mesh::OperationVerdict {
            problem: if bad { "as told".into() } else { String::new() },
            current_name: target.map_or(String::new(), |entry| entry.name.clone()),
            current_content: target.map_or(String::new(), |entry| entry.content.clone()),
            left_out: Vec::new(),
        }
    }
}

fn lost() -> Status {
    status::peer_unavailable("lost on the way")
}

#[tonic::async_trait]
impl LoreService for Lorebook {
    type ActivateStream = BoxStream<mesh::ActivateResponse>;

    async fn activate(
        &self,
        _: Request<mesh::ActivateRequest>,
    ) -> Result<Response<Self::ActivateStream>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn register_embedded_book(
        &self,
        _: Request<tonic::Streaming<mesh::RegisterEmbeddedBookRequest>>,
    ) -> Result<Response<mesh::RegisterEmbeddedBookResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn batch_get_worlds(
        &self,
        request: Request<mesh::BatchGetWorldsRequest>,
    ) -> Result<Response<mesh::BatchGetWorldsResponse>, Status> {
        let state = self.state();
        let ids = request.into_inner().world_ids;
        let worlds = ids.iter().filter_map(|id| Some(state.worlds.get(id)?.0.clone())).collect();
        Ok(Response::new(mesh::BatchGetWorldsResponse { worlds }))
    }

    async fn apply_change(
        &self,
        request: Request<mesh::ApplyChangeRequest>,
    ) -> Result<Response<mesh::ApplyChangeResponse>, Status> {
        let request = request.into_inner();
        let mut state = self.state();
        let verdict = |operation| state.verdict(&request.world_id, operation);
        let verdicts = request.operations.iter().map(verdict).collect();
        if request.validate_only {
            return Ok(Response::new(mesh::ApplyChangeResponse { change: None, verdicts }));
        }
        let fault = state.faults.pop_front();
        match fault {
            Some(Fault::LostBefore) => return Err(lost()),
            Some(Fault::MovesOn) => state.move_on(&request.world_id),
            Some(Fault::LostAfter) | None => {}
        }
        let change = Some(state.apply(&request)?);
        match fault {
            Some(Fault::LostAfter) => Err(lost()),
            _ => Ok(Response::new(mesh::ApplyChangeResponse { change, verdicts })),
        }
    }

    async fn close_change(
        &self,
        request: Request<mesh::CloseChangeRequest>,
    ) -> Result<Response<mesh::CloseChangeResponse>, Status> {
        let id = request.into_inner().change_id;
        let mut state = self.state();
        let change = state.changes.iter().find(|change| change.change_id == id).cloned();
        if change.is_none() {
            state.closed.insert(id);
        }
        Ok(Response::new(mesh::CloseChangeResponse { change }))
    }

    async fn delete_world(
        &self,
        _: Request<mesh::DeleteWorldRequest>,
    ) -> Result<Response<mesh::DeleteWorldResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }
}

#[tonic::async_trait]
impl WorldService for Lorebook {
    type GetWorldStream = BoxStream<pb::GetWorldResponse>;

    async fn import_world(
        &self,
        _: Request<tonic::Streaming<pb::ImportWorldRequest>>,
    ) -> Result<Response<pb::ImportWorldResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn create_world(
        &self,
        _: Request<pb::CreateWorldRequest>,
    ) -> Result<Response<pb::CreateWorldResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn get_world(
        &self,
        request: Request<pb::GetWorldRequest>,
    ) -> Result<Response<Self::GetWorldStream>, Status> {
        use pb::get_world_response::Part;
        let id = request.into_inner().world_id;
        let found = self.state().worlds.get(&id).cloned();
        let (world, entries) = found.ok_or_else(|| status::not_found("world", &id))?;
        let parts = [Part::World(world)].into_iter().chain(entries.into_iter().map(Part::Entry));
        let parts: Vec<_> =
            parts.map(|part| Ok(pb::GetWorldResponse { part: Some(part) })).collect();
        Ok(Response::new(Box::pin(futures::stream::iter(parts))))
    }

    async fn list_worlds(
        &self,
        _: Request<pb::ListWorldsRequest>,
    ) -> Result<Response<pb::ListWorldsResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn update_world(
        &self,
        _: Request<pb::UpdateWorldRequest>,
    ) -> Result<Response<pb::UpdateWorldResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }

    type ExportWorldStream = BoxStream<pb::ExportWorldResponse>;

    async fn export_world(
        &self,
        _: Request<pb::ExportWorldRequest>,
    ) -> Result<Response<Self::ExportWorldStream>, Status> {
        Err(Status::unimplemented("not here"))
    }
}

#[tonic::async_trait]
impl HistoryService for Lorebook {
    async fn list_changes(
        &self,
        _: Request<pb::ListChangesRequest>,
    ) -> Result<Response<pb::ListChangesResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }

    /// One row to a page.
    async fn get_change(
        &self,
        request: Request<pb::GetChangeRequest>,
    ) -> Result<Response<pb::GetChangeResponse>, Status> {
        let request = request.into_inner();
        let state = self.state();
        let found = state.changes.iter().find(|change| change.change_id == request.change_id);
        let change = found.ok_or_else(|| status::not_found("change", &request.change_id))?;
        let at: usize = request.page_token.parse().unwrap_or(0);
        let rows = change.rows.iter().skip(at).take(1).cloned().collect();
        let more = at + 1 < change.rows.len();
        let next_page_token = if more { (at + 1).to_string() } else { String::new() };
        let change = Some(pb::Change { rows, ..change.clone() });
        Ok(Response::new(pb::GetChangeResponse { change, next_page_token }))
    }

    async fn revert_change(
        &self,
        request: Request<pb::RevertChangeRequest>,
    ) -> Result<Response<pb::RevertChangeResponse>, Status> {
        let request = request.into_inner();
        let undo = format!("undo-{}", request.request_id);
        let mut state = self.state();
        if let Some(made) = state.changes.iter().find(|change| change.change_id == undo) {
            return Ok(Response::new(pb::RevertChangeResponse { change: Some(made.clone()) }));
        }
        let State { changes, worlds, .. } = &mut *state;
        // A world takes its History along.
        let change = changes.iter_mut().find(|change| {
            change.change_id == request.change_id && worlds.contains_key(&change.world_id)
        });
        let change = change.ok_or_else(|| status::not_found("change", &request.change_id))?;
        if !change.reverted_by_change_id.is_empty() {
            let why = "it was taken back before";
            return Err(status::precondition(Reason::NotRevertible, &request.change_id, why));
        }
        change.reverted_by_change_id = undo.clone();
        let (world, reverts_change_id) = (change.world_id.clone(), request.change_id);
        state.move_on(&world);
        let change = pb::Change {
            change_id: undo,
            world_id: world,
            reverts_change_id,
            ..Default::default()
        };
        state.changes.push(change.clone());
        Ok(Response::new(pb::RevertChangeResponse { change: Some(change) }))
    }

    async fn reset_world(
        &self,
        _: Request<pb::ResetWorldRequest>,
    ) -> Result<Response<pb::ResetWorldResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }
}

//! A lorebook that is a script: what it knows, what it was asked, and whether it is away.

use std::sync::{Arc, Mutex};

use futures::stream;
use tokio::sync::watch;
use tonic::{Request, Response, Status, Streaming, service::Routes};
use wire::{
    lorebook::v1::{self as pb, World, world_service_server as worlds},
    mesh::v1::{self as mesh, lore_service_server as lore},
};

use crate::house::Answered;

/// A lorebook that knows the worlds it is told of, and fires one entry for each of them.
#[derive(Clone, Default)]
pub struct Lorebook {
    pub worlds: Arc<Mutex<Vec<String>>>,
    /// Books that were registered, as JSON.
    pub books: Arc<Mutex<Vec<String>>>,
    /// The worlds that they became.
    pub copies: Arc<Mutex<Vec<String>>>,
    pub asked: Arc<Mutex<Vec<mesh::ActivateRequest>>>,
    pub away: Arc<Mutex<bool>>,
    /// It answers, and fails to delete.
    pub keeps: Arc<Mutex<bool>>,
    /// Worlds that it failed to delete.
    pub kept: Arc<watch::Sender<Vec<String>>>,
    /// Worlds that were deleted, in order.
    pub deleted: Arc<watch::Sender<Vec<String>>>,
}

type Answers<T> = stream::Iter<std::vec::IntoIter<Result<T, Status>>>;

// === impl Lorebook ===

impl Lorebook {
    fn check(&self) -> Result<(), Status> {
        if *self.away.lock().expect("not poisoned") {
            return Err(host::status::peer_unavailable("away"));
        }
        Ok(())
    }

    /// What it serves.
    pub fn services(&self) -> Routes {
        let worlds = worlds::WorldServiceServer::new(self.clone());
        Routes::new(lore::LoreServiceServer::new(self.clone())).add_service(worlds)
    }

    /// Whether a world is a card's book, and still there.
    pub fn holds(&self, copy: &str) -> bool {
        let holds = |worlds: &Mutex<Vec<String>>| {
            worlds.lock().expect("not poisoned").iter().any(|world| world == copy)
        };
        holds(&self.copies) && holds(&self.worlds)
    }

    pub fn knows(&self, world: &str) {
        self.worlds.lock().expect("not poisoned").push(world.to_owned());
    }
}

#[tonic::async_trait]
impl lore::LoreService for Lorebook {
    type ActivateStream = Answers<mesh::ActivateResponse>;

    async fn activate(
        &self,
        request: Request<mesh::ActivateRequest>,
    ) -> Answered<Response<Self::ActivateStream>> {
        use mesh::activate_response::Part;
        self.check()?;
        let request = request.into_inner();
        let mut parts: Vec<_> =
            request.sources.iter().map(|source| Part::Entry(entry(&source.world_id))).collect();
        let worlds = request.sources.iter().map(|source| mesh::WorldUsed {
            world_id: source.world_id.clone(),
            name: format!("World {}", source.world_id),
            content_revision: 3,
            dynamic_enabled: true,
            embedded: false,
        });
        parts.push(Part::Summary(mesh::ActivationSummary {
            worlds: worlds.collect(),
            variables_json: request.variables_json.clone(),
            timed_state_json: r#"{"sticky":{}}"#.to_owned(),
            ..Default::default()
        }));
        self.asked.lock().expect("not poisoned").push(request);
        let parts: Vec<_> =
            parts.into_iter().map(|part| Ok(mesh::ActivateResponse { part: Some(part) })).collect();
        Ok(Response::new(stream::iter(parts)))
    }

    async fn register_embedded_book(
        &self,
        request: Request<Streaming<mesh::RegisterEmbeddedBookRequest>>,
    ) -> Answered<Response<mesh::RegisterEmbeddedBookResponse>> {
        use mesh::register_embedded_book_request::Part;
        self.check()?;
        let mut parts = request.into_inner();
        let (mut world_id, mut book) = (String::new(), Vec::new());
        while let Some(message) = parts.message().await? {
            match message.part {
                Some(Part::Header(header)) => world_id = header.world_id,
                Some(Part::Chunk(chunk)) => book.extend(chunk),
                None => {}
            }
        }
        let book = String::from_utf8(book).expect("JSON");
        self.books.lock().expect("not poisoned").push(book);
        self.copies.lock().expect("not poisoned").push(world_id.clone());
        self.knows(&world_id);
        Ok(Response::new(mesh::RegisterEmbeddedBookResponse { world_id, report: None }))
    }

    async fn batch_get_worlds(
        &self,
        request: Request<mesh::BatchGetWorldsRequest>,
    ) -> Answered<Response<mesh::BatchGetWorldsResponse>> {
        self.check()?;
        let known = self.worlds.lock().expect("not poisoned").clone();
        let copies = self.copies.lock().expect("not poisoned").clone();
        let asked = request.into_inner().world_ids.into_iter().filter(|id| known.contains(id));
        let worlds = asked.map(|world_id| World {
            embedded: copies.contains(&world_id),
            etag: format!("etag of {world_id}"),
            world_id,
            ..Default::default()
        });
        let worlds = worlds.collect();
        Ok(Response::new(mesh::BatchGetWorldsResponse { worlds }))
    }

    async fn apply_change(
        &self,
        _: Request<mesh::ApplyChangeRequest>,
    ) -> Answered<Response<mesh::ApplyChangeResponse>> {
        Err(Status::unimplemented("the loader changes no lore"))
    }

    async fn close_change(
        &self,
        _: Request<mesh::CloseChangeRequest>,
    ) -> Answered<Response<mesh::CloseChangeResponse>> {
        Err(Status::unimplemented("the loader changes no lore"))
    }

    async fn delete_world(
        &self,
        request: Request<mesh::DeleteWorldRequest>,
    ) -> Answered<Response<mesh::DeleteWorldResponse>> {
        self.check()?;
        let gone = request.into_inner().world_id;
        if *self.keeps.lock().expect("not poisoned") {
            self.kept.send_modify(|kept| kept.push(gone));
            return Err(host::status::peer_unavailable("the deletion was lost"));
        }
        self.worlds.lock().expect("not poisoned").retain(|world| *world != gone);
        self.deleted.send_modify(|deleted| deleted.push(gone));
        Ok(Response::new(mesh::DeleteWorldResponse {}))
    }
}

fn entry(world: &str) -> mesh::ActivatedEntry {
    mesh::ActivatedEntry {
        world_id: world.to_owned(),
        entry_id: "e1".to_owned(),
        name: "entry".to_owned(),
        content: format!("Lore of {world}."),
        position: wire::lorebook::v1::EntryPosition::BeforeCharacter.into(),
        reason: "constant".to_owned(),
        source_hash: vec![1; 32],
        ..Default::default()
    }
}

#[tonic::async_trait]
impl worlds::WorldService for Lorebook {
    type GetWorldStream = Answers<pb::GetWorldResponse>;
    type ExportWorldStream = Answers<pb::ExportWorldResponse>;

    async fn export_world(
        &self,
        request: Request<pb::ExportWorldRequest>,
    ) -> Answered<Response<Self::ExportWorldStream>> {
        self.check()?;
        let request = request.into_inner();
        if !self.worlds.lock().expect("not poisoned").contains(&request.world_id) {
            return Err(host::status::not_found("world", &request.world_id));
        }
        let (form, view) = (request.format().as_str_name(), request.view().as_str_name());
        let book = format!(r#"{{"name":"{form} {view}","entries":[]}}"#).into_bytes();
        let chunks: Vec<_> =
            book.chunks(10).map(|c| Ok(pb::ExportWorldResponse { chunk: c.to_vec() })).collect();
        Ok(Response::new(stream::iter(chunks)))
    }

    async fn create_world(
        &self,
        _: Request<pb::CreateWorldRequest>,
    ) -> Answered<Response<pb::CreateWorldResponse>> {
        Err(Status::unimplemented("the loader makes no world"))
    }

    async fn import_world(
        &self,
        _: Request<Streaming<pb::ImportWorldRequest>>,
    ) -> Answered<Response<pb::ImportWorldResponse>> {
        Err(Status::unimplemented("the loader imports no world"))
    }

    async fn get_world(
        &self,
        _: Request<pb::GetWorldRequest>,
    ) -> Answered<Response<Self::GetWorldStream>> {
        Err(Status::unimplemented("the loader reads no entries"))
    }

    async fn list_worlds(
        &self,
        _: Request<pb::ListWorldsRequest>,
    ) -> Answered<Response<pb::ListWorldsResponse>> {
        Err(Status::unimplemented("the loader lists no worlds"))
    }

    async fn update_world(
        &self,
        _: Request<pb::UpdateWorldRequest>,
    ) -> Answered<Response<pb::UpdateWorldResponse>> {
        Err(Status::unimplemented("the loader changes no world"))
    }
}

//! The loader's RPCs: each reads its request, calls its use case, and answers.

use std::sync::Arc;

use futures::stream;
use host::{
    answer::replayed,
    caller::{Caller, caller},
    gate::Services,
    page::{Listing, page_size},
};
use kernel::{CharacterId, GenerationId, PresetId, SessionId, UserId, limits};
use tonic::{Request, Response, Status, Streaming};
use wire::{
    loader::v1::{
        self as pb, character_service_server as characters, preset_service_server as presets,
        profile_service_server as profiles, selection_service_server as selections,
        user_service_server as users,
    },
    mesh::v1::{self as mesh, compile_service_server as compiler},
};

use self::{
    from_proto::{UploadPart, attempt, id, upload, upload_attempt},
    status::status,
};
use crate::{
    Loader,
    store::{After, Kind, Summary, bindings_etag},
};

pub mod to_proto;

mod from_proto;
mod status;

/// All services of the loader over one set of use cases.
#[derive(Clone)]
struct Grpc(Arc<Loader>);

pub fn mount(loader: Arc<Loader>, services: Services) -> Services {
    let grpc = Grpc(loader);
    services
        .mount(presets::PresetServiceServer::new(grpc.clone()))
        .mount(characters::CharacterServiceServer::new(grpc.clone()))
        .mount(users::UserServiceServer::new(grpc.clone()))
        .mount(selections::SelectionServiceServer::new(grpc.clone()))
        .mount(profiles::ProfileServiceServer::new(grpc.clone()))
        .mount(compiler::CompileServiceServer::new(grpc))
}

// === impl Grpc ===

#[tonic::async_trait]
impl presets::PresetService for Grpc {
    async fn import_preset(
        &self,
        request: Request<Streaming<pb::ImportPresetRequest>>,
    ) -> Result<Response<pb::ImportPresetResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.PresetService/ImportPreset";
        let caller = caller(&request)?.clone();
        let file = upload(request.into_inner(), limits::PRESET_BYTES_MAX, preset_part).await?;
        let attempt = upload_attempt(&caller, METHOD, &file);
        let done = self.0.import_preset(&caller, file, attempt).await.map_err(status)?;
        let answer = pb::ImportPresetResponse {
            preset: done.row.as_ref().map(to_proto::preset_head),
            report: Some(to_proto::report(done.report)),
            already_imported: done.already,
        };
        Ok(said(answer, done.replayed))
    }

    async fn get_preset(
        &self,
        request: Request<pb::GetPresetRequest>,
    ) -> Result<Response<pb::GetPresetResponse>, Status> {
        let caller = caller(&request)?.clone();
        let id = id("preset_id", &request.get_ref().preset_id, |id| PresetId::new(id))?;
        let row = self.0.preset(&caller, &id).await.map_err(status)?;
        let model = self.0.documents.preset(&caller.principal.owner, &row).await.map_err(status)?;
        let preset = Some(to_proto::preset(row, &model));
        Ok(Response::new(pb::GetPresetResponse { preset }))
    }

    async fn list_presets(
        &self,
        request: Request<pb::ListPresetsRequest>,
    ) -> Result<Response<pb::ListPresetsResponse>, Status> {
        let pb::ListPresetsRequest { page_size, page_token } = request.get_ref().clone();
        let page = self.page(caller(&request)?, Kind::Preset, page_size, &page_token).await?;
        let presets = page.items.into_iter().map(to_proto::preset_summary).collect();
        let next_page_token = page.next;
        Ok(Response::new(pb::ListPresetsResponse { presets, next_page_token }))
    }

    async fn delete_preset(
        &self,
        request: Request<pb::DeletePresetRequest>,
    ) -> Result<Response<pb::DeletePresetResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.PresetService/DeletePreset";
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let id = id("preset_id", &asked.preset_id, |id| PresetId::new(id))?;
        let attempt =
            attempt(caller, METHOD, asked, &asked.request_id, |asked| asked.request_id.clear())?;
        let done = self.0.delete(caller, Kind::Preset, id.as_str(), attempt).await;
        let done = done.map_err(status)?;
        let cleared = saturated(done.value);
        Ok(said(pb::DeletePresetResponse { cleared }, done.replayed))
    }
}

#[tonic::async_trait]
impl characters::CharacterService for Grpc {
    async fn import_character(
        &self,
        request: Request<Streaming<pb::ImportCharacterRequest>>,
    ) -> Result<Response<pb::ImportCharacterResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.CharacterService/ImportCharacter";
        let caller = caller(&request)?.clone();
        let file = upload(request.into_inner(), limits::IMPORT_BYTES_MAX, character_part).await?;
        let attempt = upload_attempt(&caller, METHOD, &file);
        let done = self.0.import_character(&caller, file, attempt).await.map_err(status)?;
        let answer = pb::ImportCharacterResponse {
            character: done.row.as_ref().map(to_proto::character_head),
            report: Some(to_proto::report(done.report)),
            already_imported: done.already,
        };
        Ok(said(answer, done.replayed))
    }

    async fn get_character(
        &self,
        request: Request<pb::GetCharacterRequest>,
    ) -> Result<Response<pb::GetCharacterResponse>, Status> {
        let caller = caller(&request)?.clone();
        let id = id("character_id", &request.get_ref().character_id, |id| CharacterId::new(id))?;
        let (row, card) = self.0.character(&caller, &id).await.map_err(status)?;
        let character = Some(to_proto::character(row, &card));
        Ok(Response::new(pb::GetCharacterResponse { character }))
    }

    async fn list_characters(
        &self,
        request: Request<pb::ListCharactersRequest>,
    ) -> Result<Response<pb::ListCharactersResponse>, Status> {
        let pb::ListCharactersRequest { page_size, page_token } = request.get_ref().clone();
        let page = self.page(caller(&request)?, Kind::Character, page_size, &page_token).await?;
        let characters = page.items.into_iter().map(to_proto::character_summary).collect();
        let next_page_token = page.next;
        Ok(Response::new(pb::ListCharactersResponse { characters, next_page_token }))
    }

    async fn delete_character(
        &self,
        request: Request<pb::DeleteCharacterRequest>,
    ) -> Result<Response<pb::DeleteCharacterResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.CharacterService/DeleteCharacter";
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let id = id("character_id", &asked.character_id, |id| CharacterId::new(id))?;
        let attempt =
            attempt(caller, METHOD, asked, &asked.request_id, |asked| asked.request_id.clear())?;
        let done = self.0.delete(caller, Kind::Character, id.as_str(), attempt).await;
        let done = done.map_err(status)?;
        let cleared = saturated(done.value);
        Ok(said(pb::DeleteCharacterResponse { cleared }, done.replayed))
    }
}

#[tonic::async_trait]
impl users::UserService for Grpc {
    async fn create_user(
        &self,
        request: Request<pb::CreateUserRequest>,
    ) -> Result<Response<pb::CreateUserResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.UserService/CreateUser";
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let user = from_proto::user(asked)?;
        let attempt =
            attempt(caller, METHOD, asked, &asked.request_id, |asked| asked.request_id.clear())?;
        let done = self.0.create_user(caller, user, attempt).await.map_err(status)?;
        let user = Some(to_proto::user(done.value));
        Ok(said(pb::CreateUserResponse { user }, done.replayed))
    }

    async fn get_user(
        &self,
        request: Request<pb::GetUserRequest>,
    ) -> Result<Response<pb::GetUserResponse>, Status> {
        let id = id("user_id", &request.get_ref().user_id, |id| UserId::new(id))?;
        let row = self.0.user(caller(&request)?, &id).await.map_err(status)?;
        Ok(Response::new(pb::GetUserResponse { user: Some(to_proto::user(row)) }))
    }

    async fn list_users(
        &self,
        request: Request<pb::ListUsersRequest>,
    ) -> Result<Response<pb::ListUsersResponse>, Status> {
        let pb::ListUsersRequest { page_size, page_token } = request.get_ref().clone();
        let page = self.page(caller(&request)?, Kind::User, page_size, &page_token).await?;
        let users = page.items.into_iter().map(to_proto::user_summary).collect();
        Ok(Response::new(pb::ListUsersResponse { users, next_page_token: page.next }))
    }

    async fn delete_user(
        &self,
        request: Request<pb::DeleteUserRequest>,
    ) -> Result<Response<pb::DeleteUserResponse>, Status> {
        const METHOD: &str = "skald.loader.v1.UserService/DeleteUser";
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let id = id("user_id", &asked.user_id, |id| UserId::new(id))?;
        let attempt =
            attempt(caller, METHOD, asked, &asked.request_id, |asked| asked.request_id.clear())?;
        let done = self.0.delete(caller, Kind::User, id.as_str(), attempt).await;
        let done = done.map_err(status)?;
        Ok(said(pb::DeleteUserResponse { cleared: saturated(done.value) }, done.replayed))
    }
}

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
        let expected = Some(asked.etag.as_str()).filter(|etag| !etag.is_empty());
        let attempt =
            attempt(caller, METHOD, asked, &asked.request_id, |asked| asked.request_id.clear())?;
        let done = self.0.set_bindings(caller, &holder, worlds, expected, attempt).await;
        let done = done.map_err(status)?;
        let (world_ids, etag) = (to_proto::world_ids(&done.value), bindings_etag(&done.value));
        Ok(said(pb::SetBindingsResponse { world_ids, etag }, done.replayed))
    }
}

#[tonic::async_trait]
impl profiles::ProfileService for Grpc {
    async fn preview_profile(
        &self,
        request: Request<pb::PreviewProfileRequest>,
    ) -> Result<Response<pb::PreviewProfileResponse>, Status> {
        let caller = caller(&request)?.clone();
        let job = from_proto::job::preview(request.into_inner(), self.0.clock.now())?;
        let compiled = self.0.compile(&caller, job).await.map_err(status)?;
        Ok(Response::new(to_proto::profile::preview(compiled)))
    }
}

#[tonic::async_trait]
impl compiler::CompileService for Grpc {
    type CompileStream = stream::Iter<std::vec::IntoIter<Result<mesh::CompileResponse, Status>>>;

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

/// One page of a list.
struct Page {
    items: Vec<Summary>,
    /// Empty on the last page.
    next: String,
}

impl Grpc {
    async fn page(
        &self,
        caller: &Caller,
        kind: Kind,
        size: u32,
        token: &str,
    ) -> Result<Page, Status> {
        let owner = &caller.principal.owner;
        let filter = [kind.name(), owner.tenant.as_str(), owner.subject.as_str()];
        let listing = Listing(&filter);
        let position = listing.position(token)?;
        let after = position.map(|position| after(&position)).unwrap_or_default();
        let size = page_size(i32::try_from(size).unwrap_or(i32::MAX))?;
        let (items, more) = self.0.list(caller, kind, &after, size).await.map_err(status)?;
        let last = items.last().filter(|_| more);
        let next = last.map(|last| listing.token(&format!("{}\n{}", last.id, last.name)));
        Ok(Page { items, next: next.unwrap_or_default() })
    }
}

/// A page's position: the last item's id and name.
fn after(position: &str) -> After {
    let (id, name) = position.split_once('\n').unwrap_or((position, ""));
    After { name: name.to_owned(), id: id.to_owned() }
}

/// An answer that says when it is an earlier one's.
fn said<T>(answer: T, again: bool) -> Response<T> {
    let response = Response::new(answer);
    if again { replayed(response) } else { response }
}

fn saturated(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn preset_part(request: pb::ImportPresetRequest) -> Option<UploadPart> {
    use pb::import_preset_request::Part;
    request.part.map(|part| match part {
        Part::Header(header) => UploadPart::Header(header),
        Part::Chunk(chunk) => UploadPart::Chunk(chunk),
    })
}

fn character_part(request: pb::ImportCharacterRequest) -> Option<UploadPart> {
    use pb::import_character_request::Part;
    request.part.map(|part| match part {
        Part::Header(header) => UploadPart::Header(header),
        Part::Chunk(chunk) => UploadPart::Chunk(chunk),
    })
}

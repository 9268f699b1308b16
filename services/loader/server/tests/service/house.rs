//! A loader behind its door, called as `ada`, `bob` or a mesh peer; the lorebook is a script.

use std::sync::{Arc, Mutex};

use futures::stream;
use host::{
    auth::{AuthMode, Authenticator, hash_token, mesh::MeshToken},
    database::{DataFolder, Place},
    door::Door,
    gate::Services,
    link::{Link, Peer, local},
    shutdown::Shutdown,
    status::reason,
};
use kernel::{ManualClock, Timestamp, digest};
use loader::{Config, Links};
use tempfile::TempDir;
use tonic::{Request, Response, Status, Streaming, metadata::MetadataValue};
use wire::{
    common::v1::{Reason, UploadHeader},
    loader::v1::{
        self as pb, character_service_client::CharacterServiceClient,
        preset_service_client::PresetServiceClient, profile_service_client::ProfileServiceClient,
        selection_service_client::SelectionServiceClient, user_service_client::UserServiceClient,
    },
    lorebook::v1::World,
    mesh::v1::{
        self as mesh, compile_service_client::CompileServiceClient, lore_service_server as lore,
    },
};

const TOKENS: [(&str, &str); 2] = [("ada", "acme"), ("bob", "other")];

pub struct House {
    door: Door,
    pub lorebook: Lorebook,
    _folder: TempDir,
}

/// A lorebook that knows the worlds it is told of, and fires one entry for each of them.
#[derive(Clone, Default)]
pub struct Lorebook {
    pub worlds: Arc<Mutex<Vec<String>>>,
    /// Books that were registered, as JSON.
    pub books: Arc<Mutex<Vec<String>>>,
    pub asked: Arc<Mutex<Vec<mesh::ActivateRequest>>>,
    pub away: Arc<Mutex<bool>>,
}

/// What an answer was: its value, and whether it was a replay.
pub type Answered<T> = Result<T, Status>;

impl House {
    pub async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let tokens = folder.path().join("tokens.toml");
        let lines = TOKENS.map(|(subject, tenant)| {
            let hash = hash_token(subject);
            format!(
                "[[token]]\nhash = \"{hash}\"\ntenant = \"{tenant}\"\nsubject = \"{subject}\"\n"
            )
        });
        std::fs::write(&tokens, lines.concat()).expect("written");
        let mesh = mesh_token();
        let auth = Authenticator::open(&AuthMode::Tokens(tokens), &mesh).expect("tokens");
        let lorebook = Lorebook::default();
        let peer = Peer::new(local(lore::LoreServiceServer::new(lorebook.clone())), mesh);
        let data = DataFolder::open(&folder.path().join("data")).expect("free");
        let clock = Arc::new(ManualClock::at(Timestamp::from_micros(1_800_000_000_000_000)));
        let config = Config { place: Place::Folder(data) };
        let server = loader::build(config, clock, Links { lorebook: peer }).await.expect("built");
        let door = Door::new(server.mount(Services::new()), auth, Shutdown::default());
        Self { door, lorebook, _folder: folder }
    }

    pub fn link(&self) -> Link {
        local(self.door.clone())
    }

    pub fn presets(&self) -> PresetServiceClient<Link> {
        PresetServiceClient::new(self.link())
    }

    pub fn characters(&self) -> CharacterServiceClient<Link> {
        CharacterServiceClient::new(self.link())
    }

    pub fn users(&self) -> UserServiceClient<Link> {
        UserServiceClient::new(self.link())
    }

    pub fn selections(&self) -> SelectionServiceClient<Link> {
        SelectionServiceClient::new(self.link())
    }

    pub fn profiles(&self) -> ProfileServiceClient<Link> {
        ProfileServiceClient::new(self.link())
    }

    /// The mesh's client, acting for ada.
    pub fn compiler(&self) -> CompileServiceClient<Link> {
        let principal = kernel::Principal::new(
            kernel::TenantId::new("acme").expect("an id"),
            kernel::Subject::new("ada").expect("an id"),
            [],
        );
        let caller = host::caller::Caller::of_job(principal);
        CompileServiceClient::new(Peer::new(self.link(), mesh_token()).acting_for(&caller))
    }

    pub async fn import_preset(
        &self,
        who: &str,
        header: UploadHeader,
        bytes: &[u8],
    ) -> Answered<pb::ImportPresetResponse> {
        use pb::import_preset_request::Part;
        let chunks = bytes.chunks(64 * 1024).map(|chunk| Part::Chunk(chunk.to_vec()));
        let parts: Vec<_> = std::iter::once(Part::Header(header))
            .chain(chunks)
            .map(|part| pb::ImportPresetRequest { part: Some(part) })
            .collect();
        let answer = self.presets().import_preset(as_user(who, stream::iter(parts))).await?;
        Ok(answer.into_inner())
    }

    pub async fn import_character(
        &self,
        who: &str,
        header: UploadHeader,
        bytes: &[u8],
    ) -> Answered<pb::ImportCharacterResponse> {
        use pb::import_character_request::Part;
        let chunks = bytes.chunks(64 * 1024).map(|chunk| Part::Chunk(chunk.to_vec()));
        let parts: Vec<_> = std::iter::once(Part::Header(header))
            .chain(chunks)
            .map(|part| pb::ImportCharacterRequest { part: Some(part) })
            .collect();
        let answer = self.characters().import_character(as_user(who, stream::iter(parts))).await?;
        Ok(answer.into_inner())
    }

    pub async fn character(&self, character_id: &str) -> pb::Character {
        let get = pb::GetCharacterRequest { character_id: character_id.to_owned() };
        let read = self.characters().get_character(as_user("ada", get)).await.expect("read");
        read.into_inner().character.expect("a character")
    }

    pub async fn create_user(&self, who: &str, name: &str) -> String {
        let (name, description) = (name.to_owned(), "tall".to_owned());
        let request = pb::CreateUserRequest { request_id: String::new(), name, description };
        let answer = self.users().create_user(as_user(who, request)).await.expect("created");
        answer.into_inner().user.expect("a user").user_id
    }

    /// A session `s` of ada's with the given selection.
    pub async fn session(&self, session: &str, selection: pb::Selection) {
        let request = mesh::InitSelectionRequest {
            session_id: session.to_owned(),
            selection: Some(selection),
            parent_session_id: String::new(),
        };
        self.compiler().init_selection(request).await.expect("given");
    }

    /// All parts of a compile: segments, then the summary.
    pub async fn compile(
        &self,
        request: mesh::CompileRequest,
    ) -> Answered<(Vec<mesh::ProfileSegment>, mesh::ProfileSummary)> {
        use mesh::compile_response::Part;
        let mut answer = self.compiler().compile(request).await?.into_inner();
        let mut segments = Vec::new();
        loop {
            match answer.message().await?.and_then(|response| response.part) {
                Some(Part::Segment(segment)) => segments.push(segment),
                Some(Part::Summary(summary)) => return Ok((segments, summary)),
                None => panic!("a compile without a summary"),
            }
        }
    }
}

/// A generation of ada's in `session`.
pub fn generation(session: &str, generation: &str) -> mesh::CompileRequest {
    mesh::CompileRequest {
        session_id: session.to_owned(),
        generation_id: generation.to_owned(),
        seed: vec![7; 32],
        now_us: 1_800_000_000_000_000,
        ..Default::default()
    }
}

fn mesh_token() -> MeshToken {
    "the-mesh-of-the-loader".parse().expect("a token")
}

/// A request with somebody's token.
pub fn as_user<T>(who: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    let token = MetadataValue::try_from(format!("Bearer {who}")).expect("ascii");
    request.metadata_mut().insert("authorization", token);
    request
}

pub fn header(request_id: &str, file_name: &str) -> UploadHeader {
    let (request_id, file_name) = (request_id.to_owned(), file_name.to_owned());
    UploadHeader { request_id, file_name, validate_only: false }
}

#[track_caller]
pub fn refused<T: std::fmt::Debug>(answer: Answered<T>, expected: Reason) -> Status {
    let status = answer.expect_err("should be refused");
    assert_eq!(reason(&status), Some(expected), "{status}");
    status
}

pub const CARD: &str = r#"{"spec":"chara_card_v2","spec_version":"2.0","data":{"name":"Mira","description":"{{char}} keeps the lighthouse.","first_mes":"Hello, {{user}}.","system_prompt":"Speak as {{char}}.","character_book":{"entries":[{"keys":["lamp"],"content":"The lamp is cold.","enabled":true,"insertion_order":1,"extensions":{}}]}}}"#;

pub const PRESET: &str = r#"{"temperature":0.7,"openai_max_tokens":200,"prompts":[{"identifier":"main","role":"system","content":"You write fiction.","system_prompt":true}]}"#;

// === impl Lorebook ===

impl Lorebook {
    fn check(&self) -> Result<(), Status> {
        if *self.away.lock().expect("not poisoned") {
            return Err(host::status::peer_unavailable("away"));
        }
        Ok(())
    }

    pub fn knows(&self, world: &str) {
        self.worlds.lock().expect("not poisoned").push(world.to_owned());
    }
}

#[tonic::async_trait]
impl lore::LoreService for Lorebook {
    type ActivateStream = stream::Iter<std::vec::IntoIter<Result<mesh::ActivateResponse, Status>>>;

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
        let mut book = Vec::new();
        while let Some(message) = parts.message().await? {
            if let Some(Part::Chunk(chunk)) = message.part {
                book.extend(chunk);
            }
        }
        let book = String::from_utf8(book).expect("JSON");
        let world_id = format!("book-{}", &digest(book.as_bytes()).to_hex()[..8]);
        self.books.lock().expect("not poisoned").push(book);
        self.knows(&world_id);
        Ok(Response::new(mesh::RegisterEmbeddedBookResponse { world_id, report: None }))
    }

    async fn batch_get_worlds(
        &self,
        request: Request<mesh::BatchGetWorldsRequest>,
    ) -> Answered<Response<mesh::BatchGetWorldsResponse>> {
        self.check()?;
        let known = self.worlds.lock().expect("not poisoned").clone();
        let asked = request.into_inner().world_ids.into_iter().filter(|id| known.contains(id));
        let worlds = asked.map(|world_id| World { world_id, ..Default::default() }).collect();
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
        _: Request<mesh::DeleteWorldRequest>,
    ) -> Answered<Response<mesh::DeleteWorldResponse>> {
        Err(Status::unimplemented("the loader deletes no world yet"))
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

//! A loader behind its door, called as `ada`, `bob` or a mesh peer; the lorebook is a script.

use std::sync::Arc;

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
use kernel::{ManualClock, Timestamp};
use loader::{Config, Links};
use tempfile::TempDir;
use tonic::{Request, Status, metadata::MetadataValue};
use wire::{
    common::v1::{Reason, UploadHeader},
    loader::v1::{
        self as pb, character_service_client::CharacterServiceClient,
        preset_service_client::PresetServiceClient, profile_service_client::ProfileServiceClient,
        rp_policy_service_client::RpPolicyServiceClient,
        selection_service_client::SelectionServiceClient,
        template_service_client::TemplateServiceClient, user_service_client::UserServiceClient,
        world_deletion_service_client::WorldDeletionServiceClient,
    },
    mesh::v1::{self as mesh, compile_service_client::CompileServiceClient},
};

use crate::lorebook::Lorebook;

const TOKENS: [(&str, &str); 2] = [("ada", "acme"), ("bob", "other")];

pub struct House {
    door: Door,
    pub lorebook: Lorebook,
    folder: TempDir,
    shutdown: Shutdown,
}

/// What an answer was: its value, and whether it was a replay.
pub type Answered<T> = Result<T, Status>;

impl House {
    pub async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self::over(folder, Lorebook::default()).await
    }

    /// The process dies, and another one begins on what it left, its sweepers running.
    pub async fn reborn(self) -> Self {
        let Self { folder, lorebook, door, shutdown } = self;
        shutdown.begin();
        drop(door);
        shutdown.tasks_ended().await;
        Self::over(folder, lorebook).await
    }

    async fn over(folder: TempDir, lorebook: Lorebook) -> Self {
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
        let peer = Peer::new(local(lorebook.services()), mesh);
        let data = DataFolder::open(&folder.path().join("data")).expect("free");
        let clock = Arc::new(ManualClock::at(Timestamp::from_micros(1_800_000_000_000_000)));
        let config = Config { place: Place::Folder(data) };
        let server = loader::build(config, clock, Links { lorebook: peer }).await.expect("built");
        let shutdown = Shutdown::new();
        let door = Door::new(server.mount(Services::new()), auth, shutdown.clone());
        server.run(&shutdown);
        Self { door, lorebook, folder, shutdown }
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

    pub fn deletions(&self) -> WorldDeletionServiceClient<Link> {
        WorldDeletionServiceClient::new(self.link())
    }

    pub fn templates(&self) -> TemplateServiceClient<Link> {
        TemplateServiceClient::new(self.link())
    }

    pub fn rp_policies(&self) -> RpPolicyServiceClient<Link> {
        RpPolicyServiceClient::new(self.link())
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

    pub async fn import_users(
        &self,
        who: &str,
        header: UploadHeader,
        bytes: &[u8],
    ) -> Answered<pb::ImportUsersResponse> {
        use pb::import_users_request::Part;
        let parts = [Part::Header(header), Part::Chunk(bytes.to_vec())];
        let parts = parts.map(|part| pb::ImportUsersRequest { part: Some(part) });
        let answer = self.users().import_users(as_user(who, stream::iter(parts))).await?;
        Ok(answer.into_inner())
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

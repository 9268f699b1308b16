//! A lorebook on a fresh file, ada and bob who use it, and the mesh that acts for them.

use std::sync::Arc;

use futures::TryStreamExt as _;
use host::{
    auth::{AuthMode, Authenticator, hash_token, mesh::MeshToken},
    caller::Caller,
    database::{DataFolder, Place},
    door::Door,
    gate::Services,
    link::{Link, Peer, local},
    shutdown::Shutdown,
    status, testing,
};
use kernel::{ManualClock, Principal, Subject, TenantId, Timestamp};
use lorebook::Config;
use tempfile::{NamedTempFile, TempDir};
use tonic::{Code, Request, Response, Status};
use wire::{
    common::v1::{Reason, UploadHeader},
    lorebook::v1::{
        self as pb, entry_service_client::EntryServiceClient,
        history_service_client::HistoryServiceClient, import_world_request::Part,
        world_service_client::WorldServiceClient,
    },
    mesh::v1::{self as mesh, lore_service_client::LoreServiceClient},
};

const TOKENS: &str = r#"
    [[token]]
    hash = "ADA"
    tenant = "acme"
    subject = "ada"

    [[token]]
    hash = "BOB"
    tenant = "acme"
    subject = "bob"
"#;

/// Two wolves and a castle, as SillyTavern writes them.
pub const BOOK: &str = r#"{
    "entries": {
        "0": {"uid": 0, "key": ["wolf"], "content": "Wolves fear {{user}}.", "comment": "Wolves",
            "position": 4, "depth": 2, "role": 1, "order": 50, "sticky": 3, "mine": {"a": 1}},
        "1": {"uid": 1, "key": ["castle"], "content": "The castle stands.", "comment": "Castle"},
        "2": {"uid": 2, "constant": true, "content": "It is winter.", "comment": "Winter"}
    },
    "name": "North"
}"#;

pub struct Fixture {
    door: Door,
    mesh: MeshToken,
    _folder: TempDir,
    _tokens: NamedTempFile,
}

/// A lorebook on a fresh file, whose clock stands still.
pub async fn on_sqlite() -> Fixture {
    let folder = tempfile::tempdir().expect("a folder");
    let data = DataFolder::open(folder.path()).expect("ours");
    start(Place::Folder(data), folder).await
}

/// The same on a fresh PostgreSQL database, where there is one.
pub async fn on_postgres() -> Option<Fixture> {
    let url = testing::postgres().await?;
    let folder = tempfile::tempdir().expect("a folder");
    Some(start(Place::Postgres { url, connections: 4 }, folder).await)
}

async fn start(place: Place, folder: TempDir) -> Fixture {
    let clock = Arc::new(ManualClock::at(Timestamp::from_micros(1_796_016_926_000_000)));
    let server = lorebook::build(Config { place }, clock).await.expect("built");
    let tokens = NamedTempFile::new().expect("a file");
    let text = TOKENS.replace("ADA", &hash_token("ada")).replace("BOB", &hash_token("bob"));
    std::fs::write(tokens.path(), text).expect("written");
    let mesh = MeshToken::random().expect("random");
    let mode = AuthMode::Tokens(tokens.path().to_owned());
    let auth = Authenticator::open(&mode, &mesh).expect("tokens");
    let door = Door::new(server.mount(Services::new()), auth, Shutdown::new());
    Fixture { door, mesh, _folder: folder, _tokens: tokens }
}

pub fn by<T>(who: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    let value = format!("Bearer {who}").parse().expect("ascii");
    request.metadata_mut().insert("authorization", value);
    request
}

/// What the client gets besides the message: whether the answer was given before.
pub fn is_replay<T>(response: &Response<T>) -> bool {
    response.metadata().get("skald-replayed").is_some()
}

#[track_caller]
pub fn refused<T: std::fmt::Debug>(
    answer: Result<T, Status>,
    code: Code,
    reason: Reason,
) -> Status {
    let status = answer.expect_err("refused");
    assert_eq!((status.code(), status::reason(&status)), (code, Some(reason)), "{status:?}");
    status
}

// === impl Fixture ===

impl Fixture {
    pub fn worlds(&self) -> WorldServiceClient<Link> {
        WorldServiceClient::new(local(self.door.clone()))
    }

    pub fn entries(&self) -> EntryServiceClient<Link> {
        EntryServiceClient::new(local(self.door.clone()))
    }

    pub fn history(&self) -> HistoryServiceClient<Link> {
        HistoryServiceClient::new(local(self.door.clone()))
    }

    /// The mesh on behalf of `subject`.
    pub fn lore(&self, subject: &str) -> LoreServiceClient<Link> {
        let peer = Peer::new(local(self.door.clone()), self.mesh.clone());
        let tenant = TenantId::new("acme").expect("an id");
        let subject = Subject::new(subject).expect("an id");
        let caller = Caller::of_job(Principal::new(tenant, subject, []));
        LoreServiceClient::new(peer.acting_for(&caller))
    }

    pub async fn upload(
        &self,
        who: &str,
        header: UploadHeader,
        bytes: &[u8],
    ) -> Result<Response<pb::ImportWorldResponse>, Status> {
        let chunks = bytes.chunks(1_000).map(|chunk| Part::Chunk(chunk.to_vec()));
        let parts: Vec<pb::ImportWorldRequest> = std::iter::once(Part::Header(header))
            .chain(chunks)
            .map(|part| pb::ImportWorldRequest { part: Some(part) })
            .collect();
        self.worlds().import_world(by(who, futures::stream::iter(parts))).await
    }

    /// The book above, imported by ada.
    pub async fn imported(&self) -> pb::World {
        let answer = self.upload("ada", UploadHeader::default(), BOOK.as_bytes()).await;
        answer.expect("imported").into_inner().world.expect("a world")
    }

    pub async fn read(
        &self,
        who: &str,
        world_id: &str,
        view: pb::WorldView,
    ) -> Result<(pb::World, Vec<pb::Entry>), Status> {
        use pb::get_world_response::Part;
        let request = pb::GetWorldRequest { world_id: world_id.to_owned(), view: view.into() };
        let stream = self.worlds().get_world(by(who, request)).await?.into_inner();
        let parts: Vec<pb::GetWorldResponse> = stream.try_collect().await?;
        let mut parts = parts.into_iter().filter_map(|answer| answer.part);
        let Some(Part::World(world)) = parts.next() else { panic!("the world comes first") };
        let entries = parts.filter_map(|part| match part {
            Part::Entry(entry) => Some(entry),
            Part::World(_) => None,
        });
        Ok((world, entries.collect()))
    }

    /// Ada's authored entry of this name.
    pub async fn entry(&self, world_id: &str, name: &str) -> pb::Entry {
        let read = self.read("ada", world_id, pb::WorldView::Authored).await.expect("read");
        read.1.into_iter().find(|entry| entry.name == name).expect("an entry")
    }

    pub async fn apply(
        &self,
        change_id: &str,
        world: &pb::World,
        base_revision: u64,
        operations: Vec<pb::Operation>,
    ) -> Result<Response<mesh::ApplyChangeResponse>, Status> {
        let request = mesh::ApplyChangeRequest {
            change_id: change_id.to_owned(),
            world_id: world.world_id.clone(),
            base_revision,
            operations,
            origin: pb::ChangeOrigin::Agent.into(),
            summary: "The castle burned.".into(),
            ..Default::default()
        };
        self.lore("ada").apply_change(request).await
    }

    /// What the lorebook would say to these operations on the world as it stands.
    pub async fn validate(
        &self,
        world: &pb::World,
        operations: Vec<pb::Operation>,
    ) -> Vec<mesh::OperationVerdict> {
        let request = mesh::ApplyChangeRequest {
            change_id: "validated".to_owned(),
            world_id: world.world_id.clone(),
            base_revision: world.content_revision,
            operations,
            origin: pb::ChangeOrigin::Agent.into(),
            validate_only: true,
            ..Default::default()
        };
        let answer = self.lore("ada").apply_change(request).await.expect("verdicts");
        answer.into_inner().verdicts
    }

    pub async fn activate(
        &self,
        subject: &str,
        request: mesh::ActivateRequest,
    ) -> Result<(Vec<mesh::ActivatedEntry>, mesh::ActivationSummary), Status> {
        use mesh::activate_response::Part;
        let stream = self.lore(subject).activate(request).await?.into_inner();
        let answers: Vec<mesh::ActivateResponse> = stream.try_collect().await?;
        let (mut entries, mut summary) = (Vec::new(), None);
        for part in answers.into_iter().filter_map(|answer| answer.part) {
            match part {
                Part::Entry(entry) => entries.push(entry),
                Part::Summary(last) => summary = Some(last),
            }
        }
        Ok((entries, summary.expect("a summary")))
    }
}

pub fn replace(target: &pb::Entry, content: &str) -> pb::Operation {
    pb::Operation {
        kind: pb::OperationKind::Replace.into(),
        target_entry_id: target.entry_id.clone(),
        content: Some(content.to_owned()),
        ..Default::default()
    }
}

pub fn create(name: &str, content: &str) -> pb::Operation {
    pb::Operation {
        kind: pb::OperationKind::Create.into(),
        name: Some(name.to_owned()),
        content: Some(content.to_owned()),
        ..Default::default()
    }
}

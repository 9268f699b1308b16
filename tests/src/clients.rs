//! Everything that one caller can call, and the uploads and readings that take more than one message.

use futures::stream;
use host::link::Link;
use http::{HeaderValue, Request, header::AUTHORIZATION};
use tonic::{Code, Response, Status, Streaming, body::Body, transport::Channel};
use tonic_types::StatusExt as _;
use tower::ServiceExt;
use wire::{
    common::v1::{Reason, UploadHeader},
    ledger::v1::{
        self as ledger, authored_history_service_client::AuthoredHistoryServiceClient,
        capability_service_client::CapabilityServiceClient,
        context_service_client::ContextServiceClient, event_service_client::EventServiceClient,
        generation_service_client::GenerationServiceClient,
        session_service_client::SessionServiceClient, turn_service_client::TurnServiceClient,
    },
    loader::v1::{
        self as loader, character_service_client::CharacterServiceClient,
        preset_service_client::PresetServiceClient, profile_service_client::ProfileServiceClient,
        selection_service_client::SelectionServiceClient, user_service_client::UserServiceClient,
    },
    lorebook::v1::{
        self as lorebook, history_service_client::HistoryServiceClient,
        world_service_client::WorldServiceClient,
    },
    mesh::v1::work_service_client::WorkServiceClient,
    proposal::v1::{
        changeset_service_client::ChangesetServiceClient,
        evaluation_service_client::EvaluationServiceClient,
    },
};

use crate::{sent::Sent, told::Told, world::Links};

/// Bytes of one upload chunk.
const CHUNK: usize = 256 * 1024;

/// One client for each service.
#[derive(Clone)]
pub struct Clients {
    pub presets: PresetServiceClient<Link>,
    pub characters: CharacterServiceClient<Link>,
    pub users: UserServiceClient<Link>,
    pub selections: SelectionServiceClient<Link>,
    pub profiles: ProfileServiceClient<Link>,
    pub worlds: WorldServiceClient<Link>,
    pub history: HistoryServiceClient<Link>,
    pub sessions: SessionServiceClient<Link>,
    pub authored: AuthoredHistoryServiceClient<Link>,
    pub turns: TurnServiceClient<Link>,
    pub generations: GenerationServiceClient<Link>,
    pub contexts: ContextServiceClient<Link>,
    pub events: EventServiceClient<Link>,
    pub capabilities: CapabilityServiceClient<Link>,
    pub changesets: ChangesetServiceClient<Link>,
    pub evaluations: EvaluationServiceClient<Link>,
    pub work: WorkServiceClient<Link>,
}

/// Expecting a refusal.
pub trait Refused {
    /// The status of a call that must not succeed.
    fn refused(self) -> Status;
}

/// The same service, called with a bearer token.
pub fn showing(link: &Link, token: &str) -> Link {
    let value = HeaderValue::try_from(format!("Bearer {token}")).expect("a header value");
    Link::new(link.clone().map_request(move |mut request: Request<Body>| {
        request.headers_mut().insert(AUTHORIZATION, value.clone());
        request
    }))
}

/// A connection as any client has one: without what a peer of ours does and refuses by itself.
pub fn plain(url: &str) -> Link {
    let channel = Channel::from_shared(url.to_owned()).expect("a url").connect_lazy();
    Link::new(ServiceExt::<Request<Body>>::map_err(channel, |error| {
        Status::from_error(Box::new(error))
    }))
}

/// Code and reason of a refusal.
pub fn reason(status: &Status) -> (Code, Reason) {
    (status.code(), host::status::reason(status).unwrap_or(Reason::Unspecified))
}

/// The field that a refusal names: a malformed one, or one beyond its limit.
pub fn field(status: &Status) -> String {
    let details = status.get_error_details();
    let malformed = details.bad_request().and_then(|request| request.field_violations.first());
    let beyond = details.quota_failure().and_then(|quota| quota.violations.first());
    let named = malformed.map(|named| &named.field).or(beyond.map(|named| &named.subject));
    named.cloned().unwrap_or_default()
}

/// The header, then the bytes in chunks.
fn upload<P>(
    request_id: &str,
    name: &str,
    bytes: &[u8],
    header: impl FnOnce(UploadHeader) -> P,
    chunk: impl Fn(Vec<u8>) -> P,
) -> Vec<P> {
    let first = header(UploadHeader {
        request_id: request_id.to_owned(),
        file_name: name.to_owned(),
        validate_only: false,
    });
    std::iter::once(first).chain(bytes.chunks(CHUNK).map(|part| chunk(part.to_vec()))).collect()
}

// === impl Clients ===

impl Clients {
    pub fn new(links: &Links) -> Self {
        let Links { ledger, loader, lorebook, proposal } = links;
        Self {
            presets: PresetServiceClient::new(loader.clone()),
            characters: CharacterServiceClient::new(loader.clone()),
            users: UserServiceClient::new(loader.clone()),
            selections: SelectionServiceClient::new(loader.clone()),
            profiles: ProfileServiceClient::new(loader.clone()),
            worlds: WorldServiceClient::new(lorebook.clone()),
            history: HistoryServiceClient::new(lorebook.clone()),
            sessions: SessionServiceClient::new(ledger.clone()),
            authored: AuthoredHistoryServiceClient::new(ledger.clone()),
            turns: TurnServiceClient::new(ledger.clone()),
            generations: GenerationServiceClient::new(ledger.clone()),
            contexts: ContextServiceClient::new(ledger.clone()),
            events: EventServiceClient::new(ledger.clone()),
            capabilities: CapabilityServiceClient::new(ledger.clone()),
            changesets: ChangesetServiceClient::new(proposal.clone()),
            evaluations: EvaluationServiceClient::new(proposal.clone()),
            work: WorkServiceClient::new(ledger.clone()),
        }
    }

    pub async fn import_preset(
        &self,
        request_id: &str,
        name: &str,
        bytes: &[u8],
    ) -> Result<loader::ImportPresetResponse, Status> {
        use loader::import_preset_request::Part;
        let parts = upload(request_id, name, bytes, Part::Header, Part::Chunk);
        let parts = parts.into_iter().map(|part| loader::ImportPresetRequest { part: Some(part) });
        self.presets.clone().import_preset(stream::iter(parts)).await.map(Response::into_inner)
    }

    pub async fn import_character(
        &self,
        request_id: &str,
        name: &str,
        bytes: &[u8],
    ) -> Result<loader::ImportCharacterResponse, Status> {
        use loader::import_character_request::Part;
        let parts = upload(request_id, name, bytes, Part::Header, Part::Chunk);
        let parts =
            parts.into_iter().map(|part| loader::ImportCharacterRequest { part: Some(part) });
        let parts = stream::iter(parts);
        self.characters.clone().import_character(parts).await.map(Response::into_inner)
    }

    pub async fn import_world(
        &self,
        request_id: &str,
        name: &str,
        bytes: &[u8],
    ) -> Result<lorebook::ImportWorldResponse, Status> {
        use lorebook::import_world_request::Part;
        let parts = upload(request_id, name, bytes, Part::Header, Part::Chunk);
        let parts = parts.into_iter().map(|part| lorebook::ImportWorldRequest { part: Some(part) });
        self.worlds.clone().import_world(stream::iter(parts)).await.map(Response::into_inner)
    }

    /// Sends a message and collects what comes of it.
    pub async fn say(
        &self,
        session: &str,
        request_id: &str,
        content: &str,
    ) -> Result<Told, Status> {
        self.submit(ledger::SubmitTurnRequest {
            session_id: session.to_owned(),
            request_id: request_id.to_owned(),
            content: Some(content.to_owned()),
            ..Default::default()
        })
        .await
    }

    pub async fn submit(&self, request: ledger::SubmitTurnRequest) -> Result<Told, Status> {
        let mut frames = self.turns.clone().submit_turn(request).await?.into_inner();
        let mut told = Told::default();
        while let Some(response) = frames.message().await? {
            told.push(response.frame);
        }
        Ok(told)
    }

    /// As [`Clients::say`]; the frames, as they come.
    pub async fn begin(
        &self,
        session: &str,
        request_id: &str,
        content: &str,
    ) -> Result<Streaming<ledger::SubmitTurnResponse>, Status> {
        let request = ledger::SubmitTurnRequest {
            session_id: session.to_owned(),
            request_id: request_id.to_owned(),
            content: Some(content.to_owned()),
            ..Default::default()
        };
        self.turns.clone().submit_turn(request).await.map(Response::into_inner)
    }

    /// What a generation has left to say behind a byte.
    pub async fn resume(&self, generation: &str, after_byte: u64) -> Result<Told, Status> {
        let generation_id = generation.to_owned();
        let request = ledger::ResumeGenerationRequest { generation_id, after_byte };
        let mut frames = self.generations.clone().resume_generation(request).await?.into_inner();
        let mut told = Told::default();
        while let Some(response) = frames.message().await? {
            told.push(response.frame);
        }
        Ok(told)
    }

    /// A request as it was sent.
    pub async fn sent(&self, session: &str, offset: u64) -> Result<Sent, Status> {
        let request = ledger::GetRequestRequest { session_id: session.to_owned(), offset };
        let mut parts = self.contexts.clone().get_request(request).await?.into_inner();
        let mut sent = Sent::default();
        while let Some(response) = parts.message().await? {
            sent.push(response.part);
        }
        Ok(sent)
    }

    pub async fn verified(&self, session: &str) -> Result<ledger::VerifySessionResponse, Status> {
        let request = ledger::VerifySessionRequest { session_id: session.to_owned() };
        self.events.clone().verify_session(request).await.map(Response::into_inner)
    }

    /// Every event of a session.
    pub async fn log(&self, session: &str) -> Result<Vec<ledger::Event>, Status> {
        let session_id = session.to_owned();
        let request = ledger::ReadEventsRequest { session_id, ..Default::default() };
        let mut events = self.events.clone().read_events(request).await?.into_inner();
        let mut log = Vec::new();
        while let Some(response) = events.message().await? {
            log.extend(response.event);
        }
        Ok(log)
    }

    /// The kinds of a session's events, in order.
    pub async fn kinds(&self, session: &str) -> Vec<String> {
        let log = self.log(session).await.expect("a readable log");
        log.into_iter().map(|event| event.kind).collect()
    }

    pub async fn history(&self, session: &str) -> Result<Vec<ledger::Turn>, Status> {
        let session_id = session.to_owned();
        let request = ledger::ListTurnsRequest { session_id, ..Default::default() };
        Ok(self.turns.clone().list_turns(request).await?.into_inner().turns)
    }

    /// A world's entries in one view.
    pub async fn entries(
        &self,
        world: &str,
        view: lorebook::WorldView,
    ) -> Result<Vec<lorebook::Entry>, Status> {
        let request = lorebook::GetWorldRequest { world_id: world.to_owned(), view: view.into() };
        let mut parts = self.worlds.clone().get_world(request).await?.into_inner();
        let mut entries = Vec::new();
        while let Some(response) = parts.message().await? {
            if let Some(lorebook::get_world_response::Part::Entry(entry)) = response.part {
                entries.push(entry);
            }
        }
        Ok(entries)
    }

    pub async fn world(&self, world: &str) -> Result<lorebook::World, Status> {
        let request =
            lorebook::GetWorldRequest { world_id: world.to_owned(), ..Default::default() };
        let mut parts = self.worlds.clone().get_world(request).await?.into_inner();
        match parts.message().await?.and_then(|response| response.part) {
            Some(lorebook::get_world_response::Part::World(world)) => Ok(world),
            other => panic!("the world comes first, not {other:?}"),
        }
    }
}

// === impl Refused ===

impl<T> Refused for Result<T, Status> {
    #[track_caller]
    fn refused(self) -> Status {
        self.err().expect("a refusal, and the call succeeded")
    }
}

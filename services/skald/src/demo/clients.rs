//! Clients of every service that the main job calls, over one link.

use futures::stream;
use host::link::Link;
use tonic::Status;
use wire::{
    common::v1 as common_pb, ledger::v1 as ledger, loader::v1 as loader, lorebook::v1 as lorebook,
    proposal::v1 as proposal,
};

use ledger::{
    authored_history_service_client::AuthoredHistoryServiceClient,
    context_service_client::ContextServiceClient, event_service_client::EventServiceClient,
    turn_service_client::TurnServiceClient,
};
use loader::{
    character_service_client::CharacterServiceClient, preset_service_client::PresetServiceClient,
    user_service_client::UserServiceClient,
};
use lorebook::world_service_client::WorldServiceClient;
use proposal::{
    changeset_service_client::ChangesetServiceClient,
    evaluation_service_client::EvaluationServiceClient,
};

/// Bytes of one upload chunk.
const CHUNK: usize = 256 * 1024;

/// One client for each service.
#[derive(Clone)]
pub struct Clients {
    pub presets: PresetServiceClient<Link>,
    pub characters: CharacterServiceClient<Link>,
    pub users: UserServiceClient<Link>,
    pub worlds: WorldServiceClient<Link>,
    pub authored: AuthoredHistoryServiceClient<Link>,
    pub turns: TurnServiceClient<Link>,
    pub contexts: ContextServiceClient<Link>,
    pub events: EventServiceClient<Link>,
    pub changesets: ChangesetServiceClient<Link>,
    pub evaluations: EvaluationServiceClient<Link>,
}

// === impl Clients ===

impl Clients {
    pub fn new(link: Link) -> Self {
        Self {
            presets: PresetServiceClient::new(link.clone()),
            characters: CharacterServiceClient::new(link.clone()),
            users: UserServiceClient::new(link.clone()),
            worlds: WorldServiceClient::new(link.clone()),
            authored: AuthoredHistoryServiceClient::new(link.clone()),
            turns: TurnServiceClient::new(link.clone()),
            contexts: ContextServiceClient::new(link.clone()),
            events: EventServiceClient::new(link.clone()),
            changesets: ChangesetServiceClient::new(link.clone()),
            evaluations: EvaluationServiceClient::new(link),
        }
    }

    pub async fn import_preset(
        &mut self,
        name: &'static str,
        bytes: &'static [u8],
    ) -> Result<loader::ImportPresetResponse, Status> {
        use loader::import_preset_request::Part;
        let parts = upload(name, bytes, Part::Header, Part::Chunk);
        let parts = parts.map(|part| loader::ImportPresetRequest { part: Some(part) });
        Ok(self.presets.import_preset(stream::iter(parts)).await?.into_inner())
    }

    pub async fn import_character(
        &mut self,
        name: &'static str,
        bytes: &'static [u8],
    ) -> Result<loader::ImportCharacterResponse, Status> {
        use loader::import_character_request::Part;
        let parts = upload(name, bytes, Part::Header, Part::Chunk);
        let parts = parts.map(|part| loader::ImportCharacterRequest { part: Some(part) });
        Ok(self.characters.import_character(stream::iter(parts)).await?.into_inner())
    }

    pub async fn import_world(
        &mut self,
        name: &'static str,
        bytes: &'static [u8],
    ) -> Result<lorebook::ImportWorldResponse, Status> {
        use lorebook::import_world_request::Part;
        let parts = upload(name, bytes, Part::Header, Part::Chunk);
        let parts = parts.map(|part| lorebook::ImportWorldRequest { part: Some(part) });
        Ok(self.worlds.import_world(stream::iter(parts)).await?.into_inner())
    }
}

/// The header, then the bytes in chunks.
fn upload<P>(
    name: &str,
    bytes: &'static [u8],
    header: impl FnOnce(common_pb::UploadHeader) -> P,
    chunk: impl Fn(Vec<u8>) -> P,
) -> impl Iterator<Item = P> {
    let first = header(common_pb::UploadHeader {
        request_id: String::new(),
        file_name: name.to_owned(),
        validate_only: false,
    });
    std::iter::once(first).chain(bytes.chunks(CHUNK).map(move |part| chunk(part.to_vec())))
}

//! The house with the sample files imported, and a conversation in it.

use std::{path::Path, sync::Arc};

use host::{
    auth::{AuthMode, Authenticator, mesh::MeshToken},
    database::{DataFolder, Place},
    door::Door,
    link,
    shutdown::Shutdown,
};
use kernel::SystemClock;
use model::{Registry, Scripted};
use skald::{
    demo::{clients::Clients, samples},
    house::{self, Common},
};
use tempfile::TempDir;
use wire::{
    ledger::v1::{self as ledger, turn_frame::Frame},
    loader::v1 as loader,
    lorebook::v1 as lorebook,
};

/// Answers every message alike: a reply of some length, and a judgement that proposes nothing.
const SCRIPT: &str = r#"
chunk_chars = 24

[[reply]]
text = "Maren listens to the water for a while, trims the wick, and shakes her head. *The light turns once, twice.* \"It has been quieter since the bell went down,\" she says, \"and I do not like the quiet. Bring the ledger up, will you? Somebody ought to write down which boats came home tonight.\""

[[tool]]
name = "propose_world_changes"
arguments = '''{ "operations": [], "summary": "Nothing durable happened." }'''
"#;

/// A running house; its folder goes with it.
pub struct Scene {
    pub clients: Clients,
    pub door: Door,
    pub session: String,
    folder: TempDir,
    turns: usize,
}

// === impl Scene ===

impl Scene {
    pub async fn open(agent_off: bool) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mesh = MeshToken::random().expect("chance");
        let script = Scripted::parse(SCRIPT).expect("a script");
        let common = Common {
            place: Place::Folder(DataFolder::open(folder.path()).expect("a folder of our own")),
            auth: Authenticator::open(&AuthMode::None, &mesh).expect("no file"),
            mesh,
            clock: Arc::new(SystemClock),
            shutdown: Shutdown::new(),
            models: Registry::default().with("scripted", Arc::new(script)),
            judges: 1,
        };
        let door = house::all_in_one(&common).await.expect("a house");
        let mut clients = Clients::new(link::local(door.clone()));
        let selection = import(&mut clients).await;
        let session = converse(&mut clients, selection, agent_off).await;
        Self { clients, door, session, folder, turns: 0 }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Submits one message and reads its frames to the end; `seen` looks at each.
    pub async fn turn(&mut self, mut seen: impl FnMut(&Frame)) {
        self.turns += 1;
        let request = ledger::SubmitTurnRequest {
            session_id: self.session.clone(),
            request_id: format!("turn-{}", self.turns),
            content: Some(format!("Night {}. Is the old bell still in the harbour?", self.turns)),
            ..Default::default()
        };
        let mut frames =
            self.clients.turns.submit_turn(request).await.expect("submitted").into_inner();
        while let Some(response) = frames.message().await.expect("a frame") {
            let frame = response.frame.and_then(|frame| frame.frame).expect("of a known kind");
            assert!(!matches!(frame, Frame::Failed(_) | Frame::Aborted(_)), "{frame:?}");
            seen(&frame);
        }
    }
}

async fn import(clients: &mut Clients) -> loader::Selection {
    let preset = clients.import_preset("preset.json", samples::PRESET).await.expect("imported");
    let card = clients.import_character("card.png", samples::CARD).await.expect("imported");
    let world = clients.import_world("world.json", samples::WORLD).await.expect("imported");
    let world = opt_in(clients, world.world.unwrap_or_default()).await;
    loader::Selection {
        preset_id: preset.preset.unwrap_or_default().preset_id,
        character_id: card.character.unwrap_or_default().character_id,
        world_ids: vec![world.world_id],
        ..Default::default()
    }
}

/// Without it there is nothing to judge.
async fn opt_in(clients: &mut Clients, world: lorebook::World) -> lorebook::World {
    let request = lorebook::UpdateWorldRequest {
        world: Some(lorebook::World { dynamic_enabled: true, ..world }),
        update_mask: Some(prost_types::FieldMask { paths: vec!["dynamic_enabled".to_owned()] }),
        request_id: "opt-in".to_owned(),
    };
    let updated = clients.worlds.update_world(request).await.expect("updated");
    updated.into_inner().world.unwrap_or_default()
}

async fn converse(clients: &mut Clients, selection: loader::Selection, agent_off: bool) -> String {
    let model = ledger::Model {
        provider: "scripted".to_owned(),
        name: "sample".to_owned(),
        window_tokens: 0,
    };
    let request = ledger::CreateSessionWithOpeningRequest {
        request_id: "session".to_owned(),
        settings: Some(ledger::SessionSettings {
            model: Some(model),
            proposal: Some(ledger::ProposalSettings { agent_off, ..Default::default() }),
            ..Default::default()
        }),
        selection: Some(selection),
        opening: Some(ledger::AuthoredTurn {
            author: wire::common::v1::Author::Assistant.into(),
            content: "The lamp is lit. Come up, mind the third stair.".to_owned(),
            ..Default::default()
        }),
        ..Default::default()
    };
    let opened = clients.authored.create_session_with_opening(request).await.expect("opened");
    opened.into_inner().session.unwrap_or_default().session_id
}

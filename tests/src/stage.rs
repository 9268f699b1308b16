//! A conversation on files of a test's own.

use serde_json::Value;
use tonic::Status;
use wire::{common::v1::ProfileMode, ledger::v1 as ledger, loader::v1 as loader};

use crate::{cards, clients::Clients, job};

/// The files of one conversation, changed as a test needs.
#[derive(Clone)]
pub struct Stage {
    pub preset: Value,
    pub card: Value,
    pub world: Value,
    pub user: (String, String),
    pub mode: ProfileMode,
    pub options: loader::SelectionOptions,
}

/// What was imported, and the session on it.
#[derive(Debug, Clone)]
pub struct Staged {
    pub session: String,
    pub preset: loader::ImportPresetResponse,
    pub character: loader::ImportCharacterResponse,
    pub world: wire::lorebook::v1::ImportWorldResponse,
    pub selection: loader::Selection,
}

// === impl Stage ===

impl Stage {
    pub fn new() -> Self {
        Self {
            preset: cards::preset(),
            card: cards::v2(),
            world: cards::world(),
            user: ("Tamsin".to_owned(), "Tamsin mends nets.".to_owned()),
            mode: ProfileMode::Journal,
            options: loader::SelectionOptions::default(),
        }
    }

    /// Imports everything and opens a plain session on it.
    pub async fn set(&self, clients: &Clients) -> Result<Staged, Status> {
        let bytes = |value: &Value| serde_json::to_vec(value).expect("JSON");
        let preset = clients.import_preset("preset", "p.json", &bytes(&self.preset)).await?;
        let character = clients.import_character("card", "c.json", &bytes(&self.card)).await?;
        let world = clients.import_world("world", "w.json", &bytes(&self.world)).await?;
        let (name, description) = self.user.clone();
        let request_id = "user".to_owned();
        let user = loader::CreateUserRequest { request_id, name, description };
        let user = clients.users.clone().create_user(user).await?.into_inner().user;
        let id = |id: Option<String>| id.unwrap_or_default();
        let selection = loader::Selection {
            preset_id: id(preset.preset.as_ref().map(|preset| preset.preset_id.clone())),
            character_id: id(character.character.as_ref().map(|card| card.character_id.clone())),
            user_id: id(user.map(|user| user.user_id)),
            world_ids: vec![id(world.world.as_ref().map(|world| world.world_id.clone()))],
            options: Some(self.options.clone()),
            rp: None,
        };
        let request = ledger::CreateSessionRequest {
            request_id: "session".to_owned(),
            settings: Some(job::settings(self.mode)),
            selection: Some(selection.clone()),
            ..Default::default()
        };
        let session = clients.sessions.clone().create_session(request).await?.into_inner().session;
        let session = session.unwrap_or_default().session_id;
        Ok(Staged { session, preset, character, world, selection })
    }
}

impl Default for Stage {
    fn default() -> Self {
        Self::new()
    }
}

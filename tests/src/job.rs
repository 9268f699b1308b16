//! The main job's steps: import, open, speak, review, undo.

use skald::demo::samples;
use tonic::Status;
use wire::{
    common::v1::{Author, ProfileMode},
    ledger::v1 as ledger,
    loader::v1 as loader,
    lorebook::v1 as lorebook,
    proposal::v1 as proposal,
};

use crate::clients::Clients;

/// What the user of the demo says, turn by turn.
pub const FIRST: &str =
    "I climb to the lamp, two stairs at a time. Is the old bell still in the harbour?";
pub const SECOND: &str = "Show me where it went down. The bell, I mean.";
pub const THIRD: &str = "And in fog, what will they ring when there is a bell no more?";

/// The correction of the demo's reviewer.
pub const EDIT: (&str, &str) = ("until spring", "until the thaw");

/// What the demo's model proposes to write.
pub const PROPOSED: &str = "four fathoms deep";
/// What the user wrote.
pub const AUTHORED: &str = "hangs on the mole";

pub const MODES: [ProfileMode; 3] =
    [ProfileMode::Journal, ProfileMode::InChat, ProfileMode::Contract];

/// The resources of a conversation.
#[derive(Debug, Clone)]
pub struct Cast {
    pub preset_id: String,
    pub character: loader::Character,
    pub user_id: String,
    pub world: lorebook::World,
}

// === impl Cast ===

impl Cast {
    pub fn selection(&self) -> loader::Selection {
        loader::Selection {
            preset_id: self.preset_id.clone(),
            character_id: self.character.character_id.clone(),
            user_id: self.user_id.clone(),
            world_ids: vec![self.world.world_id.clone()],
            ..Default::default()
        }
    }

    pub fn greeting(&self) -> String {
        self.character.greetings.first().cloned().unwrap_or_default()
    }
}

/// Settings of a session that speaks with the script.
pub fn settings(mode: ProfileMode) -> ledger::SessionSettings {
    ledger::SessionSettings {
        model: Some(ledger::Model {
            provider: "scripted".to_owned(),
            name: "sample".to_owned(),
            window_tokens: 0,
        }),
        profile_mode: mode.into(),
        ..Default::default()
    }
}

/// An authored turn of the assistant.
pub fn authored(content: &str) -> ledger::AuthoredTurn {
    ledger::AuthoredTurn {
        author: Author::Assistant.into(),
        content: content.to_owned(),
        ..Default::default()
    }
}

/// The reviewer's correction of a changeset.
pub fn edit_of(changeset: &proposal::Changeset) -> proposal::UpdateChangesetRequest {
    let mut operations: Vec<lorebook::Operation> =
        changeset.operations.iter().filter_map(|proposed| proposed.operation.clone()).collect();
    for content in operations.iter_mut().filter_map(|operation| operation.content.as_mut()) {
        *content = content.replace(EDIT.0, EDIT.1);
    }
    proposal::UpdateChangesetRequest {
        request_id: format!("edit-{}", changeset.changeset_id),
        changeset_id: changeset.changeset_id.clone(),
        operations,
        ..Default::default()
    }
}

// === impl Clients ===

impl Clients {
    /// The sample files, imported; the user hands the agent a pen for the world.
    pub async fn cast(&self) -> Result<Cast, Status> {
        self.cast_of("card.png", samples::CARD).await
    }

    /// As [`Clients::cast`], with another card.
    pub async fn cast_of(&self, file: &str, card: &[u8]) -> Result<Cast, Status> {
        let preset = self.import_preset("import-preset", "preset.json", samples::PRESET).await?;
        let character = self.import_character("import-card", file, card).await?;
        let character_id = character.character.unwrap_or_default().character_id;
        let character = self.character(&character_id).await?;
        let world = self.import_world("import-world", "world.json", samples::WORLD).await?;
        let user = self.user().await?;
        let world = self.opt_in(&world.world.unwrap_or_default()).await?;
        Ok(Cast {
            preset_id: preset.preset.unwrap_or_default().preset_id,
            character,
            user_id: user.user_id,
            world,
        })
    }

    pub async fn character(&self, character_id: &str) -> Result<loader::Character, Status> {
        let get = loader::GetCharacterRequest { character_id: character_id.to_owned() };
        let read = self.characters.clone().get_character(get).await?;
        Ok(read.into_inner().character.unwrap_or_default())
    }

    pub async fn user(&self) -> Result<loader::User, Status> {
        let request = loader::CreateUserRequest {
            request_id: "create-user".to_owned(),
            name: "Tamsin".to_owned(),
            description: "Tamsin mends nets in Saltmouth.".to_owned(),
        };
        let created = self.users.clone().create_user(request).await?.into_inner();
        Ok(created.user.unwrap_or_default())
    }

    /// Lets the agent propose changes to a world.
    pub async fn opt_in(&self, world: &lorebook::World) -> Result<lorebook::World, Status> {
        let paths = vec!["dynamic_enabled".to_owned()];
        let request = lorebook::UpdateWorldRequest {
            world: Some(lorebook::World {
                world_id: world.world_id.clone(),
                dynamic_enabled: true,
                ..Default::default()
            }),
            update_mask: Some(prost_types::FieldMask { paths }),
            request_id: "opt-in".to_owned(),
        };
        let world = self.worlds.clone().update_world(request).await?.into_inner().world;
        Ok(world.unwrap_or_default())
    }

    /// A session that begins with the card's greeting.
    pub async fn open(
        &self,
        cast: &Cast,
        mode: ProfileMode,
    ) -> Result<ledger::CreateSessionWithOpeningResponse, Status> {
        let request = ledger::CreateSessionWithOpeningRequest {
            request_id: "open".to_owned(),
            title: "An evening at the lighthouse".to_owned(),
            settings: Some(settings(mode)),
            selection: Some(cast.selection()),
            opening: Some(ledger::AuthoredTurn {
                origin: "the card's first message".to_owned(),
                ..authored(&cast.greeting())
            }),
        };
        Ok(self.authored.clone().create_session_with_opening(request).await?.into_inner())
    }

    /// As [`Clients::open`]; the id alone.
    pub async fn opened(&self, cast: &Cast, mode: ProfileMode) -> Result<String, Status> {
        let opened = self.open(cast, mode).await?;
        Ok(opened.session.unwrap_or_default().session_id)
    }

    /// A session without an opening.
    pub async fn create(
        &self,
        request_id: &str,
        selection: Option<loader::Selection>,
    ) -> Result<String, Status> {
        let request = ledger::CreateSessionRequest {
            request_id: request_id.to_owned(),
            settings: Some(settings(ProfileMode::Journal)),
            selection,
            ..Default::default()
        };
        let created = self.sessions.clone().create_session(request).await?.into_inner();
        Ok(created.session.unwrap_or_default().session_id)
    }

    /// The generation that a list shows for a session; empty if none runs.
    pub async fn generation_of(&self, session: &str) -> String {
        let list = ledger::ListSessionsRequest::default();
        let listed = self.sessions.clone().list_sessions(list).await.expect("a list").into_inner();
        let mut sessions = listed.sessions.into_iter();
        let found = sessions.find(|listed| listed.session_id == session);
        found.expect("a listed session").active_generation_id
    }

    /// Writes an assistant's turn that nobody generated.
    pub async fn write(
        &self,
        session: &str,
        request_id: &str,
        turn: ledger::AuthoredTurn,
    ) -> Result<ledger::WriteAuthoredTurnResponse, Status> {
        let request = ledger::WriteAuthoredTurnRequest {
            session_id: session.to_owned(),
            request_id: request_id.to_owned(),
            turn: Some(turn),
            ..Default::default()
        };
        Ok(self.authored.clone().write_authored_turn(request).await?.into_inner())
    }

    pub async fn changeset(&self, id: &str) -> Result<proposal::Changeset, Status> {
        let request = proposal::GetChangesetRequest { changeset_id: id.to_owned() };
        let response = self.changesets.clone().get_changeset(request).await?;
        Ok(response.into_inner().changeset.unwrap_or_default())
    }

    /// All changesets, newest first.
    pub async fn listed(
        &self,
        filter: proposal::ChangesetFilter,
    ) -> Result<Vec<proposal::Changeset>, Status> {
        let filter = filter.into();
        let request = proposal::ListChangesetsRequest { filter, ..Default::default() };
        Ok(self.changesets.clone().list_changesets(request).await?.into_inner().changesets)
    }

    /// The reviewer's correction, sent.
    pub async fn edit(&self, changeset_id: &str) -> Result<proposal::Changeset, Status> {
        let request = edit_of(&self.changeset(changeset_id).await?);
        let updated = self.changesets.clone().update_changeset(request).await?.into_inner();
        Ok(updated.changeset.unwrap_or_default())
    }

    pub async fn apply(
        &self,
        changeset_id: &str,
    ) -> Result<proposal::ApplyChangesetResponse, Status> {
        let request = proposal::ApplyChangesetRequest {
            changeset_id: changeset_id.to_owned(),
            request_id: format!("apply-{changeset_id}"),
            ..Default::default()
        };
        Ok(self.changesets.clone().apply_changeset(request).await?.into_inner())
    }

    pub async fn reject(
        &self,
        changeset_id: &str,
    ) -> Result<proposal::RejectChangesetResponse, Status> {
        let request = proposal::RejectChangesetRequest {
            changeset_id: changeset_id.to_owned(),
            request_id: format!("reject-{changeset_id}"),
        };
        Ok(self.changesets.clone().reject_changeset(request).await?.into_inner())
    }

    pub async fn undo(
        &self,
        changeset_id: &str,
    ) -> Result<proposal::UndoChangesetResponse, Status> {
        let request = proposal::UndoChangesetRequest {
            changeset_id: changeset_id.to_owned(),
            request_id: format!("undo-{changeset_id}"),
        };
        Ok(self.changesets.clone().undo_changeset(request).await?.into_inner())
    }
}

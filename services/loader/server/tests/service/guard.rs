//! The running guard at the public surface: each path that would change what a running session is sent.

use wire::{common::v1::Reason, loader::v1 as pb, mesh::v1 as mesh};

use crate::house::{Answered, CARD, House, PRESET, as_user, generation, header, refused};

/// Ada's session `s`, running, with a preset, a card, a user and the worlds `by-session`, `by-user`,
/// `by-preset`, `by-character` and `by-global` at the places that their names say.
struct Running {
    house: House,
    preset: String,
    character: String,
    user: String,
}

// === impl Running ===

impl Running {
    async fn new() -> Self {
        let house = House::new().await;
        for world in ["by-session", "by-user", "by-preset", "by-character", "by-global", "other"] {
            house.lorebook.knows(world);
        }
        let preset = house.import_preset("ada", header("", "p.json"), PRESET.as_bytes()).await;
        let card = house.import_character("ada", header("", "m.json"), CARD.as_bytes()).await;
        let preset = preset.expect("imported").preset.expect("a preset").preset_id;
        let character = card.expect("imported").character.expect("a character").character_id;
        let user = house.create_user("ada", "Bob").await;
        let running = Self { house, preset, character, user };
        running.house.session("s", running.selection()).await;
        running.house.session("idle", pb::Selection::default()).await;
        for (owner, world) in [
            (pb::BindingOwner::User, "by-user"),
            (pb::BindingOwner::Preset, "by-preset"),
            (pb::BindingOwner::Character, "by-character"),
            (pb::BindingOwner::Global, "by-global"),
        ] {
            running.bind(owner, world).await.expect("bound");
        }
        running.house.compile(generation("s", "g")).await.expect("compiled");
        running
    }

    fn selection(&self) -> pb::Selection {
        pb::Selection {
            preset_id: self.preset.clone(),
            character_id: self.character.clone(),
            user_id: self.user.clone(),
            world_ids: vec!["by-session".to_owned()],
            ..Default::default()
        }
    }

    async fn bind(&self, owner: pb::BindingOwner, world: &str) -> Answered<()> {
        let owner_id = match owner {
            pb::BindingOwner::User => self.user.clone(),
            pb::BindingOwner::Preset => self.preset.clone(),
            pb::BindingOwner::Character => self.character.clone(),
            _ => String::new(),
        };
        let world_ids = vec![world.to_owned()];
        let request = pb::SetBindingsRequest {
            owner: owner.into(),
            owner_id,
            world_ids,
            ..Default::default()
        };
        self.house.selections().set_bindings(as_user("ada", request)).await.map(|_| ())
    }

    async fn select(&self, change: impl FnOnce(&mut pb::Selection)) -> Answered<()> {
        let mut selection = self.selection();
        change(&mut selection);
        let request = pb::SetSelectionRequest {
            session_id: "s".to_owned(),
            selection: Some(selection),
            ..Default::default()
        };
        self.house.selections().set_selection(as_user("ada", request)).await.map(|_| ())
    }

    async fn delete_world(&self, world: &str) -> Answered<()> {
        let request = pb::DeleteWorldRequest { world_id: world.to_owned(), ..Default::default() };
        self.house.deletions().delete_world(as_user("ada", request)).await.map(|_| ())
    }

    async fn template_of(&self, session: &str) -> String {
        let source = pb::create_template_request::Source::SessionId(session.to_owned());
        let request = pb::CreateTemplateRequest {
            name: "T".to_owned(),
            source: Some(source),
            ..Default::default()
        };
        let made = self.house.templates().create_template(as_user("ada", request)).await;
        made.expect("created").into_inner().template.expect("a template").template_id
    }
}

/// The refusal names the one session that runs.
#[track_caller]
fn runs(answer: Answered<()>, reason: Reason) {
    let status = refused(answer, reason);
    assert_eq!(status.message(), "1 sessions are running: s");
}

#[tokio::test]
async fn path_selection_of_another_preset() {
    let running = Running::new().await;
    runs(running.select(|new| new.preset_id.clear()).await, Reason::PresetAgentRunning);
}

#[tokio::test]
async fn path_selection_of_another_character_or_of_how_its_card_is_used() {
    let running = Running::new().await;
    let greeting = pb::SelectionOptions { greeting_index: 1, ..Default::default() };
    let rp = pb::RpSelection { active: true, ..Default::default() };
    runs(running.select(|new| new.character_id.clear()).await, Reason::CharacterAgentRunning);
    let options = running.select(|new| new.options = Some(greeting)).await;
    runs(options, Reason::CharacterAgentRunning);
    runs(running.select(|new| new.rp = Some(rp)).await, Reason::CharacterAgentRunning);
}

#[tokio::test]
async fn path_selection_of_another_user() {
    let running = Running::new().await;
    runs(running.select(|new| new.user_id.clear()).await, Reason::UserAgentRunning);
}

#[tokio::test]
async fn path_selection_of_other_worlds() {
    let running = Running::new().await;
    let other = running.select(|new| new.world_ids.push("other".to_owned())).await;
    runs(other, Reason::WorldBookAgentRunning);
    assert!(running.select(|_| {}).await.is_ok(), "nothing changes");
}

#[tokio::test]
async fn path_selection_copied_from_another_session() {
    let running = Running::new().await;
    let request = pb::CopySelectionRequest {
        from_session_id: "idle".to_owned(),
        to_session_id: "s".to_owned(),
        ..Default::default()
    };
    let copied = running.house.selections().copy_selection(as_user("ada", request)).await;
    runs(copied.map(|_| ()), Reason::PresetAgentRunning);
}

#[tokio::test]
async fn path_template_applied_to_a_running_session() {
    let running = Running::new().await;
    let (other, same) = (running.template_of("idle").await, running.template_of("s").await);
    let apply = |template_id: String, validate_only| {
        let session_id = "s".to_owned();
        let request = pb::ApplyTemplateRequest {
            template_id,
            session_id,
            validate_only,
            ..Default::default()
        };
        let mut templates = running.house.templates();
        async move { templates.apply_template(as_user("ada", request)).await.map(|_| ()) }
    };
    runs(apply(other.clone(), false).await, Reason::TemplateAgentRunning);
    runs(apply(other, true).await, Reason::TemplateAgentRunning);
    assert!(apply(same, false).await.is_ok(), "nothing changes");
}

#[tokio::test]
async fn path_preset_deleted() {
    let running = Running::new().await;
    let request =
        pb::DeletePresetRequest { preset_id: running.preset.clone(), ..Default::default() };
    let deleted = running.house.presets().delete_preset(as_user("ada", request)).await;
    runs(deleted.map(|_| ()), Reason::PresetAgentRunning);
}

#[tokio::test]
async fn path_character_deleted() {
    let running = Running::new().await;
    let character_id = running.character.clone();
    let request = pb::DeleteCharacterRequest { character_id, ..Default::default() };
    let deleted = running.house.characters().delete_character(as_user("ada", request)).await;
    runs(deleted.map(|_| ()), Reason::CharacterAgentRunning);
}

#[tokio::test]
async fn path_user_deleted() {
    let running = Running::new().await;
    let request = pb::DeleteUserRequest { user_id: running.user.clone(), ..Default::default() };
    let deleted = running.house.users().delete_user(as_user("ada", request)).await;
    runs(deleted.map(|_| ()), Reason::UserAgentRunning);
}

#[tokio::test]
async fn path_world_deleted_that_the_session_selects() {
    let running = Running::new().await;
    runs(running.delete_world("by-session").await, Reason::WorldBookAgentRunning);
}

#[tokio::test]
async fn path_world_deleted_that_the_user_holds() {
    let running = Running::new().await;
    runs(running.delete_world("by-user").await, Reason::WorldBookAgentRunning);
}

#[tokio::test]
async fn path_world_deleted_that_the_preset_holds() {
    let running = Running::new().await;
    runs(running.delete_world("by-preset").await, Reason::WorldBookAgentRunning);
}

#[tokio::test]
async fn path_world_deleted_that_the_character_holds() {
    let running = Running::new().await;
    runs(running.delete_world("by-character").await, Reason::WorldBookAgentRunning);
}

#[tokio::test]
async fn path_world_deleted_that_all_sessions_have() {
    let running = Running::new().await;
    runs(running.delete_world("by-global").await, Reason::WorldBookAgentRunning);
    assert!(running.delete_world("other").await.is_ok(), "it takes no part");
}

#[tokio::test]
async fn path_binding_of_the_user() {
    let running = Running::new().await;
    let bound = running.bind(pb::BindingOwner::User, "other").await;
    runs(bound, Reason::WorldBookAgentRunning);
}

#[tokio::test]
async fn path_binding_of_the_preset() {
    let running = Running::new().await;
    let bound = running.bind(pb::BindingOwner::Preset, "other").await;
    runs(bound, Reason::WorldBookAgentRunning);
}

#[tokio::test]
async fn path_binding_of_the_character() {
    let running = Running::new().await;
    let bound = running.bind(pb::BindingOwner::Character, "other").await;
    runs(bound, Reason::WorldBookAgentRunning);
}

#[tokio::test]
async fn path_binding_of_all_sessions() {
    let running = Running::new().await;
    let bound = running.bind(pb::BindingOwner::Global, "other").await;
    runs(bound, Reason::WorldBookAgentRunning);
}

#[tokio::test]
async fn when_the_generation_ends_every_path_is_open() {
    let running = Running::new().await;
    let release =
        mesh::ReleaseLeaseRequest { session_id: "s".to_owned(), generation_id: "g".to_owned() };
    running.house.compiler().release_lease(release).await.expect("released");
    running.bind(pb::BindingOwner::Global, "other").await.expect("bound");
    running.delete_world("by-session").await.expect("deleted");
    running.select(|new| *new = pb::Selection::default()).await.expect("set");
}

#[tokio::test]
async fn a_compile_that_only_validates_takes_no_lease() {
    let running = Running::new().await;
    running.house.session("dry", running.selection()).await;
    let request = mesh::CompileRequest { validate_only: true, ..generation("dry", "") };
    let (segments, summary) = running.house.compile(request).await.expect("compiled");
    assert!(!segments.is_empty() && !summary.fingerprint.is_empty());
    let request = pb::SetSelectionRequest {
        session_id: "dry".to_owned(),
        selection: Some(pb::Selection::default()),
        ..Default::default()
    };
    assert!(running.house.selections().set_selection(as_user("ada", request)).await.is_ok());
}

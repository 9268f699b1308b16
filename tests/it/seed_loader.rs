//! Seed 001, its acceptance list and its integration checklist, line by line, through the public surface.
//!
//! Each test quotes the line that it is for; the lines are counted as the seed has them: 18 of acceptance, and
//! five each of the checklist for characters, world books and users. Lines that no test can name are about the
//! house and not about behaviour, or about what is not ours:
//!
//! - Characters 3, world books 2, users 3 ("through the registered adapter"): the adapters are the host's way to
//!   plug in resources; here one loader reads all of them. Characters 4, world books 4 ("no system section of
//!   its own") are what `one_profile_is_in_the_request_whatever_it_is_made_of` sees of it.
//! - World books 1 ("parser and matcher stay pure"): `tidy` holds the cores to it.
//! - Acceptance 7, second half (the old `character-state.json` moves in one direction), and the JSON stores of
//!   10, 12, 13 and 15 (atomic rename, bytes of the file, safe reading): there are no such files; what replaces
//!   them is a database, its transactions and its limits.
//! - The panels of 10, 13, 14, 16 and 17, the launcher and Trace of 14: there is no such front end; a request's
//!   record and the preview say what they would show.

mod checklist;
mod lore;
mod owners;
mod profile;
mod running;
mod sessions;

use host::{auth::mesh::MeshToken, caller::Caller, link::Link, link::Peer};
use kernel::{Principal, Subject, TenantId};
use serde_json::{Value, json};
use tests::{
    prelude::*,
    world::{ADA, Links, MESH},
};
use wire::{
    loader::v1::{
        rp_policy_service_client::RpPolicyServiceClient,
        template_service_client::TemplateServiceClient,
        world_deletion_service_client::WorldDeletionServiceClient,
    },
    lorebook::v1::entry_service_client::EntryServiceClient,
    mesh::v1::compile_service_client::CompileServiceClient,
};

use common::ProfileMode;

/// The built-in prompts that are places and no texts.
const MARKERS: [&str; 8] = [
    "worldInfoBefore",
    "personaDescription",
    "charDescription",
    "charPersonality",
    "scenario",
    "worldInfoAfter",
    "dialogueExamples",
    "chatHistory",
];

/// A Skald that echoes, and ada in it.
struct Bench {
    clients: Clients,
    links: Links,
    world: World,
}

/// Runs each test near, on SQLite, and far, on PostgreSQL, where there is a server.
macro_rules! on_each {
    ($($test:ident)*) => {$(
        mod $test {
            #[tokio::test]
            async fn on_sqlite() {
                super::$test(&super::Bench::near().await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_postgres() {
                let Some(bench) = super::Bench::far().await else { return };
                super::$test(&bench).await;
            }
        }
    )*};
}

use on_each;

/// A preset of these prompts, in this order. Those of the built-in places have no text.
fn preset(prompts: &[(&str, &str)]) -> Value {
    let made = prompts.iter().map(|(identifier, content)| {
        let marker = MARKERS.contains(identifier);
        let base = json!({
            "identifier": identifier, "name": identifier, "system_prompt": false, "marker": marker,
        });
        let mut prompt = base;
        if !marker {
            prompt["role"] = json!("system");
            prompt["content"] = json!(content);
        }
        prompt
    });
    let order =
        prompts.iter().map(|(identifier, _)| json!({ "identifier": identifier, "enabled": true }));
    json!({
        "prompts": made.collect::<Vec<_>>(),
        "prompt_order": [{ "character_id": 100_001, "order": order.collect::<Vec<_>>() }],
    })
}

/// A V2 card with these fields of its data.
fn card(name: &str, fields: Value) -> Value {
    let mut data = json!({ "name": name, "extensions": {} });
    for (key, value) in fields.as_object().expect("fields") {
        data[key] = value.clone();
    }
    json!({ "spec": "chara_card_v2", "spec_version": "2.0", "data": data })
}

/// An entry of a card's book.
fn book_entry(key: &str, content: &str, order: i64) -> Value {
    json!({
        "keys": [key], "content": content, "enabled": true, "insertion_order": order,
        "position": "before_char", "extensions": {},
    })
}

fn prompt(identifier: &str, text: &str) -> String {
    format!("<st-prompt identifier=\"{identifier}\" role=\"system\">\n{text}\n</st-prompt>")
}

fn field(name: &str, text: &str) -> String {
    format!("<st-character-field name=\"{name}\">\n{text}\n</st-character-field>")
}

fn persona(text: &str) -> String {
    format!("<st-user-field name=\"persona-description\">\n{text}\n</st-user-field>")
}

/// The profile of a request by CONTRACT: the block that the loader wrote.
#[track_caller]
fn profile(sent: &Sent) -> &str {
    let is_profile = |block: &&ledger::BlockPart| {
        block.origins.iter().any(|origin| origin.kind == "profile" && origin.key != "rp:policy")
    };
    let mut profiles = sent.blocks.iter().filter(is_profile);
    let first = profiles.next().map_or("", |block| block.text.as_str());
    assert!(profiles.next().is_none(), "one profile: {}", sent.text());
    first
}

/// The profile without its heading.
#[track_caller]
fn body(sent: &Sent) -> &str {
    profile(sent).split_once("\n\n").map_or("", |(_, body)| body)
}

/// The worlds in effect, each with everything that binds it.
fn effective(answer: &loader::GetSelectionResponse) -> Vec<(String, String)> {
    let worlds = answer.effective_worlds.iter();
    worlds.map(|world| (world.world_id.clone(), world.binding_sources.join("+"))).collect()
}

// === impl Bench ===

impl Bench {
    async fn near() -> Self {
        Self::of(echoing().near().await)
    }

    async fn far() -> Option<Self> {
        Some(Self::of(echoing().far().await?))
    }

    fn of(world: World) -> Self {
        let links = world.links().showing(ADA);
        Self { clients: Clients::new(&links), links, world }
    }

    fn templates(&self) -> TemplateServiceClient<Link> {
        TemplateServiceClient::new(self.links.loader.clone())
    }

    fn policies(&self) -> RpPolicyServiceClient<Link> {
        RpPolicyServiceClient::new(self.links.loader.clone())
    }

    fn deletions(&self) -> WorldDeletionServiceClient<Link> {
        WorldDeletionServiceClient::new(self.links.loader.clone())
    }

    fn entries(&self) -> EntryServiceClient<Link> {
        EntryServiceClient::new(self.links.lorebook.clone())
    }

    /// What the ledger calls when it makes a session; acting for ada.
    fn compiler(&self) -> CompileServiceClient<Link> {
        let tenant = TenantId::new("acme").expect("an id");
        let ada = Principal::new(tenant, Subject::new("ada").expect("an id"), []);
        let mesh: MeshToken = MESH.parse().expect("a token");
        let peer = Peer::new(self.world.links().loader.clone(), mesh);
        CompileServiceClient::new(peer.acting_for(&Caller::of_job(ada)))
    }

    async fn preset(&self, name: &str, preset: &Value) -> String {
        let bytes = preset.to_string().into_bytes();
        let done = self.clients.import_preset("", &format!("{name}.json"), &bytes).await;
        done.expect("imported").preset.expect("a preset").preset_id
    }

    async fn card(&self, card: &Value) -> loader::Character {
        self.card_file("card.json", card.to_string().as_bytes()).await
    }

    async fn card_file(&self, name: &str, bytes: &[u8]) -> loader::Character {
        let done = self.clients.import_character("", name, bytes).await.expect("imported");
        let id = done.character.expect("a character").character_id;
        self.clients.character(&id).await.expect("read")
    }

    /// A world of entries that are a key and a text; without a key, constant.
    async fn lore(&self, entries: &[(&str, &str)]) -> String {
        self.book(&tests::cards::world_of(entries)).await
    }

    async fn book(&self, book: &Value) -> String {
        let bytes = book.to_string().into_bytes();
        let done = self.clients.import_world("", "w.json", &bytes).await.expect("imported");
        done.world.expect("a world").world_id
    }

    async fn user(&self, name: &str, description: &str) -> String {
        let (name, description) = (name.to_owned(), description.to_owned());
        let request = loader::CreateUserRequest { request_id: String::new(), name, description };
        let done = self.clients.users.clone().create_user(request).await.expect("created");
        done.into_inner().user.expect("a user").user_id
    }

    /// A session by CONTRACT, whose profile is one text.
    async fn session(&self, selection: Option<loader::Selection>) -> String {
        self.session_in(ProfileMode::Contract, selection).await
    }

    async fn session_in(&self, mode: ProfileMode, selection: Option<loader::Selection>) -> String {
        let settings = Some(job::settings(mode));
        let request = ledger::CreateSessionRequest { settings, selection, ..Default::default() };
        let done = self.clients.sessions.clone().create_session(request).await.expect("created");
        done.into_inner().session.expect("a session").session_id
    }

    /// Says something; the request that it led to.
    async fn say(&self, session: &str, text: &str) -> Sent {
        let head = self.clients.log(session).await.expect("a log").len();
        let request_id = format!("turn-{head}-of-{session}");
        let told = self.clients.say(session, &request_id, text).await.expect("a turn");
        self.clients.sent(session, told.request().offset).await.expect("kept")
    }

    async fn selection(&self, session: &str) -> loader::GetSelectionResponse {
        let request = loader::GetSelectionRequest { session_id: session.to_owned() };
        let read = self.clients.selections.clone().get_selection(request).await;
        read.expect("read").into_inner()
    }

    async fn select(
        &self,
        session: &str,
        selection: loader::Selection,
    ) -> Result<loader::SetSelectionResponse, Status> {
        let request = loader::SetSelectionRequest {
            session_id: session.to_owned(),
            selection: Some(selection),
            ..Default::default()
        };
        Ok(self.clients.selections.clone().set_selection(request).await?.into_inner())
    }

    async fn bind(
        &self,
        owner: loader::BindingOwner,
        owner_id: &str,
        worlds: &[&String],
    ) -> Result<loader::SetBindingsResponse, Status> {
        let request = loader::SetBindingsRequest {
            owner: owner.into(),
            owner_id: owner_id.to_owned(),
            world_ids: worlds.iter().map(|world| (*world).clone()).collect(),
            ..Default::default()
        };
        Ok(self.clients.selections.clone().set_bindings(request).await?.into_inner())
    }

    async fn bound(&self, owner: loader::BindingOwner, owner_id: &str) -> Vec<String> {
        let owner_id = owner_id.to_owned();
        let request = loader::GetBindingsRequest { owner: owner.into(), owner_id };
        let read = self.clients.selections.clone().get_bindings(request).await;
        read.expect("read").into_inner().world_ids
    }

    async fn delete_world(&self, world: &str) -> Result<loader::DeleteWorldResponse, Status> {
        let request =
            loader::DeleteWorldRequest { world_id: world.to_owned(), ..Default::default() };
        Ok(self.deletions().delete_world(request).await?.into_inner())
    }

    /// A card as its file.
    async fn exported(&self, character: &str) -> Vec<u8> {
        let character_id = character.to_owned();
        let request = loader::ExportCharacterRequest { character_id, ..Default::default() };
        let answer = self.clients.characters.clone().export_character(request).await;
        let (mut parts, mut file) = (answer.expect("exported").into_inner(), Vec::new());
        while let Some(part) = parts.message().await.expect("a part") {
            file.extend(part.chunk);
        }
        file
    }

    async fn previewed(&self, session: &str, text: &str) -> loader::PreviewProfileResponse {
        let author = common::Author::User.into();
        let request = loader::PreviewProfileRequest {
            session_id: session.to_owned(),
            profile_mode: ProfileMode::Contract.into(),
            messages: vec![loader::PreviewMessage { author, text: text.to_owned() }],
        };
        let answer = self.clients.profiles.clone().preview_profile(request).await;
        answer.expect("previewed").into_inner()
    }
}

fn echoing() -> Plan {
    Plan::new().script(tests::script::ECHO).with_tokens()
}

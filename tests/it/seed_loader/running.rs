//! The seed's list of known gaps, closed: each path on which something could change under a running session.
//!
//! Seed 001, "Running-agent mutation boundary and known gaps". A real turn runs here and its model does not answer
//! before it is let go; the loader's own tests walk each path of the guard alone (`guard.rs`), on both stores.

use std::sync::Arc;

use model::{Abilities, ChatModel, Error, EventStream, Request, Scripted, Tool, ToolCall};
use serde_json::json;
use tests::{prelude::*, script};
use tokio::sync::Semaphore;
use tonic::Streaming;

use super::{Bench, card, preset};
use common::Reason;
use loader::BindingOwner;

/// Echoes, but no sooner than it is let.
#[derive(Clone)]
struct Held {
    model: Arc<Scripted>,
    may_speak: Arc<Semaphore>,
}

// === impl Held ===

#[tonic::async_trait]
impl ChatModel for Held {
    fn abilities(&self) -> &Abilities {
        self.model.abilities()
    }

    async fn stream(&self, request: Request) -> Result<EventStream, Error> {
        self.may_speak.acquire().await.expect("open").forget();
        self.model.stream(request).await
    }

    async fn call_tool(&self, request: Request, tool: &Tool) -> Result<ToolCall, Error> {
        self.model.call_tool(request, tool).await
    }
}

/// A session that is in the middle of a turn, with everything bound that can be.
struct Running {
    bench: Bench,
    may_speak: Arc<Semaphore>,
    frames: Streaming<ledger::SubmitTurnResponse>,
    session: String,
    selection: loader::Selection,
    worlds: Vec<String>,
}

/// The holders of a world, and the place of each one's world among [`Running::worlds`].
const HOLDERS: [BindingOwner; 4] =
    [BindingOwner::User, BindingOwner::Preset, BindingOwner::Character, BindingOwner::Global];

// === impl Running ===

impl Running {
    async fn new() -> Self {
        let may_speak = Arc::new(Semaphore::new(0));
        let model = Arc::new(Scripted::parse(script::ECHO).expect("a script"));
        let model = Held { model, may_speak: may_speak.clone() };
        let bench = Bench::of(Plan::new().model(model).with_tokens().near().await);
        let mut worlds = Vec::new();
        for text in ["OF-SESSION", "OF-USER", "OF-PRESET", "OF-CHARACTER", "OF-ALL", "OTHER"] {
            worlds.push(bench.lore(&[("", text)]).await);
        }
        let selection = loader::Selection {
            preset_id: bench.preset("P", &preset(&[("main", "OLD-PROMPT")])).await,
            character_id: bench
                .card(&card("Mira", json!({ "description": "OLD-CARD" })))
                .await
                .character_id,
            user_id: bench.user("Bob", "OLD-USER").await,
            world_ids: vec![worlds[0].clone()],
            ..Default::default()
        };
        let session = bench.session(Some(selection.clone())).await;
        let mut running = Self {
            frames: bench.clients.begin(&session, "none", "x").await.expect("begun"),
            bench,
            may_speak,
            session,
            selection,
            worlds,
        };
        running.end().await;
        for (at, holder) in HOLDERS.into_iter().enumerate() {
            let world = running.worlds[at + 1].clone();
            running.bind(holder, &world).await.expect("bound");
        }
        running.begin("first").await;
        running
    }

    /// Begins a turn and sees it compile.
    async fn begin(&mut self, request_id: &str) {
        let frames = self.bench.clients.begin(&self.session, request_id, "Well?").await;
        self.frames = frames.expect("begun");
        loop {
            let frame = self.frames.message().await.expect("a frame").expect("more to come").frame;
            let frame = frame.and_then(|frame| frame.frame);
            if matches!(frame, Some(ledger::turn_frame::Frame::RequestSent(_))) {
                return;
            }
        }
    }

    /// Lets the turn end; the request that it sent.
    async fn end(&mut self) -> Sent {
        self.may_speak.add_permits(1);
        while self.frames.message().await.expect("a frame").is_some() {}
        let list =
            ledger::ListRequestsRequest { session_id: self.session.clone(), ..Default::default() };
        let listed = self.bench.clients.contexts.clone().list_requests(list).await;
        let newest =
            listed.expect("listed").into_inner().requests.into_iter().map(|one| one.offset);
        let newest = newest.max().expect("a request");
        self.bench.clients.sent(&self.session, newest).await.expect("kept")
    }

    /// The next turn's request.
    async fn next(&mut self) -> Sent {
        self.begin("next").await;
        self.end().await
    }

    async fn bind(&self, holder: BindingOwner, world: &String) -> Result<(), Status> {
        let id = match holder {
            BindingOwner::User => &self.selection.user_id,
            BindingOwner::Preset => &self.selection.preset_id,
            BindingOwner::Character => &self.selection.character_id,
            _ => "",
        };
        self.bench.bind(holder, id, &[world]).await.map(drop)
    }

    async fn select(&self, change: impl FnOnce(&mut loader::Selection)) -> Result<(), Status> {
        let mut selection = self.selection.clone();
        change(&mut selection);
        self.bench.select(&self.session, selection).await.map(drop)
    }

    async fn template(&self) -> String {
        use loader::create_template_request::Source;
        let source = Some(Source::Selection(loader::Selection::default()));
        let request =
            loader::CreateTemplateRequest { name: "T".to_owned(), source, ..Default::default() };
        let made = self.bench.templates().create_template(request).await.expect("made");
        made.into_inner().template.expect("a template").template_id
    }

    async fn apply(&self, template_id: String) -> Result<(), Status> {
        let session_id = self.session.clone();
        let request =
            loader::ApplyTemplateRequest { template_id, session_id, ..Default::default() };
        self.bench.templates().apply_template(request).await.map(drop)
    }

    /// The answer is a refusal that names the session that runs.
    #[track_caller]
    fn refused(&self, answer: Result<(), Status>, expected: Reason) {
        let status = answer.refused();
        assert_eq!(reason(&status), (Code::FailedPrecondition, expected), "{status}");
        assert!(status.message().contains(&self.session), "{status}");
    }
}

/// "selection APIs … 409 with PRESET_, CHARACTER_, USER_ and WORLD_BOOK_AGENT_RUNNING": the world books' own regression
/// test is the one that the seed misses.
#[tokio::test]
async fn gap_the_selection_of_a_running_session_is_not_changed_in_any_part() {
    let mut running = Running::new().await;
    running.refused(running.select(|new| new.preset_id.clear()).await, Reason::PresetAgentRunning);
    let card = running.select(|new| new.character_id.clear()).await;
    running.refused(card, Reason::CharacterAgentRunning);
    running.refused(running.select(|new| new.user_id.clear()).await, Reason::UserAgentRunning);
    let worlds = running.select(|new| new.world_ids.clear()).await;
    running.refused(worlds, Reason::WorldBookAgentRunning);
    running.select(|_| {}).await.expect("nothing changes");
    let sent = running.end().await;
    assert!(sent.contains("OLD-PROMPT") && sent.contains("OF-SESSION"), "{}", sent.text());
    running.select(|new| new.preset_id.clear()).await.expect("once it has ended");
    assert!(!running.next().await.contains("OLD-PROMPT"));
}

/// "session-template/configuration apply may overwrite a running target with a whole selection".
#[tokio::test]
async fn gap_a_template_is_not_applied_to_a_running_session() {
    let mut running = Running::new().await;
    let template = running.template().await;
    running.refused(running.apply(template.clone()).await, Reason::TemplateAgentRunning);
    let before = running.bench.selection(&running.session).await;
    assert_eq!(before.selection.expect("one").preset_id, running.selection.preset_id);
    running.end().await;
    running.apply(template).await.expect("once it has ended");
    assert!(!running.next().await.contains("OLD-PROMPT"));
}

/// "deleting a preset, card, user or world book that is referenced clears selections, without looking at each agent".
#[tokio::test]
async fn gap_nothing_that_a_running_session_uses_is_deleted() {
    let mut running = Running::new().await;
    let loader::Selection { preset_id, character_id, user_id, .. } = running.selection.clone();
    let presets = || running.bench.clients.presets.clone();
    let request = loader::DeletePresetRequest { preset_id, ..Default::default() };
    let deleted = presets().delete_preset(request).await.map(drop);
    running.refused(deleted, Reason::PresetAgentRunning);
    let request = loader::DeleteCharacterRequest { character_id, ..Default::default() };
    let deleted = running.bench.clients.characters.clone().delete_character(request).await;
    running.refused(deleted.map(drop), Reason::CharacterAgentRunning);
    let request = loader::DeleteUserRequest { user_id, ..Default::default() };
    let deleted = running.bench.clients.users.clone().delete_user(request.clone()).await;
    running.refused(deleted.map(drop), Reason::UserAgentRunning);
    for world in &running.worlds[..5] {
        let deleted = running.bench.delete_world(world).await.map(drop);
        running.refused(deleted, Reason::WorldBookAgentRunning);
    }
    running.bench.delete_world(&running.worlds[5]).await.expect("it takes no part");
    let sent = running.end().await;
    for text in ["OF-SESSION", "OF-USER", "OF-PRESET", "OF-CHARACTER", "OF-ALL"] {
        assert!(sent.contains(text), "{text}: {}", sent.text());
    }
    running.bench.clients.users.clone().delete_user(request).await.expect("once it has ended");
    let sent = running.next().await;
    assert!(!sent.contains("OLD-USER") && !sent.contains("OF-USER"), "{}", sent.text());
}

/// "changing the world book relations of a user, preset or card may change the worlds of one or several sessions".
#[tokio::test]
async fn gap_the_worlds_of_what_a_running_session_uses_are_not_changed() {
    let mut running = Running::new().await;
    for holder in HOLDERS {
        let bound = running.bind(holder, &running.worlds[5]).await;
        running.refused(bound, Reason::WorldBookAgentRunning);
    }
    running.end().await;
    running.bind(BindingOwner::User, &running.worlds[5]).await.expect("once it has ended");
    let sent = running.next().await;
    assert!(sent.contains("OTHER") && !sent.contains("OF-USER"), "{}", sent.text());
}

/// "changing the body of a bound resource does not change its id, but what a later compile reads": saved, and said to take
/// effect with the next turn; or refused where the caller asks for that.
#[tokio::test]
async fn gap_a_body_that_is_edited_while_a_session_runs_takes_effect_with_the_next_turn() {
    let mut running = Running::new().await;
    let paths = |path: &str| Some(prost_types::FieldMask { paths: vec![path.to_owned()] });
    let edit = |if_running: loader::IfRunning| loader::UpdateUserRequest {
        user: Some(loader::User {
            user_id: running.selection.user_id.clone(),
            description: "NEW-USER".to_owned(),
            ..Default::default()
        }),
        update_mask: paths("description"),
        if_running: if_running.into(),
        ..Default::default()
    };
    let users = || running.bench.clients.users.clone();
    let rejected = users().update_user(edit(loader::IfRunning::Reject)).await.map(drop);
    running.refused(rejected, Reason::UserAgentRunning);
    let saved = users().update_user(edit(loader::IfRunning::Save)).await.expect("saved");
    let saved = saved.into_inner();
    assert_eq!(saved.effective(), loader::Effective::NextTurn);
    assert_eq!(saved.running_session_ids, [running.session.clone()]);
    let card = loader::UpdateCharacterRequest {
        character: Some(loader::Character {
            character_id: running.selection.character_id.clone(),
            description: "NEW-CARD".to_owned(),
            ..Default::default()
        }),
        update_mask: paths("description"),
        ..Default::default()
    };
    let saved = running.bench.clients.characters.clone().update_character(card).await;
    assert_eq!(saved.expect("saved").into_inner().effective(), loader::Effective::NextTurn);
    let document = preset(&[("main", "NEW-PROMPT")]).to_string();
    let edited = loader::UpdatePresetRequest {
        preset: Some(loader::Preset {
            preset_id: running.selection.preset_id.clone(),
            document_json: document,
            ..Default::default()
        }),
        update_mask: paths("document_json"),
        ..Default::default()
    };
    let saved = running.bench.clients.presets.clone().update_preset(edited).await;
    assert_eq!(saved.expect("saved").into_inner().effective(), loader::Effective::NextTurn);

    let sent = running.end().await;
    for kind in ["PROMPT", "CARD", "USER"] {
        assert!(sent.contains(&format!("OLD-{kind}")), "{}", sent.text());
        assert!(!sent.contains(&format!("NEW-{kind}")), "{}", sent.text());
    }
    let next = running.next().await;
    for kind in ["PROMPT", "CARD", "USER"] {
        assert!(next.contains(&format!("NEW-{kind}")), "{}", next.text());
    }
}

/// "what has been assembled is a frozen snapshot": lore is edited at any time, and the next compile has it.
#[tokio::test]
async fn gap_lore_that_is_edited_while_a_session_runs_is_in_the_next_request() {
    let mut running = Running::new().await;
    let world_id = running.worlds[0].clone();
    let request = lorebook::CreateEntryRequest {
        world_id,
        entry: Some(lorebook::Entry {
            content: "NEW-LORE".to_owned(),
            constant: true,
            enabled: true,
            ..Default::default()
        }),
        ..Default::default()
    };
    running.bench.entries().create_entry(request).await.expect("saved");
    let sent = running.end().await;
    assert!(!sent.contains("NEW-LORE"), "{}", sent.text());
    let verified = running.bench.clients.verified(&running.session).await.expect("verified");
    assert_eq!(verified.first_bad_offset, 0);
    assert!(running.next().await.contains("NEW-LORE"));
}

/// A card's book that is replaced under a running session: the copy that the request was made with stays until the turn
/// has ended, and the next turn has the new one.
#[tokio::test]
async fn gap_a_cards_book_that_is_replaced_while_a_session_runs() {
    use loader::update_character_book_request::Part;
    let mut running = Running::new().await;
    let header = loader::BookHeader {
        character_id: running.selection.character_id.clone(),
        ..Default::default()
    };
    let book = json!({ "entries": [super::book_entry("well", "NEW-BOOK", 100)], "extensions": {} });
    let parts = [Part::Header(header), Part::Chunk(book.to_string().into_bytes())];
    let parts = parts.map(|part| loader::UpdateCharacterBookRequest { part: Some(part) });
    let saved = running.bench.clients.characters.clone();
    let saved = saved.clone().update_character_book(futures::stream::iter(parts)).await;
    assert_eq!(saved.expect("saved").into_inner().effective(), loader::Effective::NextTurn);
    assert!(!running.end().await.contains("NEW-BOOK"));
    assert!(running.next().await.contains("NEW-BOOK"));
}

/// The role-play policy is a body, too.
#[tokio::test]
async fn gap_the_policy_that_is_edited_while_a_session_runs() {
    let mut running = Running::new().await;
    running.end().await;
    let rp = loader::RpSelection { active: true, ..Default::default() };
    running.select(|new| new.rp = Some(rp)).await.expect("set");
    running.begin("second").await;
    let request =
        loader::SetRpPolicyRequest { text: "NEW-POLICY".to_owned(), ..Default::default() };
    let set = running.bench.policies().set_rp_policy(request).await.expect("set").into_inner();
    assert_eq!(set.effective(), loader::Effective::NextTurn);
    assert_eq!(set.running_session_ids, [running.session.clone()]);
    assert!(!running.end().await.contains("NEW-POLICY"));
    assert!(running.next().await.contains("NEW-POLICY"));
}

//! Another owner's resource answers exactly as an absent one: code, message, details, trailers.

use prost::Message;
use tests::{
    observed::observe,
    prelude::*,
    world::{ADA, BOB, EVE},
};

use common::ProfileMode;

#[tokio::test]
async fn what_is_anothers_is_absent_to_the_byte() {
    let (world, _url) = Plan::new().with_tokens().near_on_a_port().await;
    let ada = world.caller(ADA);
    let cast = ada.cast().await.expect("imported");
    let session = ada.opened(&cast, ProfileMode::Journal).await.expect("opened");
    let told = ada.say(&session, "turn-1", job::FIRST).await.expect("a turn");
    let change = ada.apply(&told.proposed()[0].changeset_id).await.expect("applied").change;
    let ids = Ids {
        session,
        generation: told.started().generation_id.clone(),
        request: told.request().offset,
        changeset: told.proposed()[0].changeset_id.clone(),
        change: change.expect("one").change_id,
        cast,
    };
    let link = &world.links().ledger;
    for case in cases(&ids) {
        let path = case.path;
        let owners = observe(link, ADA, path, &case.theirs).await;
        for token in [BOB, EVE] {
            let theirs = observe(link, token, path, &case.theirs).await;
            assert_ne!(theirs, owners, "{path} answers its owner");
            let nobodys = observe(link, token, path, &case.nobodys).await;
            assert_eq!(
                theirs.shown(&case.id),
                nobodys.shown(&case.nobodys_id),
                "{path} as {token}"
            );
            assert_eq!(theirs.code(), "5", "{path} is NOT_FOUND");
        }
    }
}

#[tokio::test]
async fn lists_hold_nothing_of_anothers() {
    let world = Plan::new().with_tokens().near().await;
    let ada = world.caller(ADA);
    let cast = ada.cast().await.expect("imported");
    let session = ada.opened(&cast, ProfileMode::Journal).await.expect("opened");
    ada.say(&session, "turn-1", job::FIRST).await.expect("a turn");
    let link = &world.links().ledger;
    for list in [
        "/skald.ledger.v1.SessionService/ListSessions",
        "/skald.loader.v1.PresetService/ListPresets",
        "/skald.loader.v1.CharacterService/ListCharacters",
        "/skald.loader.v1.UserService/ListUsers",
        "/skald.lorebook.v1.WorldService/ListWorlds",
        "/skald.proposal.v1.ChangesetService/ListChangesets",
    ] {
        let bobs = observe(link, BOB, list, &[]).await;
        assert_eq!(bobs.body, [0; 5], "{list}: an empty message");
        assert_ne!(observe(link, ADA, list, &[]).await, bobs, "{list}");
    }
}

/// What ada has.
struct Ids {
    session: String,
    generation: String,
    request: u64,
    changeset: String,
    change: String,
    cast: Cast,
}

/// One question, with an id of ada's and with one of the same form that nobody has.
struct Case {
    path: &'static str,
    id: String,
    theirs: Vec<u8>,
    nobodys_id: String,
    nobodys: Vec<u8>,
}

/// Questions about one id.
struct About {
    id: String,
    cases: Vec<Case>,
}

// === impl About ===

impl About {
    fn new(id: &str) -> Self {
        Self { id: id.to_owned(), cases: Vec::new() }
    }

    fn ask<M: Message>(mut self, path: &'static str, ask: impl Fn(String) -> M) -> Self {
        let nobodys_id = nobodys(&self.id);
        self.cases.push(Case {
            path,
            theirs: ask(self.id.clone()).encode_to_vec(),
            nobodys: ask(nobodys_id.clone()).encode_to_vec(),
            id: self.id.clone(),
            nobodys_id,
        });
        self
    }
}

/// The id with its last digits changed: well formed, and never minted.
fn nobodys(id: &str) -> String {
    let cut = id.len() - 6;
    let changed = id[cut..].chars().map(|c| if c == '0' { '1' } else { '0' });
    format!("{}{}", &id[..cut], changed.collect::<String>())
}

fn cases(ids: &Ids) -> Vec<Case> {
    let about = [
        about_the_session(&ids.session, ids.request),
        about_the_selection(&ids.session),
        about_the_cast(&ids.cast),
        about_the_lore(&ids.cast.world.world_id, &ids.change),
        about_the_changeset(&ids.changeset),
        vec![
            About::new(&ids.generation)
                .ask("/skald.ledger.v1.GenerationService/ResumeGeneration", |generation_id| {
                    ledger::ResumeGenerationRequest { generation_id, after_byte: 0 }
                }),
        ],
    ];
    about.into_iter().flatten().flat_map(|about| about.cases).collect()
}

fn request_id() -> String {
    "another".to_owned()
}

fn about_the_session(id: &str, offset: u64) -> Vec<About> {
    let about = About::new(id)
        .ask("/skald.ledger.v1.SessionService/GetSession", |session_id| ledger::GetSessionRequest {
            session_id,
        })
        .ask("/skald.ledger.v1.TurnService/SubmitTurn", |session_id| ledger::SubmitTurnRequest {
            session_id,
            request_id: request_id(),
            content: Some("Hello.".to_owned()),
            ..Default::default()
        })
        .ask("/skald.ledger.v1.TurnService/ListTurns", |session_id| ledger::ListTurnsRequest {
            session_id,
            ..Default::default()
        })
        .ask("/skald.ledger.v1.TurnService/GetTurn", |session_id| ledger::GetTurnRequest {
            session_id,
            seq: 0,
        })
        .ask("/skald.ledger.v1.ContextService/GetRequest", |session_id| ledger::GetRequestRequest {
            session_id,
            offset,
        })
        .ask("/skald.ledger.v1.ContextService/ListRequests", |session_id| {
            ledger::ListRequestsRequest { session_id, ..Default::default() }
        })
        .ask("/skald.ledger.v1.ContextService/AddContext", |session_id| ledger::AddContextRequest {
            session_id,
            request_id: request_id(),
            content: "A fact.".to_owned(),
            ..Default::default()
        })
        .ask("/skald.ledger.v1.EventService/ReadEvents", |session_id| ledger::ReadEventsRequest {
            session_id,
            ..Default::default()
        })
        .ask("/skald.ledger.v1.EventService/VerifySession", |session_id| {
            ledger::VerifySessionRequest { session_id }
        });
    vec![about]
}

fn about_the_selection(session: &str) -> Vec<About> {
    let about = About::new(session)
        .ask("/skald.loader.v1.SelectionService/GetSelection", |session_id| {
            loader::GetSelectionRequest { session_id }
        })
        .ask("/skald.loader.v1.SelectionService/SetSelection", |session_id| {
            loader::SetSelectionRequest {
                session_id,
                selection: Some(loader::Selection::default()),
                request_id: request_id(),
                ..Default::default()
            }
        })
        .ask("/skald.loader.v1.ProfileService/PreviewProfile", |session_id| {
            loader::PreviewProfileRequest { session_id, ..Default::default() }
        })
        .ask("/skald.proposal.v1.EvaluationService/GetEvaluation", |session_id| {
            proposal::GetEvaluationRequest { session_id, turn_seq: 2 }
        });
    vec![about]
}

fn about_the_cast(cast: &Cast) -> Vec<About> {
    let preset = About::new(&cast.preset_id)
        .ask("/skald.loader.v1.PresetService/GetPreset", |preset_id| loader::GetPresetRequest {
            preset_id,
        })
        .ask("/skald.loader.v1.SelectionService/GetBindings", |owner_id| {
            loader::GetBindingsRequest { owner: loader::BindingOwner::Preset.into(), owner_id }
        });
    let character = About::new(&cast.character.character_id)
        .ask("/skald.loader.v1.CharacterService/GetCharacter", |character_id| {
            loader::GetCharacterRequest { character_id }
        });
    let user = About::new(&cast.user_id)
        .ask("/skald.loader.v1.UserService/GetUser", |user_id| loader::GetUserRequest { user_id })
        .ask("/skald.ledger.v1.SessionService/CreateSession", |user_id| {
            ledger::CreateSessionRequest {
                request_id: request_id(),
                selection: Some(loader::Selection { user_id, ..Default::default() }),
                ..Default::default()
            }
        });
    vec![preset, character, user]
}

fn about_the_lore(world: &str, change: &str) -> Vec<About> {
    let world = About::new(world)
        .ask("/skald.lorebook.v1.WorldService/GetWorld", |world_id| lorebook::GetWorldRequest {
            world_id,
            ..Default::default()
        })
        .ask("/skald.lorebook.v1.WorldService/UpdateWorld", |world_id| {
            let name = "Mine".to_owned();
            lorebook::UpdateWorldRequest {
                world: Some(lorebook::World { world_id, name, ..Default::default() }),
                update_mask: Some(prost_types::FieldMask { paths: vec!["name".to_owned()] }),
                request_id: request_id(),
            }
        })
        .ask("/skald.lorebook.v1.HistoryService/ListChanges", |world_id| {
            lorebook::ListChangesRequest { world_id, ..Default::default() }
        })
        .ask("/skald.lorebook.v1.HistoryService/ResetWorld", |world_id| {
            lorebook::ResetWorldRequest { world_id, request_id: request_id() }
        });
    let change = About::new(change)
        .ask("/skald.lorebook.v1.HistoryService/GetChange", |change_id| {
            lorebook::GetChangeRequest { change_id, ..Default::default() }
        })
        .ask("/skald.lorebook.v1.HistoryService/RevertChange", |change_id| {
            lorebook::RevertChangeRequest { change_id, request_id: request_id() }
        });
    vec![world, change]
}

fn about_the_changeset(changeset: &str) -> Vec<About> {
    let about = About::new(changeset)
        .ask("/skald.proposal.v1.ChangesetService/GetChangeset", |changeset_id| {
            proposal::GetChangesetRequest { changeset_id }
        })
        .ask("/skald.proposal.v1.ChangesetService/UpdateChangeset", |changeset_id| {
            proposal::UpdateChangesetRequest {
                changeset_id,
                request_id: request_id(),
                operations: vec![lorebook::Operation {
                    kind: lorebook::OperationKind::Create.into(),
                    name: Some("A name".to_owned()),
                    content: Some("A text.".to_owned()),
                    constant: Some(true),
                    ..Default::default()
                }],
                ..Default::default()
            }
        })
        .ask("/skald.proposal.v1.ChangesetService/ApplyChangeset", |changeset_id| {
            let request_id = request_id();
            proposal::ApplyChangesetRequest { changeset_id, request_id, ..Default::default() }
        })
        .ask("/skald.proposal.v1.ChangesetService/RejectChangeset", |changeset_id| {
            proposal::RejectChangesetRequest { changeset_id, request_id: request_id() }
        })
        .ask("/skald.proposal.v1.ChangesetService/UndoChangeset", |changeset_id| {
            proposal::UndoChangesetRequest { changeset_id, request_id: request_id() }
        });
    vec![about]
}

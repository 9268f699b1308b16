//! What was damaged in the store is named, and neither shown nor sent as what was written.

use std::path::Path;

use tests::{prelude::*, script, sqlite};

use common::Reason;

/// What may happen to the row of one event.
const HARMS: [(&str, &str); 8] = [
    ("payload", "update events set payload = cast(replace(payload, 'hello', 'jello') as blob)"),
    ("salt", "update events set salt = zeroblob(16)"),
    ("commitment", "update events set commitment = zeroblob(32)"),
    ("chain", "update events set chain = zeroblob(32)"),
    ("recorded_at", "update events set recorded_at = recorded_at + 1"),
    ("actor", "update events set actor = actor || 'x'"),
    ("kind", "update events set kind = kind || 'x'"),
    ("row", "delete from events"),
];

/// A session with a turn, and the offsets of its message and its request.
struct Spoken {
    session: String,
    message: u64,
    request: u64,
}

async fn spoken(clients: &Clients, name: &str) -> Spoken {
    let session = clients.create(name, None).await.expect("a session");
    let told = clients.say(&session, &format!("{name}-1"), "hello").await.expect("a turn");
    let message = told.started().message.as_ref().expect("a message").offset;
    Spoken { session, message, request: told.request().offset }
}

async fn harm(data: &Path, statement: &str, session: &str, offset: u64) {
    let at = format!("where session_id = '{session}' and at_offset = {offset}");
    sqlite::change(data, "ledger", format!("{statement} {at}")).await;
}

#[track_caller]
fn named(refused: &Status, what: &str, session: &str, offset: u64) {
    assert_eq!(reason(refused), (Code::DataLoss, Reason::ChainBroken), "{what}: {refused}");
    let told = refused.message();
    assert!(told.contains(session), "{what}: {told}");
    assert!(told.contains(&format!("offset {offset}")), "{what}: {told}");
}

#[tokio::test]
async fn every_damaged_column_of_an_event_is_named_by_every_reading() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = Plan::new().script(script::ECHO).in_folder(folder.path()).near().await;
    let clients = world.clients();
    let mut sessions = Vec::new();
    for (what, _) in HARMS {
        sessions.push(spoken(&clients, what).await);
    }
    let whole = spoken(&clients, "whole").await;
    drop(clients);
    world.end().await;
    eventually("the data folder to be free", || async {
        host::database::DataFolder::open(folder.path()).is_ok().then_some(())
    })
    .await;
    for (Spoken { session, message, .. }, (_, statement)) in sessions.iter().zip(HARMS) {
        harm(folder.path(), statement, session, *message).await;
    }

    let world = Plan::new().script(script::ECHO).in_folder(folder.path()).near().await;
    let clients = world.clients();
    for (Spoken { session, message, request }, (what, _)) in sessions.iter().zip(HARMS) {
        let verified = clients.verified(session).await.expect("damage is an answer");
        assert_eq!(verified.first_bad_offset, *message, "{what}");
        named(&clients.log(session).await.refused(), what, session, *message);
        named(&clients.history(session).await.refused(), what, session, *message);
        named(&clients.sent(session, *request).await.refused(), what, session, *message);
        let said = clients.say(session, &format!("{what}-2"), "again").await.refused();
        named(&said, what, session, *message);
    }
    let verified = clients.verified(&whole.session).await.expect("verified");
    assert_eq!((verified.first_bad_offset, verified.requests_checked), (0, 1));
    clients.say(&whole.session, "whole-2", "again").await.expect("others are whole");
}

#[tokio::test]
async fn a_text_that_is_damaged_while_the_process_runs_is_not_sent() {
    let world = Plan::new().script(script::ECHO).near().await;
    let clients = world.clients();
    let Spoken { session, .. } = spoken(&clients, "harmed").await;
    let log = clients.log(&session).await.expect("a log");
    let reply = log.iter().find(|event| event.kind == "turn-completed").expect("a reply").offset;
    harm(world.data(), HARMS[0].1, &session, reply).await;

    let told = clients.say(&session, "harmed-2", "again").await.expect("frames");
    let failed = told.failed().clone();
    assert_eq!(failed.reason, "DATA_LOSS", "{}", failed.message);
    assert!(failed.message.contains(&session), "{}", failed.message);
    assert!(failed.message.contains(&format!("offset {reply}")), "{}", failed.message);
    assert!(!told.kinds().contains(&"request_sent"), "nothing was sent");
}

/// Every stored resource and record that a client reads, by the harm to its row.
#[tokio::test]
async fn damaged_files_and_records_are_named_and_not_taken_for_the_clients_mistake() {
    let world = Plan::new().near().await;
    let clients = world.clients();
    let cast = clients.cast().await.expect("imported");
    let session = clients.opened(&cast, common::ProfileMode::Journal).await.expect("opened");
    let told = clients.say(&session, "turn-1", job::FIRST).await.expect("a turn");
    let changeset = told.proposed()[0].changeset_id.clone();
    let selection = cast.selection();
    for (service, statement) in [
        ("loader", "update presets set document = cast(replace(document, '{', '[') as blob)"),
        ("loader", "update characters set original = cast(original || 'x' as blob)"),
        ("loader", "update users set name = cast(x'ff' as text)"),
        ("loader", "update selections set rest = x'00'"),
        ("proposal", "update changesets set body = x'00'"),
        ("proposal", "update evaluations set body = x'00'"),
    ] {
        sqlite::change(world.data(), service, statement.to_owned()).await;
    }
    let loader::Selection { preset_id, character_id, user_id, .. } = selection;
    let (mut presets, mut characters) = (clients.presets.clone(), clients.characters.clone());
    let (mut users, mut selections) = (clients.users.clone(), clients.selections.clone());
    let mut evaluations = clients.evaluations.clone();
    let get = loader::GetPresetRequest { preset_id: preset_id.clone() };
    let export = loader::ExportPresetRequest { preset_id: preset_id.clone() };
    let id = character_id.clone();
    let card = loader::ExportCharacterRequest { character_id: id, ..Default::default() };
    let user = loader::GetUserRequest { user_id: user_id.clone() };
    let selected = loader::GetSelectionRequest { session_id: session.clone() };
    let turn_seq = told.reply().seq;
    let judged = proposal::GetEvaluationRequest { session_id: session.clone(), turn_seq };
    for (refused, named) in [
        (presets.get_preset(get).await.map(drop), &preset_id),
        (presets.export_preset(export).await.map(drop), &preset_id),
        (characters.export_character(card).await.map(drop), &character_id),
        (users.get_user(user).await.map(drop), &user_id),
        (selections.get_selection(selected).await.map(drop), &session),
        (clients.changeset(&changeset).await.map(drop), &changeset),
        (clients.listed(proposal::ChangesetFilter::Open).await.map(drop), &changeset),
        (evaluations.get_evaluation(judged).await.map(drop), &"body".to_owned()),
    ] {
        let refused = refused.err().unwrap_or_else(|| panic!("{named} of {cast:?} was read"));
        assert_eq!(reason(&refused), (Code::DataLoss, Reason::ChainBroken), "{refused:?}");
        assert!(refused.message().contains(named), "{named}: {}", refused.message());
    }
}

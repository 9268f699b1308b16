//! An acknowledged write is never lost and never doubled, through retries, reconnects and restarts.

use std::path::Path;

use skald::demo::samples;
use tests::prelude::*;

use common::{ProfileMode, Reason};
use ledger::Phase;

/// What was written in a session: nothing of it may come twice.
async fn count(clients: &Clients, session: &str, kind: &str) -> usize {
    clients.kinds(session).await.iter().filter(|k| *k == kind).count()
}

#[tokio::test]
async fn a_retry_of_a_finished_turn_is_the_same_turn_from_its_start() {
    let world = World::near().await;
    let clients = world.clients();
    let cast = clients.cast().await.expect("imported");
    let session = clients.opened(&cast, ProfileMode::Journal).await.expect("opened");
    let first = clients.say(&session, "turn-1", job::FIRST).await.expect("a turn");
    let log = clients.log(&session).await.expect("a log");
    let again = clients.say(&session, "turn-1", job::FIRST).await.expect("answered");
    assert_eq!((again.kinds(), again.text()), (first.kinds(), first.text()));
    assert_eq!(again.reply(), first.reply());
    assert_eq!(again.request(), first.request());
    assert_eq!(clients.log(&session).await.expect("a log"), log, "nothing was written");
    let other = clients.say(&session, "turn-1", "Something else.").await.refused();
    assert_eq!(reason(&other), (Code::AlreadyExists, Reason::RequestIdReused));
}

#[tokio::test]
async fn retries_are_answered_across_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = Plan::new().in_folder(folder.path()).near().await;
    let clients = world.clients();
    let cast = clients.cast().await.expect("imported");
    let opened = clients.open(&cast, ProfileMode::Journal).await.expect("opened");
    let session = opened.session.clone().expect("one").session_id;
    let told = clients.say(&session, "turn-1", job::FIRST).await.expect("a turn");
    let changeset = &told.proposed()[0].changeset_id;
    let applied = clients.apply(changeset).await.expect("applied");
    let log = clients.log(&session).await.expect("a log");
    drop(clients);
    world.end().await;

    let world = reopened(folder.path()).await;
    let clients = world.clients();
    let again = clients.cast().await.expect("answered");
    assert_eq!(again.selection(), cast.selection());
    let reopened = clients.open(&cast, ProfileMode::Journal).await.expect("answered");
    assert_eq!(reopened.opening, opened.opening);
    let retold = clients.say(&session, "turn-1", job::FIRST).await.expect("answered");
    assert_eq!((retold.kinds(), retold.reply()), (told.kinds(), told.reply()));
    let reapplied = clients.apply(changeset).await.expect("answered");
    assert_eq!(reapplied.change, applied.change);
    assert_eq!(clients.log(&session).await.expect("a log"), log);
}

async fn reopened(folder: &Path) -> World {
    eventually("the data folder to be free", || async {
        host::database::DataFolder::open(folder).is_ok().then_some(())
    })
    .await;
    Plan::new().in_folder(folder).near().await
}

/// Losing the client never loses the reply: it is resumed at any byte, without gap or duplicate.
#[tokio::test]
async fn a_lost_stream_is_resumed_at_any_byte() {
    let slow = format!("latency_ms = 20\n{}", samples::SCRIPT);
    let world = Plan::new().script(&slow).near().await;
    let clients = world.clients();
    let cast = clients.cast().await.expect("imported");
    let session = clients.opened(&cast, ProfileMode::Journal).await.expect("opened");
    let mut frames = clients.begin(&session, "turn-1", job::FIRST).await.expect("begun");
    let mut before = Told::default();
    while before.text().len() < 40 {
        before.push(frames.message().await.expect("a frame").expect("a frame").frame);
    }
    drop(frames);

    let generation = before.started().generation_id.clone();
    let seen = before.text().len() as u64;
    let rest = clients.resume(&generation, seen).await.expect("resumed while it runs");
    let whole = before.text() + &rest.text_after(seen);
    assert_eq!(rest.reply().content, whole);
    assert_eq!(rest.kinds().last(), Some(&"done"));
    for after in [0, 1, 17, whole.len() as u64] {
        let told = clients.resume(&generation, after).await.expect("resumed when finished");
        assert_eq!(told.text_after(after), whole[after as usize..], "after {after}");
    }
    let beyond = clients.resume(&generation, whole.len() as u64 + 1).await.refused();
    assert_eq!(reason(&beyond), (Code::InvalidArgument, Reason::FieldInvalid));
}

/// Many at once under one request id: one of them writes, all of them get its answer.
async fn many_at_once(clients: &Clients) {
    let cast = clients.cast().await.expect("imported");
    let openings = (0..6).map(|_| clients.open(&cast, ProfileMode::Journal));
    let opened = futures::future::try_join_all(openings).await.expect("answered");
    assert!(opened.iter().all(|answer| answer.opening == opened[0].opening));
    let session = opened[0].session.clone().expect("one").session_id;
    let list = ledger::ListSessionsRequest::default();
    let sessions = clients.sessions.clone().list_sessions(list).await.expect("a list");
    assert_eq!(sessions.into_inner().sessions.len(), 1);

    let turns = (0..6).map(|_| clients.say(&session, "turn-1", job::FIRST));
    let told = futures::future::try_join_all(turns).await.expect("answered");
    for one in &told {
        assert_eq!(one.started().generation_id, told[0].started().generation_id);
        assert_eq!(one.reply(), told[0].reply());
    }
    for kind in ["turn-received", "generation-started", "turn-completed"] {
        assert_eq!(count(clients, &session, kind).await, 1, "{kind}");
    }
    let turns = clients.history(&session).await.expect("turns");
    let phases: Vec<_> = turns.iter().map(ledger::Turn::phase).collect();
    assert_eq!(phases, [Phase::Seeded, Phase::Received, Phase::Completed]);
    assert_eq!(clients.listed(proposal::ChangesetFilter::Open).await.expect("a list").len(), 1);
}

#[tokio::test]
async fn many_at_once_under_one_request_id_are_one_near() {
    many_at_once(&World::near().await.clients()).await;
}

/// Two ledgers and two proposals share the calls.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_under_one_request_id_are_one_far() {
    let Some(world) = Plan::new().far().await else { return };
    many_at_once(&world.clients()).await;
}

#[tokio::test]
async fn while_a_turn_runs_another_one_is_refused_and_a_fact_is_taken() {
    let slow = format!("latency_ms = 50\n{}", samples::SCRIPT);
    let world = Plan::new().script(&slow).near().await;
    let clients = world.clients();
    let session = clients.create("create", None).await.expect("a session");
    let mut frames = clients.begin(&session, "turn-1", job::FIRST).await.expect("begun");
    frames.message().await.expect("a frame").expect("turn_started");
    let refused = clients.say(&session, "turn-2", job::SECOND).await.refused();
    assert_eq!(reason(&refused), (Code::FailedPrecondition, Reason::GenerationInProgress));
    let request = ledger::AddContextRequest {
        session_id: session.clone(),
        request_id: "fact".to_owned(),
        key: Some("weather".to_owned()),
        content: "Fog.".to_owned(),
        expected_head: 0,
    };
    let added = clients.contexts.clone().add_context(request.clone()).await.expect("added");
    let again = clients.contexts.clone().add_context(request).await.expect("answered");
    assert_eq!(added.into_inner().offset, again.into_inner().offset);
    while frames.message().await.expect("a frame").is_some() {}
    clients.say(&session, "turn-2", job::SECOND).await.expect("once it has ended");
    assert_eq!(count(&clients, &session, "turn-received").await, 2, "the refused one left nothing");
}

/// A list is made of what is kept beside the events, a reading of the events themselves.
async fn listed_as_read(clients: &Clients, moment: &str) {
    let list = ledger::ListSessionsRequest::default();
    let listed = clients.sessions.clone().list_sessions(list).await.expect("a list").into_inner();
    assert!(!listed.sessions.is_empty(), "{moment}");
    for session in listed.sessions {
        let request = ledger::GetSessionRequest { session_id: session.session_id.clone() };
        let read = clients.sessions.clone().get_session(request).await.expect("a session");
        assert_eq!(read.into_inner().session, Some(session), "{moment}");
    }
}

async fn lists_what_a_reading_shows(world: World) {
    let clients = world.clients();
    let cast = clients.cast().await.expect("imported");
    clients.create("plain", None).await.expect("a session");
    let session = clients.opened(&cast, ProfileMode::InChat).await.expect("opened");
    listed_as_read(&clients, "created").await;
    let mut frames = clients.begin(&session, "turn-1", job::FIRST).await.expect("begun");
    frames.message().await.expect("a frame").expect("turn_started");
    let running = clients.generation_of(&session).await;
    assert!(!running.is_empty(), "a reply is being produced");
    listed_as_read(&clients, "while a turn runs").await;
    while frames.message().await.expect("a frame").is_some() {}
    listed_as_read(&clients, "afterwards").await;
    assert_eq!(clients.generation_of(&session).await, "");
}

#[tokio::test]
async fn a_list_shows_each_session_as_a_reading_does_near() {
    let slow = format!("latency_ms = 50\n{}", samples::SCRIPT);
    lists_what_a_reading_shows(Plan::new().script(&slow).near().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_shows_each_session_as_a_reading_does_far() {
    let slow = format!("latency_ms = 50\n{}", samples::SCRIPT);
    let Some(world) = Plan::new().script(&slow).far().await else { return };
    lists_what_a_reading_shows(world).await;
}

/// Writers of one session wait for each other, and none is told to come again.
async fn many_writers(clients: &Clients) {
    let session = clients.create("create", None).await.expect("a session");
    let facts = (0..48).map(|at| ledger::AddContextRequest {
        session_id: session.clone(),
        request_id: format!("fact-{at}"),
        key: None,
        content: format!("Fact {at}."),
        expected_head: 0,
    });
    let writes = facts.map(async |fact| clients.contexts.clone().add_context(fact).await);
    let written = futures::future::try_join_all(writes).await.expect("all of them");
    let mut offsets: Vec<u64> = written.iter().map(|fact| fact.get_ref().offset).collect();
    offsets.sort_unstable();
    assert_eq!(offsets, Vec::from_iter(2..50));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_writers_of_one_session_near() {
    many_writers(&World::near().await.clients()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_writers_of_one_session_far() {
    let Some(world) = Plan::new().far().await else { return };
    many_writers(&world.clients()).await;
}

/// Edits that name no etag are made one after the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_edits_without_an_etag_are_all_made() {
    let world = World::near().await;
    let clients = world.clients();
    let user = clients.user().await.expect("a user");
    let edits = (0..16).map(async |at| {
        let name = format!("Name {at}");
        let user = loader::User { user_id: user.user_id.clone(), name, ..Default::default() };
        let request = loader::UpdateUserRequest {
            user: Some(user),
            update_mask: Some(prost_types::FieldMask { paths: vec!["name".to_owned()] }),
            ..Default::default()
        };
        clients.users.clone().update_user(request).await
    });
    futures::future::try_join_all(edits).await.expect("all of them");
}

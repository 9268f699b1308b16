//! An authored turn is inert, and it always says who wrote it.

use tests::prelude::*;

use common::{Author, ProfileMode, Reason};
use kernel::{Clock as _, SystemClock};
use ledger::{AuthoredTurn, Phase, TurnClass, Visibility, WhenBusy};
use model::{Abilities, Scripted};
use skald::demo::samples;
use tests::{
    clients,
    recording::Recording,
    world::{ADA, BOB},
};

#[tokio::test]
async fn it_calls_no_model_queues_no_work_and_says_nothing_of_a_generation() {
    let recording = Recording::of(samples::SCRIPT);
    let world = Plan::new().model(recording.clone()).near().await;
    let clients = world.clients();
    let cast = clients.cast().await.expect("imported");
    let session = clients.opened(&cast, ProfileMode::Journal).await.expect("opened");
    let before = clients.log(&session).await.expect("a log").len();
    for at in 0..3 {
        let turn = job::authored(&format!("We sank it off the mole, part {at}."));
        let written = clients.write(&session, &format!("write-{at}"), turn).await.expect("written");
        assert!(!written.replayed);
    }
    assert_eq!(clients.kinds(&session).await[before..], ["turn-seeded"; 3], "one event each");
    assert_eq!(recording.calls(), 0, "no model was asked for a reply or a verdict");

    // Work is done in order: once the lived turn is judged, older work would be, too.
    let told = clients.say(&session, "turn-1", job::FIRST).await.expect("a turn");
    assert_eq!(told.evaluation(), ledger::EvaluationState::Finished);
    assert_eq!(recording.calls(), 2, "one reply and one verdict");
    for turn_seq in 0..=4 {
        let request = proposal::GetEvaluationRequest { session_id: session.clone(), turn_seq };
        let answer = clients.evaluations.clone().get_evaluation(request).await;
        assert_eq!(answer.refused().code(), Code::NotFound, "turn {turn_seq} was never judged");
    }
}

#[tokio::test]
async fn its_provenance_is_kept_with_it() {
    let world = Plan::new().with_tokens().near().await;
    let ada = world.caller(ADA);
    let session = ada.create("create", None).await.expect("a session");
    let claimed_time = prost_types::Timestamp { seconds: 1_000_000, nanos: 5_000 };
    let turn = AuthoredTurn {
        author: Author::System.into(),
        turn_class: TurnClass::Narration.into(),
        origin: "an old log".to_owned(),
        claimed_time: Some(claimed_time),
        visibility: Some(Visibility { model: true, user: true, memory_eligible: true }),
        ..job::authored("Night falls.")
    };
    let written = ada.write(&session, "write", turn).await.expect("written").turn.expect("a turn");
    let kept = ada.history(&session).await.expect("turns").remove(0);
    assert_eq!(written, kept);
    assert_eq!((kept.phase(), kept.turn_class()), (Phase::Seeded, TurnClass::Narration));
    let provenance = kept.provenance.expect("always");
    assert_eq!(provenance.write_actor, "owner:ada", "the server's word, not the caller's");
    assert_eq!(provenance.claimed_author(), Author::System);
    assert_eq!((provenance.origin.as_str(), provenance.trust.as_str()), ("an old log", "owner"));
    assert_eq!(provenance.claimed_time, Some(claimed_time));
    assert!(provenance.injected_at.expect("stamped").seconds > claimed_time.seconds);
    let seen = provenance.visibility.expect("kept");
    assert!(seen.model && seen.user && seen.memory_eligible);
}

#[tokio::test]
async fn the_same_write_again_is_the_same_turn_and_another_one_is_refused() {
    let world = World::near().await;
    let clients = world.clients();
    let session = clients.create("create", None).await.expect("a session");
    let first = clients.write(&session, "write", job::authored("Hello.")).await.expect("written");
    let again = clients.write(&session, "write", job::authored("Hello.")).await.expect("answered");
    assert!(!first.replayed && again.replayed);
    assert_eq!(first.turn, again.turn);
    let other = clients.write(&session, "write", job::authored("Goodbye.")).await.refused();
    assert_eq!(reason(&other), (Code::AlreadyExists, Reason::RequestIdReused));
    assert_eq!(clients.history(&session).await.expect("turns").len(), 1);
}

/// Each rule of the manual's list breaks at once; mending the first leaves the second, in that order.
#[tokio::test]
async fn refusals_come_in_their_order() {
    let slow = format!("latency_ms = 400\n{}", samples::SCRIPT);
    let abilities = Abilities { user_first: true, ..Abilities::everything() };
    let model = Scripted::parse(&slow).expect("a script").with_abilities(abilities);
    let world = Plan::new().with_tokens().model(model).near().await;
    let bob = world.caller(BOB);
    let session = refusing_assistant_first(&bob).await;
    let plain = AuthoredTurn { author: Author::System.into(), ..job::authored("Aside.") };
    bob.write(&session, "taken", plain.clone()).await.expect("a narration may come first");

    let ahead = SystemClock.now().plus_ms(600_000).millis() / 1_000;
    let ahead = prost_types::Timestamp { seconds: ahead, nanos: 0 };
    let invisible = Visibility { model: false, user: false, memory_eligible: false };
    let mut turn = AuthoredTurn {
        author: Author::User.into(),
        turn_class: TurnClass::AssistantOutput.into(),
        visibility: Some(invisible),
        claimed_time: Some(ahead),
        ..plain
    };
    let mut place = ledger::WriteAuthoredTurnRequest {
        session_id: "00000000-0000-7000-8000-000000000000".to_owned(),
        request_id: "taken".to_owned(),
        turn: Some(turn.clone()),
        ..Default::default()
    };
    let generation = begins_a_turn(&bob, &session).await;

    let expect = async |code: Code, why: Reason, place: &ledger::WriteAuthoredTurnRequest| {
        let refused = bob.authored.clone().write_authored_turn(place.clone()).await.refused();
        assert_eq!(reason(&refused), (code, why), "{place:#?}");
    };
    expect(Code::AlreadyExists, Reason::RequestIdReused, &place).await;
    place.request_id = "fresh".to_owned();
    expect(Code::NotFound, Reason::NotFound, &place).await;
    place.session_id = session.clone();
    expect(Code::InvalidArgument, Reason::AuthorNotInjectable, &place).await;
    turn.author = Author::System.into();
    turn.turn_class = TurnClass::Instruction.into();
    place.turn = Some(turn.clone());
    expect(Code::PermissionDenied, Reason::ScopeMissing, &place).await;
    turn.turn_class = TurnClass::AssistantOutput.into();
    place.turn = Some(turn.clone());
    expect(Code::InvalidArgument, Reason::FieldInvalid, &place).await;
    turn.turn_class = TurnClass::Narration.into();
    place.turn = Some(turn.clone());
    expect(Code::InvalidArgument, Reason::FieldInvalid, &place).await;
    turn.visibility = None;
    place.turn = Some(turn.clone());
    expect(Code::InvalidArgument, Reason::FieldInvalid, &place).await;
    turn.claimed_time = None;
    place.turn = Some(turn);
    expect(Code::FailedPrecondition, Reason::GenerationInProgress, &place).await;

    place.when_busy = WhenBusy::Wait.into();
    bob.authored.clone().write_authored_turn(place).await.expect("written once the turn has ended");
    let kinds = bob.kinds(&session).await;
    let at = |kind: &str| kinds.iter().rposition(|k| k == kind).expect(kind);
    assert!(at("turn-seeded") > at("turn-completed"), "behind the turn that it waited for");
    drop(generation);
}

async fn refusing_assistant_first(clients: &Clients) -> String {
    let settings = ledger::SessionSettings {
        refuse_assistant_first: true,
        ..job::settings(ProfileMode::Journal)
    };
    let request = ledger::CreateSessionRequest {
        request_id: "refusing".to_owned(),
        settings: Some(settings),
        ..Default::default()
    };
    let created = clients.sessions.clone().create_session(request).await.expect("created");
    created.into_inner().session.expect("one").session_id
}

/// Starts a turn and comes back with its open stream as soon as it runs.
async fn begins_a_turn(
    clients: &Clients,
    session: &str,
) -> tonic::Streaming<ledger::SubmitTurnResponse> {
    let frames = clients.begin(session, "running", "Tell me of the old bell.").await;
    let mut frames = frames.expect("begun");
    frames.message().await.expect("a frame").expect("turn_started");
    frames
}

#[tokio::test]
async fn a_session_may_refuse_an_assistant_first_history() {
    let abilities = Abilities { user_first: true, ..Abilities::everything() };
    let model = Scripted::parse(samples::SCRIPT).expect("a script").with_abilities(abilities);
    let world = Plan::new().model(model).near().await;
    let clients = world.clients();
    let session = refusing_assistant_first(&clients).await;
    let refused = clients.write(&session, "write", job::authored("Welcome.")).await.refused();
    assert_eq!(reason(&refused), (Code::FailedPrecondition, Reason::AssistantFirstUnsupported));
    assert!(clients.history(&session).await.expect("turns").is_empty(), "nothing was written");
}

#[tokio::test]
async fn an_assistant_first_history_is_normalised_and_that_is_said() {
    let abilities = Abilities { user_first: true, ..Abilities::everything() };
    let recording = Recording::with_abilities(samples::SCRIPT, abilities);
    let world = Plan::new().model(recording.clone()).near().await;
    let clients = world.clients();
    let cast = clients.cast().await.expect("imported");
    let session = clients.opened(&cast, ProfileMode::Journal).await.expect("opened");
    let told = clients.say(&session, "turn-1", job::FIRST).await.expect("a turn");
    let said = &told.request().normalizations;
    assert!(said.iter().any(|rule| rule.contains("user_first")), "{said:?}");
    let sent = clients.sent(&session, told.request().offset).await.expect("a request");
    assert_eq!(&sent.record.normalizations, said, "the record says so, too");

    let replies = recording.replies();
    let roles: Vec<_> = replies[0].iter().map(|(role, _)| role.as_str()).collect();
    let first = roles.iter().position(|role| *role != "system").expect("messages");
    assert_eq!(roles[first], "user", "the provider saw a user first: {roles:?}");
}

/// What one field may not say.
type Fault = (&'static str, fn(&mut AuthoredTurn));

const FAULTS: [Fault; 10] = [
    ("author", |turn| turn.author = 0),
    ("author", |turn| turn.author = Author::User.into()),
    ("content", |turn| turn.content.clear()),
    ("content", |turn| turn.content = "x".repeat(kernel::limits::TURN_BYTES_MAX + 1)),
    ("turn_class", |turn| turn.turn_class = 99),
    ("turn_class", |turn| turn.turn_class = TurnClass::Instruction.into()),
    ("effects", |turn| turn.effects = 99),
    ("claimed_time", |turn| {
        turn.claimed_time = Some(prost_types::Timestamp { seconds: 1, nanos: -1 });
    }),
    ("claimed_time", |turn| {
        turn.claimed_time = Some(prost_types::Timestamp { seconds: 200_000_000_000, nanos: 0 });
    }),
    ("visibility", |turn| turn.visibility = Some(Visibility::default())),
];

/// The same turn lies in `turn` of one request and in `opening` of the other.
#[tokio::test]
async fn a_refused_field_is_named_by_its_place_in_the_request() {
    let world = World::near().await;
    let clients = world.clients();
    let session = clients.create("create", None).await.expect("a session");
    for (field, spoil) in FAULTS {
        let mut turn = job::authored("Hello.");
        spoil(&mut turn);
        let written = clients.write(&session, "write", turn.clone()).await.refused();
        assert_eq!(clients::field(&written), format!("turn.{field}"), "{written:?}");
        let request = ledger::CreateSessionWithOpeningRequest {
            request_id: "open".to_owned(),
            opening: Some(turn),
            ..Default::default()
        };
        let opened = clients.authored.clone().create_session_with_opening(request).await.refused();
        assert_eq!(clients::field(&opened), format!("opening.{field}"), "{opened:?}");
    }
    assert!(clients.history(&session).await.expect("turns").is_empty(), "nothing was written");
}

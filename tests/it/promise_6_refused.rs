//! A refusal is a sentence that begins with the field and names the value or the limit.

use tests::{prelude::*, script};

use common::Reason;

fn asking(session: &str, sampling: ledger::Sampling) -> ledger::SubmitTurnRequest {
    ledger::SubmitTurnRequest {
        session_id: session.to_owned(),
        request_id: "turn".to_owned(),
        content: Some("hello".to_owned()),
        sampling: Some(sampling),
        ..Default::default()
    }
}

#[tokio::test]
async fn sampling_beyond_its_bounds_is_refused_before_anything_is_written() {
    let world = Plan::new().script(script::ECHO).near().await;
    let clients = world.clients();
    let session = clients.create("create", None).await.expect("a session");
    let default = ledger::Sampling::default;
    let stops = |stop: &[&str]| stop.iter().map(|text| (*text).to_owned()).collect();
    let malformed = (Code::InvalidArgument, Reason::FieldInvalid);
    let too_much = (Code::ResourceExhausted, Reason::LimitExceeded);
    for (sampling, expected, told) in [
        (
            ledger::Sampling { top_p: Some(7.0), ..default() },
            malformed,
            "sampling.top_p is 7, not a number from 0 to 1",
        ),
        (
            ledger::Sampling { temperature: Some(2.5), ..default() },
            malformed,
            "sampling.temperature is 2.5, not a number from 0 to 2",
        ),
        (
            ledger::Sampling { temperature: Some(f64::NAN), ..default() },
            malformed,
            "sampling.temperature is NaN, not a number from 0 to 2",
        ),
        (
            ledger::Sampling { max_tokens: Some(u32::MAX), ..default() },
            too_much,
            "sampling.max_tokens has 4294967295 tokens, at most 1048576 are allowed",
        ),
        (
            ledger::Sampling { stop: stops(&["END", ""]), ..default() },
            malformed,
            "sampling.stop[1] is empty",
        ),
        (
            ledger::Sampling { stop: stops(&["a"; 17]), ..default() },
            too_much,
            "sampling.stop has 17 texts, at most 16 are allowed",
        ),
    ] {
        let refused = clients.submit(asking(&session, sampling)).await.refused();
        assert_eq!((reason(&refused), refused.message()), (expected, told));
    }
    let most = ledger::Sampling {
        temperature: Some(2.0),
        top_p: Some(1.0),
        max_tokens: Some(1),
        stop: stops(&["END"; 16]),
    };
    clients.submit(asking(&session, most)).await.expect("within the bounds");
}

#[tokio::test]
async fn a_reply_longer_than_the_models_window_is_refused() {
    let world = Plan::new().script(script::ECHO).near().await;
    let clients = world.clients();
    let mut settings = job::settings(common::ProfileMode::Journal);
    settings.model.as_mut().expect("a model").window_tokens = 300;
    let request = ledger::CreateSessionRequest { settings: Some(settings), ..Default::default() };
    let created = clients.sessions.clone().create_session(request).await.expect("created");
    let session = created.into_inner().session.expect("one").session_id;
    let sampling = ledger::Sampling { max_tokens: Some(301), ..Default::default() };
    let refused = clients.submit(asking(&session, sampling)).await.refused();
    assert_eq!(reason(&refused), (Code::InvalidArgument, Reason::FieldInvalid));
    let told = "sampling.max_tokens is 301, the model's window holds 300 tokens";
    assert_eq!(refused.message(), told);
    assert_eq!(clients.history(&session).await.expect("turns"), [], "nothing was written");
}

#[tokio::test]
async fn a_refused_authored_turn_is_told_as_a_sentence() {
    let world = World::near().await;
    let clients = world.clients();
    let session = clients.create("create", None).await.expect("a session");
    let hidden = ledger::Visibility::default();
    let remembered = ledger::Visibility { user: true, memory_eligible: true, ..hidden };
    for (turn, told) in [
        (
            ledger::AuthoredTurn { visibility: Some(hidden), ..job::authored("x") },
            "turn.visibility shows the turn to nobody",
        ),
        (
            ledger::AuthoredTurn { visibility: Some(remembered), ..job::authored("x") },
            "turn.visibility makes memory of a turn that the model does not see",
        ),
        (
            ledger::AuthoredTurn {
                turn_class: ledger::TurnClass::Instruction.into(),
                ..job::authored("x")
            },
            "turn.turn_class is instruction, which assistant may not write",
        ),
    ] {
        let refused = clients.write(&session, "write", turn).await.refused();
        assert_eq!(reason(&refused), (Code::InvalidArgument, Reason::FieldInvalid));
        assert_eq!(refused.message(), told);
    }
}

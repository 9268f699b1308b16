//! What does not fit the model's window is said with its figures, and holds no later message up.

use tests::{prelude::*, script};

use common::ProfileMode;
use ledger::OverflowPolicy;

/// A session whose model has a small window; what every request holds takes some 220 tokens of it.
async fn session(clients: &Clients, policy: OverflowPolicy, window: u32) -> String {
    let mut settings = job::settings(ProfileMode::Journal);
    settings.on_overflow = policy.into();
    settings.model.as_mut().expect("a model").window_tokens = window;
    let request = ledger::CreateSessionRequest {
        request_id: format!("create-{policy:?}"),
        settings: Some(settings),
        ..Default::default()
    };
    let created = clients.sessions.clone().create_session(request).await.expect("created");
    created.into_inner().session.expect("one").session_id
}

#[tokio::test]
async fn an_oversize_message_fails_with_its_figures_and_the_next_one_is_answered() {
    let world = Plan::new().script(script::ECHO).near().await;
    let clients = world.clients();
    for policy in [OverflowPolicy::Refuse, OverflowPolicy::TrimOldest] {
        let session = session(&clients, policy, 300).await;
        let turn = |at: u32| format!("{policy:?}-{at}");
        let told = clients.say(&session, &turn(1), &"x ".repeat(500)).await.expect("frames");
        let failed = told.failed();
        assert_eq!(failed.reason, "WINDOW_EXCEEDED", "{policy:?}: {}", failed.message);
        assert!(
            failed.message.contains("the window less the reply 300"),
            "{policy:?}: {}",
            failed.message
        );
        let retried = clients.say(&session, &turn(1), &"x ".repeat(500)).await.expect("frames");
        assert_eq!(retried.failed(), failed, "{policy:?}: a retry tells the same");

        let told = clients.say(&session, &turn(2), "short").await.expect("frames");
        assert_eq!(told.kinds().last(), Some(&"done"), "{policy:?}: {told:?}");
        let held: Vec<bool> = clients
            .history(&session)
            .await
            .expect("turns")
            .iter()
            .map(|turn| turn.in_context)
            .collect();
        assert_eq!(held, [false, false, true, true], "{policy:?}");
        let verified = clients.verified(&session).await.expect("verified");
        assert_eq!((verified.first_bad_offset, verified.drifted_requests), (0, vec![]));
    }
}

#[tokio::test]
async fn what_was_said_before_makes_room_for_a_message_that_fits_alone() {
    let world = Plan::new().script(script::ECHO).near().await;
    let clients = world.clients();
    let session = session(&clients, OverflowPolicy::TrimOldest, 600).await;
    clients.say(&session, "turn-1", &"one ".repeat(100)).await.expect("a turn");
    let told = clients.say(&session, "turn-2", &"two ".repeat(150)).await.expect("a turn");
    assert_eq!(told.kinds().last(), Some(&"done"), "{told:?}");
    let prefix = told.request().shared_prefix.as_ref().expect("compared");
    assert_eq!(prefix.break_cause(), ledger::BreakCause::Trim);
}

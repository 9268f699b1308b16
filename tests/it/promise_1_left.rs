//! A caller who leaves early cuts nothing in two: what was begun is finished without it.

use std::time::Duration;

use tests::{prelude::*, script, waiting::hang_up_after};
use tokio::time::timeout;

/// Shorter than a lease that nobody renews.
const SOON: Duration = Duration::from_secs(20);
/// Looks at a call before it is left; a call has ended by itself long before.
const LOOKS_MAX: usize = 1_000;

#[tokio::test]
async fn a_turn_whose_caller_left_at_any_moment_is_produced_once() {
    let world = Plan::new().script(script::ECHO).near().await;
    let clients = world.clients();
    let session = clients.create("create", None).await.expect("a session");
    let mut left = 0;
    for looks in 1..LOOKS_MAX {
        let turn = format!("turn-{looks}");
        if hang_up_after(looks, clients.say(&session, &turn, "hello")).await.is_some() {
            break;
        }
        left = looks;
        let retried = timeout(SOON, clients.say(&session, &turn, "hello")).await;
        let told = retried.expect("not held up by a reply that nobody produces").expect("a turn");
        assert_eq!(told.text(), told.reply().content);
    }
    assert!(left > 3, "left {left} times, and before the turn was over");
    let kinds = clients.kinds(&session).await;
    for kind in ["turn-received", "generation-started", "turn-completed"] {
        assert_eq!(kinds.iter().filter(|k| *k == kind).count(), left + 1, "{kind}");
    }
}

#[tokio::test]
async fn a_session_whose_caller_left_at_any_moment_is_created_once() {
    let world = World::near().await;
    let clients = world.clients();
    let mut left = 0;
    for looks in 1..LOOKS_MAX {
        let request = format!("create-{looks}");
        if hang_up_after(looks, clients.create(&request, None)).await.is_some() {
            break;
        }
        left = looks;
        clients.create(&request, None).await.expect("created");
    }
    let list = ledger::ListSessionsRequest { page_size: 500, ..Default::default() };
    let sessions = clients.sessions.clone().list_sessions(list).await.expect("a list");
    assert_eq!(sessions.into_inner().sessions.len(), left + 1);
}

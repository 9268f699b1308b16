//! A store that goes away while a reply is produced costs neither the reply nor the truth about it.

use tests::{postgres, prelude::*, script};

async fn count(clients: &Clients, session: &str, kind: &str) -> usize {
    clients.kinds(session).await.iter().filter(|k| *k == kind).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_that_ends_while_the_store_is_away_is_kept_when_it_is_back() {
    let plan = Plan::new().script(script::ECHO);
    let Some((world, url)) = plan.far_on_a_database().await else { return };
    let clients = world.clients();
    let session = clients.create("create", None).await.expect("a session");
    postgres::go_away(&url, "turn-completed", 3).await;
    let told = clients.say(&session, "turn-1", "hello").await.expect("no status is due");
    assert_eq!(
        told.kinds(),
        ["turn_started", "profile", "request_sent", "delta", "turn_completed", "done"]
    );
    assert_eq!(told.text(), told.reply().content);
    for kind in ["generation-started", "llm-request-requested", "turn-completed"] {
        assert_eq!(count(&clients, &session, kind).await, 1, "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_that_the_store_kept_from_being_asked_for_fails_with_a_frame() {
    let plan = Plan::new().script(script::ECHO);
    let Some((world, url)) = plan.far_on_a_database().await else { return };
    let clients = world.clients();
    let session = clients.create("create", None).await.expect("a session");
    postgres::go_away(&url, "llm-request-requested", 1).await;
    postgres::go_away(&url, "turn-failed", 2).await;
    let told = clients.say(&session, "turn-1", "hello").await.expect("no status is due");
    assert_eq!(told.failed().reason, "STORE_UNAVAILABLE", "{}", told.failed().message);
    let told = clients.say(&session, "turn-2", "hello").await.expect("the store is back");
    assert_eq!(told.kinds().last(), Some(&"done"));
}

//! A store that goes away while a reply is produced costs neither the reply nor the truth about it.

use tests::{postgres, prelude::*, process::Home, script};

const SKALD: &str = env!("CARGO_BIN_EXE_skald-under-test");

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

/// Of many pooled connections one finds out that all have died; the others are tested before they are used.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_died_together_cost_one_refusal_and_no_turn() {
    let plan = Plan::new().script(script::ECHO);
    let Some((world, url)) = plan.far_on_a_database().await else { return };
    let clients = world.clients();
    let session = clients.create("create", None).await.expect("a session");
    let warm = (0..12).map(async |at| {
        let other = clients.create(&format!("warm-{at}"), None).await.expect("a session");
        clients.say(&other, &format!("warm-turn-{at}"), "hello").await.expect("a turn");
    });
    futures::future::join_all(warm).await;
    postgres::end_connections(&url).await;
    let mut refused = 0;
    let told = loop {
        match clients.say(&session, "turn", "hello").await {
            Ok(told) => break told,
            Err(status) => {
                assert_eq!(status.code(), Code::Unavailable, "{status:?}");
                refused += 1;
            }
        }
    };
    assert_eq!(told.kinds().last(), Some(&"done"), "after {refused} refusals");
    // Two ledgers, each with a pool that finds out by itself.
    assert!(refused <= 4, "{refused} refusals");
}

/// SQLite takes back what it was about to write when the disk fails, and goes on when there is room again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_was_full_costs_nothing_but_the_writes_that_met_it() {
    let home = Home::new(SKALD, script::ECHO);
    let process = home.start_with_bounded_files().await;
    let clients = process.clients();
    let session = clients.create("create", None).await.expect("a session");
    process.files_may_grow(false).await;
    for attempt in ["a", "b", "c"] {
        let refused = [
            clients.create(attempt, None).await.map(drop),
            clients.say(&session, "turn", "hello").await.map(drop),
            clients.user().await.map(drop),
            clients.import_world(attempt, "harbour.json", br#"{"entries": {}}"#).await.map(drop),
        ];
        for (at, refused) in refused.into_iter().enumerate() {
            let told = reason(&refused.expect_err("the disk is full"));
            assert_eq!(
                told,
                (Code::Unavailable, common::Reason::StoreUnavailable),
                "{attempt} {at}"
            );
        }
    }
    process.files_may_grow(true).await;
    clients.create("a", None).await.expect("another session");
    clients.user().await.expect("a user");
    clients.import_world("a", "harbour.json", br#"{"entries": {}}"#).await.expect("a world");
    let told = clients.say(&session, "turn", "hello").await.expect("a turn");
    assert_eq!(told.kinds().last(), Some(&"done"));
    assert_eq!(count(&clients, &session, "turn-received").await, 1);
    let verified = clients.verified(&session).await.expect("verified");
    assert_eq!((verified.first_bad_offset, verified.drifted_requests), (0, vec![]));
}

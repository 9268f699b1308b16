//! A reply outlives the process that produces it: killed or asked to end, another one finishes its turn.

use std::time::Duration;

use skald::demo::samples;
use tests::{prelude::*, process::Home};
use tokio::time::timeout;
use tonic::Streaming;

use common::ProfileMode;
use ledger::{EvaluationState, SubmitTurnResponse};

const SKALD: &str = env!("CARGO_BIN_EXE_skald-under-test");
/// Shorter than the rest of a lease that was just renewed, longer than everything that is waited for.
const SOON: Duration = Duration::from_secs(20);

/// A reply of several seconds: whatever interrupts it comes before its end.
fn slow() -> String {
    format!("latency_ms = 250\n{}", samples::SCRIPT)
}

async fn opened(clients: &Clients) -> String {
    let cast = clients.cast().await.expect("imported");
    clients.opened(&cast, ProfileMode::Journal).await.expect("opened")
}

/// Reads on until the reader has some of the reply.
async fn hears(frames: &mut Streaming<SubmitTurnResponse>) -> Told {
    let mut told = Told::default();
    while told.kept().len() < 40 {
        told.push(frames.message().await.expect("a frame").expect("more of it").frame);
    }
    told
}

/// Reads to the end.
async fn hears_out(mut told: Told, mut frames: Streaming<SubmitTurnResponse>) -> Told {
    while let Some(response) = frames.message().await.expect("a frame") {
        told.push(response.frame);
    }
    told
}

/// One turn, of which a second attempt made a reply and the first left only its traces.
async fn taken_over_once(clients: &Clients, session: &str) {
    let kinds = clients.kinds(session).await;
    for (kind, times) in [
        ("turn-received", 1),
        ("generation-started", 2),
        ("llm-request-requested", 2),
        ("turn-completed", 1),
        ("turn-failed", 0),
    ] {
        assert_eq!(kinds.iter().filter(|k| *k == kind).count(), times, "{kind}");
    }
    let verified = clients.verified(session).await.expect("verified");
    assert_eq!((verified.first_bad_offset, verified.drifted_requests), (0, vec![]));
}

/// The retry comes while the dead ledger's lease still holds, and waits for it at the other ledger.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_takes_a_killed_ledgers_reply_over_when_its_lease_runs_out() {
    let Some(home) = Home::on_postgres(SKALD, &slow()).await else { return };
    let mut apart = home.start_apart().await;
    let (one, other) = (apart.clients(0), apart.clients(1));
    let session = opened(&one).await;
    let mut frames = one.begin(&session, "turn-1", job::FIRST).await.expect("begun");
    let before = hears(&mut frames).await;
    let far = other.begin(&session, "turn-1", job::FIRST).await;
    hears(&mut far.expect("followed at the other ledger")).await;
    apart.ledgers[0].kill().await;

    let mut retry = other.begin(&session, "turn-1", job::FIRST).await.expect("reattached");
    let told = hears(&mut retry).await;
    assert_eq!(told.started().generation_id, before.started().generation_id);
    assert!(before.kept().starts_with(&told.kept()[..40]), "what the dead one left");
    home.let_leases_run_out().await;
    let told = timeout(SOON, hears_out(told, retry)).await.expect("taken over");
    assert_eq!(told.kept(), told.reply().content);
    assert_eq!(told.evaluation(), EvaluationState::Finished);
    taken_over_once(&other, &session).await;
    let open = other.listed(proposal::ChangesetFilter::Open).await.expect("a list");
    assert_eq!(open.len(), 1, "one reply, one changeset");
}

/// Nobody waits for a lease that was given up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_short_drain_hands_the_running_reply_on() {
    let Some(home) = Home::on_postgres(SKALD, &slow()).await else { return };
    let ending = home.start_with(&["--drain-seconds", "1"]).await;
    let staying = home.start().await;
    let clients = staying.clients();
    let session = opened(&clients).await;
    let begun = ending.clients().begin(&session, "turn-1", job::FIRST).await;
    let mut frames = begun.expect("begun");
    let before = hears(&mut frames).await;
    let code = timeout(SOON, ending.terminate()).await.expect("it ends within its drain");
    assert_eq!(code, Some(0));
    let generation = &before.started().generation_id;

    for after in [0, 1, 17] {
        let left = timeout(SOON, clients.resume(generation, after)).await.expect("at once");
        let left = left.expect("what was kept of it");
        let text = left.text_after(after);
        assert!(!text.is_empty() && before.kept()[after as usize..].starts_with(&text[..8]));
        assert_eq!(left.failed().reason, "LEASE", "and that a retry goes on with it");
    }
    let mut retry = clients.begin(&session, "turn-1", job::FIRST).await.expect("taken over");
    let told = timeout(SOON, hears(&mut retry)).await.expect("at once");
    let rest = clients.resume(generation, 17).await.expect("resumed while it runs");
    let told = hears_out(told, retry).await;
    let whole = told.text();
    assert_eq!(whole, told.reply().content, "from its start, by one attempt");
    assert_eq!(rest.text_after(17), whole[17..]);
    for after in [0, 1, 17, whole.len()] {
        let told = clients.resume(generation, after as u64).await.expect("resumed when finished");
        assert_eq!(told.text_after(after as u64), whole[after..], "after {after}");
    }
    taken_over_once(&clients, &session).await;
}

/// In a data folder the next process is the successor of all that the one before it left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drained_process_leaves_a_turn_that_its_successor_finishes() {
    let home = Home::new(SKALD, &slow());
    let process = home.start_with(&["--drain-seconds", "1"]).await;
    let session = opened(&process.clients()).await;
    let mut frames = process.clients().begin(&session, "turn-1", job::FIRST).await.expect("begun");
    hears(&mut frames).await;
    let code = timeout(SOON, process.terminate()).await.expect("it ends within its drain");
    assert_eq!(code, Some(0));
    let cut = loop {
        match frames.message().await {
            Ok(more) => assert!(more.is_some(), "a stream that was cut does not look whole"),
            Err(status) => break status,
        }
    };
    assert_eq!(cut.code(), Code::Unavailable, "{cut:?}");

    let successor = home.start().await;
    let clients = successor.clients();
    let told = clients.say(&session, "turn-1", job::FIRST).await.expect("finished");
    assert_eq!(told.text(), told.reply().content);
    taken_over_once(&clients, &session).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_lets_a_reply_end() {
    let home = Home::new(SKALD, &slow());
    let process = home.start().await;
    let clients = process.clients();
    let session = opened(&clients).await;
    let mut frames = clients.begin(&session, "turn-1", job::FIRST).await.expect("begun");
    let told = hears(&mut frames).await;
    let (code, told) = tokio::join!(process.terminate(), hears_out(told, frames));
    assert_eq!(code, Some(0));
    assert_eq!(told.text(), told.reply().content);
    assert_eq!(told.kinds().last(), Some(&"done"));
}

/// Whoever follows the attempt that lost is shown the one that goes on, and no refusal of a thing it never asked for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_followers_of_an_attempt_that_lost_its_lease_see_the_one_that_goes_on() {
    let Some(home) = Home::on_postgres(SKALD, &slow()).await else { return };
    let apart = home.start_apart().await;
    let (one, other) = (apart.clients(0), apart.clients(1));
    let session = opened(&one).await;
    let mut frames = one.begin(&session, "turn-1", job::FIRST).await.expect("begun");
    let before = hears(&mut frames).await;
    home.let_leases_run_out().await;
    let retry = other.begin(&session, "turn-1", job::FIRST).await.expect("taken over");
    let (told, retold) = tokio::join!(hears_out(before, frames), hears_out(Told::default(), retry));
    assert_eq!(told.kept(), told.reply().content);
    assert_eq!(told.reply(), retold.reply());
    assert_eq!(told.kinds().last(), Some(&"done"));
    taken_over_once(&other, &session).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_whose_log_nobody_reads_works_and_ends_as_any_other() {
    let home = Home::new(SKALD, samples::SCRIPT).without_readers();
    let process = home.start_with(&["--log", "debug"]).await;
    let clients = process.clients();
    let session = opened(&clients).await;
    let told = clients.say(&session, "turn-1", job::FIRST).await.expect("a turn");
    assert_eq!(told.proposed().len(), 1, "the turn was judged");
    let code = timeout(SOON, process.terminate()).await.expect("it ends at once");
    assert_eq!(code, Some(0));
}

//! Every past request can be shown byte for byte, with the reason for each part of it.

use serde_json::Value;
use skald::demo::samples;
use tests::{prelude::*, sqlite};

use common::{ProfileMode, Reason};

#[tokio::test]
async fn a_request_is_shown_as_the_model_got_it_in_each_mode() {
    for mode in MODES {
        let recording = Recording::of(samples::SCRIPT);
        let world = Plan::new().model(recording.clone()).near().await;
        let (clients, session, told) = three_turns(&world, mode).await;
        let replies = recording.replies();
        assert_eq!(replies.len(), told.len());
        for (told, received) in told.iter().zip(&replies) {
            let sent = clients.sent(&session, told.request().offset).await.expect("kept");
            assert!(sent.is_exact());
            let received: Vec<_> = received.iter().map(|(r, t)| (r.as_str(), t.as_str())).collect();
            assert_eq!(sent.messages(), received, "{mode:?}");
        }
    }
}

async fn three_turns(world: &World, mode: ProfileMode) -> (Clients, String, Vec<Told>) {
    let clients = world.clients();
    let cast = clients.cast().await.expect("imported");
    let session = clients.opened(&cast, mode).await.expect("opened");
    let mut told = Vec::new();
    for (at, text) in [job::FIRST, job::SECOND, job::THIRD].into_iter().enumerate() {
        told.push(clients.say(&session, &format!("turn-{at}"), text).await.expect("a turn"));
    }
    (clients, session, told)
}

#[tokio::test]
async fn each_piece_says_where_it_comes_from_and_lore_why_it_fired() {
    let world = World::near().await;
    let (clients, session, told) = three_turns(&world, ProfileMode::Journal).await;
    let sent = clients.sent(&session, told[0].request().offset).await.expect("kept");
    let log = clients.log(&session).await.expect("a log");
    for origin in sent.blocks.iter().flat_map(|block| &block.origins) {
        let fixed = origin.kind == "protocol";
        assert_eq!(origin.offset == 0, fixed, "{origin:?} names its event");
        assert!(origin.offset as usize <= log.len());
    }
    let lore = sent.blocks.iter().flat_map(|block| &block.origins);
    let lore: Vec<_> = lore.filter(|origin| origin.key.starts_with("lore:")).collect();
    assert!(lore.len() >= 3, "constant, keyed and embedded lore: {lore:#?}");
    assert!(lore.iter().all(|origin| !origin.reason.is_empty()), "{lore:#?}");
}

#[tokio::test]
async fn the_record_holds_the_audit_the_sampling_and_the_diagnostics() {
    let world = World::near().await;
    let (clients, session, told) = three_turns(&world, ProfileMode::Contract).await;
    let sent = clients.sent(&session, told[0].request().offset).await.expect("kept");
    let record = sent.record;
    let audit: Value = serde_json::from_str(&record.audit_json).expect("JSON");
    assert!(audit.to_string().contains("The Skerry Coast"), "{audit:#}");
    let call: Value = serde_json::from_str(&record.call_config_json).expect("JSON");
    assert_eq!(call["temperature"].as_f64(), Some(0.8), "{call}");
    let recorded: Vec<&str> = record.diagnostics.iter().map(|d| d.code.as_str()).collect();
    assert_eq!(recorded, told[0].diagnostics(), "what the turn said, the record says");
    assert!(record.requested_at.is_some() && record.content_hash.len() == 32);
    let request = ledger::ListRequestsRequest { session_id: session, ..Default::default() };
    let listed = clients.contexts.clone().list_requests(request).await.expect("a list");
    let offsets: Vec<u64> = listed.into_inner().requests.iter().map(|r| r.offset).collect();
    assert_eq!(offsets, told.iter().map(|told| told.request().offset).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_same_request_is_shown_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = Plan::new().in_folder(folder.path()).near().await;
    let (clients, session, told) = three_turns(&world, ProfileMode::Journal).await;
    let offset = told[1].request().offset;
    let before = clients.sent(&session, offset).await.expect("kept");
    drop(clients);
    world.end().await;
    let world = reopened(folder.path()).await;
    let clients = world.clients();
    assert_eq!(clients.sent(&session, offset).await.expect("kept"), before);
    assert!(clients.verified(&session).await.expect("verified").drifted_requests.is_empty());
}

/// The folder is free once the last handle of its old world is gone.
async fn reopened(folder: &std::path::Path) -> World {
    eventually("the data folder to be free", || async {
        let free = host::database::DataFolder::open(folder).is_ok();
        free.then_some(())
    })
    .await;
    Plan::new().in_folder(folder).near().await
}

#[tokio::test]
async fn a_flipped_bit_is_found_and_named_and_never_shown_as_what_was_sent() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = Plan::new().in_folder(folder.path()).near().await;
    let (clients, session, told) = three_turns(&world, ProfileMode::Journal).await;
    let other = clients.create("whole", None).await.expect("a second session");
    let message = told[1].started().message.clone().expect("the user's turn");
    drop(clients);
    world.end().await;
    eventually("the data folder to be free", || async {
        host::database::DataFolder::open(folder.path()).is_ok().then_some(())
    })
    .await;
    sqlite::flip_a_bit_in(folder.path(), "ledger", job::SECOND).await;

    let world = Plan::new().in_folder(folder.path()).near().await;
    let clients = world.clients();
    let verified = clients.verified(&session).await.expect("damage is an answer");
    assert_eq!(verified.first_bad_offset, message.offset);
    let refused = clients.sent(&session, told[1].request().offset).await.refused();
    assert_eq!(reason(&refused), (Code::DataLoss, Reason::ChainBroken));
    assert!(refused.message().contains(&message.offset.to_string()), "{}", refused.message());
    let whole = clients.verified(&other).await.expect("verified");
    assert_eq!(whole.first_bad_offset, 0, "other sessions are whole");
}

//! The main job from end to end, near and far, in each profile mode.

use skald::demo::samples;
use tests::{cards, prelude::*};

use common::{Author, ProfileMode};
use ledger::{EvaluationState, Phase};
use lorebook::{Layer, OperationKind, OverlayAction, WorldView};
use proposal::{ChangesetFilter, ChangesetState};

#[tokio::test]
async fn the_main_job_near_in_journal() {
    main_job(&World::near().await.clients(), ProfileMode::Journal).await;
}

#[tokio::test]
async fn the_main_job_near_in_chat() {
    main_job(&World::near().await.clients(), ProfileMode::InChat).await;
}

#[tokio::test]
async fn the_main_job_near_by_contract() {
    main_job(&World::near().await.clients(), ProfileMode::Contract).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_main_job_far_in_each_mode() {
    for mode in MODES {
        let Some(world) = Plan::new().far().await else { return };
        main_job(&world.clients(), mode).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_main_job_far_with_tokens() {
    let Some(world) = Plan::new().with_tokens().far().await else { return };
    main_job(&world.caller(tests::world::ADA), ProfileMode::Journal).await;
}

#[tokio::test]
async fn the_main_job_on_a_port_with_tokens() {
    let (world, _url) = Plan::new().with_tokens().near_on_a_port().await;
    main_job(&world.caller(tests::world::ADA), ProfileMode::Journal).await;
}

/// The same card, whatever it comes in: its book runs, its greeting opens, its lore fires.
#[tokio::test]
async fn a_card_may_be_json_or_a_picture_of_either_version() {
    let json = |card| serde_json::to_vec(&card).expect("JSON");
    for (file, spec, container, bytes) in [
        ("card.json", "v2", "json", json(cards::v2())),
        ("card.json", "v3", "json", json(cards::v3())),
        ("card.png", "v3", "png", samples::CARD.to_vec()),
    ] {
        let world = World::near().await;
        let clients = world.clients();
        let cast = clients.cast_of(file, &bytes).await.expect("imported");
        assert_eq!(
            (cast.character.spec.as_str(), cast.character.container.as_str()),
            (spec, container)
        );
        let session = clients.opened(&cast, ProfileMode::Journal).await.expect("opened");
        let told = clients.say(&session, "turn-1", job::FIRST).await.expect("a turn");
        let sent = clients.sent(&session, told.request().offset).await.expect("a request");
        for part in [cast.greeting().as_str(), "burns whale oil", "keeps the light on Grey Skerry"]
        {
            assert!(sent.contains(part), "{spec} {container}: {part}");
        }
    }
}

/// The six steps; each turn's request is looked at again at the end.
async fn main_job(clients: &Clients, mode: ProfileMode) {
    let cast = clients.cast().await.expect("everything is imported");
    assert!(cast.world.dynamic_enabled, "the user handed the agent a pen");
    assert!(!cast.character.embedded_world_id.is_empty(), "the card's book runs");
    let session = opens_silently(clients, &cast, mode).await;

    let first = clients.say(&session, "turn-1", job::FIRST).await.expect("a turn");
    let changeset = proposes(&first, &session);
    let sent_first = clients.sent(&session, first.request().offset).await.expect("a request");
    assert!(sent_first.contains(job::AUTHORED) && !sent_first.contains(job::PROPOSED));
    reviews(clients, &changeset, &cast).await;

    let second = clients.say(&session, "turn-2", job::SECOND).await.expect("a turn");
    let sent_second = clients.sent(&session, second.request().offset).await.expect("a request");
    shows_dynamic_state(&sent_second);

    undoes(clients, &changeset, &cast).await;
    let third = clients.say(&session, "turn-3", job::THIRD).await.expect("a turn");
    let sent_third = clients.sent(&session, third.request().offset).await.expect("a request");
    no_longer_in_effect(&sent_second, &sent_third, mode);

    for (sent, earlier) in [(&sent_second, &sent_first), (&sent_third, &sent_second)] {
        assert!(mode != ProfileMode::Journal || sent.extends(earlier), "the prefix law");
    }
    for sent in [sent_first, sent_second, sent_third] {
        let again = clients.sent(&session, sent.record.offset).await.expect("kept");
        assert!(again.is_exact() && again == sent, "shown as it was sent, always the same");
        assert!(again.blocks.iter().all(|block| !block.origins.is_empty()), "with its origins");
    }
    let verified = clients.verified(&session).await.expect("verified");
    assert_eq!((verified.first_bad_offset, verified.requests_checked), (0, 3));
    assert!(verified.drifted_requests.is_empty() && !verified.snapshot_drifted);
}

async fn opens_silently(clients: &Clients, cast: &Cast, mode: ProfileMode) -> String {
    let opened = clients.open(cast, mode).await.expect("a session with its opening");
    let (session, opening) = (opened.session.expect("one"), opened.opening.expect("one"));
    assert_eq!(
        (opening.seq, opening.phase(), opening.author()),
        (0, Phase::Seeded, Author::Assistant)
    );
    let provenance = opening.provenance.expect("an authored turn says who wrote it");
    assert!(!provenance.write_actor.is_empty() && provenance.injected_at.is_some());
    assert_eq!(provenance.origin, "the card's first message");
    assert_eq!((session.turn_count, session.active_generation_id.as_str()), (1, ""));
    let kinds = clients.kinds(&session.session_id).await;
    assert_eq!(kinds, ["session-created", "turn-seeded"], "nothing else happened");
    session.session_id
}

/// The turn's frames in their order, the proposal before `done`; answers the changeset.
#[track_caller]
fn proposes(told: &Told, session: &str) -> String {
    let expected = [
        "turn_started",
        "profile",
        "request_sent",
        "delta",
        "turn_completed",
        "world_change_proposed",
        "done",
    ];
    assert_eq!(told.kinds(), expected);
    assert_eq!(told.evaluation(), EvaluationState::Finished);
    let reply = told.reply();
    assert_eq!((reply.phase(), reply.session_id.as_str()), (Phase::Completed, session));
    assert_eq!(told.text(), reply.content, "the deltas are the reply");
    let proposed = told.proposed();
    assert_eq!((proposed.len(), proposed[0].operation_count), (1, 2));
    proposed[0].changeset_id.clone()
}

async fn reviews(clients: &Clients, id: &str, cast: &Cast) {
    let open = clients.listed(ChangesetFilter::Open).await.expect("a list");
    assert_eq!(open.iter().map(|c| c.changeset_id.as_str()).collect::<Vec<_>>(), [id]);

    let pending = clients.changeset(id).await.expect("a changeset");
    assert_eq!(pending.state(), ChangesetState::Pending);
    let revise = &pending.operations[0];
    assert!(revise.current_content.contains(job::AUTHORED), "next to what it would replace");
    assert!(revise.diff.contains("-The harbour bell hangs"), "{}", revise.diff);
    assert!(revise.diff.contains("+The harbour bell lies"), "{}", revise.diff);
    let kind = revise.operation.as_ref().expect("one").kind();
    assert_eq!((kind, revise.problem.as_str()), (OperationKind::Replace, ""));

    let edited = clients.edit(id).await.expect("edited");
    let content = edited.operations[1].operation.as_ref().expect("one").content();
    assert!(content.contains(job::EDIT.1), "{content}");

    let applied = clients.apply(id).await.expect("applied");
    let (changeset, change) = (applied.changeset.expect("one"), applied.change.expect("one"));
    assert_eq!(changeset.state(), ChangesetState::Applied);
    assert_eq!(change.base_revision, cast.world.content_revision);
    assert_eq!(change.applied_revision, change.base_revision + 1, "one change, one revision");
    assert!(clients.listed(ChangesetFilter::Open).await.expect("a list").is_empty());
    effective_lore(clients, cast, true).await;
}

async fn undoes(clients: &Clients, id: &str, cast: &Cast) {
    let undone = clients.undo(id).await.expect("undone").changeset.expect("one");
    assert_eq!(undone.state(), ChangesetState::Reverted);
    effective_lore(clients, cast, false).await;
}

/// The authored entries are what they were, whatever the effective ones say.
async fn effective_lore(clients: &Clients, cast: &Cast, changed: bool) {
    let world = &cast.world.world_id;
    let authored = clients.entries(world, WorldView::Authored).await.expect("entries");
    assert_eq!(authored.len(), 3);
    assert!(authored.iter().any(|entry| entry.content.contains(job::AUTHORED)));
    let effective = clients.entries(world, WorldView::Effective).await.expect("entries");
    let dynamic: Vec<_> =
        effective.iter().filter(|entry| entry.layer() == Layer::Dynamic).collect();
    assert_eq!(dynamic.len(), if changed { 2 } else { 0 });
    if changed {
        let actions: Vec<_> = dynamic.iter().map(|entry| entry.overlay_action()).collect();
        assert!(actions.contains(&OverlayAction::Replace) && actions.contains(&OverlayAction::Add));
        assert!(!effective.iter().any(|entry| entry.content.contains(job::AUTHORED)));
    } else {
        assert_eq!(effective.len(), authored.len());
    }
}

#[track_caller]
fn shows_dynamic_state(sent: &Sent) {
    assert!(sent.contains(job::PROPOSED), "{}", sent.text());
    assert!(sent.contains("Dynamic World State"), "{}", sent.text());
}

/// JOURNAL says that it is withdrawn; the other modes no longer say it.
#[track_caller]
fn no_longer_in_effect(before: &Sent, after: &Sent, mode: ProfileMode) {
    if mode != ProfileMode::Journal {
        assert!(!after.contains(job::PROPOSED), "{}", after.text());
        return;
    }
    let new = &after.blocks[before.blocks.len()..];
    let withdrawn = new.iter().filter(|block| block.text.contains(r#" withdrawn="true">"#));
    let keys: Vec<_> =
        withdrawn.flat_map(|block| &block.origins).map(|origin| &origin.key).collect();
    assert!(!keys.is_empty(), "withdrawn at its moment: {new:#?}");
    assert!(keys.iter().all(|key| key.starts_with("lore:")), "{keys:?}");
    let proposed = new.iter().filter(|block| block.text.contains(job::PROPOSED));
    assert_eq!(proposed.count(), 0, "and not said again");
}

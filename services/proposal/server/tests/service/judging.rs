//! From a finished turn to staged changesets.

use host::status;
use tonic::Code;
use wire::{common::v1::Reason, mesh::v1 as mesh, proposal::v1 as pb};

use crate::{
    ledger::{evaluate, job},
    world::{refused, start, start_judged_by, start_with},
};

#[tokio::test]
async fn a_turn_that_changed_the_world_stages_a_changeset_beside_what_is_there() {
    let mut world = start().await;
    let done = world.judged(&["w1"], "Hark, the king is dead!").await;
    assert_eq!((done.failure.as_str(), done.retry, done.changesets.len()), ("", false, 1));
    let staged = &done.changesets[0];
    assert_eq!((staged.world_id.as_str(), staged.operation_count), ("w1", 2));

    let changeset = world.get(&staged.changeset_id).await;
    assert_eq!(changeset.state(), pb::ChangesetState::Pending);
    assert_eq!((changeset.base_revision, changeset.summary.as_str()), (1, "The king died."));
    let revision = &changeset.operations[0];
    assert_eq!(revision.current_content, "The king lives.\n");
    assert!(revision.diff.contains("-The king lives.\n+The king is dead."), "{}", revision.diff);
    let source = changeset.source.expect("a source");
    assert!(source.excerpt.contains("Hark"));
    assert_eq!((source.session_id.as_str(), source.turn_seq), ("s1", 2));

    let evaluation = world.evaluation().await.expect("judged");
    assert_eq!(evaluation.outcome(), pb::Outcome::Staged);
    assert_eq!(evaluation.evaluation_id, done.evaluation_id);
    assert_eq!((evaluation.model.as_str(), evaluation.changeset_ids.len()), ("scripted/any", 1));
    assert!(world.lorebook.state().changes.is_empty(), "a proposal changes nothing");
}

#[tokio::test]
async fn one_call_files_one_changeset_for_each_world_and_keeps_what_was_refused() {
    let mut world = start().await;
    let done = world.judged(&["w1", "w2"], "It shook both worlds.").await;
    let filed: Vec<_> =
        done.changesets.iter().map(|one| (one.world_id.as_str(), one.operation_count)).collect();
    assert_eq!(filed, [("w2", 1), ("w1", 1)]);
    let rejected = world.evaluation().await.expect("judged").rejected;
    let reasons: Vec<_> = rejected.iter().map(|one| one.reason.as_str()).collect();
    assert_eq!(reasons, ["op \"conquer\" is not create, revise or retract", "as told"]);
}

#[tokio::test]
async fn a_world_that_was_closed_meanwhile_drops_out_alone() {
    let mut world = start().await;
    world.lorebook.state().world("w2").dynamic_enabled = false;
    let done = world.judged(&["w2", "w1", "gone"], "Hark, the king is dead!").await;
    assert_eq!(done.changesets.len(), 1);
    assert_eq!(done.changesets[0].world_id, "w1");
}

#[tokio::test]
async fn without_a_world_no_model_is_asked() {
    let mut world = start().await;
    world.lorebook.state().world("w1").enabled = false;
    let done = world.judged(&["w1"], "Hark, the king is dead!").await;
    assert!(done.changesets.is_empty() && done.failure.is_empty());
    let evaluation = world.evaluation().await.expect("recorded");
    assert_eq!((evaluation.outcome(), evaluation.model.as_str()), (pb::Outcome::NoWorld, ""));
}

#[track_caller]
fn ended(evaluation: &pb::Evaluation, outcome: pb::Outcome, reason: &str) {
    assert_eq!(evaluation.outcome(), outcome);
    assert!(evaluation.reason.starts_with(reason), "{}", evaluation.reason);
}

#[tokio::test]
async fn every_other_end_of_the_call_is_recorded_with_its_reason() {
    for (user, outcome, reason) in [
        ("nothing happened", pb::Outcome::Nothing, ""),
        ("nonsense", pb::Outcome::Failed, "ANSWER_UNUSABLE: operations is not a list"),
        ("off the script", pb::Outcome::Failed, "UNSCRIPTED: "),
    ] {
        let mut world = start().await;
        let done = world.judged(&["w1"], user).await;
        assert!(done.changesets.is_empty() && !done.retry, "it costs nothing");
        assert_eq!(done.failure.is_empty(), outcome != pb::Outcome::Failed, "the ledger is told");
        ended(&world.evaluation().await.expect("recorded"), outcome, reason);
    }
}

#[tokio::test]
async fn an_answer_that_was_cut_says_so_beside_what_it_staged() {
    let mut world = start().await;
    let done = world.judged(&["w1"], "It is a long tale.").await;
    assert_eq!((done.changesets.len(), done.failure.as_str()), (1, ""));
    ended(&world.evaluation().await.expect("recorded"), pb::Outcome::Staged, "ANSWER_CUT_OFF: ");
}

/// A judge that is thinking for as long as anybody waits.
const THOUGHTFUL: &str = r#"
    latency_ms = 3_600_000

    [[tool]]
    name = "propose_world_changes"
    arguments = '{"operations": []}'
"#;

#[tokio::test]
async fn a_job_that_the_end_of_the_process_interrupts_is_handed_back() {
    let mut world = start_judged_by(THOUGHTFUL, Vec::new()).await;
    world.queue.jobs.send(evaluate(&["w1"], "Hark!", 1)).expect("a queue");
    world.queue.leased.recv().await.expect("leased");
    world.stop().await;
    let done = world.queue.completed.recv().await.expect("told before the process ended");
    assert!(done.hand_back && !done.retry && done.failure.is_empty(), "{done:?}");
    refused(world.evaluation().await, Code::NotFound, Reason::NotFound);
}

#[tokio::test]
async fn a_model_that_is_not_configured_is_a_recorded_reason() {
    let mut world = start().await;
    let mut job = evaluate(&["w1"], "Hark, the king is dead!", 1);
    if let Some(mesh::job::Work::EvaluateTurn(turn)) = &mut job.work {
        turn.model = None;
    }
    world.done(job).await;
    let evaluation = world.evaluation().await.expect("recorded");
    ended(&evaluation, pb::Outcome::Failed, "PROVIDER_NOT_CONFIGURED");
}

#[tokio::test]
async fn a_job_that_comes_again_finds_what_it_has_done() {
    let mut world = start().await;
    let first = world.judged(&["w1"], "Hark, the king is dead!").await;
    world.lorebook.state().world("w1").enabled = false;
    let again = world.judged(&["w1"], "Hark, the king is dead!").await;
    assert_eq!(first, again);
    let second = world.done(evaluate(&["w1"], "nothing", 2)).await;
    assert!(second.changesets.is_empty() && second.evaluation_id != first.evaluation_id);
}

#[tokio::test]
async fn a_turn_that_moved_meanwhile_makes_its_changesets_stale() {
    let moved = status::precondition(Reason::TurnRevisionMoved, "turn", "moved");
    let mut world = start_with(vec![moved]).await;
    let id = world.staged().await;
    world.becomes(&id, pb::ChangesetState::Stale).await;
    let evaluation = world.evaluation().await.expect("recorded");
    assert_eq!(evaluation.outcome(), pb::Outcome::TurnMoved);
}

#[tokio::test]
async fn a_changed_or_deleted_source_makes_its_pending_changesets_stale() {
    let mut world = start().await;
    let id = world.staged().await;
    let changed = mesh::SourceChanged { session_id: "s1".into(), turn_seq: 2 };
    world.done(job(mesh::job::Work::SourceChanged(changed))).await;
    let stale = world.get(&id).await;
    assert_eq!(stale.state(), pb::ChangesetState::Stale);
    assert!(stale.stale_reason.contains("has changed"), "{}", stale.stale_reason);

    let deleted = mesh::SessionDeleted { session_id: "s1".into() };
    world.done(job(mesh::job::Work::SessionDeleted(deleted))).await;
    let source = world.get(&id).await.source.expect("a source");
    assert_eq!((source.session_id.as_str(), source.labels.len()), ("", 1));
    refused(world.evaluation().await, Code::NotFound, Reason::NotFound);
}

#[tokio::test]
async fn a_job_that_no_attempt_can_do_fails_for_good() {
    let mut world = start().await;
    let mut job = evaluate(&["w1"], "nothing", 1);
    if let Some(mesh::job::Work::EvaluateTurn(turn)) = &mut job.work {
        turn.session_id = "no id".into();
    }
    let done = world.done(job).await;
    assert_eq!((done.failure.as_str(), done.retry), ("the job's session_id is not an id", false));
}

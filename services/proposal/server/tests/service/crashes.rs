//! Applications that were interrupted: each ends as if it had not been.

use tonic::Code;
use wire::{common::v1::Reason, proposal::v1 as pb};

use crate::{
    lorebook::Fault,
    world::{World, apply, refused, start},
};

/// A service whose application of one changeset met this fault, and the changeset.
async fn interrupted(fault: Fault) -> (World, String) {
    let mut world = start().await;
    let id = world.staged().await;
    world.lorebook.state().faults.push_back(fault);
    refused(world.apply(apply(&id, "r1")).await, Code::Unavailable, Reason::PeerUnavailable);
    assert_eq!(world.get(&id).await.state(), pb::ChangesetState::Applying);
    (world, id)
}

#[tokio::test]
async fn a_retry_goes_on_with_its_application_whatever_had_been_done() {
    for fault in [Fault::LostBefore, Fault::LostAfter] {
        let (world, id) = interrupted(fault).await;
        let (answer, _) = world.apply(apply(&id, "r1")).await.expect("applied");
        assert_eq!(answer.changeset.expect("one").state(), pb::ChangesetState::Applied);
        assert_eq!(world.lorebook.state().changes.len(), 1);
    }
}

#[tokio::test]
async fn while_it_is_fresh_nobody_else_decides() {
    let (world, id) = interrupted(Fault::LostBefore).await;
    refused(world.apply(apply(&id, "r2")).await, Code::FailedPrecondition, Reason::ApplyInProgress);
    refused(world.reject(&id, "r3").await, Code::FailedPrecondition, Reason::ApplyInProgress);
}

#[tokio::test]
async fn once_abandoned_it_is_finished_by_whoever_comes_by() {
    let (world, id) = interrupted(Fault::LostAfter).await;
    world.clock.advance_ms(kernel::limits::APPLY_ABANDONED_MS + 1);
    let late = world.apply(apply(&id, "r2")).await;
    refused(late, Code::FailedPrecondition, Reason::ChangesetState);
    assert_eq!(world.get(&id).await.state(), pb::ChangesetState::Applied);
    let (_, replayed) = world.apply(apply(&id, "r1")).await.expect("the first one's answer");
    assert!(replayed);
}

#[tokio::test]
async fn a_process_that_starts_finishes_what_another_left() {
    let (world, id) = interrupted(Fault::LostBefore).await;
    world.clock.advance_ms(kernel::limits::APPLY_ABANDONED_MS + 1);
    let world = world.restart().await;
    world.becomes(&id, pb::ChangesetState::Applied).await;
    let (_, replayed) = world.apply(apply(&id, "r1")).await.expect("answered");
    assert!(replayed && world.lorebook.state().changes.len() == 1);
}

#[tokio::test]
async fn a_world_that_moves_on_in_between_closes_the_change_and_makes_it_stale() {
    let mut world = start().await;
    let id = world.staged().await;
    world.lorebook.state().faults.push_back(Fault::MovesOn);
    refused(world.apply(apply(&id, "r1")).await, Code::Aborted, Reason::StaleRevision);
    assert_eq!(world.get(&id).await.state(), pb::ChangesetState::Stale);
    let state = world.lorebook.state();
    assert!(state.changes.is_empty() && state.closed.len() == 1);
}

//! What a person decides, and what is refused.

use tonic::Code;
use tonic_types::StatusExt as _;
use wire::{common::v1::Reason, proposal::v1 as pb};

use crate::world::{apply, create, refused, start};

fn update(id: &str, request_id: &str) -> pb::UpdateChangesetRequest {
    pb::UpdateChangesetRequest {
        changeset_id: id.into(),
        operations: vec![create("Peace", "It holds.")],
        request_id: request_id.into(),
        ..Default::default()
    }
}

#[tokio::test]
async fn an_accepted_changeset_becomes_a_change_and_stays_one() {
    let mut world = start().await;
    let id = world.staged().await;
    let (answer, _) = world.apply(apply(&id, "r1")).await.expect("applied");
    let (changeset, change) = (answer.changeset.expect("one"), answer.change.expect("one"));
    assert_eq!(changeset.state(), pb::ChangesetState::Applied);
    assert_eq!(changeset.change_id, change.change_id);
    assert!(change.rows.is_empty() && changeset.operations[1].diff.is_empty(), "a small answer");
    let diff = &world.get(&id).await.operations[1].diff;
    assert!(diff.ends_with("+All mourn.\n"), "{diff}");
    assert_eq!(world.lorebook.state().world("w1").content_revision, 2);
    let late =
        refused(world.reject(&id, "r2").await, Code::FailedPrecondition, Reason::ChangesetState);
    assert!(late.message().contains("APPLIED"), "{}", late.message());
}

#[tokio::test]
async fn the_same_request_is_answered_again_and_another_under_its_id_is_refused() {
    let mut world = start().await;
    let id = world.staged().await;
    let first = world.apply(apply(&id, "r1")).await.expect("applied");
    let again = world.apply(apply(&id, "r1")).await.expect("answered");
    assert_eq!((first.0, first.1, again.1), (again.0, false, true));
    assert_eq!(world.lorebook.state().changes.len(), 1);
    let partial = pb::ApplyChangesetRequest { allow_partial: true, ..apply(&id, "r1") };
    refused(world.apply(partial).await, Code::AlreadyExists, Reason::RequestIdReused);
}

#[tokio::test]
async fn an_edit_is_kept_and_told_what_does_not_hold() {
    let mut world = start().await;
    let id = world.staged().await;
    let operations = vec![create("Peace", "It holds."), create("War", "a bad war")];
    let summary = Some("Mine.".to_owned());
    let edit = pb::UpdateChangesetRequest { operations, summary, ..update(&id, "r1") };
    let edited = world.update(edit).await.expect("kept");
    let problems: Vec<_> = edited.operations.iter().map(|one| one.problem.as_str()).collect();
    assert_eq!((problems, edited.summary.as_str()), (vec!["", "as told"], "Mine."));

    let refusal = world.apply(apply(&id, "r2")).await;
    let refusal = refused(refusal, Code::FailedPrecondition, Reason::OperationsInvalid);
    assert!(refusal.message().contains("1 of the operations"), "{}", refusal.message());
    assert_eq!(world.get(&id).await.state(), pb::ChangesetState::Pending);

    let partial = pb::ApplyChangesetRequest { allow_partial: true, ..apply(&id, "r3") };
    let (answer, _) = world.apply(partial).await.expect("the rest holds");
    assert_eq!(answer.left_out.len(), 1);
    assert_eq!(answer.left_out[0].problem, "as told");
    let shown = world.get(&id).await.operations;
    let problems: Vec<_> = shown.iter().map(|one| one.problem.as_str()).collect();
    assert_eq!(problems, ["", "as told"], "and stays to be read");
    let left_out = answer.left_out[0].operation.clone().expect("an operation");
    assert_eq!((left_out.name.as_deref(), left_out.content), (Some("War"), None));
    assert_eq!(world.lorebook.state().changes[0].rows.len(), 1);
}

#[tokio::test]
async fn a_changeset_over_large_entries_is_read_edited_and_applied() {
    let mut world = start().await;
    let id = world.staged().await;
    let content = "A line of the king's long life.\n".repeat(50_000);
    world.lorebook.state().worlds.get_mut("w1").expect("a world").1[0].content = content.clone();
    let king = || wire::lorebook::v1::Operation {
        kind: wire::lorebook::v1::OperationKind::Replace.into(),
        target_entry_id: "w1-king".into(),
        content: Some("The king is dead.".into()),
        ..Default::default()
    };
    let operations = vec![king(), king()];
    let edit = pb::UpdateChangesetRequest { operations, ..update(&id, "r1") };
    let edited = world.update(edit).await.expect("edited");
    assert_eq!(world.get(&id).await.operations, edited.operations);
    let told: Vec<_> = edited.operations.iter().flat_map(|beside| &beside.left_out).collect();
    assert!(!told.is_empty() && told.iter().all(|one| one.bytes >= content.len() as u64));
    for beside in &edited.operations {
        let proposed = beside.operation.as_ref().expect("an operation");
        assert_eq!(proposed.content.as_deref(), Some("The king is dead."));
        let missing = |field: &str| beside.left_out.iter().any(|one| one.field == field);
        assert_eq!(beside.current_content.is_empty(), missing("current_content"));
        assert_eq!(beside.diff.is_empty(), missing("diff"));
    }
    world.apply(apply(&id, "r2")).await.expect("applied");
}

#[tokio::test]
async fn an_edit_over_a_cap_or_without_operations_is_refused_by_its_field() {
    let mut world = start().await;
    let id = world.staged().await;
    let unknown = vec![wire::lorebook::v1::Operation { kind: 99, ..Default::default() }];
    let empty_target = vec![wire::lorebook::v1::Operation { kind: 2, ..Default::default() }];
    for (operations, field) in [
        (Vec::new(), "operations is empty"),
        (empty_target, "operations[0].target_entry_id is empty"),
        (unknown, "operations[0].kind is 99"),
    ] {
        let edit = pb::UpdateChangesetRequest { operations, ..update(&id, "r1") };
        let refusal = world.update(edit).await;
        let refusal = refused(refusal, Code::InvalidArgument, Reason::FieldInvalid);
        assert!(refusal.message().starts_with(field), "{}", refusal.message());
    }
}

#[tokio::test]
async fn a_cap_is_told_by_its_field_and_what_was_found() {
    let mut world = start().await;
    let id = world.staged().await;
    let one = || create("ok", "ok");
    let long = wire::lorebook::v1::Operation {
        keywords: vec!["k".into(), "k".repeat(201)],
        ..create("ok", "ok")
    };
    for (operations, why) in [
        (
            vec![one(), create(&"n".repeat(201), "x")],
            "operations[1].name has 201 characters, at most 200 are allowed",
        ),
        (vec![long], "operations[0].keywords[1] has 201 characters, at most 200 are allowed"),
        (vec![one(); 51], "operations has 51 operations, at most 50 are allowed"),
    ] {
        let edit = pb::UpdateChangesetRequest { operations, ..update(&id, "r1") };
        let refusal = world.update(edit).await;
        let refusal = refused(refusal, Code::ResourceExhausted, Reason::LimitExceeded);
        assert_eq!(refusal.message(), why);
    }
}

#[tokio::test]
async fn keywords_that_are_given_count() {
    let mut world = start().await;
    let id = world.staged().await;
    let given = wire::lorebook::v1::Operation {
        keywords: vec!["peace".into()],
        set_keywords: false,
        ..create("Peace", "It holds.")
    };
    let edit = pb::UpdateChangesetRequest { operations: vec![given], ..update(&id, "r1") };
    let edited = world.update(edit).await.expect("kept");
    let kept = edited.operations[0].operation.clone().expect("an operation");
    assert_eq!((kept.keywords, kept.set_keywords), (vec!["peace".to_owned()], true));
}

#[tokio::test]
async fn an_old_etag_is_refused() {
    let mut world = start().await;
    let id = world.staged().await;
    let etag = world.get(&id).await.etag;
    world.update(update(&id, "r1")).await.expect("kept");
    let edit = pb::UpdateChangesetRequest { etag: etag.clone(), ..update(&id, "r2") };
    refused(world.update(edit).await, Code::Aborted, Reason::EtagMismatch);
    let old = pb::ApplyChangesetRequest { etag, ..apply(&id, "r3") };
    refused(world.apply(old).await, Code::Aborted, Reason::EtagMismatch);
}

#[tokio::test]
async fn a_world_that_moved_on_makes_it_stale_at_sight_and_for_good_when_applied() {
    let mut world = start().await;
    let id = world.staged().await;
    world.lorebook.move_on("w1");
    let open = pb::ListChangesetsRequest { filter: 1, ..Default::default() };
    let listed = world.list(open).await.changesets;
    assert_eq!(listed[0].state(), pb::ChangesetState::Stale);
    assert_eq!(listed[0].stale_reason, "the world has moved on from revision 1 to 2");
    refused(world.apply(apply(&id, "r1")).await, Code::Aborted, Reason::StaleRevision);
    refused(world.apply(apply(&id, "r1")).await, Code::FailedPrecondition, Reason::ChangesetState);
    let rejected = world.reject(&id, "r2").await.expect("it can be put away");
    assert_eq!(rejected.state(), pb::ChangesetState::Rejected);
}

#[tokio::test]
async fn a_changeset_of_a_deleted_world_is_stale() {
    let mut world = start().await;
    let id = world.staged().await;
    world.lorebook.state().worlds.clear();
    assert_eq!(world.get(&id).await.stale_reason, "the world is gone");
    refused(world.apply(apply(&id, "r1")).await, Code::FailedPrecondition, Reason::ChangesetState);
}

#[tokio::test]
async fn of_two_decisions_at_once_one_wins_and_the_other_is_told() {
    let mut world = start().await;
    let id = world.staged().await;
    let (applied, rejected) = tokio::join!(world.apply(apply(&id, "r1")), world.reject(&id, "r2"));
    assert!(applied.is_ok() != rejected.is_ok());
    let state = world.get(&id).await.state();
    match applied {
        Ok(_) => assert_eq!(state, pb::ChangesetState::Applied),
        Err(_) => assert_eq!(state, pb::ChangesetState::Rejected),
    }
}

#[tokio::test]
async fn an_undo_is_the_historys_and_shows_in_the_list() {
    let mut world = start().await;
    let id = world.staged().await;
    refused(world.undo(&id, "r1").await, Code::FailedPrecondition, Reason::ChangesetState);
    world.apply(apply(&id, "r2")).await.expect("applied");
    let undone = world.undo(&id, "r3").await.expect("undone");
    assert_eq!(world.undo(&id, "r3").await.expect("answered again"), undone);
    let history = pb::ListChangesetsRequest { filter: 2, ..Default::default() };
    let listed = world.list(history).await.changesets;
    assert_eq!(listed[0].state(), pb::ChangesetState::Reverted);
}

#[tokio::test]
async fn what_comes_after_an_undo_is_told_that_it_was_undone() {
    let mut world = start().await;
    let id = world.staged().await;
    world.apply(apply(&id, "r1")).await.expect("applied");
    world.undo(&id, "r2").await.expect("undone");
    let late = [
        world.undo(&id, "r3").await.err(),
        world.apply(apply(&id, "r4")).await.err(),
        world.reject(&id, "r5").await.err(),
        world.update(update(&id, "r6")).await.err(),
    ];
    for refusal in late {
        let refusal =
            refused(refusal.map_or(Ok(()), Err), Code::FailedPrecondition, Reason::ChangesetState);
        assert_eq!(refusal.message(), format!("changeset {id} is REVERTED"));
        let details = refusal.get_error_details();
        assert_eq!(details.error_info().expect("an info").metadata["state"], "REVERTED");
    }
}

#[tokio::test]
async fn what_was_replaced_can_be_read_when_it_is_there_no_more() {
    let mut world = start().await;
    let id = world.staged().await;
    world.apply(apply(&id, "r1")).await.expect("applied");
    for _ in 0..2 {
        let replaced = &world.get(&id).await.operations[0];
        assert_eq!((replaced.current_name.as_str(), replaced.problem.as_str()), ("King", ""));
        assert_eq!(replaced.current_content, "The king lives.\n");
        assert!(
            replaced.diff.contains("-The king lives.\n+The king is dead."),
            "{}",
            replaced.diff
        );
        assert_eq!(replaced.operation.as_ref().expect("one").rationale, "He died.");
        world.lorebook.state().worlds.clear();
    }
    refused(world.undo(&id, "r2").await, Code::FailedPrecondition, Reason::NotRevertible);
}

#[tokio::test]
async fn one_request_id_for_two_changesets_leaves_neither_half_applied() {
    let mut world = start().await;
    let done = world.judged(&["w1", "w2"], "It shook both worlds.").await;
    let ids: Vec<_> = done.changesets.iter().map(|staged| staged.changeset_id.clone()).collect();
    let (one, other) =
        tokio::join!(world.apply(apply(&ids[0], "r1")), world.apply(apply(&ids[1], "r1")));
    for (id, answer) in ids.iter().zip([one, other]) {
        let state = world.get(id).await.state();
        match answer {
            Ok(_) => assert_eq!(state, pb::ChangesetState::Applied),
            Err(_) => assert_eq!(state, pb::ChangesetState::Pending),
        }
    }
}

#[tokio::test]
async fn a_list_goes_on_where_its_page_ended() {
    let mut world = start().await;
    world.judged(&["w1", "w2"], "It shook both worlds.").await;
    let page =
        |page_token| pb::ListChangesetsRequest { page_size: 1, page_token, ..Default::default() };
    let first = world.list(page(String::new())).await;
    let second = world.list(page(first.next_page_token.clone())).await;
    assert_ne!(first.changesets[0].changeset_id, second.changesets[0].changeset_id);
    assert_eq!(second.next_page_token, "");
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let world = start().await;
    refused(world.apply(apply("nothing", "r1")).await, Code::NotFound, Reason::NotFound);
    refused(world.reject("nothing", "r1").await, Code::NotFound, Reason::NotFound);
    refused(world.reject("not an id", "r1").await, Code::InvalidArgument, Reason::FieldInvalid);
    refused(world.evaluation().await, Code::NotFound, Reason::NotFound);
}

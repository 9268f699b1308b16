//! Changes from the mesh, and their user's way back.

use tonic::Code;
use wire::{
    common::v1::Reason,
    lorebook::v1::{
        self as pb, ChangeOrigin, CreateEntryRequest, GetChangeRequest, Layer, ListChangesRequest,
        OverlayAction, ResetWorldRequest, RevertChangeRequest, RowChange, RowVerb, WorldView,
    },
    mesh::v1::{ApplyChangeRequest, CloseChangeRequest},
};

use crate::support::{Fixture, by, create, is_replay, refused, replace};

async fn effective(skald: &Fixture, world: &pb::World) -> Vec<String> {
    let read = skald.read("ada", &world.world_id, WorldView::Effective).await.expect("read");
    read.1.into_iter().map(|entry| entry.content).collect()
}

fn revert(change_id: &str, request_id: &str) -> RevertChangeRequest {
    RevertChangeRequest { change_id: change_id.into(), request_id: request_id.into() }
}

async fn an_applied_change_is_in_effect_recorded_and_can_be_taken_back(skald: &Fixture) {
    let world = skald.imported().await;
    let castle = skald.entry(&world.world_id, "Castle").await;
    let operations = vec![replace(&castle, "The castle is ash."), create("Ash", "Ash falls.")];
    let answer = skald.apply("c1", &world, 1, operations).await.expect("applied").into_inner();
    let change = answer.change.expect("a change");
    assert_eq!((change.base_revision, change.applied_revision, change.rows.len()), (1, 2, 2));
    assert!(change.rows[0].content_diff.contains("-The castle stands."), "{:?}", change.rows[0]);
    assert_eq!((change.rows[0].verb(), change.rows[1].verb()), (RowVerb::Replaced, RowVerb::Added));
    assert_eq!(change.rows[0].fields, [], "only the content says something else");
    let named = |row: &RowChange| {
        let name = row.fields.iter().find(|field| field.field == "name");
        name.map(|name| (name.before.clone(), name.after.clone()))
    };
    assert_eq!(named(&change.rows[1]), Some((String::new(), "Ash".to_owned())));
    let after = change.rows[0].after.as_ref().expect("a row");
    assert_eq!((after.layer(), after.overlay_action()), (Layer::Dynamic, OverlayAction::Replace));
    assert_eq!((&after.supersedes_entry_id, &after.keys), (&castle.entry_id, &castle.keys));
    let shown = effective(skald, &world).await;
    assert_eq!(
        shown,
        ["Wolves fear {{user}}.", "It is winter.", "The castle is ash.", "Ash falls."]
    );

    let undone = skald.history().revert_change(by("ada", revert("c1", "u"))).await.expect("undone");
    let again =
        skald.history().revert_change(by("ada", revert("c1", "u"))).await.expect("replayed");
    assert_eq!(undone.get_ref(), again.get_ref());
    let undone = undone.into_inner().change.expect("a change");
    assert_eq!((undone.origin(), undone.reverts_change_id.as_str()), (ChangeOrigin::Undo, "c1"));
    assert_eq!(effective(skald, &world).await.len(), 3);

    let request = ListChangesRequest { world_id: world.world_id.clone(), ..Default::default() };
    let list = skald.history().list_changes(by("ada", request.clone())).await.expect("listed");
    let listed = list.into_inner().changes;
    let ids: Vec<&str> = listed.iter().map(|change| change.change_id.as_str()).collect();
    assert_eq!(ids, [undone.change_id.as_str(), "c1"]);
    assert_eq!(
        (listed[1].revertible, &listed[1].reverted_by_change_id),
        (false, &undone.change_id)
    );
    assert!(listed.iter().all(|change| change.rows.is_empty()));
    refused(
        skald.history().list_changes(by("bob", request)).await,
        Code::NotFound,
        Reason::NotFound,
    );
}

async fn a_stale_change_names_both_revisions(skald: &Fixture) {
    let world = skald.imported().await;
    skald.apply("c1", &world, 1, vec![create("Ash", "Ash falls.")]).await.expect("applied");
    let stale = skald.apply("c2", &world, 1, vec![create("Snow", "Snow falls.")]).await;
    let stale = refused(stale, Code::Aborted, Reason::StaleRevision);
    assert!(stale.message().contains('1') && stale.message().contains('2'), "{stale:?}");
}

async fn a_repeated_change_is_replayed_and_another_under_its_id_is_refused(skald: &Fixture) {
    let world = skald.imported().await;
    let ash = || vec![create("Ash", "Ash falls.")];
    let first = skald.apply("c1", &world, 1, ash()).await.expect("applied");
    let again = skald.apply("c1", &world, 1, ash()).await.expect("replayed");
    assert_eq!(first.get_ref(), again.get_ref());
    assert!(!is_replay(&first));
    let other = skald.apply("c1", &world, 1, vec![create("Snow", "Snow falls.")]).await;
    refused(other, Code::AlreadyExists, Reason::ChangeIdReused);
}

async fn operations_that_do_not_hold_are_named_each(skald: &Fixture) {
    let world = skald.imported().await;
    let castle = skald.entry(&world.world_id, "Castle").await;
    let archive = pb::Operation {
        kind: pb::OperationKind::Archive.into(),
        target_entry_id: castle.entry_id.clone(),
        ..Default::default()
    };
    let operations = vec![create("Ash", "Ash falls."), archive];
    let refusal = skald.apply("c1", &world, 1, operations.clone()).await;
    let refusal = refused(refusal, Code::FailedPrecondition, Reason::OperationsInvalid);
    let details = tonic_types::StatusExt::get_error_details(&refusal);
    let named = &details.precondition_failure().expect("a failure").violations;
    assert_eq!((named.len(), named[0].subject.as_str()), (1, "operations[1]"));

    let request = ApplyChangeRequest {
        change_id: "c1".into(),
        world_id: world.world_id.clone(),
        operations,
        origin: ChangeOrigin::Agent.into(),
        validate_only: true,
        ..Default::default()
    };
    let verdicts = skald.lore("ada").apply_change(request).await.expect("judged").into_inner();
    let verdicts = verdicts.verdicts;
    assert_eq!((verdicts.len(), verdicts[0].problem.as_str()), (2, ""));
    assert!(verdicts[1].problem.contains("authored"), "{:?}", verdicts[1]);
    assert_eq!(verdicts[1].current_content, castle.content);
    assert_eq!(effective(skald, &world).await.len(), 3);
}

async fn a_closed_change_never_applies(skald: &Fixture) {
    let world = skald.imported().await;
    let close =
        |id: &str| CloseChangeRequest { change_id: id.into(), world_id: world.world_id.clone() };
    let closed = skald.lore("ada").close_change(close("c1")).await.expect("closed").into_inner();
    assert!(closed.change.is_none());
    let refusal = skald.apply("c1", &world, 1, vec![create("Ash", "Ash falls.")]).await;
    refused(refusal, Code::FailedPrecondition, Reason::ChangeClosed);
    skald.apply("c2", &world, 1, vec![create("Ash", "Ash falls.")]).await.expect("applied");
    let found = skald.lore("ada").close_change(close("c2")).await.expect("found").into_inner();
    assert_eq!(found.change.expect("a change").change_id, "c2");
}

async fn an_undo_over_a_later_change_names_the_rows(skald: &Fixture) {
    let world = skald.imported().await;
    let applied = skald.apply("c1", &world, 1, vec![create("Ash", "Ash falls.")]).await;
    let applied = applied.expect("applied").into_inner().change.expect("a change");
    let row = applied.rows[0].after.clone().expect("a row");
    let update = pb::Operation {
        kind: pb::OperationKind::Update.into(),
        target_entry_id: row.entry_id.clone(),
        content: Some("Ash fell.".into()),
        ..Default::default()
    };
    skald.apply("c2", &world, 2, vec![update]).await.expect("applied");
    let refusal = skald.history().revert_change(by("ada", revert("c1", ""))).await;
    let refusal = refused(refusal, Code::FailedPrecondition, Reason::UndoConflict);
    let details = tonic_types::StatusExt::get_error_details(&refusal);
    let named = &details.precondition_failure().expect("a failure").violations;
    assert_eq!(named[0].subject, format!("entry/{}", row.entry_id));
    let twice = skald.history().revert_change(by("ada", revert("gone", ""))).await;
    refused(twice, Code::NotFound, Reason::NotFound);
}

async fn a_reset_leaves_the_authored_world_and_can_be_taken_back(skald: &Fixture) {
    let world = skald.imported().await;
    let castle = skald.entry(&world.world_id, "Castle").await;
    skald.apply("c1", &world, 1, vec![replace(&castle, "Ash.")]).await.expect("applied");
    let request = ResetWorldRequest { world_id: world.world_id.clone(), request_id: "z".into() };
    let reset = skald.history().reset_world(by("ada", request)).await.expect("reset");
    let reset = reset.into_inner().change.expect("a change");
    assert_eq!(reset.origin(), ChangeOrigin::Reset);
    assert!(effective(skald, &world).await.contains(&castle.content));
    let request = ResetWorldRequest { world_id: world.world_id.clone(), request_id: "z2".into() };
    let nothing = skald.history().reset_world(by("ada", request)).await;
    refused(nothing, Code::FailedPrecondition, Reason::NotRevertible);
    skald.history().revert_change(by("ada", revert(&reset.change_id, ""))).await.expect("undone");
    assert!(effective(skald, &world).await.contains(&"Ash.".to_owned()));
}

async fn the_rows_of_a_change_come_in_pages(skald: &Fixture) {
    let world = skald.imported().await;
    let operations: Vec<_> = (0..5).map(|n| create(&format!("n{n}"), "x")).collect();
    skald.apply("c1", &world, 1, operations).await.expect("applied");
    let mut names = Vec::new();
    let mut page_token = String::new();
    loop {
        let request = GetChangeRequest { change_id: "c1".into(), page_size: 2, page_token };
        let page = skald.history().get_change(by("ada", request)).await.expect("read").into_inner();
        let rows = page.change.expect("a change").rows;
        assert!(rows.len() <= 2);
        names.extend(rows.into_iter().filter_map(|row| row.after).map(|entry| entry.name));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    assert_eq!(names, ["n0", "n1", "n2", "n3", "n4"]);
}

async fn changes_of_large_entries_are_answered_with_what_fits(skald: &Fixture) {
    let mut world = skald.imported().await;
    let content = "A line of a very long chronicle.\n".repeat(50_000);
    let mut large = Vec::new();
    for name in ["a", "b", "c"] {
        let entry = pb::Entry { name: name.into(), content: content.clone(), ..Default::default() };
        let request = CreateEntryRequest {
            world_id: world.world_id.clone(),
            entry: Some(entry),
            ..Default::default()
        };
        let made = skald.entries().create_entry(by("ada", request)).await.expect("made");
        let made = made.into_inner();
        world = made.world.expect("a world");
        large.push(replace(&made.entry.expect("an entry"), "Ash."));
    }
    let verdicts = skald.validate(&world, large.clone()).await;
    let spared: Vec<_> = verdicts.iter().flat_map(|verdict| &verdict.left_out).collect();
    assert_eq!((spared.len(), spared[0].field.as_str()), (1, "current_content"));
    assert_eq!(spared[0].bytes, content.len() as u64);
    let applied = skald.apply("c1", &world, world.content_revision, large).await.expect("applied");
    let rows = applied.into_inner().change.expect("a change").rows;
    assert_eq!(rows.len(), 1, "a page");
    let undone = skald.history().revert_change(by("ada", revert("c1", "u"))).await.expect("undone");
    assert!(undone.into_inner().change.is_some());
}

async fn a_malformed_change_is_refused_by_its_field(skald: &Fixture) {
    let world = skald.imported().await;
    let unknown = vec![pb::Operation::default()];
    let refusal = skald.apply("c1", &world, 1, unknown).await;
    let refusal = refused(refusal, Code::InvalidArgument, Reason::FieldInvalid);
    assert!(refusal.message().starts_with("operations[0].kind"), "{refusal:?}");
    refused(
        skald.apply("", &world, 1, vec![create("a", "b")]).await,
        Code::InvalidArgument,
        Reason::FieldInvalid,
    );
    refused(
        skald.apply("c1", &world, 1, Vec::new()).await,
        Code::InvalidArgument,
        Reason::FieldInvalid,
    );
}

both! {
    an_applied_change_is_in_effect_recorded_and_can_be_taken_back
    a_stale_change_names_both_revisions
    a_repeated_change_is_replayed_and_another_under_its_id_is_refused
    operations_that_do_not_hold_are_named_each
    a_closed_change_never_applies
    an_undo_over_a_later_change_names_the_rows
    a_reset_leaves_the_authored_world_and_can_be_taken_back
    the_rows_of_a_change_come_in_pages
    changes_of_large_entries_are_answered_with_what_fits
    a_malformed_change_is_refused_by_its_field
}

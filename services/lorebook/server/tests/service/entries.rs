//! Entries by their user's own hand.

use prost_types::FieldMask;
use tonic::Code;
use wire::{
    common::v1::Reason,
    lorebook::v1::{
        BatchEditEntriesRequest, ChangeOrigin, CreateEntryRequest, DeleteEntryRequest, Entry,
        EntryEdit, EntryPosition, GetEntryRequest, ListChangesRequest, ReorderEntriesRequest,
        SearchEntriesRequest, UpdateEntryRequest, UpdateWorldRequest, World, WorldView,
        entry_edit::Edit,
    },
    mesh::v1::DeleteWorldRequest,
};

use crate::support::{Fixture, by, is_replay, refused, replace};

fn mask(paths: &[&str]) -> Option<FieldMask> {
    Some(FieldMask { paths: paths.iter().map(|path| (*path).to_owned()).collect() })
}

fn update(world: &World, entry: &Entry, paths: &[&str]) -> UpdateEntryRequest {
    UpdateEntryRequest {
        world_id: world.world_id.clone(),
        entry: Some(entry.clone()),
        update_mask: mask(paths),
        ..Default::default()
    }
}

async fn a_created_entry_has_what_is_given_and_otherwise_the_defaults(skald: &Fixture) {
    let world = skald.imported().await;
    let request = || CreateEntryRequest {
        world_id: world.world_id.clone(),
        entry: Some(Entry {
            name: "Elves".into(),
            content: "Elves sing.".into(),
            position: EntryPosition::Outlet.into(),
            ..Default::default()
        }),
        field_mask: mask(&["selective"]),
        keys_text: "/Elf[,;]/, elves".into(),
        request_id: "r1".into(),
    };
    let made = skald.entries().create_entry(by("ada", request())).await.expect("made");
    let again = skald.entries().create_entry(by("ada", request())).await.expect("replayed");
    assert_eq!(made.get_ref(), again.get_ref());
    let made = made.into_inner();
    let entry = made.entry.expect("an entry");
    assert_eq!(entry.keys, ["/Elf[,;]/", "elves"]);
    assert!(entry.enabled && entry.use_probability && !entry.selective);
    assert_eq!((entry.order, entry.depth, entry.probability), (100.0, 4, 100.0));
    assert_eq!((entry.position(), entry.uid), (EntryPosition::Outlet, 3));
    assert_eq!(made.world.expect("a world").content_revision, 2);
}

async fn an_update_changes_what_its_mask_names_if_the_etag_holds(skald: &Fixture) {
    let world = skald.imported().await;
    let mut castle = skald.entry(&world.world_id, "Castle").await;
    castle.content = "It fell.".into();
    castle.depth = 9;
    let done = skald.entries().update_entry(by("ada", update(&world, &castle, &["content"]))).await;
    let done = done.expect("updated").into_inner();
    let (entry, world) = (done.entry.expect("an entry"), done.world.expect("a world"));
    assert_eq!((entry.content.as_str(), entry.depth, entry.entry_revision), ("It fell.", 4, 1));
    assert_eq!(world.content_revision, 2);
    let stale = skald.entries().update_entry(by("ada", update(&world, &castle, &["depth"]))).await;
    refused(stale, Code::Aborted, Reason::EtagMismatch);
    let lock = Entry { locked: true, ..entry };
    let done = skald.entries().update_entry(by("ada", update(&world, &lock, &["locked"]))).await;
    let done = done.expect("locked").into_inner();
    assert_eq!(done.world.expect("a world").content_revision, 2);
    let operation = replace(&lock, "no");
    let refusal = skald.apply("c1", &world, 2, vec![operation]).await;
    refused(refusal, Code::FailedPrecondition, Reason::OperationsInvalid);
}

async fn a_malformed_entry_is_refused_by_its_field(skald: &Fixture) {
    let world = skald.imported().await;
    let castle = skald.entry(&world.world_id, "Castle").await;
    let bad = async |entry: Entry, path: &str| {
        skald.entries().update_entry(by("ada", update(&world, &entry, &[path]))).await
    };
    let refusals = [
        bad(Entry { probability: f64::NAN, ..castle.clone() }, "probability").await,
        bad(Entry { role: "god".into(), ..castle.clone() }, "role").await,
        bad(Entry { position: 0, ..castle.clone() }, "position").await,
        bad(Entry { match_sources: vec!["x".into()], ..castle.clone() }, "match_sources").await,
        bad(castle.clone(), "layer").await,
    ];
    for refusal in refusals {
        refused(refusal, Code::InvalidArgument, Reason::FieldInvalid);
    }
}

async fn a_retry_of_an_edit_is_told_by_what_it_writes(skald: &Fixture) {
    let world = skald.imported().await;
    let castle = skald.entry(&world.world_id, "Castle").await;
    let named = |entry: &Entry| UpdateEntryRequest {
        request_id: "r1".into(),
        ..update(&world, entry, &["content"])
    };
    let edited = Entry { content: "It fell.".into(), ..castle };
    let first = skald.entries().update_entry(by("ada", named(&edited))).await.expect("edited");
    let first = first.into_inner();
    let now = first.entry.clone().expect("an entry");
    let retried = Entry { depth: 9, ..now.clone() };
    let again = skald.entries().update_entry(by("ada", named(&retried))).await.expect("replayed");
    assert!(is_replay(&again));
    assert_eq!(again.into_inner(), first);
    let other = Entry { content: "It rose.".into(), ..now.clone() };
    let other = skald.entries().update_entry(by("ada", named(&other))).await;
    refused(other, Code::AlreadyExists, Reason::RequestIdReused);

    let request = DeleteEntryRequest {
        world_id: world.world_id.clone(),
        entry_id: now.entry_id.clone(),
        ..Default::default()
    };
    skald.entries().delete_entry(by("ada", request)).await.expect("deleted");
    let late = skald.entries().update_entry(by("ada", named(&edited))).await.expect("replayed");
    let late = late.into_inner();
    assert_eq!((late.entry, late.world.expect("a world").content_revision), (None, 3));
}

async fn what_a_new_entry_cannot_hold_is_refused_and_never_dropped(skald: &Fixture) {
    let world = skald.imported().await;
    let refusal = async |entry: Entry| {
        let (world_id, entry) = (world.world_id.clone(), Some(entry));
        let request = CreateEntryRequest { world_id, entry, ..Default::default() };
        let refusal = skald.entries().create_entry(by("ada", request)).await;
        let refusal = refused(refusal, Code::InvalidArgument, Reason::FieldInvalid);
        refusal.message().split(' ').next().unwrap_or_default().to_owned()
    };
    let castle = skald.entry(&world.world_id, "Castle").await;
    for (entry, field) in [
        (castle, "entry.entry_id"),
        (Entry { uid: 1, ..Default::default() }, "entry.uid"),
        (Entry { layer: 2, ..Default::default() }, "entry.layer"),
        (Entry { overlay_action: 1, ..Default::default() }, "entry.overlay_action"),
        (Entry { extra_json: "{}".into(), ..Default::default() }, "entry.extra_json"),
        (Entry { probability: f64::NAN, ..Default::default() }, "entry.probability"),
        (Entry { order: f64::INFINITY, ..Default::default() }, "entry.order"),
        (Entry { group_weight: f64::NAN, ..Default::default() }, "entry.group_weight"),
        (Entry { position: 99, ..Default::default() }, "entry.position"),
        (Entry { secondary_logic: 99, ..Default::default() }, "entry.secondary_logic"),
        (Entry { triggers: vec!["zzz".into()], ..Default::default() }, "entry.triggers[0]"),
        (
            Entry { match_sources: vec!["zzz".into()], ..Default::default() },
            "entry.match_sources[0]",
        ),
    ] {
        assert_eq!(refusal(entry).await, field);
    }
}

async fn an_edit_of_a_batch_names_no_world_of_its_own(skald: &Fixture) {
    let world = skald.imported().await;
    let create = |world_id: &str, probability: f64| CreateEntryRequest {
        world_id: world_id.into(),
        entry: Some(Entry { name: "a".into(), probability, ..Default::default() }),
        ..Default::default()
    };
    for (edit, field) in [
        (create("another", 1.0), "edits[0].create.world_id "),
        (create("", f64::INFINITY), "edits[0].create.entry.probability "),
    ] {
        let request = BatchEditEntriesRequest {
            world_id: world.world_id.clone(),
            edits: vec![EntryEdit { edit: Some(Edit::Create(edit)) }],
            request_id: String::new(),
        };
        let refusal = skald.entries().batch_edit_entries(by("ada", request)).await;
        let refusal = refused(refusal, Code::InvalidArgument, Reason::FieldInvalid);
        assert!(refusal.message().starts_with(field), "{refusal:?}");
    }
}

async fn a_deletion_in_a_dynamic_world_is_in_its_history(skald: &Fixture) {
    let world = skald.imported().await;
    let on = World { dynamic_enabled: true, ..world.clone() };
    let request = UpdateWorldRequest {
        world: Some(on),
        update_mask: mask(&["dynamic_enabled"]),
        request_id: String::new(),
    };
    skald.worlds().update_world(by("ada", request)).await.expect("switched on");
    let castle = skald.entry(&world.world_id, "Castle").await;
    let request = DeleteEntryRequest {
        world_id: world.world_id.clone(),
        entry_id: castle.entry_id.clone(),
        etag: castle.etag.clone(),
        request_id: "r1".into(),
    };
    let done = skald.entries().delete_entry(by("ada", request.clone())).await.expect("deleted");
    let again = skald.entries().delete_entry(by("ada", request)).await.expect("replayed");
    assert_eq!(done.get_ref(), again.get_ref());
    let request = ListChangesRequest { world_id: world.world_id.clone(), ..Default::default() };
    let listed = skald.history().list_changes(by("ada", request)).await.expect("listed");
    let listed = listed.into_inner().changes;
    assert_eq!(
        (listed.len(), listed[0].origin(), listed[0].revertible),
        (1, ChangeOrigin::Manual, false)
    );
    let request = GetEntryRequest { world_id: world.world_id, entry_id: castle.entry_id };
    let gone = skald.entries().get_entry(by("ada", request)).await;
    refused(gone, Code::NotFound, Reason::NotFound);
}

async fn entries_are_reordered_searched_and_edited_in_batches(skald: &Fixture) {
    let world = skald.imported().await;
    let (wolves, winter) = (
        skald.entry(&world.world_id, "Wolves").await,
        skald.entry(&world.world_id, "Winter").await,
    );
    let request = ReorderEntriesRequest {
        world_id: world.world_id.clone(),
        entry_ids: vec![winter.entry_id.clone(), wolves.entry_id.clone()],
        request_id: String::new(),
    };
    skald.entries().reorder_entries(by("ada", request)).await.expect("reordered");
    let (_, entries) = skald.read("ada", &world.world_id, WorldView::Authored).await.expect("read");
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["Winter", "Castle", "Wolves"]);

    let search = |text: &str| SearchEntriesRequest {
        world_id: world.world_id.clone(),
        text: text.into(),
        page_size: 1,
        ..Default::default()
    };
    let found =
        skald.entries().search_entries(by("ada", search("W"))).await.expect("found").into_inner();
    assert_eq!((found.entries.len(), found.entries[0].name.as_str()), (1, "Winter"));
    let next = SearchEntriesRequest { page_token: found.next_page_token, ..search("W") };
    let found = skald.entries().search_entries(by("ada", next)).await.expect("found").into_inner();
    assert_eq!((found.entries[0].name.as_str(), found.next_page_token.as_str()), ("Wolves", ""));
    let empty = skald.entries().search_entries(by("ada", search(""))).await;
    refused(empty, Code::InvalidArgument, Reason::FieldInvalid);

    let edits = [
        Edit::Delete(DeleteEntryRequest {
            entry_id: winter.entry_id.clone(),
            ..Default::default()
        }),
        Edit::Update(UpdateEntryRequest {
            entry: Some(Entry {
                entry_id: wolves.entry_id.clone(),
                order: 7.25,
                ..Default::default()
            }),
            update_mask: mask(&["order"]),
            ..Default::default()
        }),
    ];
    let request = BatchEditEntriesRequest {
        world_id: world.world_id.clone(),
        edits: edits.map(|edit| EntryEdit { edit: Some(edit) }).into(),
        request_id: String::new(),
    };
    let done = skald.entries().batch_edit_entries(by("ada", request)).await.expect("edited");
    let done = done.into_inner();
    assert_eq!(done.entry_ids, [winter.entry_id, wolves.entry_id]);
    let world = done.world.expect("a world");
    assert_eq!((world.content_revision, world.entry_count), (3, 2));
    assert_eq!(skald.entry(&world.world_id, "Wolves").await.order.to_string(), "7.25");
}

async fn a_deleted_world_is_gone_and_deleting_it_again_is_fine(skald: &Fixture) {
    let world = skald.imported().await;
    for _ in 0..2 {
        let request = DeleteWorldRequest { world_id: world.world_id.clone() };
        skald.lore("ada").delete_world(request).await.expect("deleted");
    }
    let gone = skald.read("ada", &world.world_id, WorldView::Authored).await;
    refused(gone, Code::NotFound, Reason::NotFound);
}

both! {
    a_created_entry_has_what_is_given_and_otherwise_the_defaults
    an_update_changes_what_its_mask_names_if_the_etag_holds
    a_malformed_entry_is_refused_by_its_field
    a_retry_of_an_edit_is_told_by_what_it_writes
    what_a_new_entry_cannot_hold_is_refused_and_never_dropped
    an_edit_of_a_batch_names_no_world_of_its_own
    a_deletion_in_a_dynamic_world_is_in_its_history
    entries_are_reordered_searched_and_edited_in_batches
    a_deleted_world_is_gone_and_deleting_it_again_is_fine
}

//! When a world's `content_revision` moves: once for each call that changes what the lore says, and for no other.

use prost_types::FieldMask;
use wire::{
    common::v1::UploadHeader,
    lorebook::v1::{
        self as pb, Entry, EntryPosition, OperationKind, SecondaryLogic, World, WorldView,
        entry_edit::Edit,
    },
    mesh::v1 as mesh,
};

use crate::support::{BOOK, Fixture, by, create, replace};

/// A field of an entry as a mask names it, a value that no entry of the book has, and whether it is lore.
type Field = (&'static str, fn(&mut Entry), bool);

const FIELDS: [Field; 36] = [
    ("name", |e| e.name = "x".into(), true),
    ("content", |e| e.content = "x".into(), true),
    ("keys", |e| e.keys = vec!["x".into()], true),
    ("secondary_keys", |e| e.secondary_keys = vec!["x".into()], true),
    ("secondary_logic", |e| e.secondary_logic = SecondaryLogic::NotAll.into(), true),
    ("selective", |e| e.selective = !e.selective, true),
    ("constant", |e| e.constant = !e.constant, true),
    ("vectorized", |e| e.vectorized = !e.vectorized, true),
    ("enabled", |e| e.enabled = !e.enabled, true),
    ("order", |e| e.order = 7.0, true),
    ("position", |e| e.position = EntryPosition::ExamplesTop.into(), true),
    ("depth", |e| e.depth = 77, true),
    ("role", |e| e.role = "assistant".into(), true),
    ("outlet_name", |e| e.outlet_name = "x".into(), true),
    ("ignore_budget", |e| e.ignore_budget = !e.ignore_budget, true),
    ("exclude_recursion", |e| e.exclude_recursion = !e.exclude_recursion, true),
    ("prevent_recursion", |e| e.prevent_recursion = !e.prevent_recursion, true),
    ("delay_until_recursion", |e| e.delay_until_recursion = 7, true),
    ("use_probability", |e| e.use_probability = !e.use_probability, true),
    ("probability", |e| e.probability = 7.5, true),
    ("group", |e| e.group = "x".into(), true),
    ("group_override", |e| e.group_override = !e.group_override, true),
    ("group_weight", |e| e.group_weight = 7.0, true),
    ("scan_depth", |e| e.scan_depth = Some(7), true),
    ("case_sensitive", |e| e.case_sensitive = Some(true), true),
    ("match_whole_words", |e| e.match_whole_words = Some(true), true),
    ("use_group_scoring", |e| e.use_group_scoring = Some(true), true),
    ("automation_id", |e| e.automation_id = "x".into(), true),
    ("sticky", |e| e.sticky = Some(7), true),
    ("cooldown", |e| e.cooldown = Some(7), true),
    ("delay", |e| e.delay = Some(7), true),
    ("triggers", |e| e.triggers = vec!["swipe".into()], true),
    ("match_sources", |e| e.match_sources = vec!["scenario".into()], true),
    ("character_filter", |e| e.character_filter = Some(pb::CharacterFilter::default()), true),
    ("locked", |e| e.locked = !e.locked, false),
    ("display_index", |e| e.display_index = Some(7), false),
];

/// A head's field and another value of it.
type HeadField = (&'static str, fn(&mut World));

const HEAD: [HeadField; 4] = [
    ("name", |w| w.name = "South".into()),
    ("enabled", |w| w.enabled = !w.enabled),
    ("dynamic_enabled", |w| w.dynamic_enabled = !w.dynamic_enabled),
    ("scan", |w| w.scan = Some(pb::ScanSettings { scan_depth: Some(9), ..Default::default() })),
];

/// A world, watched: how far did its revision move since it was last looked at?
struct Watched<'s> {
    skald: &'s Fixture,
    world: World,
}

impl Watched<'_> {
    async fn moved(&mut self) -> u64 {
        let before = self.world.content_revision;
        let read = self.skald.read("ada", &self.world.world_id, WorldView::All).await;
        self.world = read.expect("read").0;
        self.world.content_revision - before
    }

    async fn rows(&self) -> Vec<Entry> {
        let read = self.skald.read("ada", &self.world.world_id, WorldView::All).await;
        read.expect("read").1
    }

    fn id(&self) -> String {
        self.world.world_id.clone()
    }
}

async fn watched(skald: &Fixture) -> Watched<'_> {
    Watched { skald, world: skald.imported().await }
}

fn mask(path: &str) -> Option<FieldMask> {
    Some(FieldMask { paths: vec![path.to_owned()] })
}

fn edit(world_id: String, entry: &Entry, path: &str) -> pb::UpdateEntryRequest {
    let entry = Entry { etag: String::new(), ..entry.clone() };
    pb::UpdateEntryRequest {
        world_id,
        entry: Some(entry),
        update_mask: mask(path),
        ..Default::default()
    }
}

async fn each_field_of_an_entry_moves_it_once_if_it_is_lore(skald: &Fixture) {
    let mut world = watched(skald).await;
    let mut castle = skald.entry(&world.id(), "Castle").await;
    for (path, change, lore) in FIELDS {
        let same = edit(world.id(), &castle, path);
        skald.entries().update_entry(by("ada", same)).await.expect("saved");
        assert_eq!(world.moved().await, 0, "{path}, saved as it was");
        change(&mut castle);
        let other = edit(world.id(), &castle, path);
        let saved = skald.entries().update_entry(by("ada", other)).await.expect("saved");
        castle = saved.into_inner().entry.expect("an entry");
        assert_eq!(world.moved().await, u64::from(lore), "{path}");
    }
    let moving = FIELDS.iter().filter(|(_, _, lore)| *lore).count();
    assert_eq!(castle.entry_revision, moving as u64, "and so does the row's own");
}

async fn no_field_of_the_head_moves_it(skald: &Fixture) {
    let mut world = watched(skald).await;
    for (path, change) in HEAD {
        let mut head = world.world.clone();
        change(&mut head);
        let (head, update_mask) = (Some(head), mask(path));
        let request =
            pb::UpdateWorldRequest { world: head, update_mask, request_id: String::new() };
        skald.worlds().update_world(by("ada", request)).await.expect("saved");
        let etag = world.world.etag.clone();
        assert_eq!(world.moved().await, 0, "{path}");
        assert_ne!(world.world.etag, etag, "{path}");
    }
}

async fn each_edit_of_rows_moves_it_once(skald: &Fixture) {
    let mut world = watched(skald).await;
    let rows = world.rows().await;
    let creation = |name: &str| pb::CreateEntryRequest {
        entry: Some(Entry { name: name.into(), ..Default::default() }),
        ..Default::default()
    };

    let one = pb::CreateEntryRequest { world_id: world.id(), ..creation("Elves") };
    skald.entries().create_entry(by("ada", one)).await.expect("created");
    assert_eq!(world.moved().await, 1, "a creation");

    for (entry_ids, moves) in [([&rows[1], &rows[0]], 1), ([&rows[1], &rows[0]], 0)] {
        let entry_ids = entry_ids.map(|row| row.entry_id.clone()).into();
        let request =
            pb::ReorderEntriesRequest { world_id: world.id(), entry_ids, ..Default::default() };
        skald.entries().reorder_entries(by("ada", request)).await.expect("reordered");
        assert_eq!(world.moved().await, moves, "a reorder");
    }

    let lock = Entry { locked: true, ..rows[0].clone() };
    let switch = Entry { enabled: false, ..rows[1].clone() };
    let batches: [(Vec<Edit>, u64); 3] = [
        (vec![Edit::Update(edit(String::new(), &lock, "locked"))], 0),
        (Vec::new(), 0),
        (
            vec![
                Edit::Create(creation("Dwarves")),
                Edit::Update(edit(String::new(), &switch, "enabled")),
                Edit::Delete(pb::DeleteEntryRequest {
                    entry_id: rows[2].entry_id.clone(),
                    ..Default::default()
                }),
            ],
            1,
        ),
    ];
    for (edits, moves) in batches {
        let edits = edits.into_iter().map(|edit| pb::EntryEdit { edit: Some(edit) }).collect();
        let request =
            pb::BatchEditEntriesRequest { world_id: world.id(), edits, request_id: String::new() };
        skald.entries().batch_edit_entries(by("ada", request)).await.expect("edited");
        assert_eq!(world.moved().await, moves, "a batch");
    }

    let request = pb::DeleteEntryRequest {
        world_id: world.id(),
        entry_id: rows[0].entry_id.clone(),
        request_id: "d1".into(),
        ..Default::default()
    };
    for (request, moves) in [(request.clone(), 1), (request, 0)] {
        skald.entries().delete_entry(by("ada", request)).await.expect("deleted");
        assert_eq!(world.moved().await, moves, "a deletion and its repetition");
    }
}

async fn each_change_moves_it_once(skald: &Fixture) {
    let mut world = watched(skald).await;
    let castle = skald.entry(&world.id(), "Castle").await;
    let revert = |change_id: &str| pb::RevertChangeRequest {
        change_id: change_id.into(),
        request_id: format!("undo-{change_id}"),
    };
    let apply = |world: &World, id: &'static str, operations: Vec<pb::Operation>| {
        let world = world.clone();
        async move { skald.apply(id, &world, world.content_revision, operations).await }
    };

    let operations = || vec![replace(&castle, "Ash."), create("Snow", "Snow falls.")];
    let first = world.world.clone();
    apply(&first, "c1", operations()).await.expect("applied");
    assert_eq!(world.moved().await, 1, "a change of two operations");
    skald.apply("c1", &first, first.content_revision, operations()).await.expect("replayed");
    assert_eq!(world.moved().await, 0, "its repetition");

    let unknown = pb::Operation {
        kind: OperationKind::Archive.into(),
        target_entry_id: "gone".into(),
        ..Default::default()
    };
    apply(&world.world, "c2", vec![unknown]).await.expect_err("refused");
    skald.apply("c3", &world.world, 1, vec![create("Rain", "x")]).await.expect_err("stale");
    let close = mesh::CloseChangeRequest { change_id: "c4".into(), world_id: world.id() };
    skald.lore("ada").close_change(close).await.expect("closed");
    apply(&world.world, "c4", vec![create("Rain", "x")]).await.expect_err("closed");
    let judged = mesh::ApplyChangeRequest {
        change_id: "c5".into(),
        world_id: world.id(),
        operations: vec![create("Rain", "x")],
        origin: pb::ChangeOrigin::Agent.into(),
        validate_only: true,
        ..Default::default()
    };
    skald.lore("ada").apply_change(judged).await.expect("judged");
    assert_eq!(world.moved().await, 0, "what is refused, closed or only judged");

    for (repetition, moves) in [("", 1), (", again", 0)] {
        let undone = skald.history().revert_change(by("ada", revert("c1"))).await;
        undone.expect("undone");
        assert_eq!(world.moved().await, moves, "an undo{repetition}");
    }
    apply(&world.world, "c6", vec![replace(&castle, "Ash.")]).await.expect("applied");
    assert_eq!(world.moved().await, 1, "a change");
    for (reset, moves) in [(true, 1), (false, 0)] {
        let request = pb::ResetWorldRequest { world_id: world.id(), request_id: String::new() };
        let answer = skald.history().reset_world(by("ada", request)).await;
        assert_eq!((answer.is_ok(), world.moved().await), (reset, moves), "a reset");
    }
    skald.history().revert_change(by("ada", revert("c1"))).await.expect("replayed");
    skald.history().revert_change(by("ada", revert("c6"))).await.expect_err("a conflict");
    assert_eq!(world.moved().await, 0, "an undo that is refused");
}

async fn nothing_that_reads_or_makes_another_world_moves_it(skald: &Fixture) {
    let mut world = watched(skald).await;
    let id = world.id();
    skald.upload("ada", UploadHeader::default(), BOOK.as_bytes()).await.expect("imported");
    skald
        .upload("ada", UploadHeader { validate_only: true, ..Default::default() }, b"{}")
        .await
        .expect_err("no lorebook");
    let all = WorldView::All;
    skald.read("ada", &id, all).await.expect("read");
    let request =
        pb::ExportWorldRequest { world_id: id.clone(), view: all.into(), ..Default::default() };
    skald.worlds().export_world(by("ada", request)).await.expect("exported");
    skald.worlds().list_worlds(by("ada", Default::default())).await.expect("listed");
    let entry_id = skald.entry(&id, "Castle").await.entry_id;
    let request = pb::GetEntryRequest { world_id: id.clone(), entry_id };
    skald.entries().get_entry(by("ada", request)).await.expect("read");
    let request = pb::SearchEntriesRequest {
        world_id: id.clone(),
        text: "castle".into(),
        ..Default::default()
    };
    skald.entries().search_entries(by("ada", request)).await.expect("found");
    let request = pb::ListChangesRequest { world_id: id.clone(), ..Default::default() };
    skald.history().list_changes(by("ada", request)).await.expect("listed");
    let request = mesh::BatchGetWorldsRequest { world_ids: vec![id.clone()] };
    skald.lore("ada").batch_get_worlds(request).await.expect("read");
    let source = mesh::LoreSource { world_id: id, ..Default::default() };
    let request = mesh::ActivateRequest { sources: vec![source], ..Default::default() };
    skald.activate("ada", request).await.expect("activated");
    assert_eq!(world.moved().await, 0);
}

both! {
    each_field_of_an_entry_moves_it_once_if_it_is_lore
    no_field_of_the_head_moves_it
    each_edit_of_rows_moves_it_once
    each_change_moves_it_once
    nothing_that_reads_or_makes_another_world_moves_it
}

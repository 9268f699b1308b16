//! Reading and editing worlds.

use prost_types::FieldMask;
use tonic::Code;
use wire::{
    common::v1::{Reason, UploadHeader},
    lorebook::v1::{
        CreateWorldRequest, ListWorldsRequest, ScanSettings, UpdateWorldRequest, World, WorldView,
    },
    mesh::v1::BatchGetWorldsRequest,
};

use crate::support::{Fixture, by, is_replay, refused};

fn update(world: &World, paths: &[&str]) -> UpdateWorldRequest {
    let paths = paths.iter().map(|path| (*path).to_owned()).collect();
    UpdateWorldRequest {
        world: Some(world.clone()),
        update_mask: Some(FieldMask { paths }),
        request_id: String::new(),
    }
}

async fn another_owners_world_is_as_absent_as_one_that_never_was(skald: &Fixture) {
    let world = skald.imported().await;
    let foreign = skald.read("bob", &world.world_id, WorldView::Authored).await;
    let foreign = refused(foreign, Code::NotFound, Reason::NotFound);
    let absent = skald.read("bob", "never-was", WorldView::Authored).await;
    let absent = refused(absent, Code::NotFound, Reason::NotFound);
    let plain = foreign.message().replace(&world.world_id, "never-was");
    assert_eq!(plain, absent.message());
    let edit = skald.worlds().update_world(by("bob", update(&world, &["name"]))).await;
    refused(edit, Code::NotFound, Reason::NotFound);
}

async fn a_world_is_made_empty_once_for_each_request(skald: &Fixture) {
    let request = |name: &str| CreateWorldRequest {
        name: name.into(),
        dynamic_enabled: true,
        scan: Some(ScanSettings { scan_depth: Some(2), ..Default::default() }),
        request_id: "r1".into(),
    };
    let first = skald.worlds().create_world(by("ada", request(" East "))).await.expect("made");
    let again = skald.worlds().create_world(by("ada", request("East"))).await.expect("replayed");
    assert!(is_replay(&again) && !is_replay(&first));
    let world = first.into_inner().world.expect("a world");
    assert_eq!(again.into_inner().world, Some(world.clone()));
    assert_eq!((world.name.as_str(), world.content_revision, world.entry_count), ("East", 1, 0));
    assert!(world.enabled && world.dynamic_enabled && !world.embedded);
    assert_eq!(world.scan.expect("settings").scan_depth, Some(2));
    let other = skald.worlds().create_world(by("ada", request("West"))).await;
    refused(other, Code::AlreadyExists, Reason::RequestIdReused);
    let nameless = skald.worlds().create_world(by("ada", request(""))).await;
    refused(nameless, Code::InvalidArgument, Reason::FieldInvalid);
}

async fn a_head_is_edited_by_mask_without_moving_the_revision(skald: &Fixture) {
    let mut world = skald.imported().await;
    world.name = "South".into();
    world.enabled = false;
    let answer = skald.worlds().update_world(by("ada", update(&world, &["name"]))).await;
    let edited = answer.expect("edited").into_inner().world.expect("a world");
    assert_eq!((edited.name.as_str(), edited.enabled, edited.content_revision), ("South", true, 1));
    let stale = skald.worlds().update_world(by("ada", update(&world, &["enabled"]))).await;
    let stale = refused(stale, Code::Aborted, Reason::EtagMismatch);
    assert!(stale.message().contains(&edited.etag), "{stale:?}");
    world.etag = edited.etag;
    let answer = skald.worlds().update_world(by("ada", update(&world, &["enabled"]))).await;
    assert!(!answer.expect("edited").into_inner().world.expect("a world").enabled);
}

async fn a_retry_is_told_by_what_its_mask_names_and_by_nothing_else(skald: &Fixture) {
    let mut world = skald.imported().await;
    world.name = "South".into();
    let named = |world: &World, paths: &[&str]| UpdateWorldRequest {
        request_id: "r1".into(),
        ..update(world, paths)
    };
    let request = named(&world, &["name"]);
    let first = skald.worlds().update_world(by("ada", request)).await.expect("edited");
    let first = first.into_inner().world.expect("a world");
    // As the caller reads the world by now: another etag, and what the mask does not name.
    let retried = World { enabled: false, scan: None, ..first.clone() };
    let again = skald.worlds().update_world(by("ada", named(&retried, &["name"]))).await;
    let again = again.expect("replayed");
    assert!(is_replay(&again));
    assert_eq!(again.into_inner().world, Some(first.clone()));
    let other = World { name: "East".into(), ..first.clone() };
    for other in [named(&other, &["name"]), named(&first, &["name", "enabled"])] {
        let other = skald.worlds().update_world(by("ada", other)).await;
        refused(other, Code::AlreadyExists, Reason::RequestIdReused);
    }
}

async fn a_malformed_edit_is_refused_by_its_field(skald: &Fixture) {
    let mut world = skald.imported().await;
    let unknown = skald.worlds().update_world(by("ada", update(&world, &["etag"]))).await;
    refused(unknown, Code::InvalidArgument, Reason::FieldInvalid);
    let all = UpdateWorldRequest { update_mask: None, ..update(&world, &[]) };
    let all = skald.worlds().update_world(by("ada", all)).await;
    let all = refused(all, Code::InvalidArgument, Reason::FieldInvalid);
    assert!(all.message().starts_with("update_mask is empty"), "{all:?}");
    world.name = "a\u{1b}[31m".into();
    let control = skald.worlds().update_world(by("ada", update(&world, &["name"]))).await;
    refused(control, Code::InvalidArgument, Reason::FieldInvalid);
    world.name = "  ".into();
    let empty = skald.worlds().update_world(by("ada", update(&world, &["name"]))).await;
    refused(empty, Code::InvalidArgument, Reason::FieldInvalid);
    world.name = "x".repeat(201);
    let long = skald.worlds().update_world(by("ada", update(&world, &["name"]))).await;
    refused(long, Code::ResourceExhausted, Reason::LimitExceeded);
}

async fn worlds_are_listed_in_pages(skald: &Fixture) {
    for name in ["c", "a", "b"] {
        let header = UploadHeader { file_name: name.into(), ..Default::default() };
        skald.upload("ada", header, br#"{"entries":{}}"#).await.expect("imported");
    }
    let mut names = Vec::new();
    let mut page_token = String::new();
    for _ in 0..2 {
        let request = ListWorldsRequest { page_size: 2, page_token };
        let page = skald.worlds().list_worlds(by("ada", request)).await.expect("listed");
        let page = page.into_inner();
        names.extend(page.worlds.into_iter().map(|world| world.name));
        page_token = page.next_page_token;
    }
    assert_eq!((names, page_token.as_str()), (vec!["a".into(), "b".into(), "c".to_owned()], ""));
    let request = ListWorldsRequest { page_size: 2, page_token: "AAAA".into() };
    let altered = skald.worlds().list_worlds(by("ada", request)).await;
    refused(altered, Code::InvalidArgument, Reason::PageTokenInvalid);
}

async fn the_mesh_reads_many_worlds_and_only_the_mesh(skald: &Fixture) {
    let world = skald.imported().await;
    let request =
        || BatchGetWorldsRequest { world_ids: vec!["gone".into(), world.world_id.clone()] };
    let found = skald.lore("ada").batch_get_worlds(request()).await.expect("read").into_inner();
    assert_eq!(found.worlds, std::slice::from_ref(&world));
    let foreign = skald.lore("bob").batch_get_worlds(request()).await.expect("read").into_inner();
    assert!(foreign.worlds.is_empty());
}

both! {
    a_world_is_made_empty_once_for_each_request
    another_owners_world_is_as_absent_as_one_that_never_was
    a_head_is_edited_by_mask_without_moving_the_revision
    a_retry_is_told_by_what_its_mask_names_and_by_nothing_else
    a_malformed_edit_is_refused_by_its_field
    worlds_are_listed_in_pages
    the_mesh_reads_many_worlds_and_only_the_mesh
}

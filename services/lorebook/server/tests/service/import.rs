//! Files become worlds, once, or not at all.

use tonic::Code;
use wire::{
    common::v1::{Reason, UploadHeader},
    lorebook::v1::{self as pb, EntryPosition, ListWorldsRequest, WorldView},
};

use crate::support::{BOOK, Fixture, by, is_replay, refused};

fn named(request_id: &str) -> UploadHeader {
    UploadHeader {
        request_id: request_id.into(),
        file_name: "north.json".into(),
        ..Default::default()
    }
}

async fn a_file_becomes_one_world_of_revision_one_with_a_report(skald: &Fixture) {
    let answer = skald.upload("ada", named("r1"), BOOK.as_bytes()).await.expect("imported");
    let answer = answer.into_inner();
    let (world, report) = (answer.world.expect("a world"), answer.report.expect("a report"));
    assert_eq!((world.name.as_str(), world.content_revision, world.entry_count), ("North", 1, 3));
    assert!(world.enabled && !world.dynamic_enabled && !world.embedded);
    assert_eq!((report.format.as_str(), report.counts["entries"]), ("sillytavern_world_info", 3));
    let kept = report.findings.iter().find(|found| found.place == "$.entries.0.mine");
    assert_eq!(kept.expect("told").code, "UNKNOWN_FIELD");
    let absent: Vec<_> =
        report.findings.iter().filter(|found| found.code == "FIELD_DEFAULTED").collect();
    let [absent] = absent[..] else { panic!("one finding for all absent fields: {absent:?}") };
    assert_eq!(absent.details["places"], "$.entries.0, $.entries.1, $.entries.2");
    assert!(absent.details["fields"].contains("probability 3"), "{:?}", absent.details);

    let (_, entries) = skald.read("ada", &world.world_id, WorldView::Authored).await.expect("read");
    let wolves = &entries[0];
    assert_eq!((wolves.uid, wolves.position(), wolves.depth), (0, EntryPosition::AtDepth, 2));
    assert_eq!((wolves.role.as_str(), wolves.sticky), ("user", Some(3)));
    assert_eq!(wolves.extra_json, r#"{"mine":{"a":1}}"#);
}

async fn a_retry_answers_the_same_world_and_another_file_under_its_id_is_refused(skald: &Fixture) {
    let first = skald.upload("ada", named("r1"), BOOK.as_bytes()).await.expect("imported");
    let again = skald.upload("ada", named("r1"), BOOK.as_bytes()).await.expect("replayed");
    assert_eq!(first.get_ref(), again.get_ref());
    assert!(is_replay(&again) && !is_replay(&first));
    let other = skald.upload("ada", named("r1"), br#"{"entries":{}}"#).await;
    refused(other, Code::AlreadyExists, Reason::RequestIdReused);
    let bobs = skald.upload("bob", named("r1"), BOOK.as_bytes()).await.expect("imported");
    assert!(!is_replay(&bobs));
    let list = skald.worlds().list_worlds(by("ada", ListWorldsRequest::default())).await;
    assert_eq!(list.expect("listed").into_inner().worlds.len(), 1);
}

async fn validation_alone_stores_nothing(skald: &Fixture) {
    let header = UploadHeader { validate_only: true, ..named("r1") };
    let answer = skald.upload("ada", header, BOOK.as_bytes()).await.expect("validated");
    let answer = answer.into_inner();
    assert!(answer.world.is_none() && answer.report.is_some());
    let list = skald.worlds().list_worlds(by("ada", ListWorldsRequest::default())).await;
    assert!(list.expect("listed").into_inner().worlds.is_empty());
    skald.upload("ada", named("r1"), BOOK.as_bytes()).await.expect("the id is still free");
}

async fn a_file_that_names_no_world_is_named_by_its_file(skald: &Fixture) {
    let answer = skald.upload("ada", named(""), br#"{"entries":{}}"#).await.expect("imported");
    assert_eq!(answer.into_inner().world.expect("a world").name, "north");
}

async fn what_is_no_lorebook_is_refused_with_its_place_and_nothing_is_stored(skald: &Fixture) {
    let unusable = |bytes: &'static [u8]| skald.upload("ada", named("r1"), bytes);
    refused(unusable(b"{").await, Code::InvalidArgument, Reason::FileUnusable);
    refused(unusable(b"{}").await, Code::InvalidArgument, Reason::FileUnusable);
    let status =
        refused(unusable(br#"{"entries":7}"#).await, Code::InvalidArgument, Reason::FileUnusable);
    assert!(status.message().contains("$.entries"), "{status:?}");
    let deep = "[".repeat(40);
    let deep = skald.upload("ada", named("r1"), deep.as_bytes()).await;
    refused(deep, Code::ResourceExhausted, Reason::LimitExceeded);
    skald.upload("ada", named("r1"), BOOK.as_bytes()).await.expect("the id is still free");
}

async fn a_chunk_is_at_most_one_mebibyte(skald: &Fixture) {
    use pb::import_world_request::Part;
    let parts = [Part::Header(named("r1")), Part::Chunk(vec![b' '; (1 << 20) + 1])];
    let parts = parts.map(|part| pb::ImportWorldRequest { part: Some(part) });
    let refusal = skald.worlds().import_world(by("ada", futures::stream::iter(parts))).await;
    let refusal = refused(refusal, Code::ResourceExhausted, Reason::LimitExceeded);
    assert!(refusal.message().starts_with("chunk "), "{refusal:?}");
}

async fn a_world_is_named_after_the_last_segment_of_its_files_name(skald: &Fixture) {
    let header = UploadHeader { file_name: "../../etc/passwd".into(), ..named("r1") };
    let answer = skald.upload("ada", header, br#"{"entries":{}}"#).await.expect("imported");
    assert_eq!(answer.into_inner().world.expect("a world").name, "passwd");
}

async fn the_header_comes_first(skald: &Fixture) {
    let request = by("ada", futures::stream::iter(Vec::new()));
    let refusal = skald.worlds().import_world(request).await;
    refused(refusal, Code::InvalidArgument, Reason::FieldInvalid);
}

both! {
    a_file_becomes_one_world_of_revision_one_with_a_report
    a_retry_answers_the_same_world_and_another_file_under_its_id_is_refused
    validation_alone_stores_nothing
    a_file_that_names_no_world_is_named_by_its_file
    what_is_no_lorebook_is_refused_with_its_place_and_nothing_is_stored
    a_chunk_is_at_most_one_mebibyte
    a_world_is_named_after_the_last_segment_of_its_files_name
    the_header_comes_first
}

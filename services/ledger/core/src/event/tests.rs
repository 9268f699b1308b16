//! Stored names and payloads are pinned: what was ever written can be read, and drift is seen.

mod samples;

use std::{fs, path::PathBuf};

use super::*;

/// Payloads as they were written, one file per sample. `SKALD_BLESS=1` writes missing or changed ones:
/// only for a version that was never released.
fn golden(name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/payloads/v1");
    PathBuf::from(folder).join(format!("{name}.json"))
}

#[test]
fn every_kind_has_a_sample() {
    let samples = samples::all();
    let missing: Vec<_> = Kind::ALL
        .iter()
        .filter(|kind| !samples.iter().any(|(_, body)| body.kind() == **kind))
        .collect();
    assert_eq!(missing, Vec::<&Kind>::new());
}

#[test]
fn payloads_are_written_as_ever() {
    for (name, body) in samples::all() {
        let written = String::from_utf8(codec::encode(&body)).expect("payloads are UTF-8");
        if std::env::var_os("SKALD_BLESS").is_some() {
            fs::write(golden(name), format!("{written}\n")).expect("the golden folder is writable");
        }
        let kept = fs::read_to_string(golden(name)).unwrap_or_default();
        assert_eq!(
            written,
            kept.trim_end(),
            "the payload {name} drifted: a change is a new version"
        );
    }
}

#[test]
fn payloads_of_every_version_are_read() {
    for (name, body) in samples::all() {
        let kept = fs::read_to_string(golden(name)).expect("the golden is committed");
        let read = codec::decode(body.kind(), kept.trim_end().as_bytes());
        assert_eq!(read.expect("it reads"), body, "{name}");
    }
}

#[test]
fn no_golden_is_left_without_its_sample() {
    let folder = golden("x").parent().map(PathBuf::from).expect("a folder");
    let names: Vec<_> = samples::all().iter().map(|(name, _)| format!("{name}.json")).collect();
    for entry in fs::read_dir(folder).expect("the goldens are committed") {
        let name = entry.expect("a name").file_name().into_string().expect("UTF-8");
        assert!(names.contains(&name), "{name} has no sample");
    }
}

#[test]
fn stored_names_are_pinned_and_found_again() {
    let names: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(
        names.join(" "),
        "session-created session-updated turn-received turn-seeded turn-imported \
         generation-started context-added context-rewritten llm-request-requested turn-completed \
         turn-failed turn-aborted alternative-selected turn-edited turn-retracted tool-requested \
         tool-settled world-change-proposed affect-appraised memory-written session-deleted"
    );
    assert!(Kind::ALL.iter().all(|kind| Kind::from_name(kind.name()) == Some(*kind)));
    assert_eq!(Kind::from_name("turn-started"), None);
}

#[test]
fn an_unknown_version_is_said_not_guessed() {
    let fault = codec::decode(Kind::SessionDeleted, br#"{"v":2,"body":{}}"#);
    assert_eq!(
        fault.expect_err("it is unknown").to_string(),
        "version 2 is not known to this build"
    );
}

#[test]
fn an_unknown_field_is_an_error_not_a_silent_loss() {
    let fault = codec::decode(Kind::SessionDeleted, br#"{"v":1,"body":{"why":1}}"#);
    assert!(fault.is_err());
}

#[test]
fn a_text_with_a_nul_is_stored_and_read() {
    let body = Body::ToolSettled(ToolSettled { run: 1, ok: true, text: "a\0b".into() });
    let read = codec::decode(Kind::ToolSettled, &codec::encode(&body));
    assert_eq!(read.expect("it reads"), body);
}

//! The committed golden cases come out as SillyTavern 1.19 sends them, named divergences aside.

#[path = "golden/cases.rs"]
mod cases;

use cases::{Case, divergence};

#[track_caller]
fn check_all(fixture: &str, count: usize) {
    let cases: Vec<Case> = serde_json::from_str(fixture).expect("the fixture is valid");
    assert_eq!(cases.len(), count);
    for case in &cases {
        let difference = case.difference().expect("the case can be run");
        let id = case.input.id.as_str();
        if divergence(id).is_some() {
            assert_ne!(difference, None, "{id} is no divergence any more");
        } else {
            assert_eq!(difference, None, "{id}");
        }
    }
}

#[test]
fn every_golden_case_is_sent_as_sillytavern_sends_it() {
    check_all(include_str!("fixtures/prompt-cases.json"), 200);
}

#[test]
fn odd_presets_fields_and_generation_types_are_sent_as_sillytavern_sends_them() {
    check_all(include_str!("fixtures/wide-prompt-cases.json"), 107);
}

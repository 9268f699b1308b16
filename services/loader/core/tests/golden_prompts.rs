//! The committed golden cases come out as SillyTavern 1.19 sends them.

#[path = "golden/cases.rs"]
mod cases;

use cases::Case;

const CASES: &str = include_str!("fixtures/prompt-cases.json");

#[test]
fn every_golden_case_is_sent_as_sillytavern_sends_it() {
    let cases: Vec<Case> = serde_json::from_str(CASES).expect("the fixture is valid");
    assert_eq!(cases.len(), 200);
    for case in &cases {
        assert_eq!(case.difference(), Ok(None), "{}", case.input.id);
    }
}

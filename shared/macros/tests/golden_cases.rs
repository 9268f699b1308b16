//! The committed golden cases come out as SillyTavern 1.19 gives them, named divergences aside.

#[path = "golden/cases.rs"]
mod cases;

use cases::{Case, Outcome};

const CASES: &str = include_str!("fixtures/macro-cases.json");

/// Cases that differ on purpose, and the defect that explains each.
const DIVERGENCES: [(&str, &str); 1] = [("own-120", "eat_closing_tags")];

#[test]
fn every_golden_case_passes_or_diverges_by_name() {
    let cases: Vec<Case> = serde_json::from_str(CASES).expect("the fixture is valid");
    assert_eq!(cases.len(), 125);
    for case in &cases {
        let listed = DIVERGENCES.iter().find(|(id, _)| *id == case.id).map(|(_, quirk)| *quirk);
        let (found, ours) = match case.outcome() {
            Outcome::Passed => (None, String::new()),
            Outcome::Diverges(quirk, ours) => (Some(quirk), ours),
            Outcome::Failed(ours) => (Some("unexplained"), ours),
        };
        assert_eq!(found, listed, "{}: expected {:?}, got {ours:?}", case.id, case.expected);
    }
}

//! Golden cases come out as SillyTavern 1.19 and moment.js give them, named divergences aside.

#[path = "golden/cases.rs"]
mod cases;

use cases::{Case, Outcome};

/// Cases that differ on purpose, and the defect that explains each.
const DIVERGENCES: [(&str, &str); 11] = [
    ("own-120", "eat_closing_tags"),
    ("mixed-94", "eat_closing_tags"),
    ("mixed-104", "eat_closing_tags"),
    ("mixed-156", "eat_closing_tags"),
    ("mixed-225", "eat_closing_tags"),
    ("mixed-241", "eat_closing_tags"),
    ("mixed-246", "eat_closing_tags"),
    ("mixed-260", "eat_closing_tags"),
    ("mixed-262", "eat_closing_tags"),
    ("mixed-273", "eat_closing_tags"),
    ("mixed-279", "eat_closing_tags"),
];

#[track_caller]
fn check_all(fixture: &str, count: usize) {
    let cases: Vec<Case> = serde_json::from_str(fixture).expect("the fixture is valid");
    assert_eq!(cases.len(), count);
    for case in &cases {
        let listed = DIVERGENCES.iter().find(|(id, _)| *id == case.id).map(|(_, quirk)| *quirk);
        let (found, ours) = match case.outcome() {
            Outcome::Passed => (None, String::new()),
            Outcome::Diverges(quirk, ours) => (Some(quirk), ours),
            Outcome::Failed(ours) => (Some("unexplained"), ours),
        };
        assert_eq!(
            found, listed,
            "{}: {:?} should give {:?}, got {ours:?}",
            case.id, case.input, case.expected
        );
    }
}

#[test]
fn the_handwritten_cases_come_out_as_in_sillytavern() {
    check_all(include_str!("fixtures/macro-cases.json"), 125);
}

#[test]
fn the_generated_cases_come_out_as_in_sillytavern() {
    check_all(include_str!("fixtures/engine-cases.json"), 320);
}

#[test]
fn mixed_macros_scopes_and_shorthands_come_out_as_in_sillytavern() {
    check_all(include_str!("fixtures/wide-macro-cases.json"), 300);
}

#[test]
fn dates_and_spans_of_time_come_out_as_in_moment() {
    check_all(include_str!("fixtures/time-cases.json"), 327);
}

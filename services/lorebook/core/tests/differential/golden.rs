//! SillyTavern's own answers to 400 scans, its defects aside.

use serde_json::Value;

use crate::{
    all_defects,
    lore_cases::{self, Outcome},
    reference,
};

fn cases() -> Vec<Value> {
    let file = include_bytes!("../fixtures/lore-cases.json");
    serde_json::from_slice(file).expect("the fixture is JSON")
}

#[test]
fn golden_activations_come_out_as_sillytavern_answered() {
    let outcomes: Vec<(String, Outcome)> = cases().iter().map(lore_cases::run).collect();
    let failed: Vec<&(String, Outcome)> =
        outcomes.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Failed(_))).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let divergences: Vec<&str> = outcomes
        .iter()
        .filter(|(_, outcome)| *outcome == Outcome::Divergence("dropped_text_leaks"))
        .map(|(id, _)| id.as_str())
        .collect();
    assert_eq!(divergences, ["1-15", "1-45", "1-135", "1-212", "1-274", "1-286", "1-311"]);
    let passed = outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Passed).count();
    assert_eq!(passed, 393);
}

#[test]
fn odd_keys_groups_filters_and_incoming_effects_come_out_as_sillytavern_answered() {
    let file = include_bytes!("../fixtures/wide-lore-cases.json");
    let cases: Vec<Value> = serde_json::from_slice(file).expect("the fixture is JSON");
    assert_eq!(cases.len(), 120);
    let mut divergences = Vec::new();
    for case in &cases {
        match lore_cases::run(case) {
            (_, Outcome::Passed) => {}
            (id, Outcome::Divergence(name)) => divergences.push((id, name)),
            (id, Outcome::Failed(difference)) => panic!("{id}: {difference}"),
        }
    }
    let leaks = ["wide-0", "wide-30", "wide-70"];
    assert_eq!(divergences, leaks.map(|id| (id.to_owned(), "dropped_text_leaks")));
}

#[test]
fn the_slow_reading_answers_as_sillytavern_does() {
    for case in cases() {
        let answer = reference::answer(&case["input"], &all_defects());
        let difference = lore_cases::difference(&case["expected"], &answer);
        assert_eq!(difference, None, "{}", case["input"]["id"]);
    }
}

//! SillyTavern's own answers to 400 scans, its defects aside.

#[path = "support/lore_cases.rs"]
mod lore_cases;

use lore_cases::Outcome;

#[test]
fn golden_activations_come_out_as_sillytavern_answered() {
    let file = include_bytes!("fixtures/lore-cases.json");
    let cases: Vec<serde_json::Value> = serde_json::from_slice(file).expect("the fixture is JSON");
    let outcomes: Vec<(String, Outcome)> = cases.iter().map(lore_cases::run).collect();
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

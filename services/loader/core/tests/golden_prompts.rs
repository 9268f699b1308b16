//! The committed golden cases come out as SillyTavern 1.19 sends them, named divergences aside.

#[path = "golden/cases.rs"]
mod cases;

use cases::Case;

/// Cases that differ on purpose, each named after the defect or the custom that explains it.
///
/// - `nudge-overwritten`: examples behind everything else take the place of the continued message and its
///   nudge, and both are lost.
/// - `depth-as-text`: a depth written as text is never met, so that the prompt is lost.
/// - `flag-as-number`: a flag counts only where it is exactly `true`.
/// - `lore-expanded-again`: lore is expanded when it activates, and once more in its marker.
/// - `note-expanded-twice`: a note inside the history is expanded twice, once for nothing.
/// - `history-expanded`: macros in messages are expanded. Ours go out as somebody wrote them.
/// - `send-if-empty-raw`: macros in the text for an empty turn are not expanded.
const DIVERGENCES: [&str; 7] = [
    "nudge-overwritten",
    "depth-as-text",
    "lore-expanded-again",
    "send-if-empty-raw",
    "note-expanded-twice",
    "flag-as-number",
    "history-expanded",
];

#[track_caller]
fn check_all(fixture: &str, count: usize) {
    let cases: Vec<Case> = serde_json::from_str(fixture).expect("the fixture is valid");
    assert_eq!(cases.len(), count);
    for case in &cases {
        let difference = case.difference().expect("the case can be run");
        let id = case.input.id.as_str();
        if DIVERGENCES.contains(&id) {
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

//! The laws of the journal over random sessions: prefix, replay, fold, take-back, forks, silence.

mod holds;
mod ops;
mod script;

use std::collections::BTreeSet;

use prompt::{
    item::Item,
    journal::{self, RenderVersion, Tail},
    prefix::request_digest,
};
use proptest::prelude::*;

use super::harness::*;
use crate::{
    chain::{Head, verify},
    event::{Body, Cause, StampTail},
    state::State,
};
use ops::op;
use script::World;

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn random_sessions_keep_every_law(script in prop::collection::vec(op(), 4..32), cut in any::<prop::sample::Index>()) {
        let mut world = World::new();
        for op in script {
            world.step(op);
        }
        for session in &world.sessions {
            replayed(session);
            folded(session, cut.index(session.log.len() + 1));
        }
    }
}

#[test]
fn the_script_reaches_every_rule() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let mut kinds = BTreeSet::new();
    let mut causes = BTreeSet::new();
    for _ in 0..200 {
        let script = prop::collection::vec(op(), 16..32).new_tree(&mut runner).expect("a script");
        let mut world = World::new();
        script.current().into_iter().for_each(|op| world.step(op));
        for event in world.sessions.iter().flat_map(|session| &session.log) {
            kinds.insert(event.meta.kind.name());
            if let Body::LlmRequestRequested(stamp) = &event.body {
                causes.extend(stamp.broken.map(|broken| broken.cause));
            }
        }
    }
    let expected = [
        "alternative-selected",
        "context-added",
        "context-rewritten",
        "generation-started",
        "llm-request-requested",
        "session-created",
        "tool-requested",
        "tool-settled",
        "turn-aborted",
        "turn-completed",
        "turn-edited",
        "turn-failed",
        "turn-received",
        "turn-retracted",
        "turn-seeded",
    ];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), expected);
    let common = [
        Cause::Rewrite,
        Cause::Edit,
        Cause::Retract,
        Cause::Regenerate,
        Cause::Compact,
        Cause::Trim,
        Cause::Guidance,
    ];
    assert!(common.iter().all(|cause| causes.contains(cause)), "only {causes:?} broke a prefix");
}

/// Every request can be shown again from the log alone, byte for byte.
#[track_caller]
fn replayed(session: &Session) {
    for (offset, sent) in &session.requests {
        let log = &session.log[..*offset as usize];
        let Some(Body::LlmRequestRequested(stamp)) = log.last().map(|event| &event.body) else {
            panic!("offset {offset} is no stamp")
        };
        let state = State::fold(log).expect("it folds");
        let texts = Log(log);
        let tail = match &stamp.tail {
            Some(StampTail::Guidance(at)) => log[*at as usize - 1].body.text(0).map(Tail::Guidance),
            Some(StampTail::SummaryInstruction(text)) => Some(Tail::SummaryInstruction(text)),
            None => None,
        };
        let again = journal::render(RenderVersion::V1, state.pieces(), tail, &texts);
        let again = again.expect("every text is in the log");
        assert_eq!(&again, sent, "the request at {offset} is shown as it was sent");
        assert_eq!(request_digest(&again.blocks), stamp.sent);
    }
}

/// A snapshot and what follows, the whole log and the live state are one; the chain holds.
#[track_caller]
fn folded(session: &Session, cut: usize) {
    let snapshot = State::fold(&session.log[..cut]).expect("it folds");
    let snapshot = serde_json::to_string(&snapshot).expect("it serialises");
    let mut state: State = serde_json::from_str(&snapshot).expect("it reads");
    for event in &session.log[cut..] {
        state.apply(event).expect("it fits");
    }
    assert_eq!(state, session.state);
    let records: Vec<_> = session.log.iter().cloned().map(|event| event.into_record()).collect();
    assert_eq!(verify(Head::START, &records), Ok(state.head()));
    for (event, record) in session.log.iter().zip(records) {
        assert_eq!(&record.open().expect("it reads"), event);
    }
}

/// The unique words of a text: `USER12`, `REPLY3`.
fn words(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| {
            word.starts_with(|c: char| c.is_ascii_uppercase())
                && word.ends_with(|c: char| c.is_ascii_digit())
        })
        .map(str::to_owned)
        .collect()
}

/// Every `supersedes` names an earlier occurrence of its key, and no key stands twice.
#[track_caller]
fn well_formed(state: &State) {
    let sections: Vec<_> = state.items().iter().filter_map(Item::as_section).collect();
    for (at, section) in sections.iter().enumerate() {
        let anchored = |above| {
            sections[..at]
                .iter()
                .any(|earlier| earlier.offset == above && earlier.key == section.key)
        };
        assert!(section.supersedes.is_none_or(anchored), "a dangling anchor: {section:?}");
    }
    let mut standing = BTreeSet::new();
    for section in &sections[..state.leading_run()] {
        let identity = (section.key.clone(), section.profile.is_some());
        assert!(standing.insert(identity), "one key stands twice: {section:?}");
    }
}

//! The main job: opening, submit, land, stamp, complete, again; and what interrupts it.

use kernel::GenerationId;
use prompt::derive::{Author, TurnClass};

use super::harness::*;
use crate::{
    chain::{Head, verify},
    command::Key,
    decide::*,
    event::{AbortReason, Cause, Failure},
    state::{Phase, State},
};

fn opened() -> Session {
    let mut session = Session::nothing();
    let opening = authored(Author::Assistant, TurnClass::AssistantOutput, "The ferry waits.");
    session.ok(CreateWithOpening { create: create(), opening });
    session
}

#[test]
fn the_first_request_holds_document_opening_and_message_and_begins_the_second() {
    let mut s = opened();
    s.submit("g1", "I board.");
    let landed = s.land(
        "g1",
        vec![segment("prompt:main", "Write well.", "m"), segment("lore:w:1", "A ferry.", "l")],
        &[],
    );
    assert_eq!(landed.added, 2);
    s.stamp("g1", landed.active_lore);
    s.complete("g1", "You board.");
    s.submit("g2", "I sit.");
    let landed = s.land("g2", vec![segment("prompt:main", "Write well.", "m")], &[]);
    assert_eq!((landed.added, landed.unchanged), (0, 1));
    s.stamp("g2", vec![]);
    s.broke(None);
    assert_eq!(
        s.shown(),
        "system: <section key=\"prompt:main\">\nWrite well.\n</section>\n\n\
         <section key=\"lore:w:1\">\nA ferry.\n</section>\n\
         assistant: The ferry waits.\n\
         user: I board.\n\
         developer: Requested at: 2026-11-30T05:35:30Z\n\
         assistant: You board.\n\
         user: I sit.\n\
         developer: Requested at: 2026-11-30T05:35:34Z"
    );
}

#[test]
fn a_changed_segment_lands_before_the_message_that_it_came_with() {
    let mut s = Session::created();
    s.submit("g1", "one");
    s.land("g1", vec![segment("prompt:main", "A", "a")], &[]);
    s.stamp("g1", vec![]);
    s.complete("g1", "two");
    s.submit("g2", "three");
    s.land("g2", vec![segment("prompt:main", "B", "b"), segment("lore:w:1", "L", "l")], &[]);
    s.stamp("g2", vec![]);
    s.broke(None);
    let shown = s.shown();
    let new = shown.find("<section key=\"prompt:main\" at=\"@9\" supersedes=\"@4\">\nB");
    assert!(new.expect("it landed") < shown.find("user: three").expect("it was said"));
    assert!(shown.contains("<section key=\"lore:w:1\" at=\"@10\">"));
}

#[test]
fn a_withdrawn_key_is_said_at_its_moment_and_may_return() {
    let mut s = Session::created();
    let lore = || vec![segment("lore:w:1", "L", "l")];
    s.submit("g1", "one");
    s.land("g1", lore(), &[]);
    s.stamp("g1", vec![]);
    s.complete("g1", "two");
    s.submit("g2", "three");
    assert_eq!(s.land("g2", vec![], &["lore:w:1"]).withdrawn, 1);
    assert_eq!(s.land("g2", vec![], &["lore:w:1"]).withdrawn, 0);
    s.stamp("g2", vec![]);
    s.complete("g2", "four");
    assert!(s.state.live_profile_keys().is_empty());
    s.submit("g3", "five");
    assert_eq!(s.land("g3", lore(), &[]).added, 1);
    s.stamp("g3", vec![]);
    s.broke(None);
    assert!(s.shown().contains("supersedes=\"@4\" withdrawn=\"true\"></section>"));
    assert_eq!(s.state.live_profile_keys().len(), 1);
}

#[test]
fn a_withdrawal_before_anyone_saw_the_section_leaves_nothing() {
    let mut s = Session::created();
    s.submit("g1", "one");
    s.land("g1", vec![segment("lore:w:1", "L", "l")], &[]);
    s.land("g1", vec![], &["lore:w:1"]);
    assert_eq!(s.shown(), "user: one");
}

#[test]
fn dynamic_lore_lands_behind_authored_lore() {
    let mut s = Session::created();
    s.submit("g1", "one");
    let dynamic = prompt::Segment { dynamic: true, ..segment("lore:w:1", "D", "d") };
    s.land("g1", vec![dynamic, segment("lore:w:2", "A", "a")], &[]);
    let shown = s.shown();
    assert!(shown.find("lore:w:2") < shown.find("lore:w:1"));
    assert!(shown.contains("\nDynamic World State\nD\n"));
}

#[test]
fn equal_content_of_another_source_is_a_no_op_and_a_refresh_is_not() {
    let mut s = Session::created();
    s.submit("g1", "one");
    s.land("g1", vec![segment("prompt:main", "A", "a")], &[]);
    s.stamp("g1", vec![]);
    assert_eq!(s.land("g1", vec![segment("prompt:main", "A", "b")], &[]).unchanged, 1);
    assert_eq!(s.land("g1", vec![segment("prompt:main", "B", "a")], &[]).unchanged, 1);
    let again = Land {
        generation: generation("g1"),
        fence: 1,
        segments: vec![segment("prompt:main", "A", "a")],
        withdrawn: vec![],
        refresh: vec!["prompt:main".into()],
    };
    assert_eq!(s.ok(again).added, 1);
}

#[test]
fn adding_a_key_again_edits_what_was_not_sent_and_follows_what_was() {
    let mut s = Session::created();
    assert!(!s.add("rules", "old").unchanged);
    assert!(!s.add("rules", "new").unchanged);
    let again = s.add("rules", "new");
    assert_eq!((again.offset, again.unchanged), (3, true));
    s.exchange("g1", "one", "two");
    s.add("rules", "newest");
    s.exchange("g2", "three", "four");
    s.broke(None);
    assert!(s.shown().starts_with("system: <section key=\"rules\">\nnew\n</section>"));
    assert!(s.shown().contains("supersedes=\"@3\">\nnewest"));
}

#[test]
fn context_added_during_a_generation_lies_behind_its_stamp() {
    let mut s = Session::created();
    s.submit("g1", "one");
    s.stamp("g1", vec![]);
    s.ok(AddContext { key: None, content: text("a fact") });
    s.complete("g1", "two");
    let shown = s.shown();
    assert!(shown.find("assistant: two") < shown.find("user: a fact"));
}

#[test]
fn guidance_ends_one_request_and_breaks_the_next_under_its_name() {
    let mut s = Session::created();
    let (content, guidance) = (Some(text("one")), Some(text("be brief")));
    s.ok(Submit { generation: generation("g1"), content, guidance });
    s.stamp("g1", vec![]);
    let sent = &s.requests[0].1.blocks;
    assert_eq!(sent.last().map(|block| block.text.as_str()), Some("be brief"));
    s.stamp("g1", vec![]);
    s.broke(Some(Cause::Guidance));
    assert!(!s.shown().contains("be brief"));
}

#[test]
fn a_running_generation_refuses_another_and_its_death_is_closed_by_the_next_write() {
    let mut s = Session::created();
    s.submit("g1", "one");
    let next = Submit { generation: generation("g2"), content: None, guidance: None };
    s.refused(next.clone(), Rejection::GenerationInProgress(generation("g1")));
    s.envelope.lease = Lease::Expired;
    let before = s.log.len();
    s.ok(next);
    assert_eq!(s.kinds(before), ["turn-failed", "generation-started"]);
    assert_eq!(s.state.phase(1), Some(Phase::Failed));
}

#[test]
fn a_takeover_fences_the_dead_owner_off() {
    let mut s = Session::created();
    s.submit("g1", "one");
    s.stamp("g1", vec![]);
    let over = TakeOver { generation: generation("g1"), guidance: None };
    s.refused(over.clone(), Rejection::GenerationInProgress(generation("g1")));
    s.envelope.lease = Lease::Expired;
    assert_eq!(s.ok(over).fence, 2);
    let late = Complete {
        generation: generation("g1"),
        fence: 1,
        text: text("late"),
        usage: Default::default(),
        finish: None,
        carry: None,
    };
    s.refused(late, Rejection::FenceOutdated { given: 1, current: 2 });
    s.envelope.lease = Lease::Alive;
    s.stamp("g1", vec![]);
    s.broke(None);
    s.complete("g1", "two");
    assert_eq!(s.state.phase(1), Some(Phase::Completed));
}

#[test]
fn a_closed_generation_is_not_taken_over_nor_completed() {
    let mut s = Session::created();
    s.submit("g1", "one");
    let (generation, fence) = (generation("g1"), 1);
    let fail = Fail {
        generation: generation.clone(),
        fence,
        reason: Failure::Provider,
        detail: None,
        partial: Some(text("half")),
    };
    s.ok(fail);
    assert_eq!(s.state.phase(1), Some(Phase::Failed));
    assert!(!s.shown().contains("half"));
    let closed = Rejection::GenerationClosed(GenerationId::clone(&generation));
    s.refused(TakeOver { generation: generation.clone(), guidance: None }, closed.clone());
    let abort = Abort { generation, reason: AbortReason::Caller, partial: None };
    s.refused(abort, closed);
}

fn over_the_window(name: &str, fence: u64) -> Fail {
    let (generation, reason) = (generation(name), Failure::Window);
    Fail { generation, fence, reason, detail: None, partial: None }
}

#[test]
fn a_message_that_no_request_could_hold_leaves_the_context() {
    let mut s = Session::created();
    s.exchange("g1", "one", "two");
    s.submit("g2", "far too long");
    s.ok(over_the_window("g2", 1));
    assert!(!s.shown().contains("too long"));
    assert!(!s.state.turn(2).expect("it is kept").in_context);
    s.exchange("g3", "short", "four");
    s.broke(None);
}

#[test]
fn a_message_that_was_sent_stays_whatever_its_later_attempts_meet() {
    let mut s = Session::created();
    s.submit("g1", "one");
    s.stamp("g1", vec![]);
    s.envelope.lease = Lease::Expired;
    s.ok(TakeOver { generation: generation("g1"), guidance: None });
    s.ok(over_the_window("g1", 2));
    assert!(s.shown().starts_with("user: one"));
    assert!(s.state.turn(0).expect("it is there").in_context);
}

#[test]
fn an_abort_keeps_the_message_and_says_who() {
    let mut s = Session::created();
    s.submit("g1", "one");
    s.stamp("g1", vec![]);
    s.ok(Abort { generation: generation("g1"), reason: AbortReason::Caller, partial: None });
    assert_eq!(s.state.phase(1), Some(Phase::Aborted));
    assert!(s.shown().starts_with("user: one"));
}

#[test]
fn the_tail_slot_holds_alternatives_and_shows_the_selected_one() {
    let mut s = Session::created();
    let first = s.exchange("g1", "one", "two");
    s.ok(Regenerate { generation: generation("g2"), guidance: None });
    assert!(!s.shown().contains("two"), "the slot hides what it shows while it generates");
    s.stamp("g2", vec![]);
    s.broke(None);
    s.complete("g2", "deux");
    assert!(s.shown().ends_with("assistant: deux"));
    s.ok(SelectAlternative { alternative: first.clone() });
    assert!(s.shown().ends_with("assistant: two"));
    s.refused(SelectAlternative { alternative: first }, Rejection::AlternativeSelected);
    s.submit("g3", "three");
    s.ok(Abort { generation: generation("g3"), reason: AbortReason::Caller, partial: None });
    let regenerate = Regenerate { generation: generation("g4"), guidance: None };
    s.ok(regenerate);
}

#[test]
fn siblings_never_see_each_others_path() {
    let mut s = Session::created();
    let first = s.exchange("g1", "one", "two");
    s.exchange("g2", "three", "four");
    s.ok(Regenerate { generation: generation("g3"), guidance: None });
    let slot = s.state.generation().and_then(|generation| generation.slot).expect("it runs");
    let path: Vec<_> = s.state.path_before(slot).into_iter().map(|(id, _)| id).collect();
    assert_eq!(path, [first]);
}

#[test]
fn a_key_belongs_to_the_tier_that_added_it_first() {
    use prompt::derive::Tier;
    let add = |content| AddContext { key: Some(id(Key::new("k"))), content: text(content) };
    let mut s = Session::created();
    s.ok(add("owner's"));
    s.tier(Tier::Worker);
    s.refused(add("worker's"), Rejection::KeyOwned { key: "k".into(), owner: Tier::Owner });
    s.tier(Tier::Agent);
    s.refused(add("agent's"), Rejection::TierMayNotKey(Tier::Agent));
    s.tier(Tier::Platform);
    s.ok(add("platform's"));
    s.tier(Tier::Owner);
    s.ok(add("owner's again"));
    let reserved = AddContext { key: Some(id(Key::new("lore:w:1"))), content: text("x") };
    s.refused(reserved, Rejection::KeyReserved("lore:w:1".into()));
}

#[test]
fn the_chain_holds_and_names_the_first_bad_offset() {
    let mut s = opened();
    s.exchange("g1", "one", "two");
    let mut records: Vec<_> = s.log.iter().cloned().map(|event| event.into_record()).collect();
    assert_eq!(verify(Head::START, &records), Ok(s.state.head()));
    records[2].kept = None;
    assert_eq!(verify(Head::START, &records), Ok(s.state.head()), "erasing keeps the chain whole");
    if let Some(kept) = &mut records[3].kept {
        kept.payload[10] ^= 1;
    }
    assert_eq!(verify(Head::START, &records).map_err(|damage| damage.offset), Err(4));
    records[1].meta.recorded_at = records[1].meta.recorded_at.plus_ms(1);
    assert_eq!(verify(Head::START, &records).map_err(|damage| damage.offset), Err(2));
    records.remove(0);
    assert_eq!(verify(Head::START, &records).map_err(|damage| damage.offset), Err(1));
}

#[test]
fn a_snapshot_and_the_events_after_it_are_the_whole_fold() {
    let mut s = opened();
    s.exchange("g1", "one", "two");
    for at in 0..=s.log.len() {
        let state = State::fold(&s.log[..at]).expect("it folds");
        let snapshot = serde_json::to_string(&state).expect("it serialises");
        let mut state: State = serde_json::from_str(&snapshot).expect("it reads");
        for event in &s.log[at..] {
            state.apply(event).expect("it fits");
        }
        assert_eq!(state, s.state);
    }
}

#[test]
fn an_untouched_prompt_file_renders_as_it_was_written() {
    let file = "<section key=\"rules\">\nBe kind.\n\nAlways.\n</section>\n\n\
                <section key=\"tone\">\nDry.\n</section>";
    let mut s = Session::created();
    let sections = crate::tagged::parse(file, &id(Key::new("main"))).expect("it is well formed");
    assert_eq!(s.ok(AddSections { sections }).len(), 2);
    s.exchange("g1", "one", "two");
    assert_eq!(s.requests[0].1.blocks[1].text, file);
}

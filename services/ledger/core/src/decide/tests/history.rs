//! Rewriting, taking back, compacting and forking, case by case.

use kernel::SessionId;
use prompt::derive::Tier;

use super::harness::*;
use crate::{
    command::Key,
    decide::*,
    event::{AbortReason, Cause},
    state::{Phase, State},
};

fn replace_key(key: &str, content: &str) -> RewriteContext {
    let (key, content) = (id(Key::new(key)), text(content));
    RewriteContext { op: RewriteOp::Replace { key, content } }
}

fn given(before: u64, summary: Option<&str>) -> ReplaceRange {
    ReplaceRange { holder: None, before, summary: summary.map(text), active_lore: None }
}

/// Two exchanges behind a section: seqs 0 to 3.
fn talked() -> Session {
    let mut s = Session::created();
    s.add("rules", "Be kind.");
    s.exchange("g1", "one", "two");
    s.exchange("g2", "three", "four");
    s
}

#[test]
fn a_replaced_key_keeps_its_place_and_counts_as_sent() {
    let mut s = talked();
    s.add("rules", "Be very kind.");
    s.ok(replace_key("rules", "Be stern."));
    assert!(s.shown().starts_with("system: <section key=\"rules\">\nBe stern.\n</section>"));
    assert!(!s.shown().contains("kind"));
    s.exchange("g3", "five", "six");
    s.broke(Some(Cause::Rewrite));
    s.ok(replace_key("rules", "Be calm."));
    s.add("rules", "Be loud.");
    assert!(s.shown().ends_with(">\nBe loud.\n</section>"), "the rewritten one was not edited");
}

#[test]
fn what_is_rewritten_before_the_first_request_is_still_unsent() {
    let mut s = Session::created();
    s.add("rules", "Be kind.");
    s.ok(replace_key("rules", "Be stern."));
    s.add("rules", "Be calm.");
    assert_eq!(s.shown(), "system: <section key=\"rules\">\nBe calm.\n</section>");
}

#[test]
fn deleting_is_refused_for_what_is_not_there_or_not_yours() {
    let mut s = talked();
    let delete = |key| RewriteContext { op: RewriteOp::DeleteKey(id(Key::new(key))) };
    s.refused(delete("nothing"), Rejection::KeyUnknown("nothing".into()));
    s.tier(Tier::Worker);
    s.refused(delete("rules"), Rejection::KeyOwned { key: "rules".into(), owner: Tier::Owner });
    s.tier(Tier::Owner);
    s.ok(delete("rules"));
    assert!(s.shown().starts_with("user: one"));
}

#[test]
fn an_unkeyed_message_is_deleted_by_its_offset_and_a_turn_is_not() {
    let mut s = talked();
    let fact = s.ok(AddContext { key: None, content: text("a fact") }).offset;
    let delete = |offset| RewriteContext { op: RewriteOp::DeleteMessage(offset) };
    s.refused(delete(3), Rejection::MessageUnknown(3));
    s.ok(delete(fact));
    assert!(!s.shown().contains("a fact"));
    s.tier(Tier::Platform);
    let fact = s.ok(AddContext { key: None, content: text("theirs") }).offset;
    s.tier(Tier::Owner);
    let owned = Rejection::MessageOwned { offset: fact, owner: Tier::Platform };
    s.refused(delete(fact), owned);
}

#[test]
fn deleting_everything_leaves_turns_to_read_and_earlier_requests_to_show() {
    let mut s = talked();
    s.ok(RewriteContext { op: RewriteOp::DeleteAll });
    assert_eq!(s.shown(), "");
    assert_eq!(s.state.turn(0).map(|turn| turn.in_context), Some(false));
    assert_eq!(s.state.phase(1), Some(Phase::Completed));
    s.refused(Regenerate { generation: generation("g3"), guidance: None }, Rejection::NotTailSlot);
    s.add("rules", "Again.");
    s.exchange("g4", "five", "six");
    s.broke(Some(Cause::Rewrite));
    assert!(s.shown().starts_with("system: <section key=\"rules\">\nAgain."));
}

#[test]
fn a_compaction_keeps_the_newest_of_each_key_and_lasting_facts() {
    let mut s = talked();
    s.add("rules", "Be kinder.");
    s.ok(AddContext { key: None, content: text("the owner's fact") });
    s.tier(Tier::Worker).ok(AddContext { key: None, content: text("a worker's fact") });
    s.tier(Tier::Owner);
    s.exchange("g3", "five", "six");
    s.ok(given(4, Some("They talked.")));
    assert_eq!(
        s.shown().lines().collect::<Vec<_>>()[..7],
        [
            "system: <section key=\"rules\">",
            "Be kinder.",
            "</section>",
            "user: the owner's fact",
            "user: They talked.",
            "user: five",
            "developer: Requested at: 2026-11-30T05:35:39Z",
        ]
    );
    assert_eq!(s.state.turn(1).map(|turn| turn.in_context), Some(false));
    assert_eq!(s.state.turn(5).map(|turn| turn.in_context), Some(true));
    s.exchange("g4", "seven", "eight");
    s.broke(Some(Cause::Compact));
}

#[test]
fn a_summary_covers_what_its_predecessor_covered() {
    let mut s = talked();
    s.ok(given(2, Some("First.")));
    s.exchange("g3", "five", "six");
    s.ok(given(4, Some("Second.")));
    assert!(!s.shown().contains("First."));
    assert_eq!(s.state.summaries_covering(0), s.state.summaries_covering(3));
    s.refused(given(9, None), Rejection::RangeEmpty(9));
}

#[test]
fn idle_lore_is_dropped_by_a_compaction_and_active_lore_stays() {
    let mut s = Session::created();
    s.submit("g1", "one");
    let lore = vec![segment("lore:w:1", "L1", "1"), segment("lore:w:2", "L2", "2")];
    s.land("g1", lore, &[]);
    s.stamp("g1", vec!["lore:w:2".into()]);
    s.complete("g1", "two");
    s.exchange("g2", "three", "four");
    let keep = vec!["lore:w:2".into()];
    s.ok(ReplaceRange { active_lore: Some(keep), ..given(2, None) });
    assert!(!s.shown().contains("L1") && s.shown().contains("L2"));
    s.exchange("g3", "five", "six");
    s.broke(Some(Cause::Trim));
}

#[test]
fn a_running_generation_refuses_every_rewriting_and_a_holder_may_trim() {
    let mut s = talked();
    s.submit("g3", "five");
    let busy = || Rejection::GenerationInProgress(generation("g3"));
    s.refused(given(2, None), busy());
    s.refused(replace_key("rules", "x"), busy());
    s.refused(EditTurn { seq: 0, text: text("x"), summaries: Summaries::Untouched }, busy());
    s.refused(RetractTurn { seq: 0, summaries: Summaries::Untouched }, busy());
    s.ok(ReplaceRange { holder: Some((generation("g3"), 1)), ..given(2, None) });
    assert!(s.state.generation().is_some());
    let fenced = ReplaceRange { holder: Some((generation("g3"), 9)), ..given(2, None) };
    s.refused(fenced, Rejection::FenceOutdated { given: 9, current: 1 });
}

#[test]
fn a_turn_in_a_summary_is_taken_back_with_a_new_text_or_not_at_all() {
    let mut s = talked();
    let summary = s.ok(given(2, Some("one and two")));
    let retract = |summaries| RetractTurn { seq: 0, summaries };
    s.refused(retract(Summaries::Untouched), Rejection::TurnInSummary(vec![summary]));
    let wrong = Summaries::New(vec![(99, text("x"))]);
    s.refused(retract(wrong), Rejection::SummaryUnknown(99));
    s.ok(retract(Summaries::New(vec![(summary, text("two"))])));
    assert!(s.shown().contains("user: two\n"));
    s.refused(retract(Summaries::Drop), Rejection::TurnRetracted(0));
    s.ok(EditTurn { seq: 1, text: text("deux"), summaries: Summaries::Drop });
    assert!(s.shown().contains("user: Earlier conversation withdrawn.\n"));
}

#[test]
fn what_quoted_a_turn_is_withdrawn_with_it() {
    let mut s = Session::created();
    let begun = s.submit("g1", "my secret");
    let quoted = begun.message.expect("it was appended").1;
    let quoting = prompt::Segment {
        quotes: vec![quoted.as_str().to_owned()],
        ..segment("prompt:q", "They said: my secret", "q")
    };
    s.land("g1", vec![quoting], &[]);
    s.stamp("g1", vec![]);
    s.complete("g1", "two");
    s.ok(RetractTurn { seq: 0, summaries: Summaries::Untouched });
    assert!(!s.shown().contains("secret"));
    assert!(s.shown().contains("<section key=\"prompt:q\" withdrawn=\"true\"></section>"));
    assert!(s.state.live_profile_keys().is_empty());
}

#[test]
fn selecting_after_a_request_showed_the_reply_breaks_under_its_name() {
    let mut s = talked();
    s.ok(Regenerate { generation: generation("g3"), guidance: None });
    s.stamp("g3", vec![]);
    let newest = s.complete("g3", "vier");
    let summing = generation("g4");
    s.ok(BeginCompaction { generation: summing.clone() });
    let verb = s.request("g4", vec![], TailChoice::SummaryInstruction("Sum up.".into()));
    s.ok(verb);
    s.ok(Abort { generation: summing, reason: AbortReason::Caller, partial: None });
    let slot = s.state.turn(newest.seq).and_then(|turn| turn.slot()).expect("a slot");
    let other = slot.alternatives[0].id.clone();
    s.ok(SelectAlternative { alternative: other });
    s.submit("g5", "five");
    s.stamp("g5", vec![]);
    s.broke(Some(Cause::Select));
}

#[test]
fn an_edit_moves_the_revision_that_an_evaluation_holds() {
    let mut s = talked();
    let slot = s.state.turn(3).and_then(|turn| turn.slot()).expect("a slot");
    let alternative = slot.alternatives[0].id.clone();
    let revision = s.state.turn(3).expect("it is there").revision;
    let propose = |revision| ProposeWorldChange {
        seq: 3,
        alternative: alternative.clone(),
        revision,
        evaluation: id(kernel::EvaluationId::new("e1")),
        changesets: vec![],
    };
    s.ok(propose(revision));
    s.ok(EditTurn { seq: 3, text: text("vier"), summaries: Summaries::Untouched });
    let moved = Rejection::RevisionMoved { given: revision, found: revision + 1 };
    s.refused(propose(revision), moved);
}

#[test]
fn a_fork_closes_what_ran_and_follows_later_take_backs_only() {
    let mut s = talked();
    s.submit("g3", "five");
    let at = s.log.len();
    s.stamp("g3", vec![]);
    s.complete("g3", "the future");
    s.ok(RetractTurn { seq: 0, summaries: Summaries::Untouched });
    s.ok(replace_key("rules", "Be stern."));
    let shared = State::fold(&s.log[..at]).expect("it folds");
    let session = id(SessionId::new("s2"));
    let asked = Fork { session, owner: create().owner, shared: &shared, later: &s.log[at..] };
    let forked = fork(asked, &s.envelope).expect("it forks");
    let kinds: Vec<_> = forked.events.iter().map(|event| event.meta.kind.name()).collect();
    assert_eq!(kinds, ["session-created", "turn-aborted", "turn-retracted", "context-rewritten"]);
    assert_eq!(forked.state.phase(5), Some(Phase::Aborted));
    let parent = forked.state.identity().and_then(|identity| identity.parent.clone());
    assert_eq!(parent.map(|parent| parent.at), Some(at as u64));
    assert_eq!(forked.events[0].meta.offset, at as u64 + 1);
}

#[test]
fn a_session_keeps_its_forms_until_its_prefix_is_rebuilt() {
    use prompt::journal::RenderVersion;
    let newer = crate::event::Versions { render: RenderVersion::V1, adapter: 2 };
    let mut s = talked();
    assert_eq!(s.state.versions_for_next(newer).adapter, 1);
    s.ok(EditTurn { seq: 0, text: text("x"), summaries: Summaries::Untouched });
    assert_eq!(s.state.versions_for_next(newer).adapter, 1);
    s.ok(given(2, None));
    assert_eq!(s.state.versions_for_next(newer).adapter, 2);
}

#[test]
fn what_sank_too_deep_is_found() {
    let mut s = Session::created();
    s.submit("g1", "one");
    let placement = prompt::Placement::After;
    let post = prompt::Segment { placement, ..segment("prompt:post", "P", "p") };
    s.land("g1", vec![post, segment("prompt:main", "M", "m")], &[]);
    s.stamp("g1", vec![]);
    s.complete("g1", "two");
    assert!(s.state.drifted_keys(|_| 4_000).is_empty());
    assert_eq!(s.state.drifted_keys(|_| 4_001), ["prompt:post".into()]);
}

#[test]
fn tool_runs_are_an_agents_and_say_how_long_they_took() {
    let mut s = talked();
    let run = RecordToolRun { name: "dice".into(), text: text("2d6") };
    s.refused(run.clone(), Rejection::ScopeMissing("tier:agent"));
    s.tier(Tier::Agent);
    let run = s.ok(run);
    s.envelope.now = s.envelope.now.plus_ms(58_700);
    s.ok(SettleToolRun { run, ok: true, text: text("7") });
    s.refused(SettleToolRun { run, ok: true, text: text("8") }, Rejection::ToolRunNotOpen(run));
    let settled = format!("developer: @{} tool run @{run} settled after 1m\n7", run + 1);
    assert!(s.shown().ends_with(&settled));
}

#[test]
fn refusals_of_rewriting_come_in_their_order() {
    let mut s = talked();
    s.submit("g3", "five");
    let delete = |key| RewriteContext { op: RewriteOp::DeleteKey(id(Key::new(key))) };
    s.tier(Tier::Agent);
    s.refused(delete("lore:w"), Rejection::TierMayNotKey(Tier::Agent));
    s.tier(Tier::Worker);
    s.refused(delete("lore:w"), Rejection::KeyReserved("lore:w".into()));
    s.refused(delete("rules"), Rejection::GenerationInProgress(generation("g3")));
    let (generation, reason) = (generation("g3"), AbortReason::Caller);
    s.ok(Abort { generation, reason, partial: None });
    s.refused(delete("rules"), Rejection::KeyOwned { key: "rules".into(), owner: Tier::Owner });
    s.refused(delete("nothing"), Rejection::KeyUnknown("nothing".into()));
}

#[test]
fn refusals_of_taking_back_come_in_their_order() {
    let mut s = talked();
    let edit = |seq, summaries| EditTurn { seq, text: text("x"), summaries };
    s.submit("g3", "five");
    let busy = Rejection::GenerationInProgress(generation("g3"));
    s.refused(edit(99, Summaries::Drop), busy);
    let (generation, reason) = (generation("g3"), AbortReason::Caller);
    s.ok(Abort { generation, reason, partial: None });
    s.refused(edit(99, Summaries::Drop), Rejection::TurnUnknown(99));
    s.refused(edit(5, Summaries::Drop), Rejection::NoReply(5));
    let summary = s.ok(given(2, Some("one and two")));
    let wrong = Summaries::New(vec![(99, text("x"))]);
    s.refused(edit(0, wrong), Rejection::SummaryUnknown(99));
    s.refused(edit(0, Summaries::Untouched), Rejection::TurnInSummary(vec![summary]));
    s.ok(RetractTurn { seq: 5, summaries: Summaries::Untouched });
    s.refused(edit(5, Summaries::Drop), Rejection::TurnRetracted(5));
}

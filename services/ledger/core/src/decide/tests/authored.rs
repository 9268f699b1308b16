//! The authored write: who may write what, what it shows, how silent it is.

use kernel::{Scope, Timestamp};
use prompt::derive::{Author, TurnClass};

use super::harness::*;
use crate::{
    decide::*,
    event::{Effects, Visibility},
    settings::{AssistantFirst, Settings},
    state::Phase,
};

fn write(turn: AuthoredTurn) -> WriteAuthored {
    WriteAuthored { turn }
}

fn narration() -> AuthoredTurn {
    authored(Author::System, TurnClass::Narration, "Night falls.")
}

fn seen(model: bool, user: bool, memory_eligible: bool) -> AuthoredTurn {
    AuthoredTurn { visibility: Visibility { model, user, memory_eligible }, ..narration() }
}

#[test]
fn an_opening_has_seq_0_and_phase_seeded_and_nothing_else_happens() {
    let mut s = Session::nothing();
    let opening = authored(Author::Assistant, TurnClass::AssistantOutput, "Hello.");
    let (seq, _) = s.ok(CreateWithOpening { create: create(), opening });
    assert_eq!((seq, s.state.phase(0)), (0, Some(Phase::Seeded)));
    assert_eq!(s.kinds(0), ["session-created", "turn-seeded"]);
    assert_eq!(s.shown(), "assistant: Hello.");
    assert!(s.state.has_authored_opening() && s.state.generation().is_none());
}

#[test]
fn narration_and_instruction_are_wrapped_and_named() {
    let mut s = Session::created();
    s.ok(write(narration()));
    s.envelope.scopes.insert(Scope::AuthorSystem);
    s.ok(write(authored(Author::System, TurnClass::Instruction, "Speak French.")));
    s.ok(write(authored(Author::Assistant, TurnClass::Narration, "</authored>")));
    assert_eq!(
        s.shown(),
        "developer: <authored class=\"narration\" by=\"system\">Night falls.</authored>\n\
         developer: <authored class=\"instruction\" by=\"system\">Speak French.</authored>\n\
         developer: <authored class=\"narration\" by=\"assistant\"></\\authored></authored>"
    );
}

#[test]
fn a_turn_that_the_model_does_not_see_is_history_and_not_context() {
    let mut s = Session::created();
    s.ok(write(seen(false, true, false)));
    assert_eq!(s.shown(), "");
    assert_eq!(s.state.turn(0).map(|turn| turn.in_context), Some(false));
}

#[test]
fn refusals_come_in_their_order() {
    let mut s = Session::created();
    s.submit("g1", "one");
    let late = Timestamp::from_micros(i64::MAX);
    let worst = AuthoredTurn {
        effects: Effects::MemoryImport,
        visibility: Visibility { model: false, user: false, memory_eligible: false },
        claimed_at: Some(late),
        ..authored(Author::User, TurnClass::Instruction, "x")
    };
    s.refused(write(worst.clone()), Rejection::AuthorNotInjectable);
    let worst = AuthoredTurn { author: Author::System, ..worst };
    s.refused(write(worst.clone()), Rejection::ScopeMissing("author_system"));
    let (author, class) = (Author::Assistant, TurnClass::Instruction);
    let worst = AuthoredTurn { author, ..worst };
    s.refused(write(worst.clone()), Rejection::ClassNotAllowed { author, class });
    let worst = AuthoredTurn { class: TurnClass::Narration, ..worst };
    s.refused(write(worst.clone()), Rejection::VisibleToNobody);
    let visibility = Visibility { model: false, user: true, memory_eligible: true };
    let worst = AuthoredTurn { visibility, ..worst };
    s.refused(write(worst.clone()), Rejection::MemoryUnseen);
    let visibility = Visibility { model: true, user: true, memory_eligible: false };
    let worst = AuthoredTurn { visibility, ..worst };
    s.refused(write(worst.clone()), Rejection::ImportIneligible);
    let worst = AuthoredTurn { effects: Effects::None, ..worst };
    let latest = s.envelope.now.plus_ms(61_000);
    let future = Rejection::ClaimedInFuture { claimed: late, latest };
    s.refused(write(worst.clone()), future);
    let worst = AuthoredTurn { claimed_at: None, ..worst };
    s.refused(write(worst), Rejection::GenerationInProgress(generation("g1")));
}

#[test]
fn visibility_makes_sense_or_is_refused() {
    let mut s = Session::created();
    s.refused(write(seen(false, false, false)), Rejection::VisibleToNobody);
    s.refused(write(seen(false, false, true)), Rejection::MemoryUnseen);
    s.refused(write(seen(false, true, true)), Rejection::MemoryUnseen);
    s.ok(write(seen(true, false, true)));
    s.ok(write(seen(true, true, false)));
}

#[test]
fn a_claimed_time_may_lie_a_minute_ahead() {
    let mut s = Session::created();
    let at = |ms: i64, s: &Session| AuthoredTurn {
        claimed_at: Some(s.envelope.now.plus_ms(1_000 + ms)),
        ..narration()
    };
    let minute = at(60_000, &s);
    s.ok(write(minute));
    let more = at(60_001, &s);
    assert!(s.run(write(more)).is_err());
}

#[test]
fn a_session_may_refuse_that_the_assistant_begins() {
    let mut s = Session::nothing();
    let settings = Settings { assistant_first: AssistantFirst::Refuse, ..Settings::default() };
    s.ok(Create { settings, ..create() });
    let opening = AuthoredTurn {
        provider_wants_user_first: true,
        ..authored(Author::Assistant, TurnClass::AssistantOutput, "Hello.")
    };
    s.refused(write(opening.clone()), Rejection::AssistantFirstUnsupported);
    let tolerated = AuthoredTurn { provider_wants_user_first: false, ..opening.clone() };
    s.ok(write(narration()));
    s.ok(write(opening));
    s.ok(write(tolerated));
}

#[test]
fn a_session_is_not_created_twice_nor_used_before_or_after_its_life() {
    let mut s = Session::nothing();
    s.refused(write(narration()), Rejection::SessionAbsent);
    s.ok(create());
    s.refused(create(), Rejection::SessionExists);
    s.submit("g1", "one");
    s.ok(DeleteSession);
    assert!(s.state.generation().is_none());
    s.refused(write(narration()), Rejection::SessionAbsent);
}

//! Sticky, cooldown and delay over many turns: reference A10's arithmetic written out.

use crate::scene::{Scene, constant, entry, uids};
use lorebook_core::{
    EntryBody,
    activation::{Request, TimedState},
};

/// A chat that goes on, and what its effects were after each length.
struct Chain {
    entries: Vec<EntryBody>,
    /// The state after the scan at each number of messages, from 0.
    states: Vec<TimedState>,
    length: usize,
}

fn timed(body: EntryBody, sticky: u32, cooldown: u32) -> EntryBody {
    EntryBody {
        sticky: (sticky > 0).then_some(sticky),
        cooldown: (cooldown > 0).then_some(cooldown),
        ..body
    }
}

// === impl Chain ===

impl Chain {
    fn new(entries: impl IntoIterator<Item = EntryBody>) -> Self {
        let entries = entries.into_iter().collect();
        Self { entries, states: vec![TimedState::default()], length: 0 }
    }

    /// A new message, and the scan with it.
    #[track_caller]
    fn says(&mut self, text: &str, expected: &[i64]) -> &mut Self {
        self.length += 1;
        self.scan(text, self.length - 1, expected)
    }

    /// The newest message anew: the state before it goes in again.
    #[track_caller]
    fn swipes(&mut self, text: &str, expected: &[i64]) -> &mut Self {
        self.scan(text, self.length - 1, expected)
    }

    /// The newest message anew by a client that keeps the newest state.
    #[track_caller]
    fn regenerates(&mut self, text: &str, expected: &[i64]) -> &mut Self {
        self.scan(text, self.length, expected)
    }

    /// Cuts the chat; its newest state stays, as a client without branches keeps it.
    fn deletes(&mut self, messages: usize) -> &mut Self {
        let newest = self.states[self.length].clone();
        self.length -= messages;
        self.states.truncate(self.length + 1);
        self.states[self.length] = newest;
        self
    }

    #[track_caller]
    fn scan(&mut self, text: &str, state_of: usize, expected: &[i64]) -> &mut Self {
        let state = self.states[state_of].clone();
        let count = self.length as u32;
        let mut scene = Scene::new(self.entries.clone(), text)
            .timed(state)
            .set(|request| request.message_count = Some(count));
        let activation = scene.run();
        assert_eq!(uids(&activation), expected, "at {count} messages");
        self.states.truncate(self.length);
        self.states.push(activation.timed);
        self
    }
}

#[test]
fn sticky_3_at_message_1_holds_for_messages_1_to_3() {
    let mut chain = Chain::new([timed(entry(&["k"], "x"), 3, 0)]);
    chain.says("k", &[0]).says("-", &[0]).says("-", &[0]).says("-", &[]);
}

#[test]
fn a_sticky_entry_is_not_renewed_while_it_holds() {
    let mut chain = Chain::new([timed(entry(&["k"], "x"), 2, 0)]);
    chain
        .says("k", &[0])
        .says("k", &[0])
        .says("-", &[])
        .says("k", &[0])
        .says("-", &[0])
        .says("-", &[]);
}

#[test]
fn cooldown_3_at_message_1_is_off_at_2_and_3_and_on_again_at_4() {
    let mut chain = Chain::new([timed(entry(&["k"], "x"), 0, 3)]);
    chain.says("k", &[0]).says("k", &[]).says("k", &[]).says("k", &[0]).says("k", &[]);
}

#[test]
fn cooldown_1_keeps_nothing_off() {
    let mut chain = Chain::new([timed(entry(&["k"], "x"), 0, 1)]);
    chain.says("k", &[0]).says("k", &[0]).says("k", &[0]);
}

#[test]
fn sticky_2_with_cooldown_2_is_on_on_off_off_on() {
    let mut chain = Chain::new([timed(entry(&["k"], "x"), 2, 2)]);
    chain
        .says("k", &[0])
        .says("k", &[0])
        .says("k", &[])
        .says("k", &[])
        .says("k", &[0])
        .says("k", &[0]);
}

#[test]
fn a_cooldown_blocks_constants_too() {
    let mut chain = Chain::new([timed(constant("x"), 0, 2)]);
    chain.says("", &[0]).says("", &[]).says("", &[0]);
}

#[test]
fn delay_2_is_first_allowed_at_message_2() {
    let mut chain = Chain::new([EntryBody { delay: Some(2), ..constant("x") }]);
    chain.says("", &[]).says("", &[0]).says("", &[0]);
}

#[test]
fn a_delay_holds_against_a_sticky_effect() {
    let later = EntryBody { delay: Some(9), ..timed(entry(&["k"], "x"), 5, 0) };
    let mut chain = Chain::new([later]);
    chain.says("k", &[]).says("k", &[]);
}

#[test]
fn a_swipe_goes_back_to_the_state_before_its_message() {
    let mut chain = Chain::new([timed(entry(&["k"], "x"), 2, 3)]);
    chain
        .says("k", &[0])
        .swipes("-", &[])
        .swipes("k", &[0])
        .says("-", &[0])
        .says("k", &[])
        .swipes("k", &[]);
    chain.says("k", &[]).says("k", &[]).says("k", &[0]);
}

#[test]
fn a_regeneration_at_the_same_length_undoes_what_its_message_started() {
    let mut chain = Chain::new([timed(entry(&["k"], "x"), 5, 0)]);
    chain.says("-", &[]).says("k", &[0]).regenerates("-", &[]).says("-", &[]);
}

#[test]
fn a_deleted_message_takes_its_effects_along() {
    let mut chain = Chain::new([timed(entry(&["k"], "x"), 0, 9)]);
    chain.says("-", &[]).says("-", &[]).says("k", &[0]).deletes(2).says("k", &[0]);
    chain.says("k", &[]);
}

#[test]
fn effects_that_began_before_the_deleted_messages_go_on() {
    let mut chain = Chain::new([timed(entry(&["k"], "x"), 0, 4)]);
    chain.says("k", &[0]).says("-", &[]).says("-", &[]).deletes(1);
    chain.says("k", &[]).says("k", &[]).says("k", &[0]);
}

#[test]
fn the_cooldown_behind_a_sticky_effect_outlives_a_swipe_on_the_spot() {
    let mut chain = Chain::new([timed(entry(&["k"], "x"), 1, 3)]);
    chain
        .says("k", &[0])
        .says("k", &[])
        .regenerates("k", &[])
        .says("k", &[])
        .says("k", &[])
        .says("k", &[0]);
}

#[test]
fn the_cooldown_behind_a_sticky_effect_stays_when_messages_go_and_not_on_their_branch() {
    let body = || [timed(entry(&["k"], "x"), 1, 4)];
    let mut newest = Chain::new(body());
    newest.says("-", &[]).says("k", &[0]).says("-", &[]).deletes(1);
    newest.regenerates("k", &[]).says("k", &[]).says("k", &[]).says("k", &[]).says("k", &[]);
    newest.says("k", &[0]);
    // Whoever gives the state before the swiped message has never seen the sticky effect end.
    let mut branch = Chain::new(body());
    branch.says("-", &[]).says("k", &[0]).says("-", &[]);
    branch.length = 2;
    branch.swipes("k", &[0]).says("k", &[]);
}

#[test]
fn a_swipe_over_the_turn_in_which_an_effect_ended_ends_it_again() {
    let mut chain = Chain::new([timed(entry(&["k"], "x"), 2, 2)]);
    chain.says("k", &[0]).says("-", &[0]).says("-", &[]).swipes("k", &[]).says("k", &[]);
    chain.says("k", &[0]).says("-", &[0]).says("k", &[]);
}

#[test]
fn deletions_down_to_where_an_effect_began_take_it_back_and_no_further() {
    let mut chain = Chain::new([timed(entry(&["k"], "x"), 6, 0)]);
    chain.says("-", &[]).says("k", &[0]).says("-", &[0]).says("-", &[0]);
    chain.deletes(1).says("-", &[0]).deletes(2).regenerates("-", &[]).says("-", &[]);
}

#[test]
fn branches_do_not_see_each_others_effects() {
    let mut left = Chain::new([timed(entry(&["k"], "x"), 3, 0)]);
    left.says("-", &[]);
    let mut right = Chain { entries: left.entries.clone(), states: left.states.clone(), length: 1 };
    left.says("k", &[0]).says("-", &[0]);
    right.says("-", &[]).says("-", &[]);
}

#[test]
fn an_edit_ends_the_effect() {
    let mut chain = Chain::new([timed(entry(&["k"], "x"), 9, 0)]);
    chain.says("k", &[0]).says("-", &[0]);
    chain.entries[0].content = "y".into();
    chain.says("-", &[]);
}

#[test]
fn a_sticky_member_holds_its_group_whatever_its_macros_say() {
    let member = |key: &str, content: &str| EntryBody {
        group: "g".into(),
        ..timed(entry(&[key], content), 3, 0)
    };
    let mut chain = Chain::new([member("x", "{{random::a::b}}"), member("y", "c")]);
    chain.says("x", &[0]).says("y", &[0]).says("y", &[0]).says("y", &[1]);
}

#[test]
fn a_cooldown_is_the_entrys_own_not_its_groups() {
    let member = || EntryBody { group: "g".into(), ..timed(entry(&["x"], "x"), 0, 3) };
    let mut chain = Chain::new([member(), member()]);
    chain.says("x", &[0]).says("x", &[1]).says("x", &[]).says("x", &[0]);
}

#[test]
fn a_sticky_entry_needs_no_key_roll_or_recursion() {
    let body =
        EntryBody { probability: 50.0, exclude_recursion: true, ..timed(entry(&["k"], "x"), 9, 0) };
    let mut scene = Scene::new([body], "k").set(|request| request.message_count = Some(1));
    let state = scene.run().timed;
    let later = |scene: Scene| {
        scene.timed(state.clone()).rolls(&[0.99]).set(|request| request.message_count = Some(2))
    };
    later(scene.chat(&["-"])).fires(&[0]);
}

#[test]
fn a_dry_run_neither_reads_nor_starts_effects() {
    let body = timed(entry(&["k"], "x"), 9, 9);
    let count = |count| {
        move |request: &mut Request| {
            request.message_count = Some(count);
        }
    };
    let state = Scene::new([body.clone()], "k").set(count(1)).run().timed;
    let dry = |text: &str| {
        Scene::new([body.clone()], text)
            .timed(state.clone())
            .set(count(2))
            .set(|request| request.dry_run = true)
    };
    dry("-").fires(&[]);
    dry("k").fires(&[0]);
    assert_eq!(dry("k").run().timed, state);
}

#[test]
fn effects_of_worlds_that_take_no_part_are_kept_until_their_end() {
    let body = timed(entry(&["k"], "x"), 3, 0);
    let state = Scene::new([body], "k").set(|request| request.message_count = Some(1)).run().timed;
    let without = |count| {
        let mut scene = Scene::new([constant("c")], "");
        scene.request.message_count = Some(count);
        scene.timed(state.clone()).run().timed.sticky().len()
    };
    assert_eq!([without(2), without(3), without(4)], [1, 1, 0]);
    assert_eq!(without(1), 0);
}

#[test]
fn the_state_survives_its_stored_form() {
    let state = Scene::new([timed(entry(&["k"], "x"), 3, 4)], "k").run().timed;
    let stored = serde_json::to_string(&state).expect("a state is JSON");
    assert_eq!(serde_json::from_str::<TimedState>(&stored).expect("and back"), state);
    assert_eq!((state.sticky().len(), state.cooldown().len()), (1, 1));
}

//! What people, agents and deaths of processes may do to a session, as random steps.

use proptest::prelude::*;

/// One step; small numbers choose among what is there.
#[derive(Debug, Clone)]
pub(super) enum Op {
    Submit { message: bool, run: Run },
    Regenerate { run: Run },
    Retry { run: Run },
    Select { nth: usize },
    Add { key: usize, again: bool },
    Fact { tier: usize },
    Tool,
    Author { class: usize, seen: bool },
    Rewrite { nth: usize, how: usize },
    TakeBack { nth: usize, edit: bool, rewrite_summary: bool },
    Compact { nth: usize, how: usize },
    Fork { nth: usize },
    Turn { to: usize },
}

/// How a generation goes.
#[derive(Debug, Clone, Default)]
pub(super) struct Run {
    pub guidance: bool,
    /// Version of the main prompt, lore that fires, what is quoted, whether a segment is gone.
    pub main: usize,
    pub lore: [bool; 2],
    pub quote: usize,
    pub gone: bool,
    pub add_midway: bool,
    pub tool_loop: bool,
    pub overflow: usize,
    pub end: usize,
}

fn run() -> impl Strategy<Value = Run> {
    let profile = (0..3usize, any::<[bool; 2]>(), 0..4usize, prop::bool::weighted(0.1));
    let course = (
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.3),
        prop::bool::weighted(0.2),
        0..6usize,
        0..9usize,
    );
    (profile, course).prop_map(|((main, lore, quote, gone), course)| {
        let (guidance, add_midway, tool_loop, overflow, end) = course;
        Run { guidance, main, lore, quote, gone, add_midway, tool_loop, overflow, end }
    })
}

pub(super) fn op() -> impl Strategy<Value = Op> {
    let nth = 0..8usize;
    prop_oneof![
        10 => (prop::bool::weighted(0.9), run()).prop_map(|(message, run)| Op::Submit { message, run }),
        4 => run().prop_map(|run| Op::Regenerate { run }),
        3 => run().prop_map(|run| Op::Retry { run }),
        3 => nth.clone().prop_map(|nth| Op::Select { nth }),
        6 => (0..3usize, any::<bool>()).prop_map(|(key, again)| Op::Add { key, again }),
        2 => (0..4usize).prop_map(|tier| Op::Fact { tier }),
        2 => Just(Op::Tool),
        2 => (0..3usize, prop::bool::weighted(0.8)).prop_map(|(class, seen)| Op::Author { class, seen }),
        2 => (nth.clone(), 0..8usize).prop_map(|(nth, how)| Op::Rewrite { nth, how }),
        3 => (nth.clone(), any::<bool>(), any::<bool>())
            .prop_map(|(nth, edit, rewrite_summary)| Op::TakeBack { nth, edit, rewrite_summary }),
        2 => (nth.clone(), 0..3usize).prop_map(|(nth, how)| Op::Compact { nth, how }),
        1 => nth.clone().prop_map(|nth| Op::Fork { nth }),
        1 => nth.prop_map(|to| Op::Turn { to }),
    ]
}

//! Each text is counted once, however often it fires.

use std::{cell::Cell, sync::Arc};

use lorebook_core::{
    EntryBody,
    activation::{
        CompiledWorld, MacroExpander, Request, SeededRolls, Source, SourceKind, TokenCounter,
        Tools, activate,
    },
};

use crate::scene::{compiled, constant, rows};

/// Counts how often it is asked.
#[derive(Default)]
struct Counter {
    asked: Cell<u32>,
}

impl TokenCounter for Counter {
    fn name(&self) -> &'static str {
        "one"
    }

    fn count(&self, _: &str) -> u32 {
        self.asked.set(self.asked.get() + 1);
        1
    }
}

fn scan(world: &Arc<CompiledWorld>, counter: &Counter, user: &str) -> u32 {
    let before = counter.asked.get();
    let request = Request { context_tokens: 1_000, ..Request::default() };
    let environment = macros::Environment { user, ..macros::Environment::default() };
    let mut variables = macros::Variables::default();
    let mut tools = Tools {
        expander: &mut MacroExpander { environment, variables: &mut variables },
        rolls: &mut SeededRolls::new(1),
        tokens: counter,
        cache: None,
    };
    activate(&request, &[Source { world: world.clone(), kind: SourceKind::Global }], &mut tools);
    counter.asked.get() - before
}

fn world(texts: &[&str]) -> Arc<CompiledWorld> {
    let bodies: Vec<EntryBody> = texts.iter().map(|text| constant(text)).collect();
    compiled("world", Default::default(), rows(bodies))
}

#[test]
fn texts_are_counted_once_per_revision_and_macros_once_per_text_they_give() {
    let (world, counter) = (world(&["plain", "of {{user}}"]), Counter::default());
    assert_eq!(scan(&world, &counter, "Bob"), 2);
    assert_eq!(scan(&world, &counter, "Bob"), 0);
    assert_eq!(scan(&world, &counter, "Mira"), 1);
    assert_eq!(scan(&world, &counter, "Mira"), 0);
}

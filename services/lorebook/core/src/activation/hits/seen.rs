//! Where the keys of one table were found.

use std::collections::{HashMap, HashSet};

use super::{Diagnostic, RECURSION, Search, Spot, Texts, Window};
use crate::{
    activation::{compiled::CompiledWorld, diagnostic::Code},
    matcher::KeyTable,
    regex_key::{Haystack, Verdict},
};

/// Where the keys of one table were found.
#[derive(Default)]
pub struct Seen {
    /// Per plain key that was found the newest message and the extras that hold it. Of many keys
    /// few are found, and a list of all would push the automaton out of the processor's cache.
    places: HashMap<u32, Places>,
    /// Patterns that ran out of steps, each said once.
    exhausted: HashSet<u32>,
    /// Per window what is known of each pattern.
    patterns: HashMap<Window, Vec<Verdict>>,
}

#[derive(Debug, Clone, Copy)]
struct Places {
    /// `NO_MESSAGE` if none does.
    newest: u32,
    extras: u8,
}

const NO_MESSAGE: u32 = u32::MAX;

// === impl Seen ===

impl Seen {
    /// Forgets what patterns said of windows that a new recursion text makes longer.
    pub fn recursed(&mut self) {
        self.patterns.retain(|window, _| window.extras & RECURSION == 0);
    }

    /// Answers whether the key is seen for the first time.
    pub fn mark(&mut self, key: u32, spot: Spot) -> bool {
        let known = self.places.len();
        let places = self.places.entry(key).or_insert(Places { newest: NO_MESSAGE, extras: 0 });
        match spot {
            Spot::Message(at) => places.newest = places.newest.min(at),
            Spot::Extra(bit) => places.extras |= bit,
        }
        self.places.len() > known
    }

    pub fn holds(&self, key: u32, window: Window) -> bool {
        let holds =
            |places: &Places| places.newest < window.depth || places.extras & window.extras != 0;
        self.places.get(&key).is_some_and(holds)
    }

    pub fn matches(
        &mut self,
        table: &KeyTable,
        id: u32,
        window: Window,
        texts: &Texts,
        search: &mut Search<'_>,
        world: &CompiledWorld,
    ) -> bool {
        let Search { windows, steps, diagnostics, .. } = search;
        let haystack = windows.entry(window).or_insert_with(|| Haystack::new(texts.joined(window)));
        let verdicts = self.patterns.entry(window).or_insert_with(|| match table.pattern_set() {
            Some(set) => set.run(table.patterns(), haystack, steps),
            None => vec![Verdict::Unknown; table.patterns().len()],
        });
        let verdict = &mut verdicts[id as usize];
        if *verdict == Verdict::Unknown {
            let found = table.patterns()[id as usize].is_match(haystack, steps);
            *verdict = if found == Ok(true) { Verdict::Matches } else { Verdict::Misses };
            if found.is_err() && self.exhausted.insert(id) {
                let detail = table.patterns()[id as usize].source();
                let code = Code::RegexStepsExhausted;
                diagnostics.push(Diagnostic::of_world(code, &world.world.id, detail));
            }
        }
        *verdict == Verdict::Matches
    }
}

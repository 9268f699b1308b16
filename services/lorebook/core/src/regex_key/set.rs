//! Many patterns looked for in one pass over a text.

use super::{
    Haystack, Pattern, Steps, StepsExhausted,
    lazy::{Bounds, LazyDfa, Run},
};

/// The translations of many patterns, compiled together.
#[derive(Debug)]
pub struct PatternSet {
    /// Patterns over UTF-16 units, and patterns over code points.
    halves: [Option<Half>; 2],
}

/// What one pass says of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verdict {
    /// The pattern has to be asked by itself.
    #[default]
    Unknown,
    Matches,
    Misses,
}

#[derive(Debug)]
struct Half {
    by_code_point: bool,
    dfa: LazyDfa,
    /// The pattern of each member of the automaton.
    patterns: Vec<u32>,
}

/// A set that is larger is not made, and each pattern is asked by itself.
const BOUNDS: Bounds = Bounds { compiled_bytes: 16 << 20, cache_bytes: 8 << 20, caches_kept: 2 };

// === impl PatternSet ===

impl PatternSet {
    pub fn new(patterns: &[Pattern]) -> Self {
        Self { halves: [false, true].map(|by_code_point| Half::new(patterns, by_code_point)) }
    }

    /// One verdict per pattern of the list that the set was made from.
    pub fn run(
        &self,
        patterns: &[Pattern],
        text: &Haystack,
        steps: &mut Steps,
    ) -> Result<Vec<Verdict>, StepsExhausted> {
        let mut verdicts = vec![Verdict::Unknown; patterns.len()];
        for half in self.halves.iter().flatten() {
            let Run::Found(found) = half.dfa.run(text.seen(half.by_code_point), steps)? else {
                continue;
            };
            let mut found = found.into_iter().peekable();
            for (member, &id) in (0u32..).zip(&half.patterns) {
                let matches = found.next_if_eq(&member).is_some();
                verdicts[id as usize] = patterns[id as usize].verdict(matches, text);
            }
        }
        Ok(verdicts)
    }
}

// === impl Half ===

impl Half {
    fn new(patterns: &[Pattern], by_code_point: bool) -> Option<Self> {
        let (ids, translated): (Vec<u32>, Vec<&str>) = (0u32..)
            .zip(patterns)
            .filter(|(_, pattern)| pattern.by_code_point() == by_code_point && pattern.is_small())
            .filter_map(|(id, pattern)| Some((id, pattern.linear()?.pattern.as_str())))
            .unzip();
        if ids.is_empty() {
            return None;
        }
        Some(Self { by_code_point, dfa: LazyDfa::new(&translated, BOUNDS)?, patterns: ids })
    }
}

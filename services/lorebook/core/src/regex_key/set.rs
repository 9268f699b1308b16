//! Many patterns looked for in one pass over a text.

use regex::bytes::{RegexSet, RegexSetBuilder};

use super::{Haystack, LINEAR_BYTES_PER_STEP, Pattern, Steps, StepsExhausted};

/// The translations of many patterns, compiled together.
#[derive(Debug)]
pub struct PatternSet {
    /// Patterns over UTF-16 units, then patterns over code points.
    halves: [Half; 2],
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
    set: RegexSet,
    /// The pattern of each member of the set.
    patterns: Vec<u32>,
}

/// Bytes of a compiled set; a larger one is not made, and each pattern is asked by itself.
const SET_BYTES_MAX: usize = 32 << 20;

/// Bytes of the automaton that a set builds as it runs.
const SET_CACHE_BYTES_MAX: usize = 8 << 20;

// === impl PatternSet ===

impl PatternSet {
    pub fn new(patterns: &[Pattern]) -> Option<Self> {
        let half = |by_code_point| Half::new(patterns, by_code_point);
        Some(Self { halves: [half(false)?, half(true)?] })
    }

    /// One verdict per pattern.
    pub fn run(
        &self,
        patterns: &[Pattern],
        text: &Haystack,
        steps: &mut Steps,
    ) -> Result<Vec<Verdict>, StepsExhausted> {
        let mut verdicts = vec![Verdict::Unknown; patterns.len()];
        for (by_code_point, half) in [false, true].into_iter().zip(&self.halves) {
            if half.patterns.is_empty() {
                continue;
            }
            let seen = text.seen(by_code_point);
            steps.spend(1 + (seen.len() / LINEAR_BYTES_PER_STEP) as u64)?;
            let matches = half.set.matches(seen.as_bytes());
            for (member, &id) in half.patterns.iter().enumerate() {
                let pattern = &patterns[id as usize];
                if !pattern.is_filtered_on(text) {
                    continue;
                }
                verdicts[id as usize] = match matches.matched(member) {
                    false => Verdict::Misses,
                    true if pattern.is_linear_on(text) => Verdict::Matches,
                    true => Verdict::Unknown,
                };
            }
        }
        Ok(verdicts)
    }
}

// === impl Half ===

impl Half {
    fn new(patterns: &[Pattern], by_code_point: bool) -> Option<Self> {
        let members: Vec<(u32, &str)> = patterns
            .iter()
            .enumerate()
            .filter(|(_, pattern)| pattern.by_code_point() == by_code_point && pattern.is_small())
            .filter_map(|(id, pattern)| Some((id as u32, pattern.linear()?.pattern.as_str())))
            .collect();
        let set = RegexSetBuilder::new(members.iter().map(|(_, pattern)| pattern))
            .size_limit(SET_BYTES_MAX)
            .dfa_size_limit(SET_CACHE_BYTES_MAX)
            .build()
            .ok()?;
        Some(Self { set, patterns: members.into_iter().map(|(id, _)| id).collect() })
    }
}

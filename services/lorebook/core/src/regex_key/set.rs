//! Many patterns looked for in one pass over a text.

use super::{
    Haystack, Pattern, Steps, StepsExhausted,
    lazy::{Bounds, LazyDfa, Run, text_cost},
    literals::{self, Literals},
};

/// Patterns compiled together.
///
/// One that starts with a literal is tried where that occurs, by backtracking; the translations of
/// the others run as one automaton.
#[derive(Debug)]
pub struct PatternSet {
    /// Patterns over UTF-16 units, and patterns over code points.
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
    by_code_point: bool,
    literals: Option<Literals>,
    with_literals: Vec<u32>,
    dfa: Option<LazyDfa>,
    /// The pattern of each member of the automaton.
    without_literals: Vec<u32>,
}

/// An automaton that is larger is not made, and each of its patterns is asked by itself.
const BOUNDS: Bounds = Bounds { compiled_bytes: 16 << 20, cache_bytes: 16 << 20, caches_kept: 2 };

// === impl PatternSet ===

impl PatternSet {
    pub fn new(patterns: &[Pattern]) -> Self {
        Self { halves: [false, true].map(|by_code_point| Half::new(patterns, by_code_point)) }
    }

    /// One verdict per pattern of the list that the set was made from. Where the steps run out,
    /// what is not decided stays unknown.
    pub fn run(&self, patterns: &[Pattern], text: &Haystack, steps: &mut Steps) -> Vec<Verdict> {
        let mut verdicts = vec![Verdict::Unknown; patterns.len()];
        for half in &self.halves {
            let decided = half
                .run_literals(patterns, text, steps, &mut verdicts)
                .and_then(|()| half.run_dfa(patterns, text, steps, &mut verdicts));
            if decided.is_err() {
                break;
            }
        }
        verdicts
    }
}

// === impl Half ===

impl Half {
    fn new(patterns: &[Pattern], by_code_point: bool) -> Self {
        let mut with_literals = Vec::new();
        let mut without_literals = Vec::new();
        let mut translated = Vec::new();
        for (id, pattern) in (0u32..).zip(patterns) {
            let Some(linear) =
                pattern.linear().filter(|_| pattern.by_code_point() == by_code_point)
            else {
                continue;
            };
            if let Some(literals) = literals::starts_of(&linear.pattern) {
                with_literals.push((id, literals));
            } else if pattern.is_small() {
                without_literals.push(id);
                translated.push(linear.pattern.as_str());
            }
        }
        let dfa = if translated.is_empty() { None } else { LazyDfa::new(&translated, BOUNDS) };
        Self {
            by_code_point,
            with_literals: with_literals.iter().map(|(id, _)| *id).collect(),
            literals: Literals::new(with_literals),
            dfa,
            without_literals,
        }
    }

    fn run_literals(
        &self,
        patterns: &[Pattern],
        text: &Haystack,
        steps: &mut Steps,
        verdicts: &mut [Verdict],
    ) -> Result<(), StepsExhausted> {
        let Some(literals) = &self.literals else { return Ok(()) };
        let seen = text.seen(self.by_code_point);
        steps.spend(text_cost(seen))?;
        let lower = seen.as_bytes().to_ascii_lowercase();
        for (at, candidates) in literals.places(&lower) {
            steps.spend(candidates.len() as u64)?;
            for &id in candidates {
                let verdict = &mut verdicts[id as usize];
                if *verdict == Verdict::Unknown
                    && patterns[id as usize].matches_at(seen, at, steps)?
                {
                    *verdict = Verdict::Matches;
                }
            }
        }
        for &id in &self.with_literals {
            let verdict = &mut verdicts[id as usize];
            if *verdict == Verdict::Unknown && patterns[id as usize].is_filtered_on(text) {
                *verdict = Verdict::Misses;
            }
        }
        Ok(())
    }

    fn run_dfa(
        &self,
        patterns: &[Pattern],
        text: &Haystack,
        steps: &mut Steps,
        verdicts: &mut [Verdict],
    ) -> Result<(), StepsExhausted> {
        let Some(dfa) = &self.dfa else { return Ok(()) };
        let Run::Found(found) = dfa.run(text.seen(self.by_code_point), steps)? else {
            return Ok(());
        };
        let mut found = found.into_iter().peekable();
        for (member, &id) in (0u32..).zip(&self.without_literals) {
            let matches = found.next_if_eq(&member).is_some();
            verdicts[id as usize] = patterns[id as usize].verdict(matches, text);
        }
        Ok(())
    }
}

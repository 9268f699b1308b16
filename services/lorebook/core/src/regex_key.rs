//! Regular-expression keys with the semantics of JavaScript, within a budget of steps.
//!
//! A pattern is parsed as ECMAScript and translated for the linear-time engine of the `regex` crate.
//! Where that cannot express it (look-around, references to groups), the translation is a filter
//! that lets through at least what matches, and a backtracking engine with a step limit decides.
//! The linear engine is run as a lazy automaton that gives up rather than turn slow: in `regex`
//! itself a hostile pattern costs its size times the text.

use std::sync::OnceLock;

pub use backtrack::{Steps, StepsExhausted};
pub use charset::is_space;
pub use detect::{Delimited, Flags, delimited};
pub use haystack::Haystack;
pub use linear::Linear;
pub use parse::InvalidPattern;
pub use set::{PatternSet, Verdict};

use backtrack::Backtracker;
use lazy::{Bounds, LazyDfa, Run};
use syntax::Syntax;

mod backtrack;
mod charset;
mod detect;
mod haystack;
mod lazy;
mod linear;
mod literals;
mod parse;
mod set;
mod syntax;

/// Bounds of one pattern by itself; a larger one runs by backtracking alone.
const BOUNDS: Bounds = Bounds { compiled_bytes: 1 << 16, cache_bytes: 1 << 20, caches_kept: 0 };

/// Why a key between slashes is no pattern after all; None if it is one, or is not delimited.
pub fn refused(key: &str) -> Option<InvalidPattern> {
    let Delimited { pattern, flags } = delimited(key)?;
    parse::parse(&pattern, flags).err()
}

/// A pattern that can be matched.
#[derive(Debug)]
pub struct Pattern {
    source: String,
    syntax: Syntax,
    linear: Option<Linear>,
    dfa: OnceLock<Option<Box<LazyDfa>>>,
    backtracker: OnceLock<Backtracker>,
}

// === impl Pattern ===

impl Pattern {
    pub fn new(pattern: &str, flags: Flags) -> Result<Self, InvalidPattern> {
        let syntax = parse::parse(pattern, flags)?;
        Ok(Self {
            source: pattern.to_owned(),
            linear: linear::translate(&syntax),
            syntax,
            dfa: OnceLock::new(),
            backtracker: OnceLock::new(),
        })
    }

    /// The pattern of a trimmed key; None if the key is plain text.
    pub fn from_key(key: &str) -> Option<Self> {
        let Delimited { pattern, flags } = delimited(key)?;
        Self::new(&pattern, flags).ok()
    }

    /// The pattern as written, without slashes and flags.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The translation to the linear engine, if it has one.
    pub fn linear(&self) -> Option<&Linear> {
        self.linear.as_ref()
    }

    /// Whether the pattern sees code points rather than UTF-16 units.
    pub fn by_code_point(&self) -> bool {
        self.syntax.by_code_point
    }

    /// Whether the pattern matches anywhere in the text.
    pub fn is_match(&self, text: &Haystack, steps: &mut Steps) -> Result<bool, StepsExhausted> {
        let seen = text.seen(self.by_code_point());
        if let Some(dfa) = self.dfa()
            && let Run::Found(found) = dfa.run(seen, steps)?
        {
            match self.verdict(!found.is_empty(), text) {
                Verdict::Matches => return Ok(true),
                Verdict::Misses => return Ok(false),
                Verdict::Unknown => {}
            }
        }
        self.backtracker().is_match(seen, steps)
    }

    // Whether a match starts at this byte.
    fn matches_at(&self, seen: &str, at: usize, steps: &mut Steps) -> Result<bool, StepsExhausted> {
        self.backtracker().matches_at(seen, at, steps)
    }

    // Whether a text that the translation does not match cannot match.
    fn is_filtered_on(&self, text: &Haystack) -> bool {
        self.linear.as_ref().is_some_and(|linear| !linear.by_lines || !text.has_other_line_ends())
    }

    // What follows for the pattern from whether its translation matches.
    fn verdict(&self, translation_matches: bool, text: &Haystack) -> Verdict {
        let Some(linear) = &self.linear else { return Verdict::Unknown };
        match translation_matches {
            _ if !self.is_filtered_on(text) => Verdict::Unknown,
            false => Verdict::Misses,
            true if linear.exact => Verdict::Matches,
            true => Verdict::Unknown,
        }
    }

    fn backtracker(&self) -> &Backtracker {
        self.backtracker.get_or_init(|| Backtracker::new(&self.syntax))
    }

    // Whether its translation stays within the bounds of one pattern.
    fn is_small(&self) -> bool {
        self.compile().is_some()
    }

    fn compile(&self) -> Option<LazyDfa> {
        LazyDfa::new(&[&self.linear.as_ref()?.pattern], BOUNDS)
    }

    fn dfa(&self) -> Option<&LazyDfa> {
        self.dfa.get_or_init(|| self.compile().map(Box::new)).as_deref()
    }
}

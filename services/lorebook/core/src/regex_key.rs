//! Regular-expression keys with the semantics of JavaScript, within a budget of steps.
//!
//! A pattern is parsed as ECMAScript and translated to the linear-time `regex` crate. Where that
//! cannot express it (look-around, references to groups), the translation is a filter that lets
//! through at least what matches, and a backtracking engine with a step limit decides.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

pub use backtrack::{Steps, StepsExhausted};
pub use charset::is_space;
pub use detect::{Delimited, Flags, delimited};
pub use haystack::Haystack;
pub use linear::Linear;
pub use parse::InvalidPattern;
pub use set::{PatternSet, Verdict};

use backtrack::Backtracker;
use syntax::Syntax;

mod backtrack;
mod charset;
mod detect;
mod haystack;
mod linear;
mod parse;
mod set;
mod syntax;

/// Bytes of one compiled pattern; a larger one runs by backtracking alone.
const COMPILED_BYTES_MAX: usize = 1 << 18;

/// Bytes of text that a linear engine reads for the price of one step.
const LINEAR_BYTES_PER_STEP: usize = 256;

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
    regex: OnceLock<Option<Regex>>,
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
            regex: OnceLock::new(),
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

    /// Whether the translation alone decides on this text.
    pub fn is_linear_on(&self, text: &Haystack) -> bool {
        self.linear.as_ref().is_some_and(|linear| linear.exact) && self.is_filtered_on(text)
    }

    /// Whether a text that the translation does not match cannot match.
    pub fn is_filtered_on(&self, text: &Haystack) -> bool {
        self.linear.as_ref().is_some_and(|linear| !(linear.by_lines && text.has_other_line_ends()))
    }

    /// Whether the pattern matches anywhere in the text.
    pub fn is_match(&self, text: &Haystack, steps: &mut Steps) -> Result<bool, StepsExhausted> {
        let seen = text.seen(self.by_code_point());
        let mut from = 0;
        if let Some(regex) = self.regex().filter(|_| self.is_filtered_on(text)) {
            steps.spend(1 + (seen.len() / LINEAR_BYTES_PER_STEP) as u64)?;
            if self.is_linear_on(text) {
                return Ok(regex.is_match(seen.as_bytes()));
            }
            match regex.find(seen.as_bytes()) {
                None => return Ok(false),
                // Between the bytes of a character nothing but `\B` can match.
                Some(found) => from = seen.ceil_char_boundary(found.start()),
            }
        }
        let backtracker = self.backtracker.get_or_init(|| Backtracker::new(&self.syntax));
        backtracker.is_match(seen, from, steps)
    }

    // Whether its translation alone stays within the bounds of one pattern.
    fn is_small(&self) -> bool {
        self.regex().is_some()
    }

    fn regex(&self) -> Option<&Regex> {
        let compile = || {
            let pattern = &self.linear.as_ref()?.pattern;
            RegexBuilder::new(pattern).size_limit(COMPILED_BYTES_MAX).build().ok()
        };
        self.regex.get_or_init(compile).as_ref()
    }
}

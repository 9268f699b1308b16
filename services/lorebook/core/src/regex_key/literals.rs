//! Finds the places where patterns can start, by the literals that they start with.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, MatchKind};
use regex_syntax::{
    ParserBuilder,
    hir::literal::{ExtractKind, Extractor},
};

/// The literals of many patterns, ASCII letters in lower case.
#[derive(Debug)]
pub struct Literals {
    finder: AhoCorasick,
    /// The patterns that each literal may start.
    patterns: Vec<Vec<u32>>,
}

/// A literal of fewer bytes occurs too often to be worth its place.
const LITERAL_BYTES_MIN: usize = 3;
/// Bytes of a literal that are looked for.
const LITERAL_BYTES_MAX: usize = 12;
/// Literals that a pattern may start with.
const LITERALS_MAX: usize = 32;

/// The literals one of which starts every match of a translated pattern; None if it has no such.
pub fn starts_of(pattern: &str) -> Option<Vec<Vec<u8>>> {
    let hir = ParserBuilder::new().utf8(false).build().parse(pattern).ok()?;
    let mut extractor = Extractor::new();
    extractor.kind(ExtractKind::Prefix).limit_literal_len(LITERAL_BYTES_MAX);
    let found = extractor.extract(&hir);
    let mut literals: Vec<Vec<u8>> =
        found.literals()?.iter().map(|literal| literal.as_bytes().to_ascii_lowercase()).collect();
    literals.sort_unstable();
    // Where a longer one starts, its beginning does.
    literals.dedup_by(|longer, shorter| longer.starts_with(shorter));
    let are_good = (1..=LITERALS_MAX).contains(&literals.len())
        && literals.iter().all(|literal| literal.len() >= LITERAL_BYTES_MIN);
    are_good.then_some(literals)
}

// === impl Literals ===

impl Literals {
    /// From the literals of each pattern; None if there are none.
    pub fn new(of_patterns: impl IntoIterator<Item = (u32, Vec<Vec<u8>>)>) -> Option<Self> {
        let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut texts: Vec<Vec<u8>> = Vec::new();
        let mut patterns: Vec<Vec<u32>> = Vec::new();
        for (pattern, literals) in of_patterns {
            for literal in literals {
                let place = *places.entry(literal).or_insert_with_key(|literal| {
                    texts.push(literal.clone());
                    patterns.push(Vec::new());
                    texts.len() - 1
                });
                patterns[place].push(pattern);
            }
        }
        if texts.is_empty() {
            return None;
        }
        let finder = AhoCorasick::builder().match_kind(MatchKind::Standard).build(&texts).ok()?;
        Some(Self { finder, patterns })
    }

    /// All places of a text where patterns can start, and which.
    pub fn places<'a>(&'a self, lower: &'a [u8]) -> impl Iterator<Item = (usize, &'a [u32])> {
        self.finder
            .find_overlapping_iter(lower)
            .map(|found| (found.start(), self.patterns[found.pattern().as_usize()].as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, expected: Option<&[&str]>) {
        let expected = expected.map(|all| all.iter().map(|one| one.as_bytes().to_vec()).collect());
        assert_eq!(starts_of(pattern), expected, "{pattern}");
    }

    #[test]
    fn literals_in_any_case_are_one() {
        check("[Ww][Oo][Ll][Ff]", Some(&["wolf"]));
        check(r"(?-u:\b)dragon(?:s|es)?", Some(&["dragon"]));
        check("moon|Stars", Some(&["moon", "stars"]));
    }

    #[test]
    fn patterns_that_can_start_with_anything_have_none() {
        check("[a-z]+x", None);
        check("ab", None);
        check("(?:dragon)?s", None);
        check("(?:)", None);
    }
}

//! Reads an ECMAScript pattern, the leniencies for patterns without `u` included (its Annex B).

use std::ops::Range;

use super::{
    charset::{self, CharSet},
    detect::Flags,
    syntax::{Node, Repeat, Syntax},
};

mod class;
mod escape;
mod groups;

/// A text that ECMAScript would not accept as a pattern, or one nested deeper than `REGEX_DEPTH_MAX`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at character {at} of the pattern")]
pub struct InvalidPattern {
    pub at: usize,
    pub reason: &'static str,
}

type Parsed<T> = Result<T, InvalidPattern>;

/// Parses a pattern under its flags.
pub fn parse(pattern: &str, flags: Flags) -> Result<Syntax, InvalidPattern> {
    let pattern = if flags.unicode { pattern.into() } else { charset::units(pattern) };
    let chars: Vec<char> = pattern.chars().collect();
    let declared = groups::scan(&chars);
    let mut parser =
        Parser { chars, at: 0, flags, declared, opened: 0, depth: 0, names: Vec::new() };
    let node = parser.disjunction()?;
    match parser.peek() {
        None => {}
        Some(_) => return Err(parser.invalid("unmatched )")),
    }
    Ok(Syntax {
        node,
        groups: parser.opened + 1,
        by_code_point: flags.unicode,
        sticky: flags.sticky,
    })
}

struct Parser {
    chars: Vec<char>,
    at: usize,
    flags: Flags,
    declared: groups::Declared,
    opened: usize,
    depth: usize,
    /// Group names that the current alternative has declared so far.
    names: Vec<String>,
}

// === impl Parser ===

impl Parser {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn looking_at(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(offset, c)| self.chars.get(self.at + offset) == Some(&c))
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.looking_at(text);
        if found {
            self.at += text.chars().count();
        }
        found
    }

    fn invalid(&self, reason: &'static str) -> InvalidPattern {
        InvalidPattern { at: self.at, reason }
    }

    // One name may be declared once in each alternative.
    fn disjunction(&mut self) -> Parsed<Node> {
        let before = self.names.len();
        let mut branches = vec![self.alternative()?];
        let mut declared = self.names.split_off(before);
        while self.eat("|") {
            branches.push(self.alternative()?);
            declared.append(&mut self.names.split_off(before));
        }
        self.names.append(&mut declared);
        Ok(if branches.len() == 1 { branches.remove(0) } else { Node::Alternation(branches) })
    }

    fn alternative(&mut self) -> Parsed<Node> {
        let mut terms = Vec::new();
        while let Some(next) = self.peek() {
            if next == '|' || next == ')' {
                break;
            }
            self.term(&mut terms)?;
        }
        Ok(match terms.len() {
            0 => Node::Empty,
            1 => terms.remove(0),
            _ => Node::Concat(terms),
        })
    }

    fn term(&mut self, terms: &mut Vec<Node>) -> Parsed<()> {
        let before = self.opened;
        let mut repeatable = true;
        let first = terms.len();
        match self.peek() {
            Some('^') => {
                self.at += 1;
                repeatable = false;
                terms.push(Node::Start { multiline: self.flags.multiline });
            }
            Some('$') => {
                self.at += 1;
                repeatable = false;
                terms.push(Node::End { multiline: self.flags.multiline });
            }
            Some('(') => {
                let (node, may_repeat) = self.group()?;
                repeatable = may_repeat;
                terms.push(node);
            }
            Some('.') => {
                self.at += 1;
                terms.push(Node::Set(self.any()));
            }
            Some('[') => terms.push(Node::Set(self.class()?)),
            Some('\\') if self.looking_at("\\b") || self.looking_at("\\B") => {
                let negated = self.looking_at("\\B");
                self.at += 2;
                repeatable = false;
                terms.push(Node::WordBoundary { negated, wide: self.is_wide() });
            }
            Some('\\') => terms.push(self.atom_escape()?),
            Some('*' | '+' | '?') => return Err(self.invalid("nothing to repeat")),
            Some('{') if self.flags.unicode || self.braces()?.is_some() => {
                return Err(self.invalid("nothing to repeat"));
            }
            Some(']' | '}') if self.flags.unicode => return Err(self.invalid("lone bracket")),
            Some(c) => {
                self.at += 1;
                terms.push(Node::Set(self.folded(charset::single(c))));
            }
            None => {}
        }
        self.quantifier(before..self.opened, repeatable, first, terms)
    }

    fn quantifier(
        &mut self,
        captures: Range<usize>,
        repeatable: bool,
        first: usize,
        terms: &mut Vec<Node>,
    ) -> Parsed<()> {
        let Some((min, max)) = self.repetition()? else { return Ok(()) };
        if !repeatable || terms.len() == first {
            return Err(self.invalid("nothing to repeat"));
        }
        let greedy = !self.eat("?");
        if let Some(node) = terms.pop() {
            let captures = captures.start + 1..captures.end + 1;
            terms.push(Node::Repeat(Box::new(Repeat { node, min, max, greedy, captures })));
        }
        Ok(())
    }

    fn repetition(&mut self) -> Parsed<Option<(u32, Option<u32>)>> {
        let plain = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                let Some((min, max, length)) = self.braces()? else {
                    return if self.flags.unicode {
                        Err(self.invalid("incomplete quantifier"))
                    } else {
                        Ok(None)
                    };
                };
                self.at += length;
                return Ok(Some((min, max)));
            }
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(plain))
    }

    // `{n}`, `{n,}` or `{n,m}` at this place, and its length; anything else is literal text.
    fn braces(&self) -> Parsed<Option<(u32, Option<u32>, usize)>> {
        let mut at = self.at + 1;
        let number = |at: &mut usize| {
            let from = *at;
            while self.chars.get(*at).is_some_and(char::is_ascii_digit) {
                *at += 1;
            }
            let digits: String = self.chars[from..*at].iter().collect();
            (*at > from).then(|| digits.parse().unwrap_or(u32::MAX))
        };
        let Some(min) = number(&mut at) else { return Ok(None) };
        let mut max = Some(min);
        if self.chars.get(at) == Some(&',') {
            at += 1;
            max = number(&mut at);
        }
        if self.chars.get(at) != Some(&'}') {
            return Ok(None);
        }
        match max {
            Some(max) if max < min => Err(self.invalid("numbers out of order in a quantifier")),
            _ => Ok(Some((min, max, at + 1 - self.at))),
        }
    }

    fn any(&self) -> CharSet {
        if self.flags.dot_all {
            return charset::negated(CharSet::empty());
        }
        charset::negated(charset::of(&charset::LINE_ENDS))
    }

    fn is_wide(&self) -> bool {
        self.flags.unicode && self.flags.ignore_case
    }

    fn folded(&self, set: CharSet) -> CharSet {
        if self.flags.ignore_case {
            charset::closed_over_case(set, self.flags.unicode)
        } else {
            set
        }
    }
}

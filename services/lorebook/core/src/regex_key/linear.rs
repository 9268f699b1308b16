//! Writes a pattern in the syntax of the `regex` crate, which matches in linear time.

use std::fmt::Write as _;

use super::{
    charset::{self, CharSet},
    syntax::{Node, Repeat, Syntax},
};

/// A pattern for `regex::bytes` in its Unicode mode.
///
/// It matches wherever the original does. Where `exact`, it matches nowhere else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linear {
    pub pattern: String,
    pub exact: bool,
    /// It knows `\n` as the one line end: exact only for texts without the other three.
    pub by_lines: bool,
    may_be_empty: bool,
}

/// Characters of a translation at the most; beyond, the pattern has no linear form.
const LINEAR_CHARS_MAX: usize = 1 << 16;

/// Translates; None if the translation grows out of hand.
pub fn translate(syntax: &Syntax) -> Option<Linear> {
    let mut out = Linear {
        pattern: String::new(),
        exact: true,
        by_lines: false,
        may_be_empty: syntax.node.may_be_empty(),
    };
    if syntax.sticky {
        out.pattern.push_str("\\A");
    }
    out.node(&syntax.node);
    (out.pattern.len() <= LINEAR_CHARS_MAX).then_some(out)
}

// === impl Linear ===

impl Linear {
    fn node(&mut self, node: &Node) {
        match node {
            Node::Empty => self.push("(?:)"),
            Node::Set(set) => self.set(set),
            Node::Start { multiline } => self.line_border(*multiline, "\\A", "(?m:^)"),
            Node::End { multiline } => self.line_border(*multiline, "\\z", "(?m:$)"),
            Node::WordBoundary { wide: true, .. } => self.approximate("(?:)"),
            Node::WordBoundary { negated: false, .. } => self.push("(?-u:\\b)"),
            Node::WordBoundary { negated: true, .. } => {
                // It holds between the bytes of one character too, where nothing but it can match.
                self.exact &= !self.may_be_empty;
                self.push("(?-u:\\B)");
            }
            // A group may be reached again with another text, or not at all.
            Node::BackReference { .. } => self.approximate("(?s-u:.*)"),
            Node::Look { .. } => self.approximate("(?:)"),
            Node::Capture { node, .. } => self.group(node),
            Node::Concat(nodes) => nodes.iter().for_each(|node| self.node(node)),
            Node::Alternation(branches) => self.alternation(branches),
            Node::Repeat(repeat) => self.repeat(repeat),
        }
    }

    fn push(&mut self, text: &str) {
        if self.pattern.len() <= LINEAR_CHARS_MAX {
            self.pattern.push_str(text);
        }
    }

    fn approximate(&mut self, text: &str) {
        self.exact = false;
        self.push(text);
    }

    fn line_border(&mut self, multiline: bool, of_text: &str, of_line: &str) {
        self.by_lines |= multiline;
        self.push(if multiline { of_line } else { of_text });
    }

    fn group(&mut self, node: &Node) {
        self.push("(?:");
        self.node(node);
        self.push(")");
    }

    fn alternation(&mut self, branches: &[Node]) {
        self.push("(?:");
        for (at, branch) in branches.iter().enumerate() {
            if at > 0 {
                self.push("|");
            }
            self.node(branch);
        }
        self.push(")");
    }

    fn repeat(&mut self, repeat: &Repeat) {
        self.group(&repeat.node);
        let times = match (repeat.min, repeat.max) {
            (0, None) => "*".to_owned(),
            (1, None) => "+".to_owned(),
            (min, None) => format!("{{{min},}}"),
            (min, Some(max)) => format!("{{{min},{max}}}"),
        };
        self.push(&times);
    }

    fn set(&mut self, set: &CharSet) {
        if let Some(c) = charset::only_member(set) {
            return self.push(&regex_syntax::escape(c.encode_utf8(&mut [0; 4])));
        }
        if set.ranges().is_empty() {
            return self.push("[^\\x{0}-\\x{10FFFF}]");
        }
        self.push("[");
        for range in set.ranges() {
            let mut text = String::new();
            // Writing to a String cannot fail.
            let _ =
                write!(text, "\\x{{{:X}}}-\\x{{{:X}}}", range.start() as u32, range.end() as u32);
            self.push(&text);
        }
        self.push("]");
    }
}

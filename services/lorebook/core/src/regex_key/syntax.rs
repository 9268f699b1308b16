//! The parts of an ECMAScript pattern, with flags and case folding already resolved into them.

use super::charset::CharSet;

/// A pattern or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    Empty,
    /// One character of a set.
    Set(CharSet),
    Start {
        multiline: bool,
    },
    End {
        multiline: bool,
    },
    /// `\b` and `\B`; wide ones count the letters that fold to `s` and `k` as word characters.
    WordBoundary {
        negated: bool,
        wide: bool,
    },
    Capture {
        index: usize,
        node: Box<Node>,
    },
    /// What the groups captured; at most one of several of one name has.
    BackReference {
        groups: Vec<usize>,
        ignore_case: bool,
    },
    Look {
        ahead: bool,
        negated: bool,
        node: Box<Node>,
    },
    Concat(Vec<Node>),
    Alternation(Vec<Node>),
    Repeat(Box<Repeat>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeat {
    pub node: Node,
    pub min: u32,
    /// None: without end.
    pub max: Option<u32>,
    pub greedy: bool,
    /// The capture groups inside, which each round empties.
    pub captures: std::ops::Range<usize>,
}

/// A parsed pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Syntax {
    pub node: Node,
    /// Capture groups, the whole match (0) included.
    pub groups: usize,
    /// Whether it sees code points rather than UTF-16 units.
    pub by_code_point: bool,
    /// It may match at the start of the text only.
    pub sticky: bool,
}

// === impl Node ===

impl Node {
    /// Whether it may match the empty text.
    pub fn may_be_empty(&self) -> bool {
        match self {
            Self::Set(_) => false,
            Self::Capture { node, .. } => node.may_be_empty(),
            Self::Concat(nodes) => nodes.iter().all(Self::may_be_empty),
            Self::Alternation(branches) => branches.iter().any(Self::may_be_empty),
            Self::Repeat(repeat) => repeat.min == 0 || repeat.node.may_be_empty(),
            _ => true,
        }
    }
}

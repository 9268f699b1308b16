//! A pattern as a list of simple operations.

use crate::regex_key::{
    charset::{self, CharSet},
    syntax::{Node, Repeat, Syntax},
};

#[derive(Debug)]
pub struct Program {
    pub ops: Vec<Op>,
    pub sets: Vec<Members>,
    /// Capture groups, the whole match included.
    pub groups: usize,
    pub registers: usize,
    /// The characters a match can start with; None: any, or none at all.
    first: Option<Members>,
}

/// Membership in constant time for ASCII.
#[derive(Debug)]
pub struct Members {
    ascii: u128,
    set: CharSet,
}

#[derive(Debug)]
pub enum Op {
    Set {
        set: usize,
        backward: bool,
    },
    Start {
        multiline: bool,
    },
    End {
        multiline: bool,
    },
    WordBoundary {
        negated: bool,
        wide: bool,
    },
    Split {
        first: usize,
        second: usize,
    },
    Jump(usize),
    Save(usize),
    /// Forgets the capture slots `from..to`.
    Clear {
        from: usize,
        to: usize,
    },
    /// Sets a register to 0 or to the position.
    Register {
        register: usize,
        to_position: bool,
    },
    /// Decides on another round; the body follows.
    Loop {
        counter: usize,
        min: u32,
        max: Option<u32>,
        greedy: bool,
        after: usize,
    },
    Enter {
        counter: usize,
    },
    Progress {
        mark: usize,
        counter: usize,
        min: u32,
    },
    BackReference {
        groups: Vec<usize>,
        ignore_case: bool,
        backward: bool,
    },
    /// The body follows and ends with `Accept`.
    Look {
        negated: bool,
        after: usize,
    },
    Accept,
}

// === impl Members ===

impl Members {
    fn new(set: CharSet) -> Self {
        let ascii = (0..128u8)
            .filter(|&byte| charset::contains(&set, byte as char))
            .fold(0, |bits, byte| bits | 1 << byte);
        Self { ascii, set }
    }

    pub fn contains(&self, c: char) -> bool {
        if c.is_ascii() {
            self.ascii >> (c as u32) & 1 == 1
        } else {
            charset::contains(&self.set, c)
        }
    }
}

// === impl Program ===

impl Program {
    pub fn compile(syntax: &Syntax) -> Self {
        let first = first(&syntax.node).filter(|_| !syntax.node.may_be_empty());
        let mut program = Self {
            ops: Vec::new(),
            sets: Vec::new(),
            groups: syntax.groups,
            registers: 0,
            first: first.map(Members::new),
        };
        program.node(&syntax.node, false);
        program.ops.push(Op::Accept);
        program
    }

    pub fn may_start_with(&self, next: Option<char>) -> bool {
        match &self.first {
            None => true,
            Some(first) => next.is_some_and(|c| first.contains(c)),
        }
    }

    fn node(&mut self, node: &Node, backward: bool) {
        match node {
            Node::Empty => {}
            Node::Set(set) => {
                self.sets.push(Members::new(set.clone()));
                self.ops.push(Op::Set { set: self.sets.len() - 1, backward });
            }
            Node::Start { multiline } => self.ops.push(Op::Start { multiline: *multiline }),
            Node::End { multiline } => self.ops.push(Op::End { multiline: *multiline }),
            Node::WordBoundary { negated, wide } => {
                self.ops.push(Op::WordBoundary { negated: *negated, wide: *wide });
            }
            Node::Capture { index, node } => {
                let (start, end) = (index * 2, index * 2 + 1);
                self.ops.push(Op::Save(if backward { end } else { start }));
                self.node(node, backward);
                self.ops.push(Op::Save(if backward { start } else { end }));
            }
            Node::BackReference { groups, ignore_case } => self.ops.push(Op::BackReference {
                groups: groups.clone(),
                ignore_case: *ignore_case,
                backward,
            }),
            Node::Look { ahead, negated, node } => self.look(*ahead, *negated, node),
            Node::Concat(nodes) if backward => nodes.iter().rev().for_each(|n| self.node(n, true)),
            Node::Concat(nodes) => nodes.iter().for_each(|n| self.node(n, false)),
            Node::Alternation(branches) => self.alternation(branches, backward),
            Node::Repeat(repeat) => self.repeat(repeat, backward),
        }
    }

    fn look(&mut self, ahead: bool, negated: bool, node: &Node) {
        let at = self.ops.len();
        self.ops.push(Op::Accept);
        self.node(node, !ahead);
        self.ops.push(Op::Accept);
        self.ops[at] = Op::Look { negated, after: self.ops.len() };
    }

    fn alternation(&mut self, branches: &[Node], backward: bool) {
        let mut ends = Vec::new();
        for (at, branch) in branches.iter().enumerate() {
            if at + 1 == branches.len() {
                self.node(branch, backward);
                break;
            }
            let split = self.ops.len();
            self.ops.push(Op::Accept);
            self.node(branch, backward);
            ends.push(self.ops.len());
            self.ops.push(Op::Accept);
            self.ops[split] = Op::Split { first: split + 1, second: self.ops.len() };
        }
        for end in ends {
            self.ops[end] = Op::Jump(self.ops.len());
        }
    }

    fn repeat(&mut self, repeat: &Repeat, backward: bool) {
        let (counter, mark) = (self.registers, self.registers + 1);
        self.registers += 2;
        let Repeat { min, max, greedy, .. } = *repeat;
        self.ops.push(Op::Register { register: counter, to_position: false });
        let head = self.ops.len();
        self.ops.push(Op::Accept);
        self.ops.push(Op::Enter { counter });
        self.ops.push(Op::Register { register: mark, to_position: true });
        if !repeat.captures.is_empty() {
            let (from, to) = (repeat.captures.start * 2, repeat.captures.end * 2);
            self.ops.push(Op::Clear { from, to });
        }
        self.node(&repeat.node, backward);
        self.ops.push(Op::Progress { mark, counter, min });
        self.ops.push(Op::Jump(head));
        self.ops[head] = Op::Loop { counter, min, max, greedy, after: self.ops.len() };
    }
}

// The characters that what a node matches can start with; None: not known.
fn first(node: &Node) -> Option<CharSet> {
    match node {
        Node::Set(set) => Some(set.clone()),
        Node::Capture { node, .. } => first(node),
        Node::BackReference { .. } => None,
        Node::Alternation(branches) => first_of(branches),
        Node::Concat(nodes) => {
            let until = nodes.iter().position(|node| !node.may_be_empty());
            first_of(&nodes[..until.map_or(nodes.len(), |at| at + 1)])
        }
        Node::Repeat(repeat) => first(&repeat.node),
        _ => Some(CharSet::empty()),
    }
}

fn first_of(nodes: &[Node]) -> Option<CharSet> {
    nodes.iter().try_fold(CharSet::empty(), |mut all, node| {
        all.union(&first(node)?);
        Some(all)
    })
}

//! Runs a pattern by backtracking, with ECMAScript's own semantics and a hard limit on steps.
//!
//! For what a linear engine cannot express: look-around and references to groups.

mod program;

use program::{Op, Program};

use super::{charset, syntax::Syntax};

/// Steps that the patterns of one request may still take together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steps {
    left: u64,
}

/// The steps ran out: whether the pattern matches is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the step limit of regular expressions is reached")]
pub struct StepsExhausted;

/// A pattern ready to run.
#[derive(Debug)]
pub struct Backtracker {
    program: Program,
    by_code_point: bool,
    sticky: bool,
}

struct Run<'a> {
    program: &'a Program,
    by_code_point: bool,
    text: &'a str,
    steps: &'a mut Steps,
    /// Start and end of each group; `UNSET` where it took no part.
    captures: Vec<usize>,
    /// Counters and marks of loops.
    registers: Vec<usize>,
    stack: Vec<Frame>,
}

/// What going back restores.
enum Frame {
    Branch { pc: usize, at: usize },
    Capture { slot: usize, old: usize },
    Register { register: usize, old: usize },
}

const UNSET: usize = usize::MAX;

// === impl Steps ===

impl Steps {
    pub fn new(limit: u64) -> Self {
        Self { left: limit }
    }

    pub fn left(&self) -> u64 {
        self.left
    }

    /// Takes steps off; once they do not suffice, none are left.
    pub fn spend(&mut self, steps: u64) -> Result<(), StepsExhausted> {
        let enough = self.left >= steps;
        self.left = self.left.saturating_sub(steps);
        if enough { Ok(()) } else { Err(StepsExhausted) }
    }
}

// === impl Backtracker ===

impl Backtracker {
    pub fn new(syntax: &Syntax) -> Self {
        Self {
            program: Program::compile(syntax),
            by_code_point: syntax.by_code_point,
            sticky: syntax.sticky,
        }
    }

    /// Whether the pattern matches anywhere in the text.
    pub fn is_match(&self, text: &str, steps: &mut Steps) -> Result<bool, StepsExhausted> {
        let mut run = self.begin(text, steps);
        if self.sticky {
            return Ok(run.matches(0, 0)?.is_some());
        }
        let starts = text.char_indices().map(|(at, c)| (at, Some(c)));
        for (at, next) in starts.chain([(text.len(), None)]) {
            if self.program.may_start_with(next) && run.matches(0, at)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a match starts at this byte.
    pub fn matches_at(
        &self,
        text: &str,
        at: usize,
        steps: &mut Steps,
    ) -> Result<bool, StepsExhausted> {
        let may_start = text.is_char_boundary(at) && (at == 0 || !self.sticky);
        Ok(may_start && self.begin(text, steps).matches(0, at)?.is_some())
    }

    fn begin<'a>(&'a self, text: &'a str, steps: &'a mut Steps) -> Run<'a> {
        Run {
            program: &self.program,
            by_code_point: self.by_code_point,
            text,
            steps,
            captures: vec![UNSET; self.program.groups * 2],
            registers: vec![0; self.program.registers],
            stack: Vec::new(),
        }
    }
}

// === impl Run ===

impl Run<'_> {
    // Runs from an op until `Accept`; None restores everything. Recursion is as deep as the
    // pattern nests look-arounds.
    fn matches(&mut self, start: usize, at: usize) -> Result<Option<usize>, StepsExhausted> {
        let base = self.stack.len();
        let (mut pc, mut at) = (start, at);
        loop {
            self.steps.spend(1)?;
            let next = match &self.program.ops[pc] {
                Op::Accept => return Ok(Some(at)),
                Op::Look { negated, after } => {
                    self.look(pc + 1, at, *negated)?.then_some((*after, at))
                }
                op => self.step(op, pc, at)?,
            };
            match next.or_else(|| self.go_back(base)) {
                Some(place) => (pc, at) = place,
                None => return Ok(None),
            }
        }
    }

    fn go_back(&mut self, base: usize) -> Option<(usize, usize)> {
        while self.stack.len() > base {
            match self.stack.pop()? {
                Frame::Branch { pc, at } => return Some((pc, at)),
                Frame::Capture { slot, old } => self.captures[slot] = old,
                Frame::Register { register, old } => self.registers[register] = old,
            }
        }
        None
    }

    // A look-around that held keeps its captures and forgets its untried branches.
    fn look(&mut self, body: usize, at: usize, negated: bool) -> Result<bool, StepsExhausted> {
        let base = self.stack.len();
        let held = self.matches(body, at)?.is_some();
        if held && negated {
            while self.go_back(base).is_some() {}
        } else if held {
            let kept = self.stack.split_off(base);
            self.stack
                .extend(kept.into_iter().filter(|frame| !matches!(frame, Frame::Branch { .. })));
        }
        Ok(held != negated)
    }

    // One op; None: this way is no match.
    fn step(
        &mut self,
        op: &Op,
        pc: usize,
        at: usize,
    ) -> Result<Option<(usize, usize)>, StepsExhausted> {
        let on = Some((pc + 1, at));
        Ok(match op {
            Op::Set { set, backward } => self
                .read(at, *backward)
                .filter(|(c, _)| self.program.sets[*set].contains(*c))
                .map(|(_, to)| (pc + 1, to)),
            Op::Start { multiline } => {
                on.filter(|_| at == 0 || (*multiline && self.ends_line(at, true)))
            }
            Op::End { multiline } => {
                on.filter(|_| at == self.text.len() || (*multiline && self.ends_line(at, false)))
            }
            Op::WordBoundary { negated, wide } => on.filter(|_| {
                (self.is_word(at, true, *wide) != self.is_word(at, false, *wide)) != *negated
            }),
            Op::Split { first, second } => {
                self.stack.push(Frame::Branch { pc: *second, at });
                Some((*first, at))
            }
            Op::Jump(to) => Some((*to, at)),
            Op::Save(slot) => {
                self.capture(*slot, at);
                on
            }
            Op::Clear { from, to } => {
                self.steps.spend((to - from) as u64)?;
                (*from..*to).for_each(|slot| self.capture(slot, UNSET));
                on
            }
            Op::Register { register, to_position } => {
                self.register(*register, if *to_position { at } else { 0 });
                on
            }
            Op::Loop { counter, min, max, greedy, after } => {
                self.turn_loop((pc, at), *counter, (*min, *max), *greedy, *after)
            }
            Op::Enter { counter } => {
                self.register(*counter, self.registers[*counter] + 1);
                on
            }
            // A round beyond the least number that matched nothing is no match.
            Op::Progress { mark, counter, min } => on.filter(|_| {
                at != self.registers[*mark] || self.registers[*counter] <= *min as usize
            }),
            Op::BackReference { groups, ignore_case, backward } => {
                self.back_reference(groups, at, *ignore_case, *backward)?.map(|to| (pc + 1, to))
            }
            Op::Accept | Op::Look { .. } => None,
        })
    }

    fn turn_loop(
        &mut self,
        (pc, at): (usize, usize),
        counter: usize,
        (min, max): (u32, Option<u32>),
        greedy: bool,
        after: usize,
    ) -> Option<(usize, usize)> {
        let rounds = self.registers[counter];
        let body = pc + 1;
        if rounds < min as usize {
            return Some((body, at));
        }
        if max.is_some_and(|max| rounds >= max as usize) {
            return Some((after, at));
        }
        let (now, later) = if greedy { (body, after) } else { (after, body) };
        self.stack.push(Frame::Branch { pc: later, at });
        Some((now, at))
    }

    fn capture(&mut self, slot: usize, value: usize) {
        let old = std::mem::replace(&mut self.captures[slot], value);
        self.stack.push(Frame::Capture { slot, old });
    }

    fn register(&mut self, register: usize, value: usize) {
        let old = std::mem::replace(&mut self.registers[register], value);
        self.stack.push(Frame::Register { register, old });
    }

    fn read(&self, at: usize, backward: bool) -> Option<(char, usize)> {
        if backward {
            self.text[..at].chars().next_back().map(|c| (c, at - c.len_utf8()))
        } else {
            self.text[at..].chars().next().map(|c| (c, at + c.len_utf8()))
        }
    }

    fn ends_line(&self, at: usize, backward: bool) -> bool {
        self.read(at, backward).is_some_and(|(c, _)| charset::LINE_ENDS.contains(&c))
    }

    fn is_word(&self, at: usize, backward: bool, wide: bool) -> bool {
        self.read(at, backward).is_some_and(|(c, _)| {
            c.is_ascii_alphanumeric() || c == '_' || (wide && matches!(c, '\u{17F}' | '\u{212A}'))
        })
    }

    // A group that took no part is the empty text.
    fn back_reference(
        &mut self,
        groups: &[usize],
        at: usize,
        ignore_case: bool,
        backward: bool,
    ) -> Result<Option<usize>, StepsExhausted> {
        let text = self.text;
        let captured = groups.iter().find_map(|group| {
            let (from, to) = (self.captures[group * 2], self.captures[group * 2 + 1]);
            (from != UNSET && to != UNSET).then(|| &text[from..to])
        });
        let Some(captured) = captured else { return Ok(Some(at)) };
        self.steps.spend(captured.len() as u64)?;
        let mut here = at;
        let mut wanted = captured.chars();
        while let Some(c) = if backward { wanted.next_back() } else { wanted.next() } {
            let Some((found, to)) = self.read(here, backward) else { return Ok(None) };
            let equal = c == found
                || (ignore_case && charset::equal_ignoring_case(c, found, self.by_code_point));
            if !equal {
                return Ok(None);
            }
            here = to;
        }
        Ok(Some(here))
    }
}

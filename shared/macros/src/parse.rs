//! Text to a tree of macros in one pass over the bytes; whatever is not a macro stays a gap between them.
//!
//! A `{{` opens a macro only when a name, a comment or a variable follows; `}}` closes the innermost
//! open one; what is still open at the end becomes text, and the macros inside it move up. Reference C.
//!
//! Cost: linear in the text, times the depth limit in the worst case (moving up).

mod head;
mod pairs;

use std::ops::Range;

pub(crate) use head::Operator;
use head::{Head, read_head, read_legacy_marker};

use crate::expansion::Code;
use crate::table::{Id, find};
use crate::text::{find_byte, trim_range};

/// A run of text and the macros in it, in order. Text is what lies between them.
#[derive(Debug, Default)]
pub(crate) struct Level {
    pub range: Range<usize>,
    pub macros: Vec<Macro>,
    /// For a macro that is a closing tag or has one: the index of the other.
    pub partner: Vec<Option<usize>>,
    /// False in the value of a variable shorthand.
    pub has_scopes: bool,
}

/// One `{{…}}` or `<USER>`.
#[derive(Debug)]
pub(crate) struct Macro {
    /// Braces included.
    pub range: Range<usize>,
    pub kind: Kind,
}

#[derive(Debug)]
pub(crate) enum Kind {
    /// `{{name}}`, `{{name::a::b}}`, `{{name a}}`, `{{name:a}}`.
    Call(Call),
    /// `{{.name}}`, `{{$name = value}}`.
    Variable(Variable),
    /// `<USER>` and its kin: the name of the macro it stands for.
    Marker(&'static str),
}

#[derive(Debug)]
pub(crate) struct Call {
    pub name: Range<usize>,
    /// None: no macro has this name.
    pub id: Option<Id>,
    /// `{{/name}}`, and `{{///}}` for a comment.
    pub closes: bool,
    /// The `#` flag: scoped content is neither trimmed nor dedented.
    pub keeps_whitespace: bool,
    /// Arguments without the white space around them.
    pub arguments: Vec<Level>,
}

#[derive(Debug)]
pub(crate) struct Variable {
    pub is_global: bool,
    /// Empty where it is missing.
    pub name: Range<usize>,
    pub operator: Operator,
    /// Behind an operator that takes none, it is ignored.
    pub value: Level,
}

/// A text, parsed.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub document: Level,
    pub faults: Vec<Fault>,
    /// Macros and arguments in it.
    pub nodes: usize,
}

/// A macro that could not be opened or closed.
#[derive(Debug)]
pub(crate) struct Fault {
    pub code: Code,
    pub range: Range<usize>,
}

/// A macro whose end has not been met yet.
struct Frame {
    start: usize,
    head: Head,
    /// Arguments that a `::` has ended.
    arguments: Vec<Level>,
    current: Level,
}

struct Parser<'t> {
    text: &'t str,
    position: usize,
    depth_max: usize,
    document: Level,
    open: Vec<Frame>,
    /// Openings beyond a limit whose `}}` must not close anything.
    ignored: usize,
    /// Macros and arguments that may still be kept: bounds the tree's memory.
    nodes_left: usize,
    faults: Vec<Fault>,
}

/// Parses a whole text. `depth_max` bounds how many macros may be open at once, `nodes_max` how many
/// macros and arguments there are in all.
pub(crate) fn parse(text: &str, depth_max: usize, nodes_max: usize) -> Parsed {
    let document = Level { range: 0..text.len(), ..Level::default() };
    let (open, faults) = (Vec::new(), Vec::new());
    let mut parser = Parser {
        text,
        position: 0,
        depth_max,
        document,
        open,
        ignored: 0,
        nodes_left: nodes_max,
        faults,
    };
    while let Some(found) = next_special(text.as_bytes(), parser.position) {
        parser.position = found;
        parser.step();
    }
    parser.finish(nodes_max)
}

/// True if nothing in the text can change: no macro, no marker, no escape.
pub(crate) fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(at) = find_byte(bytes, from, *b"<{\\") {
        match &bytes[at..] {
            [b'<', ..] | [b'{', b'{', ..] | [b'\\', b'{' | b'}', ..] => return false,
            _ => from = at + 1,
        }
    }
    true
}

fn next_special(bytes: &[u8], from: usize) -> Option<usize> {
    find_byte(bytes, from, *b"{}:<")
}

// === impl Parser ===

impl Parser<'_> {
    fn step(&mut self) {
        let rest = &self.text.as_bytes()[self.position..];
        match rest {
            [b'{', b'{', ..] => self.open_macro(),
            [b'}', b'}', ..] => self.close_macro(),
            [b':', b':', ..] => self.separate(),
            [b'<', ..] => self.marker(),
            _ => self.position += 1,
        }
    }

    fn open_macro(&mut self) {
        let start = self.position;
        let Some(head) = read_head(self.text, start) else {
            // Among arguments both braces are spent, so that only a text's own `{{{x}}}` is `{` and x.
            self.position += if self.open.is_empty() { 1 } else { 2 };
            return;
        };
        if let Err(code) = self.check_limits() {
            self.ignored += 1;
            self.fault(code, start..head.body);
            self.position = head.body;
            return;
        }
        self.position = head.body;
        let current = Level { range: head.body..head.body, ..Level::default() };
        self.open.push(Frame { start, head, arguments: Vec::new(), current });
    }

    fn close_macro(&mut self) {
        let end = self.position;
        self.position += 2;
        if self.ignored > 0 {
            self.ignored -= 1;
            return;
        }
        let Some(mut frame) = self.open.pop() else { return };
        frame.end_argument(self.text, end);
        let range = frame.start..self.position;
        match frame.into_kind(self.text) {
            Ok(kind) => self.innermost().macros.push(Macro { range, kind }),
            Err(inner) => move_up(inner, &mut self.innermost().macros),
        }
    }

    fn separate(&mut self) {
        let at = self.position;
        self.position += 2;
        if self.ignored > 0 {
            return;
        }
        let text = self.text;
        let Some(frame) = self.open.last_mut().filter(|frame| frame.head.is_list()) else { return };
        let Some(nodes_left) = self.nodes_left.checked_sub(1) else { return };
        self.nodes_left = nodes_left;
        frame.end_argument(text, at);
        frame.current.range = at + 2..at + 2;
    }

    fn marker(&mut self) {
        let start = self.position;
        let Some((name, length)) = read_legacy_marker(self.text, start) else {
            self.position += 1;
            return;
        };
        self.position += length;
        let Some(nodes_left) = self.nodes_left.checked_sub(1) else { return };
        self.nodes_left = nodes_left;
        let range = start..self.position;
        self.innermost().macros.push(Macro { range, kind: Kind::Marker(name) });
    }

    fn innermost(&mut self) -> &mut Level {
        match self.open.last_mut() {
            Some(frame) => &mut frame.current,
            None => &mut self.document,
        }
    }

    fn finish(mut self, nodes_max: usize) -> Parsed {
        while let Some(frame) = self.open.pop() {
            self.fault(Code::MacroUnclosed, frame.start..frame.head.body);
            let inner = frame.into_macros();
            move_up(inner, &mut self.innermost().macros);
        }
        self.document.pair(self.text, true);
        let nodes = nodes_max - self.nodes_left;
        Parsed { document: self.document, faults: self.faults, nodes }
    }

    fn check_limits(&mut self) -> Result<(), Code> {
        if self.open.len() >= self.depth_max {
            return Err(Code::MacroDepthLimit);
        }
        self.nodes_left = self.nodes_left.checked_sub(1).ok_or(Code::MacroStepLimit)?;
        Ok(())
    }

    fn fault(&mut self, code: Code, range: Range<usize>) {
        if self.faults.len() <= crate::expansion::DIAGNOSTICS_MAX {
            self.faults.push(Fault { code, range });
        }
    }
}

// === impl Frame ===

impl Frame {
    fn end_argument(&mut self, text: &str, end: usize) {
        let mut level = std::mem::take(&mut self.current);
        level.range = trim_range(text, level.range.start..end);
        level.pair(text, self.head.is_call());
        self.arguments.push(level);
    }

    /// The macro, or what was inside of something that only looked like one.
    fn into_kind(mut self, text: &str) -> Result<Kind, Vec<Macro>> {
        if self.head.is_bare(&self.arguments) {
            self.arguments.clear();
        }
        match self.head.kind {
            head::HeadKind::Call { ref name, closes, keeps_whitespace, .. } => {
                let closes = closes || is_comment_end(text, name, &self.arguments);
                let (name, arguments) = (name.clone(), self.arguments);
                let id = find(&text[name.clone()]);
                Ok(Kind::Call(Call { name, id, closes, keeps_whitespace, arguments }))
            }
            head::HeadKind::Variable { is_global, ref name, operator } => {
                let value = self.arguments.pop().unwrap_or_default();
                if !operator.takes_value() && !operator.may_precede(text, value.range.start) {
                    return Err(value.macros);
                }
                Ok(Kind::Variable(Variable { is_global, name: name.clone(), operator, value }))
            }
        }
    }

    fn into_macros(self) -> Vec<Macro> {
        let mut all = Vec::new();
        for level in self.arguments.into_iter().chain([self.current]) {
            move_up(level.macros, &mut all);
        }
        all
    }
}

/// Appends; into an empty list, without copying.
fn move_up(mut inner: Vec<Macro>, outer: &mut Vec<Macro>) {
    if outer.is_empty() {
        *outer = inner;
    } else {
        outer.append(&mut inner);
    }
}

/// `{{///}}` ends a scoped comment: the comment's text begins with another slash.
fn is_comment_end(text: &str, name: &Range<usize>, arguments: &[Level]) -> bool {
    &text[name.clone()] == "//"
        && arguments.first().is_some_and(|level| text[level.range.clone()].starts_with('/'))
}

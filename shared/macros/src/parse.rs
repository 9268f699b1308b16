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

/// A run of text and the macros in it, in order. Text is what lies between them.
#[derive(Debug, Default)]
pub(crate) struct Level {
    pub range: Range<usize>,
    pub macros: Vec<Macro>,
    /// For a macro that is a closing tag or has one: the index of the other.
    pub partner: Vec<Option<usize>>,
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
    pub name: Range<usize>,
    pub operator: Operator,
    pub value: Level,
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
    /// Openings beyond the depth limit whose `}}` must not close anything.
    too_deep: usize,
    faults: Vec<Fault>,
}

/// Parses a whole text. `depth_max` bounds how many macros may be open at once.
pub(crate) fn parse(text: &str, depth_max: usize) -> (Level, Vec<Fault>) {
    let document = Level { range: 0..text.len(), ..Level::default() };
    let (open, faults) = (Vec::new(), Vec::new());
    let mut parser = Parser { text, position: 0, depth_max, document, open, too_deep: 0, faults };
    while let Some(found) = next_special(text.as_bytes(), parser.position) {
        parser.position = found;
        parser.step();
    }
    parser.finish()
}

/// True if nothing in the text can change: no macro, no marker, no escape.
pub(crate) fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    !bytes.iter().enumerate().any(|(at, byte)| match byte {
        b'<' => true,
        b'{' => bytes.get(at + 1) == Some(&b'{'),
        b'\\' => matches!(bytes.get(at + 1), Some(b'{' | b'}')),
        _ => false,
    })
}

fn next_special(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.iter().position(|byte| matches!(byte, b'{' | b'}' | b':' | b'<')).map(|at| from + at)
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
            self.position += 1;
            return;
        };
        if self.open.len() >= self.depth_max {
            self.too_deep += 1;
            self.fault(Code::MacroDepthLimit, start..head.body);
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
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return;
        }
        let Some(mut frame) = self.open.pop() else { return };
        frame.end_argument(self.text, end);
        let range = frame.start..self.position;
        match frame.into_kind(self.text) {
            Ok(kind) => self.innermost().macros.push(Macro { range, kind }),
            Err(inner) => self.innermost().macros.extend(inner),
        }
    }

    fn separate(&mut self) {
        let at = self.position;
        self.position += 2;
        if self.too_deep > 0 {
            return;
        }
        let text = self.text;
        if let Some(frame) = self.open.last_mut().filter(|frame| frame.head.is_list()) {
            frame.end_argument(text, at);
            frame.current.range = at + 2..at + 2;
        }
    }

    fn marker(&mut self) {
        let start = self.position;
        let Some((name, length)) = read_legacy_marker(self.text, start) else {
            self.position += 1;
            return;
        };
        self.position += length;
        let range = start..self.position;
        self.innermost().macros.push(Macro { range, kind: Kind::Marker(name) });
    }

    fn innermost(&mut self) -> &mut Level {
        match self.open.last_mut() {
            Some(frame) => &mut frame.current,
            None => &mut self.document,
        }
    }

    fn finish(mut self) -> (Level, Vec<Fault>) {
        while let Some(frame) = self.open.pop() {
            self.fault(Code::MacroUnclosed, frame.start..frame.head.body);
            let inner = frame.into_macros();
            self.innermost().macros.extend(inner);
        }
        self.document.pair(self.text);
        (self.document, self.faults)
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
        level.range = crate::text::trim_range(text, level.range.start..end);
        level.pair(text);
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
                Ok(Kind::Call(Call { name, closes, keeps_whitespace, arguments }))
            }
            head::HeadKind::Variable { is_global, ref name, operator } => {
                let value = self.arguments.pop().unwrap_or_default();
                if !operator.takes_value() && !value.range.is_empty() {
                    return Err(value.macros);
                }
                Ok(Kind::Variable(Variable { is_global, name: name.clone(), operator, value }))
            }
        }
    }

    fn into_macros(self) -> Vec<Macro> {
        let levels = self.arguments.into_iter().chain([self.current]);
        levels.flat_map(|level| level.macros).collect()
    }
}

/// `{{///}}` ends a scoped comment: the comment's text begins with another slash.
fn is_comment_end(text: &str, name: &Range<usize>, arguments: &[Level]) -> bool {
    &text[name.clone()] == "//"
        && arguments.first().is_some_and(|level| text[level.range.clone()].starts_with('/'))
}

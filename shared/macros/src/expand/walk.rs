//! The walk over the tree: left to right, arguments before the macro that takes them.

use std::ops::Range;

use super::{Evaluator, Value};
use crate::expansion::Code;
use crate::parse::{Call, Kind, Level, Macro};
use crate::table::{Id, accepts_scope, find};
use crate::text::dedent;
use crate::{control, variables};

/// A part of a level: some of its text and the macros in that.
#[derive(Debug, Clone)]
pub(crate) struct Span<'l> {
    pub level: &'l Level,
    pub range: Range<usize>,
    pub macros: Range<usize>,
}

/// Where a macro stands: in which level, with which closing tag, how deep.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site<'l> {
    pub level: &'l Level,
    pub index: usize,
    pub closing: Option<usize>,
    pub depth: usize,
}

/// The parts of a call, evaluated.
struct Parts {
    /// The macro's text with its arguments evaluated in place.
    body: String,
    /// Where the arguments lie in the body.
    arguments: Vec<Range<usize>>,
    /// The scope as it is, and as an argument.
    scope: Option<(String, String)>,
}

// === impl Span ===

impl<'l> Span<'l> {
    pub fn whole(level: &'l Level) -> Self {
        Self { level, range: level.range.clone(), macros: 0..level.macros.len() }
    }
}

// === impl Site ===

impl<'l> Site<'l> {
    pub fn one(&self) -> &'l Macro {
        &self.level.macros[self.index]
    }

    /// What lies between the opening and the closing tag.
    pub fn scope(&self) -> Option<Span<'l>> {
        let closing = self.closing?;
        let range = self.one().range.end..self.level.macros[closing].range.start;
        Some(Span { level: self.level, range, macros: self.index + 1..closing })
    }

    /// The text from the opening through the closing tag.
    fn range(&self) -> Range<usize> {
        self.one().range.start..self.level.macros[self.last()].range.end
    }

    /// The last macro that this one uses up.
    fn last(&self) -> usize {
        self.closing.unwrap_or(self.index)
    }
}

// === impl Evaluator ===

impl<'e> Evaluator<'_, 'e> {
    /// Evaluates a part of a level onto the end of `out`.
    pub fn span(&mut self, span: &Span<'_>, depth: usize, out: &mut String) {
        let level = span.level;
        let mut cursor = span.range.start;
        let mut index = span.macros.start;
        while index < span.macros.end {
            out.push_str(&self.text[cursor..level.macros[index].range.start]);
            let closing = level.partner[index].filter(|it| span.macros.contains(it));
            let last = self.one(Site { level, index, closing, depth }, out);
            cursor = level.macros[last].range.end;
            index = last + 1;
        }
        out.push_str(&self.text[cursor..span.range.end]);
    }

    /// Evaluates one macro with its scope; gives the last macro that this used up.
    fn one(&mut self, site: Site<'_>, out: &mut String) -> usize {
        let one = site.one();
        let value = match &one.kind {
            Kind::Call(call) => return self.call(site, call, out),
            Kind::Marker(name) => {
                let id = find(name).ok_or(Code::MacroUnknown);
                self.step().and(id).and_then(|id| self.run(id, &[], one, false))
            }
            Kind::Variable(variable) => {
                self.step().and_then(|()| variables::shorthand(self, variable, one, site.depth))
            }
        };
        self.place(value, site, out);
        site.index
    }

    fn call(&mut self, site: Site<'_>, call: &Call, out: &mut String) -> usize {
        if call.closes && site.level.has_scopes {
            let is_stray = site.level.partner[site.index].is_none();
            return self.leave_tag(site, is_stray.then_some(Code::MacroStrayClosing), out);
        }
        if site.closing.is_some() && !accepts_scope(call.id, call.arguments.len()) {
            return self.leave_tag(site, Some(Code::MacroArity), out);
        }
        if let Err(code) = self.step().and_then(|()| self.check_depth(site.depth)) {
            self.place(Err(code), site, out);
        } else if call.id == Some(Id::If) {
            let value = control::evaluate_if(self, site, call);
            self.place(value, site, out);
        } else if call.arguments.is_empty() && site.closing.is_none() {
            let value = call.id.ok_or(Code::MacroUnknown).and_then(|id| match id.arity() {
                arity if arity.allows(0) => self.run(id, &[], site.one(), false),
                _ => Err(Code::MacroArity),
            });
            self.place(value, site, out);
        } else {
            self.ordinary(site, call, out);
        }
        site.last()
    }

    /// A call whose arguments are evaluated before it.
    fn ordinary(&mut self, site: Site<'_>, call: &Call, out: &mut String) {
        let one = site.one();
        let parts = self.parts(site, call);
        let mut arguments: Vec<&str> =
            parts.arguments.iter().map(|range| &parts.body[range.clone()]).collect();
        arguments.extend(parts.scope.as_ref().map(|(_, argument)| argument.as_str()));
        let value = match call.id {
            None => Err(Code::MacroUnknown),
            Some(id) if !id.arity().allows(arguments.len()) => Err(Code::MacroArity),
            Some(id) => self.run(id, &arguments, one, parts.scope.is_some()),
        };
        match value.and_then(|value| self.charge(value.len()).map(|()| value)) {
            Ok(value) => out.push_str(&value),
            Err(code) => {
                self.diagnose(code, one);
                self.place_parts(site, &parts, out);
            }
        }
    }

    fn parts(&mut self, site: Site<'_>, call: &Call) -> Parts {
        let one = site.one();
        let mut body = String::with_capacity(one.range.len());
        let mut arguments = Vec::with_capacity(call.arguments.len());
        let mut cursor = one.range.start;
        for argument in &call.arguments {
            body.push_str(&self.text[cursor..argument.range.start]);
            let start = body.len();
            self.span(&Span::whole(argument), site.depth + 1, &mut body);
            arguments.push(start..body.len());
            cursor = argument.range.end;
        }
        body.push_str(&self.text[cursor..one.range.end]);
        let scope = site.scope().map(|span| {
            let mut content = String::new();
            self.span(&span, site.depth + 1, &mut content);
            let argument = if call.keeps_whitespace { content.clone() } else { dedent(&content) };
            (content, argument)
        });
        Parts { body, arguments, scope }
    }

    /// A macro that stays literal, with whatever was evaluated inside of it.
    fn place_parts(&self, site: Site<'_>, parts: &Parts, out: &mut String) {
        out.push_str(&parts.body);
        let (Some((content, argument)), Some(closing)) = (&parts.scope, site.closing) else {
            return;
        };
        let closing = site.level.macros[closing].range.clone();
        if !self.environment.quirks.eat_closing_tags {
            out.push_str(content);
            out.push_str(&self.text[closing]);
        } else if site.one().range.end < closing.start {
            out.push_str(argument);
            out.push_str("}}");
        }
    }

    /// Leaves one tag as it is and goes on after it.
    fn leave_tag(&mut self, site: Site<'_>, code: Option<Code>, out: &mut String) -> usize {
        if let Some(code) = code {
            self.diagnose(code, site.one());
        }
        out.push_str(&self.text[site.one().range.clone()]);
        site.index
    }

    fn place(&mut self, value: Result<Value<'e>, Code>, site: Site<'_>, out: &mut String) {
        match value.and_then(|value| self.charge(value.len()).map(|()| value)) {
            Ok(value) => out.push_str(&value),
            Err(code) => {
                self.diagnose(code, site.one());
                out.push_str(&self.text[site.range()]);
            }
        }
    }

    fn check_depth(&self, depth: usize) -> Result<(), Code> {
        if depth < self.environment.limits.depth { Ok(()) } else { Err(Code::MacroDepthLimit) }
    }
}

//! The evaluator: walks the tree once, left to right, arguments before the macro that takes them.

use std::borrow::Cow;
use std::ops::Range;

use rand_chacha::ChaCha8Rng;

use crate::environment::Environment;
use crate::expansion::{Code, DIAGNOSTIC_CHARS_MAX, DIAGNOSTICS_MAX, Diagnostic, Expansion, Field};
use crate::parse::{Call, Fault, Kind, Level, Macro, is_plain, parse};
use crate::state::Variables;
use crate::table::{Id, find};
use crate::{chance, chat, control, names_fields, settings, text, time, variables};

/// Expands a text once. Values are inserted as they are and never looked at again, except that the
/// last pass removes backslashes before braces and `{{trim}}` marks from the whole text.
///
/// Writes to `variables` happen as the text is evaluated; a caller that only previews passes a copy.
///
/// Cost: linear in the text and the bytes of all macro values, times the depth limit at the very
/// worst. Beyond a limit macros stay literal, with one diagnostic; nothing fails.
pub fn expand(text: &str, environment: &Environment<'_>, variables: &mut Variables) -> Expansion {
    if is_plain(text) {
        return Expansion { text: text.to_owned(), ..Expansion::default() };
    }
    let (document, faults) = parse(text, environment.limits.depth);
    let mut evaluator = Evaluator::new(text, environment, variables);
    evaluator.report_faults(faults);
    let mut result = String::with_capacity(text.len());
    evaluator.level(&document, 0, &mut result);
    evaluator.report.text = text::last_pass(result);
    evaluator.report.diagnostics.sort_by_key(|diagnostic| diagnostic.offset);
    evaluator.report
}

/// What a macro gives.
pub(crate) type Value<'e> = Cow<'e, str>;

/// A part of a level: some of its text and the macros in that.
#[derive(Debug, Clone)]
pub(crate) struct Span<'l> {
    pub level: &'l Level,
    pub range: Range<usize>,
    pub macros: Range<usize>,
}

/// The state of one expansion.
pub(crate) struct Evaluator<'t, 'e> {
    pub text: &'t str,
    pub environment: &'t Environment<'e>,
    pub variables: &'t mut Variables,
    pub report: Expansion,
    /// The overridden text until its first use, then empty; `None` outside of an override.
    pub original: Option<&'e str>,
    pub chance: Option<ChaCha8Rng>,
    /// Of the whole text, for the draws of `pick`.
    pub text_digest: Option<kernel::Digest>,
    /// A condition asks for a macro by its bare name: nothing is placed.
    pub is_asking: bool,
    steps_left: usize,
    bytes_left: usize,
}

// === impl Span ===

impl<'l> Span<'l> {
    pub fn whole(level: &'l Level) -> Self {
        Self { level, range: level.range.clone(), macros: 0..level.macros.len() }
    }

    /// What lies between two macros of a level.
    pub fn between(level: &'l Level, opening: usize, closing: usize) -> Self {
        let range = level.macros[opening].range.end..level.macros[closing].range.start;
        Self { level, range, macros: opening + 1..closing }
    }
}

// === impl Evaluator ===

impl<'t, 'e> Evaluator<'t, 'e> {
    fn new(text: &'t str, environment: &'t Environment<'e>, variables: &'t mut Variables) -> Self {
        Self {
            text,
            environment,
            variables,
            report: Expansion::default(),
            original: environment.original,
            chance: None,
            text_digest: None,
            is_asking: false,
            steps_left: environment.limits.steps,
            bytes_left: environment.limits.output_bytes.saturating_sub(text.len()),
        }
    }

    pub fn bytes_left(&self) -> usize {
        self.bytes_left
    }

    /// Takes from the bytes of this text.
    pub fn charge(&mut self, bytes: usize) -> Result<(), Code> {
        self.bytes_left = self.bytes_left.checked_sub(bytes).ok_or(Code::MacroOutputLimit)?;
        Ok(())
    }

    pub fn level(&mut self, level: &Level, depth: usize, out: &mut String) {
        self.span(&Span::whole(level), depth, out);
    }

    /// Evaluates a part of a level onto the end of `out`.
    pub fn span(&mut self, span: &Span<'_>, depth: usize, out: &mut String) {
        let mut cursor = span.range.start;
        let mut index = span.macros.start;
        while index < span.macros.end {
            let one = &span.level.macros[index];
            out.push_str(&self.text[cursor..one.range.start]);
            let partner = span.level.partner[index].filter(|it| span.macros.contains(it));
            let last = self.one(span.level, index, partner, depth, out);
            cursor = span.level.macros[last].range.end;
            index = last + 1;
        }
        out.push_str(&self.text[cursor..span.range.end]);
    }

    /// Evaluates the macro at `index`, its scope included; gives the last macro that this used up.
    fn one(
        &mut self,
        level: &Level,
        index: usize,
        partner: Option<usize>,
        depth: usize,
        out: &mut String,
    ) -> usize {
        let one = &level.macros[index];
        match &one.kind {
            Kind::Marker(name) => {
                let value = find(name).ok_or(Code::MacroUnknown);
                let value = self.step().and(value).and_then(|id| self.run(id, &[], one, false));
                self.place(value, one, out);
                index
            }
            Kind::Variable(variable) => {
                let value = self.step().and_then(|()| variables::shorthand(self, variable, depth));
                self.place(value, one, out);
                index
            }
            Kind::Call(call) => self.call(level, index, call, partner, depth, out),
        }
    }

    fn call(
        &mut self,
        level: &Level,
        index: usize,
        call: &Call,
        partner: Option<usize>,
        depth: usize,
        out: &mut String,
    ) -> usize {
        let one = &level.macros[index];
        let id = find(&self.text[call.name.clone()]);
        if call.closes {
            if partner.is_none() {
                self.diagnose(Code::MacroStrayClosing, one);
            }
            self.place_raw(one.range.clone(), out);
            return index;
        }
        let name = self.text[call.name.clone()].to_ascii_lowercase();
        if partner.is_some() && !crate::table::accepts_scope(&name, call.arguments.len()) {
            self.diagnose(Code::MacroArity, one);
            self.place_raw(one.range.clone(), out);
            return index;
        }
        let end = partner.map_or(one.range.end, |closing| level.macros[closing].range.end);
        let allowed = self.step().and(self.check_depth(depth));
        if let Err(code) = allowed {
            self.diagnose(code, one);
            self.place_raw(one.range.start..end, out);
        } else if id == Some(Id::If) {
            let value = control::evaluate_if(self, level, index, call, partner, depth);
            self.place(value, one, out);
        } else {
            self.ordinary(level, index, call, id, partner, depth, out);
        }
        partner.unwrap_or(index)
    }

    /// A call whose arguments are evaluated before it.
    fn ordinary(
        &mut self,
        level: &Level,
        index: usize,
        call: &Call,
        id: Option<Id>,
        partner: Option<usize>,
        depth: usize,
        out: &mut String,
    ) {
        let one = &level.macros[index];
        let (body, spans) = self.body(one, call, depth);
        let content = partner.map(|closing| {
            let mut content = String::new();
            self.span(&Span::between(level, index, closing), depth + 1, &mut content);
            content
        });
        let scoped = content.as_deref().map(|content| {
            if call.keeps_whitespace { content.to_owned() } else { text::dedent(content) }
        });
        let mut arguments: Vec<&str> = spans.into_iter().map(|span| &body[span]).collect();
        arguments.extend(scoped.as_deref());
        let value = match id {
            None => Err(Code::MacroUnknown),
            Some(id) if !id.arity().allows(arguments.len()) => Err(Code::MacroArity),
            Some(id) => self.run(id, &arguments, one, partner.is_some()),
        };
        match value.and_then(|value| self.charge(value.len()).map(|()| value)) {
            Ok(value) => out.push_str(&value),
            Err(code) => {
                self.diagnose(code, one);
                out.push_str(&body);
                let closing = partner.map(|closing| level.macros[closing].range.clone());
                self.place_literal_scope(content, scoped, closing, out);
            }
        }
    }

    /// The macro's text with its arguments evaluated in place, and where they lie in it.
    fn body(&mut self, one: &Macro, call: &Call, depth: usize) -> (String, Vec<Range<usize>>) {
        let mut body = String::with_capacity(one.range.len());
        let mut spans = Vec::with_capacity(call.arguments.len());
        let mut cursor = one.range.start;
        for argument in &call.arguments {
            body.push_str(&self.text[cursor..argument.range.start]);
            let start = body.len();
            self.level(argument, depth + 1, &mut body);
            spans.push(start..body.len());
            cursor = argument.range.end;
        }
        body.push_str(&self.text[cursor..one.range.end]);
        (body, spans)
    }

    /// What follows the opening of a scoped macro that stays literal.
    fn place_literal_scope(
        &self,
        content: Option<String>,
        scoped: Option<String>,
        closing: Option<Range<usize>>,
        out: &mut String,
    ) {
        let (Some(content), Some(scoped), Some(closing)) = (content, scoped, closing) else {
            return;
        };
        if !self.environment.quirks.eat_closing_tags {
            out.push_str(&content);
            out.push_str(&self.text[closing]);
        } else if !content.is_empty() {
            out.push_str(&scoped);
            out.push_str("}}");
        }
    }

    /// Evaluates a known macro whose arguments are counted.
    pub fn run(
        &mut self,
        id: Id,
        arguments: &[&str],
        one: &Macro,
        is_scoped: bool,
    ) -> Result<Value<'e>, Code> {
        use Id as I;
        self.report.volatile |= id.is_volatile();
        match id {
            I::User | I::Char | I::Group | I::GroupNotMuted | I::NotChar => {
                Ok(names_fields::name(self.environment, id))
            }
            I::Random | I::Pick | I::Roll => chance::evaluate(self, id, arguments, one),
            I::LastMessage | I::LastUserMessage | I::LastCharMessage => Ok(chat::text(self, id)),
            I::MessageNumber
            | I::FirstIncluded
            | I::FirstDisplayed
            | I::SwipeCount
            | I::SwipeNumber
            | I::AllChatRange => Ok(chat::number(self.environment, id)),
            I::Time
            | I::Date
            | I::Weekday
            | I::IsoTime
            | I::IsoDate
            | I::DateTimeFormat
            | I::TimeDiff
            | I::IdleDuration => time::evaluate(self, id, arguments, one),
            I::Set(_)
            | I::Add(_)
            | I::Increment(_)
            | I::Decrement(_)
            | I::Get(_)
            | I::Has(_)
            | I::Delete(_)
            | I::SetKey(_)
            | I::GetKey(_) => variables::evaluate(self, id, arguments),
            I::Newline
            | I::Space
            | I::Noop
            | I::Trim
            | I::Comment
            | I::Reverse
            | I::Banned
            | I::If
            | I::Else => text::evaluate(self, id, arguments, is_scoped),
            I::Outlet
            | I::Input
            | I::Model
            | I::MaxPrompt
            | I::MaxContext
            | I::MaxResponse
            | I::IsMobile
            | I::LastGenerationType
            | I::HasExtension => Ok(settings::evaluate(self.environment, id, arguments)),
            I::Original => self.take_original(),
            _ => names_fields::field(self, id, arguments),
        }
    }

    fn take_original(&mut self) -> Result<Value<'e>, Code> {
        let text = self.original.ok_or(Code::MacroOriginalUnavailable)?;
        self.original = Some("");
        self.report.original_used = true;
        Ok(Cow::Borrowed(text))
    }

    /// Notes that a field's text is placed.
    pub fn use_field(&mut self, field: Field) {
        if !self.is_asking {
            self.report.fields_used.insert(field);
        }
    }

    /// Takes one step. Once the steps or bytes are used up nothing is evaluated any more.
    fn step(&mut self) -> Result<(), Code> {
        self.steps_left = self.steps_left.checked_sub(1).ok_or(Code::MacroStepLimit)?;
        Ok(())
    }

    fn check_depth(&self, depth: usize) -> Result<(), Code> {
        if depth < self.environment.limits.depth { Ok(()) } else { Err(Code::MacroDepthLimit) }
    }

    fn place(&mut self, value: Result<Value<'e>, Code>, one: &Macro, out: &mut String) {
        match value.and_then(|value| self.charge(value.len()).map(|()| value)) {
            Ok(value) => out.push_str(&value),
            Err(code) => {
                self.diagnose(code, one);
                self.place_raw(one.range.clone(), out);
            }
        }
    }

    fn place_raw(&self, range: Range<usize>, out: &mut String) {
        out.push_str(&self.text[range]);
    }

    pub fn diagnose(&mut self, code: Code, one: &Macro) {
        self.diagnose_range(code, one.range.clone());
    }

    fn report_faults(&mut self, faults: Vec<Fault>) {
        for fault in faults {
            self.diagnose_range(fault.code, fault.range);
        }
    }

    /// Limits are said once, at the first macro that they stop.
    fn diagnose_range(&mut self, code: Code, range: Range<usize>) {
        let is_limit = matches!(code, Code::MacroStepLimit | Code::MacroOutputLimit);
        if is_limit && self.report.diagnostics.iter().any(|known| known.code == code) {
            return;
        }
        if self.report.diagnostics.len() >= DIAGNOSTICS_MAX {
            self.report.diagnostics_omitted += 1;
            return;
        }
        let offset = range.start;
        let macro_text = self.text[range].chars().take(DIAGNOSTIC_CHARS_MAX).collect();
        self.report.diagnostics.push(Diagnostic { code, macro_text, offset });
    }
}

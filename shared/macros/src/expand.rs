//! The evaluator: what one expansion reads, writes and has left.

mod dispatch;
mod walk;

use std::borrow::Cow;
use std::ops::Range;

use rand_chacha::ChaCha8Rng;

use crate::environment::Environment;
use crate::expansion::{Code, DIAGNOSTIC_CHARS_MAX, DIAGNOSTICS_MAX, Diagnostic, Expansion, Field};
use crate::parse::{Fault, Macro, Parsed, is_plain, parse};
use crate::state::Variables;
use crate::text::last_pass;

pub(crate) use walk::{Site, Span};

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
    let parsed = parse(text, environment.limits.depth, environment.limits.steps);
    run(text, &parsed, environment, variables)
}

/// Expands a text that is parsed already.
pub(crate) fn run(
    text: &str,
    parsed: &Parsed,
    environment: &Environment<'_>,
    variables: &mut Variables,
) -> Expansion {
    let mut evaluator = Evaluator::new(text, environment, variables);
    evaluator.report_faults(&parsed.faults);
    let mut result = String::with_capacity(text.len() + text.len() / 8);
    evaluator.span(&Span::whole(&parsed.document), 0, &mut result);
    evaluator.report.text = last_pass(result);
    evaluator.report.diagnostics.sort_by_key(|diagnostic| diagnostic.offset);
    evaluator.report
}

/// What a macro gives.
pub(crate) type Value<'e> = Cow<'e, str>;

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
    /// The limit that was met: from then on nothing is evaluated.
    exhausted: Option<Code>,
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
            exhausted: None,
            bytes_left: environment.limits.output_bytes.saturating_sub(text.len()),
        }
    }

    pub fn bytes_left(&self) -> usize {
        self.bytes_left
    }

    /// Takes from the bytes of this text; the limit's end is the end of all evaluation.
    pub fn charge(&mut self, bytes: usize) -> Result<(), Code> {
        let Some(left) = self.bytes_left.checked_sub(bytes) else {
            self.exhausted = Some(Code::MacroOutputLimit);
            return Err(Code::MacroOutputLimit);
        };
        self.bytes_left = left;
        Ok(())
    }

    /// Takes one step, if no limit has been met.
    fn step(&mut self) -> Result<(), Code> {
        if let Some(code) = self.exhausted {
            return Err(code);
        }
        let Some(left) = self.steps_left.checked_sub(1) else {
            self.exhausted = Some(Code::MacroStepLimit);
            return Err(Code::MacroStepLimit);
        };
        self.steps_left = left;
        Ok(())
    }

    /// Notes that a field's text is placed.
    pub fn use_field(&mut self, field: Field) {
        if !self.is_asking {
            self.report.fields_used.insert(field);
        }
    }

    pub fn diagnose(&mut self, code: Code, one: &Macro) {
        self.diagnose_range(code, one.range.clone());
    }

    fn report_faults(&mut self, faults: &[Fault]) {
        for fault in faults {
            self.diagnose_range(fault.code, fault.range.clone());
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

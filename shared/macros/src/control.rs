//! `{{if}}` and `{{else}}`: only the chosen branch is evaluated.

use std::borrow::Cow;

use crate::expand::{Evaluator, Site, Span, Value};
use crate::expansion::Code;
use crate::parse::{Call, Kind, Level};
use crate::state::Scope;
use crate::table::{Arity, find};
use crate::text::{dedent, last_pass, trim};
use crate::variables::{is_shorthand_name, read};

/// Evaluates `{{if condition}}…{{else}}…{{/if}}` or `{{if::condition::…}}`.
pub(crate) fn evaluate_if<'e>(
    evaluator: &mut Evaluator<'_, 'e>,
    site: Site<'_>,
    call: &Call,
) -> Result<Value<'e>, Code> {
    let (condition, content) = match (call.arguments.as_slice(), site.scope()) {
        ([condition], Some(scope)) => (condition, scope),
        ([condition, content], None) => (condition, Span::whole(content)),
        _ => return Err(Code::MacroArity),
    };
    let is_true = evaluate_condition(evaluator, condition, site)?;
    let (then_branch, else_branch) = split_at_else(evaluator.text, content);
    let branch = if is_true { Some(then_branch) } else { else_branch };
    let Some(branch) = branch else { return Ok(Cow::Borrowed("")) };
    let mut result = String::new();
    evaluator.span(&branch, site.depth + 1, &mut result);
    let result = last_pass(result);
    Ok(Cow::Owned(if call.keeps_whitespace { result } else { dedent(&result) }))
}

/// A leading `!` inverts. What the condition evaluates to is looked up if it is the bare name of a
/// macro without arguments, `.local` or `$global`; then it is false if empty, `false`, `off` or `0`.
fn evaluate_condition(
    evaluator: &mut Evaluator<'_, '_>,
    condition: &Level,
    site: Site<'_>,
) -> Result<bool, Code> {
    let raw = &evaluator.text[condition.range.clone()];
    let is_inverted = raw.starts_with('!');
    let mut span = Span::whole(condition);
    if is_inverted {
        span.range.start = crate::text::skip_space(evaluator.text, span.range.start + 1);
        span.range.end = span.range.end.max(span.range.start);
    }
    let mut text = String::new();
    evaluator.span(&span, site.depth + 1, &mut text);
    let text = last_pass(text);
    let value = match asked_value(evaluator, &text, site) {
        Some(Err(Code::MacroOriginalUnavailable)) | None => text,
        Some(value) => last_pass(value?),
    };
    Ok(is_false(&value) == is_inverted)
}

/// The value behind a bare name.
fn asked_value(
    evaluator: &mut Evaluator<'_, '_>,
    name: &str,
    site: Site<'_>,
) -> Option<Result<String, Code>> {
    let scope = match name.as_bytes().first()? {
        b'.' => Some(Scope::Local),
        b'$' => Some(Scope::Global),
        _ => None,
    };
    if let Some(scope) = scope.filter(|_| is_shorthand_name(&name[1..])) {
        return Some(read(evaluator, scope, &name[1..]));
    }
    let id = find(name)?;
    if !matches!(id.arity(), Arity::List | Arity::Between(0, _)) {
        return None;
    }
    let was_asking = std::mem::replace(&mut evaluator.is_asking, true);
    let value = evaluator.run(id, &[], site.one(), false);
    evaluator.is_asking = was_asking;
    Some(value.and_then(|value| {
        evaluator.charge(value.len())?;
        Ok(value.into_owned())
    }))
}

/// Empty, `false`, `off` or `0`.
pub(crate) fn is_false(value: &str) -> bool {
    let word = trim(value);
    value.is_empty()
        || word == "0"
        || word.eq_ignore_ascii_case("false")
        || word.eq_ignore_ascii_case("off")
}

/// The branches: an `{{else}}` that belongs to no `{{if}}` within the content parts them.
fn split_at_else<'l>(text: &str, content: Span<'l>) -> (Span<'l>, Option<Span<'l>>) {
    let mut open_ifs: i64 = 0;
    for index in content.macros.clone() {
        let one = &content.level.macros[index];
        let Kind::Call(call) = &one.kind else { continue };
        match &text[call.name.clone()] {
            "if" if call.closes => open_ifs -= 1,
            "if" if call.arguments.len() == 1 => open_ifs += 1,
            "else" if open_ifs == 0 => {
                let mut then_branch = content.clone();
                then_branch.range.end = one.range.start;
                then_branch.macros.end = index;
                let mut else_branch = content.clone();
                else_branch.range.start = one.range.end;
                else_branch.macros.start = index + 1;
                return (then_branch, Some(else_branch));
            }
            _ => {}
        }
    }
    (content, None)
}

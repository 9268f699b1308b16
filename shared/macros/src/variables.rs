//! The variable macros and the shorthand `{{.name}}`, `{{$name = value}}`. Reference C.
//!
//! A value that is a number in JavaScript's sense reads back as one (`007` is `7`), and `addvar` adds
//! numbers, pushes onto a JSON list, or else joins texts.

mod json;
mod number;

use std::borrow::Cow;

pub(crate) use number::{read_number, write_number};

use crate::control::is_false;
use crate::expand::{Evaluator, Span, Value};
use crate::expansion::Code;
use crate::parse::{Macro, Operator, Variable};
use crate::state::Scope;
use crate::table::Id;
use crate::text::trim;

/// Evaluates a macro of this family.
pub(crate) fn evaluate<'e>(
    evaluator: &mut Evaluator<'_, 'e>,
    id: Id,
    arguments: &[&str],
) -> Result<Value<'e>, Code> {
    let argument = |place: usize| arguments.get(place).copied().unwrap_or_default();
    let name = argument(0);
    match id {
        Id::Set(scope) => write(evaluator, scope, name, argument(1).to_owned()).map(|()| empty()),
        Id::Add(scope) => add(evaluator, scope, name, &Addend::Text(argument(1))).map(|_| empty()),
        Id::Increment(scope) => add(evaluator, scope, name, &Addend::Number(1.0)).map(Cow::Owned),
        Id::Decrement(scope) => add(evaluator, scope, name, &Addend::Number(-1.0)).map(Cow::Owned),
        Id::Get(scope) => read(evaluator, scope, name).map(Cow::Owned),
        Id::Has(scope) => Ok(truth(evaluator.variables.get(scope, name).is_some())),
        Id::Delete(scope) => {
            evaluator.variables.remove(scope, name);
            Ok(empty())
        }
        Id::SetKey(scope) => {
            set_key(evaluator, scope, name, argument(1), argument(2)).map(|()| empty())
        }
        Id::GetKey(scope) => get_key(evaluator, scope, name, argument(1)).map(Cow::Owned),
        _ => Err(Code::MacroUnknown),
    }
}

/// Evaluates `{{.name}}`, `{{.name++}}`, `{{.name ?? value}}` and so on. A value is evaluated only
/// where it is needed.
pub(crate) fn shorthand<'e>(
    evaluator: &mut Evaluator<'_, 'e>,
    variable: &Variable,
    one: &Macro,
    depth: usize,
) -> Result<Value<'e>, Code> {
    let scope = if variable.is_global { Scope::Global } else { Scope::Local };
    let name = &evaluator.text[variable.name.clone()];
    if name.is_empty() || !variable.operator.takes_value() && !variable.value.range.is_empty() {
        evaluator.diagnose(Code::MacroValueInvalid, one);
    }
    if name.is_empty() {
        return Ok(empty());
    }
    let exists = evaluator.variables.get(scope, name).is_some();
    let current = read(evaluator, scope, name)?;
    let operand = |evaluator: &mut Evaluator<'_, 'e>| operand(evaluator, variable, depth);
    let answer = match variable.operator {
        Operator::Get => current,
        Operator::Increment => add(evaluator, scope, name, &Addend::Number(1.0))?,
        Operator::Decrement => add(evaluator, scope, name, &Addend::Number(-1.0))?,
        Operator::Set => {
            let value = operand(evaluator);
            write(evaluator, scope, name, value)?;
            String::new()
        }
        Operator::Add => {
            let value = operand(evaluator);
            add(evaluator, scope, name, &Addend::Text(&value))?;
            String::new()
        }
        Operator::Subtract => {
            if let Some(value) = read_number(&operand(evaluator)) {
                add(evaluator, scope, name, &Addend::Number(-value))?;
            } else {
                evaluator.diagnose(Code::MacroValueInvalid, one);
            }
            String::new()
        }
        Operator::Or | Operator::OrSet if !is_false(&current) => current,
        Operator::Default | Operator::DefaultSet if exists => current,
        Operator::Or | Operator::Default => operand(evaluator),
        Operator::OrSet | Operator::DefaultSet => {
            let value = operand(evaluator);
            write(evaluator, scope, name, value.clone())?;
            value
        }
        comparison => {
            let value = operand(evaluator);
            return Ok(truth(compare(comparison, &current, &value)));
        }
    };
    Ok(Cow::Owned(answer))
}

/// True for what may follow `.` or `$` in a condition.
pub(crate) fn is_shorthand_name(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    name.bytes().next().is_some_and(|first| first.is_ascii_alphabetic())
        && name.bytes().all(inner)
        && !name.ends_with('-')
}

/// A variable's value as `getvar` gives it; empty if unset.
pub(crate) fn read(
    evaluator: &mut Evaluator<'_, '_>,
    scope: Scope,
    name: &str,
) -> Result<String, Code> {
    charge_value(evaluator, scope, name)?;
    Ok(normalised(evaluator.variables.get(scope, name).unwrap_or_default()))
}

/// What is added to a variable: the macro's argument, or the 1 and −1 of `incvar` and `decvar`.
enum Addend<'a> {
    Text(&'a str),
    Number(f64),
}

fn empty<'e>() -> Value<'e> {
    Cow::Borrowed("")
}

fn truth<'e>(value: bool) -> Value<'e> {
    Cow::Borrowed(if value { "true" } else { "false" })
}

fn normalised(value: &str) -> String {
    if trim(value).is_empty() {
        return value.to_owned();
    }
    read_number(value).map_or_else(|| value.to_owned(), write_number)
}

fn operand(evaluator: &mut Evaluator<'_, '_>, variable: &Variable, depth: usize) -> String {
    let mut value = String::new();
    evaluator.span(&Span::whole(&variable.value), depth + 1, &mut value);
    trim(&value).to_owned()
}

fn compare(operator: Operator, left: &str, right: &str) -> bool {
    match operator {
        Operator::Equal => left == right,
        Operator::NotEqual => left != right,
        _ => {
            let (Some(left), Some(right)) = (read_number(left), read_number(right)) else {
                return false;
            };
            match operator {
                Operator::Greater => left > right,
                Operator::GreaterEqual => left >= right,
                Operator::Less => left < right,
                _ => left <= right,
            }
        }
    }
}

fn write(
    evaluator: &mut Evaluator<'_, '_>,
    scope: Scope,
    name: &str,
    value: String,
) -> Result<(), Code> {
    if name.is_empty() {
        return Err(Code::MacroArgumentInvalid);
    }
    let known = evaluator.variables.get(scope, name).map(|old| name.len() + old.len());
    let bytes = evaluator.variables.bytes() - known.unwrap_or(0) + name.len() + value.len();
    if bytes > evaluator.environment.limits.variable_bytes {
        return Err(Code::MacroVariableLimit);
    }
    evaluator.charge(value.len())?;
    evaluator.variables.set(scope, name, value);
    Ok(())
}

/// Adds numbers, pushes onto a list, or joins; gives the new value.
fn add(
    evaluator: &mut Evaluator<'_, '_>,
    scope: Scope,
    name: &str,
    addend: &Addend<'_>,
) -> Result<String, Code> {
    let current = read(evaluator, scope, name)?;
    let value = if let Some(list) = json::push(&current, addend) {
        list
    } else {
        match (read_number(&current), addend.number()) {
            (Some(current), Some(addend)) if (current + addend).is_nan() => {
                return Ok(String::new());
            }
            (Some(current), Some(addend)) => write_number(current + addend),
            // An unset, empty or zero variable joins as nothing.
            _ if current == "0" => addend.text().into_owned(),
            _ => current + &addend.text(),
        }
    };
    write(evaluator, scope, name, value.clone())?;
    Ok(value)
}

fn set_key(
    evaluator: &mut Evaluator<'_, '_>,
    scope: Scope,
    name: &str,
    key: &str,
    value: &str,
) -> Result<(), Code> {
    if name.is_empty() {
        return Err(Code::MacroArgumentInvalid);
    }
    charge_value(evaluator, scope, name)?;
    let current = evaluator.variables.get(scope, name).unwrap_or("null");
    let changed = json::with_key(current, key, value)?;
    match changed {
        Some(changed) => write(evaluator, scope, name, changed),
        None => Ok(()),
    }
}

/// The member of a JSON value; of a text that is no JSON, the whole text.
fn get_key(
    evaluator: &mut Evaluator<'_, '_>,
    scope: Scope,
    name: &str,
    key: &str,
) -> Result<String, Code> {
    charge_value(evaluator, scope, name)?;
    let Some(current) = evaluator.variables.get(scope, name) else { return Ok(String::new()) };
    let member = json::member(current, key);
    Ok(normalised(member.as_deref().unwrap_or(current)))
}

/// Reading costs as much as the value is long, whatever becomes of it.
fn charge_value(evaluator: &mut Evaluator<'_, '_>, scope: Scope, name: &str) -> Result<(), Code> {
    let length = evaluator.variables.get(scope, name).map_or(0, str::len);
    evaluator.charge(length)
}

// === impl Addend ===

impl Addend<'_> {
    fn number(&self) -> Option<f64> {
        match self {
            Self::Text(text) => read_number(text),
            Self::Number(number) => Some(*number),
        }
    }

    fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Number(number) => Cow::Owned(write_number(*number)),
        }
    }
}

//! Variables that hold JSON: pushing onto lists, members by key, written the way JavaScript writes.

use serde_json::{Map, Value};

use super::{Addend, read_number, write_number};
use crate::expansion::Code;

/// A list index at the most: assigning far beyond the end fills up with nulls.
const INDEX_MAX: usize = 10_000;

/// `current` with one more item, if it is a JSON list.
pub(super) fn push(current: &str, addend: &Addend<'_>) -> Option<String> {
    if !current.trim_start().starts_with('[') {
        return None;
    }
    let Value::Array(mut items) = serde_json::from_str(current).ok()? else { return None };
    items.push(match addend {
        Addend::Text(text) => Value::from(*text),
        Addend::Number(number) => Value::from(*number),
    });
    Some(write(&Value::Array(items)))
}

/// `current` with a member set, or `None` if it cannot have members. Nothing becomes a list for a
/// number and an object for any other key.
pub(super) fn with_key(current: &str, key: &str, value: &str) -> Result<Option<String>, Code> {
    let Ok(mut json) = serde_json::from_str::<Value>(current) else { return Ok(None) };
    let number = read_number(key);
    if json.is_null() {
        json = if number.is_some() { Value::Array(Vec::new()) } else { Value::Object(Map::new()) };
    }
    match &mut json {
        Value::Array(items) => {
            if let Some(index) = number.and_then(as_index) {
                if index > INDEX_MAX {
                    return Err(Code::MacroArgumentInvalid);
                }
                items.resize((index + 1).max(items.len()), Value::Null);
                items[index] = Value::from(value);
            }
        }
        Value::Object(members) => {
            members.insert(property(key), Value::from(value));
        }
        _ => return Ok(None),
    }
    Ok(Some(write(&json)))
}

/// A member as text: empty if there is none, `None` if `current` is no JSON.
pub(super) fn member(current: &str, key: &str) -> Option<String> {
    let json: Value = serde_json::from_str(current).ok()?;
    let key = property(key);
    let index = read_number(&key).and_then(as_index);
    let found = match &json {
        Value::Array(items) if key == "length" => Some(Value::from(items.len())),
        Value::Array(items) => index.and_then(|index| items.get(index)).cloned(),
        Value::Object(members) => members.get(&key).cloned(),
        Value::String(text) if key == "length" => Some(Value::from(text.encode_utf16().count())),
        Value::String(text) => index
            .and_then(|index| text.chars().nth(index))
            .map(|character| Value::from(character.to_string())),
        _ => None,
    };
    Some(match found {
        None => String::new(),
        Some(Value::String(text)) => text,
        Some(Value::Bool(value)) => u8::from(value).to_string(),
        Some(other) => write(&other),
    })
}

/// A key as a property name: numbers in their short form.
fn property(key: &str) -> String {
    read_number(key).map_or_else(|| key.to_owned(), write_number)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be whole")]
fn as_index(number: f64) -> Option<usize> {
    (number >= 0.0 && number.fract() == 0.0 && number < 4_294_967_295.0).then_some(number as usize)
}

/// Compact JSON with JavaScript's numbers and its order of members: indexes first.
fn write(value: &Value) -> String {
    match value {
        Value::Number(number) => match number.to_string().parse() {
            Ok(number) if f64::is_finite(number) => write_number(number),
            _ => "null".to_owned(),
        },
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(write).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_by_key(|(key, _)| index_key(key).unwrap_or(usize::MAX));
            let write_member = |(key, value): (&String, &Value)| {
                format!("{}:{}", Value::from(key.as_str()), write(value))
            };
            let members: Vec<String> = members.into_iter().map(write_member).collect();
            format!("{{{}}}", members.join(","))
        }
        other => other.to_string(),
    }
}

/// The index that a member's name is, if it is written as one.
fn index_key(key: &str) -> Option<usize> {
    read_number(key).and_then(as_index).filter(|index| index.to_string() == key)
}

//! Reads one value as the type a field needs, bending what people's exporters wrote and saying so.

use serde_json::Value;

use crate::{
    entry::{CharacterFilter, EntryBody, EntryRole, Position, SelectiveLogic},
    fields::Slot,
    keys_text,
};

/// How a value was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    Exactly,
    /// In another form; the text says how.
    Bent(String),
    /// It is outside of the field's vocabulary; the text says which it is and what it counts as.
    Unknown(String),
    /// It says nothing, so the field keeps its default.
    Empty,
    /// It cannot be read as this field; the text says why.
    Refused(String),
}

/// Spelling of the two formats where they disagree about one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    Native,
    Card,
}

/// Puts `value` into the field behind `slot`.
pub fn take(slot: Slot, value: &Value, body: &mut EntryBody, dialect: Dialect) -> Taken {
    match slot {
        Slot::Text(door) => put(text(value), (door.get_mut)(body)),
        Slot::List(door) => put(list(value), (door.get_mut)(body)),
        Slot::Flag(door) => put(flag(value), (door.get_mut)(body)),
        Slot::Inverted(door) if dialect == Dialect::Native => {
            put(disabled(value).map(|off| !off), (door.get_mut)(body))
        }
        Slot::Inverted(door) => put(flag(value), (door.get_mut)(body)),
        Slot::MaybeFlag(door) => put_maybe(flag(value), (door.get_mut)(body)),
        Slot::Number(door) => put(number(value), (door.get_mut)(body)),
        Slot::Count(door) => put(count(value), (door.get_mut)(body)),
        Slot::Level(door) => put(level(value), (door.get_mut)(body)),
        Slot::MaybeCount(door) => put_maybe(count(value), (door.get_mut)(body)),
        Slot::MaybeIndex(door) => put_maybe(index(value), (door.get_mut)(body)),
        Slot::Logic(door) => logic(value, (door.get_mut)(body)),
        Slot::Position(door) => position(value, (door.get_mut)(body)),
        Slot::Role(door) => role(value, (door.get_mut)(body)),
        Slot::Filter(door) => put_maybe(filter(value), (door.get_mut)(body)),
    }
}

/// A value and, where it was bent, how; or why there is none.
pub enum Read<T> {
    As(T),
    Bent(T, String),
    Empty,
    Refused(String),
}

/// Text; numbers and booleans are written out.
pub fn text(value: &Value) -> Read<String> {
    match value {
        Value::String(text) => Read::As(text.clone()),
        Value::Null => Read::Empty,
        Value::Number(_) | Value::Bool(_) => {
            Read::Bent(value.to_string(), "written out as text".into())
        }
        other => refused("text", other),
    }
}

/// A list of texts; a single text is split as a person would have typed it.
pub fn list(value: &Value) -> Read<Vec<String>> {
    match value {
        Value::Array(items) => list_items(items),
        Value::Null => Read::Empty,
        Value::String(text) => Read::Bent(keys_text::split(text), "split at its commas".into()),
        other => refused("a list of texts", other),
    }
}

/// A flag; 0, 1 and their texts count.
pub fn flag(value: &Value) -> Read<bool> {
    let word = match value {
        Value::Bool(flag) => return Read::As(*flag),
        Value::Null => return Read::Empty,
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim().to_ascii_lowercase(),
        other => return refused("true or false", other),
    };
    match word.as_str() {
        "true" | "1" | "yes" | "on" => bent(true, value),
        "false" | "0" | "no" | "off" | "" => bent(false, value),
        _ => refused("true or false", value),
    }
}

/// A finite number; a text of digits counts, an empty one is absent (reference E36).
pub fn number(value: &Value) -> Read<f64> {
    match value {
        Value::Number(number) => match number.as_f64().filter(|number| number.is_finite()) {
            Some(number) => Read::As(number),
            None => refused("a finite number", value),
        },
        Value::Null => Read::Empty,
        Value::Bool(flag) => bent(f64::from(u8::from(*flag)), value),
        Value::String(text) if text.trim().is_empty() => Read::Empty,
        Value::String(text) => match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => bent(number, value),
            _ => refused("a number", value),
        },
        other => refused("a number", other),
    }
}

/// A count; fractions are cut, negative ones are 0.
pub fn count(value: &Value) -> Read<u32> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float-to-int cast saturates, which is what is asked for here"
    )]
    let whole = |number: f64| number as u32;
    match number(value) {
        Read::As(number) if f64::from(whole(number)).to_bits() == number.to_bits() => {
            Read::As(whole(number))
        }
        Read::As(number) | Read::Bent(number, _) => bent(whole(number), value),
        Read::Empty => Read::Empty,
        Read::Refused(why) => Read::Refused(why),
    }
}

/// A whole number of either sign.
pub fn index(value: &Value) -> Read<i64> {
    if let Some(exact) = value.as_i64() {
        return Read::As(exact);
    }
    #[expect(clippy::cast_possible_truncation, reason = "saturates, which is what is asked for")]
    let whole = |number: f64| number as i64;
    match number(value) {
        Read::As(number) | Read::Bent(number, _) => bent(whole(number), value),
        Read::Empty => Read::Empty,
        Read::Refused(why) => Read::Refused(why),
    }
}

/// `delayUntilRecursion`: true is level 1.
fn level(value: &Value) -> Read<u32> {
    match value {
        Value::Bool(flag) => Read::As(u32::from(*flag)),
        other => count(other),
    }
}

/// `disable` compared loosely with true, as SillyTavern does: 1 and "1" disable, "true" does not.
fn disabled(value: &Value) -> Read<bool> {
    match value {
        Value::Bool(flag) => Read::As(*flag),
        Value::Null => Read::Empty,
        Value::Number(number) => bent(number.as_f64() == Some(1.0), value),
        Value::String(text) => bent(text.trim().parse::<f64>() == Ok(1.0), value),
        other => refused("true or false", other),
    }
}

fn logic(value: &Value, field: &mut SelectiveLogic) -> Taken {
    let named = [
        ("andany", SelectiveLogic::AndAny),
        ("notall", SelectiveLogic::NotAll),
        ("notany", SelectiveLogic::NotAny),
        ("andall", SelectiveLogic::AndAll),
    ];
    let from_number = |number| match SelectiveLogic::from_number(number) {
        SelectiveLogic::Unknown(_) => (SelectiveLogic::Unknown(number), false),
        known => (known, true),
    };
    member(value, &named, from_number, field)
}

fn position(value: &Value, field: &mut Position) -> Taken {
    let named = [
        ("before", Position::BeforeChar),
        ("beforechar", Position::BeforeChar),
        ("after", Position::AfterChar),
        ("afterchar", Position::AfterChar),
        ("antop", Position::AnTop),
        ("anbottom", Position::AnBottom),
        ("atdepth", Position::AtDepth),
        ("emtop", Position::EmTop),
        ("embottom", Position::EmBottom),
        ("outlet", Position::Outlet),
    ];
    let from_number = |number| match Position::from_number(number) {
        Position::Unknown(_) => (Position::Unknown(number), false),
        known => (known, true),
    };
    member(value, &named, from_number, field)
}

fn role(value: &Value, field: &mut EntryRole) -> Taken {
    let named = [
        ("system", EntryRole::System),
        ("user", EntryRole::User),
        ("assistant", EntryRole::Assistant),
    ];
    let from_number = |number| match EntryRole::from_number(number) {
        Some(role) => (role, true),
        None => (EntryRole::System, false),
    };
    member(value, &named, from_number, field)
}

/// A member of a vocabulary by its number, the number as text, or its name in any spelling.
fn member<T: Copy + std::fmt::Debug>(
    value: &Value,
    named: &[(&str, T)],
    from_number: impl Fn(i64) -> (T, bool),
    field: &mut T,
) -> Taken {
    if let Value::String(name) = value {
        let plain: String =
            name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
        if let Some((_, member)) = named.iter().find(|(known, _)| *known == plain) {
            return put(bent(*member, value), field);
        }
    }
    let (number, how) = match index(value) {
        Read::As(number) => (number, None),
        Read::Bent(number, how) => (number, Some(how)),
        Read::Empty => return Taken::Empty,
        Read::Refused(_) => return put(refused("a known value", value), field),
    };
    let (member, is_known) = from_number(number);
    *field = member;
    match how {
        _ if !is_known => Taken::Unknown(format!("{number} taken as {member:?}")),
        None => Taken::Exactly,
        Some(how) => Taken::Bent(how),
    }
}

fn filter(value: &Value) -> Read<CharacterFilter> {
    let Value::Object(map) = value else {
        return if value.is_null() { Read::Empty } else { refused("an object", value) };
    };
    let mut how = Vec::new();
    let mut names = |name: &str| match map.get(name).map(list) {
        Some(Read::As(list)) => list,
        Some(Read::Bent(list, why)) => {
            how.push(format!("{name} {why}"));
            list
        }
        Some(Read::Refused(why)) => {
            how.push(format!("{name}: {why}"));
            Vec::new()
        }
        Some(Read::Empty) | None => Vec::new(),
    };
    let (names, tags) = (names("names"), names("tags"));
    let is_exclude = match map.get("isExclude").or_else(|| map.get("is_exclude")).map(flag) {
        Some(Read::As(flag) | Read::Bent(flag, _)) => flag,
        Some(Read::Refused(why)) => {
            how.push(format!("isExclude: {why}"));
            false
        }
        Some(Read::Empty) | None => false,
    };
    let known = ["names", "tags", "isExclude", "is_exclude"];
    let others = map.keys().filter(|name| !known.contains(&name.as_str()));
    how.extend(others.map(|name| format!("{name} left out")));
    let filter = CharacterFilter { is_exclude, names, tags };
    if how.is_empty() { Read::As(filter) } else { Read::Bent(filter, how.join("; ")) }
}

fn list_items(items: &[Value]) -> Read<Vec<String>> {
    let mut texts = Vec::with_capacity(items.len());
    let mut how = None;
    for item in items {
        match text(item) {
            Read::As(text) => texts.push(text),
            Read::Bent(text, why) => {
                how = Some(why);
                texts.push(text);
            }
            Read::Empty | Read::Refused(_) => how = Some("items that are no text left out".into()),
        }
    }
    match how {
        None => Read::As(texts),
        Some(how) => Read::Bent(texts, how),
    }
}

fn put<T>(read: Read<T>, field: &mut T) -> Taken {
    match read {
        Read::As(value) => {
            *field = value;
            Taken::Exactly
        }
        Read::Bent(value, how) => {
            *field = value;
            Taken::Bent(how)
        }
        Read::Empty => Taken::Empty,
        Read::Refused(why) => Taken::Refused(why),
    }
}

/// Null is a value here: the scan's own setting.
fn put_maybe<T>(read: Read<T>, field: &mut Option<T>) -> Taken {
    match read {
        Read::As(value) => {
            *field = Some(value);
            Taken::Exactly
        }
        Read::Bent(value, how) => {
            *field = Some(value);
            Taken::Bent(how)
        }
        Read::Empty => {
            *field = None;
            Taken::Exactly
        }
        Read::Refused(why) => Taken::Refused(why),
    }
}

fn bent<T>(taken: T, from: &Value) -> Read<T>
where
    T: std::fmt::Debug,
{
    let how = format!("{} taken as {taken:?}", shown(from));
    Read::Bent(taken, how)
}

fn refused<T>(wanted: &str, found: &Value) -> Read<T> {
    Read::Refused(format!("{} is not {wanted}", shown(found)))
}

fn shown(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "an object".into(),
        Value::String(text) if text.len() > 40 => "a long text".into(),
        other => other.to_string(),
    }
}

// === impl Read ===

impl<T> Read<T> {
    fn map<U>(self, f: impl FnOnce(T) -> U) -> Read<U> {
        match self {
            Self::As(value) => Read::As(f(value)),
            Self::Bent(value, how) => Read::Bent(f(value), how),
            Self::Empty => Read::Empty,
            Self::Refused(why) => Read::Refused(why),
        }
    }
}

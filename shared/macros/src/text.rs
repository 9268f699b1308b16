//! The text family (newline, space, reverse, …), white space as SillyTavern counts it, and the last pass.

use std::borrow::Cow;
use std::ops::Range;

use crate::expand::{Evaluator, Value};
use crate::expansion::Code;
use crate::table::Id;

/// Evaluates a macro of this family; arguments are already counted.
pub(crate) fn evaluate<'e>(
    evaluator: &Evaluator<'_, 'e>,
    id: Id,
    arguments: &[&str],
    is_scoped: bool,
) -> Result<Value<'e>, Code> {
    let first = arguments.first().copied();
    Ok(match id {
        Id::Newline => repeat("\n", first, evaluator)?,
        Id::Space => repeat(" ", first, evaluator)?,
        Id::Trim if is_scoped => Cow::Owned(first.unwrap_or_default().to_owned()),
        Id::Trim => Cow::Borrowed(TRIM_MARKER),
        Id::Else => Cow::Borrowed(ELSE_MARKER),
        Id::Separator => Cow::Borrowed("***"),
        Id::Reverse => Cow::Owned(first.unwrap_or_default().chars().rev().collect()),
        _ => Cow::Borrowed(""),
    })
}

/// What an unscoped `{{trim}}` leaves for [`last_pass`].
const TRIM_MARKER: &str = "{{trim}}";

/// What an `{{else}}` of no `{{if}}` leaves for [`last_pass`]: a value until then, so that a text with one in
/// it is neither empty nor trimmed nor what it would be without.
const ELSE_MARKER: &str = "\u{0}\u{1f}ELSE\u{1f}\u{0}";

fn repeat<'e>(
    unit: &str,
    count: Option<&str>,
    evaluator: &Evaluator<'_, 'e>,
) -> Result<Value<'e>, Code> {
    let count = read_integer(count.unwrap_or("1")).ok_or(Code::MacroArgumentInvalid)?;
    let count = usize::try_from(count).map_err(|_| Code::MacroArgumentInvalid)?;
    if count > evaluator.bytes_left() {
        return Err(Code::MacroOutputLimit);
    }
    Ok(Cow::Owned(unit.repeat(count)))
}

/// Digits with at most a minus before them; saturates.
pub(crate) fn read_integer(text: &str) -> Option<i64> {
    let text = trim(text);
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let is_negative = digits.len() < text.len();
    Some(text.parse().unwrap_or(if is_negative { i64::MIN } else { i64::MAX }))
}

/// The pass over the finished text: `\{` and `\}` lose their backslash, then each `{{trim}}` goes
/// together with the line breaks around it, then each mark of an `{{else}}`. Cost: linear.
pub(crate) fn last_pass(text: String) -> String {
    let text = match find_byte(text.as_bytes(), 0, *b"\\{") {
        Some(_) => remove_trim_markers(unescape_braces(text)),
        None => text,
    };
    if text.contains(ELSE_MARKER) { text.replace(ELSE_MARKER, "") } else { text }
}

fn unescape_braces(text: String) -> String {
    if !text.contains('\\') {
        return text;
    }
    let mut result = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('\\', Some(&brace @ ('{' | '}'))) => {
                characters.next();
                result.push(brace);
            }
            _ => result.push(character),
        }
    }
    result
}

fn remove_trim_markers(text: String) -> String {
    let is_marker = |at: &usize| {
        let found = text.as_bytes()[*at..].get(..TRIM_MARKER.len());
        found.is_some_and(|found| found.eq_ignore_ascii_case(TRIM_MARKER.as_bytes()))
    };
    let braces = text.match_indices('{').map(|(at, _)| at);
    let markers: Vec<usize> = braces.filter(is_marker).collect();
    if markers.is_empty() {
        return text;
    }
    let mut result = String::with_capacity(text.len());
    let mut cursor = 0;
    for at in markers {
        result.push_str(without_breaks_after(&text[cursor..at]));
        cursor = at + TRIM_MARKER.len();
        cursor += breaks_before(&text[cursor..]);
    }
    result.push_str(&text[cursor..]);
    result
}

/// Bytes of `\n` and `\r\n` at the beginning.
fn breaks_before(text: &str) -> usize {
    let mut length = 0;
    loop {
        match &text.as_bytes()[length..] {
            [b'\n', ..] => length += 1,
            [b'\r', b'\n', ..] => length += 2,
            _ => return length,
        }
    }
}

fn without_breaks_after(mut text: &str) -> &str {
    while let Some(shorter) = text.strip_suffix('\n') {
        text = shorter.strip_suffix('\r').unwrap_or(shorter);
    }
    text
}

/// Trims scoped content and takes the first written line's indentation from every line.
pub(crate) fn dedent(content: &str) -> String {
    let indent_of = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let first = content.split('\n').find(|line| !trim(line).is_empty());
    let indent = first.map_or(0, indent_of);
    if indent == 0 {
        return trim(content).to_owned();
    }
    let mut result = String::with_capacity(content.len());
    for (number, line) in content.split('\n').enumerate() {
        if number > 0 {
            result.push('\n');
        }
        let kept = if indent_of(line) >= indent { &line[indent..] } else { trim_start(line) };
        result.push_str(kept);
    }
    trim(&result).to_owned()
}

/// White space in JavaScript's sense.
pub(crate) fn is_space(character: char) -> bool {
    match character {
        '\u{feff}' => true,
        '\u{85}' => false,
        _ => character.is_whitespace(),
    }
}

pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

fn trim_start(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

/// The range without the white space at its ends.
pub(crate) fn trim_range(text: &str, range: Range<usize>) -> Range<usize> {
    let inner = &text[range.clone()];
    let start = range.start + inner.len() - trim_start(inner).len();
    start..(start + trim(inner).len())
}

/// The first byte at or after `from` that is one of `wanted`. Chunks are compared with one of them after
/// the other, which the compiler does many bytes at a time.
pub(crate) fn find_byte<const N: usize>(
    bytes: &[u8],
    from: usize,
    wanted: [u8; N],
) -> Option<usize> {
    const CHUNK: usize = 32;
    let rest = bytes.get(from..)?;
    let (chunks, _) = rest.as_chunks::<CHUNK>();
    let holds = |chunk: &[u8; CHUNK], one: u8| {
        chunk.iter().fold(0, |found, &byte| found | u8::from(byte == one)) != 0
    };
    let holds_none = |chunk: &&[u8; CHUNK]| wanted.iter().all(|&one| !holds(chunk, one));
    let skipped = chunks.iter().take_while(holds_none).count() * CHUNK;
    let at = rest[skipped..].iter().position(|byte| wanted.contains(byte))?;
    Some(from + skipped + at)
}

/// The first place at or after `at` without white space.
pub(crate) fn skip_space(text: &str, at: usize) -> usize {
    text.len() - trim_start(&text[at..]).len()
}

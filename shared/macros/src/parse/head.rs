//! The beginning of a macro: flags, then a name, a comment or a variable with its operator.

use std::ops::Range;

use crate::text::{is_space, skip_space};

/// What follows `{{`, up to where the arguments begin.
#[derive(Debug)]
pub(super) struct Head {
    pub kind: HeadKind,
    /// Where the first argument begins.
    pub body: usize,
}

#[derive(Debug)]
pub(super) enum HeadKind {
    Call { name: Range<usize>, closes: bool, keeps_whitespace: bool, separator: Separator },
    Variable { is_global: bool, name: Range<usize>, operator: Operator },
}

/// What stands between a name and its first argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Separator {
    /// `::`: a list.
    List,
    /// `:`: one argument, which may be empty.
    Colon,
    /// White space or nothing: one argument, or none if it is empty.
    Space,
}

/// What a variable shorthand does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Get,
    Increment,
    Decrement,
    Set,
    Add,
    Subtract,
    Or,
    OrSet,
    Default,
    DefaultSet,
    Equal,
    NotEqual,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
}

/// Longer ones before their beginnings.
const OPERATORS: [(&str, Operator); 15] = [
    ("++", Operator::Increment),
    ("--", Operator::Decrement),
    ("??=", Operator::DefaultSet),
    ("??", Operator::Default),
    ("||=", Operator::OrSet),
    ("||", Operator::Or),
    ("-=", Operator::Subtract),
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    (">=", Operator::GreaterEqual),
    (">", Operator::Greater),
    ("<=", Operator::LessEqual),
    ("<", Operator::Less),
    ("+=", Operator::Add),
    ("=", Operator::Set),
];

const MARKERS: [(&str, &str); 5] = [
    ("<user>", "user"),
    ("<bot>", "char"),
    ("<char>", "char"),
    ("<group>", "group"),
    ("<charifnotgroup>", "group"),
];

/// Reads what follows the `{{` at `start`; `None` if this is no macro.
pub(super) fn read_head(text: &str, start: usize) -> Option<Head> {
    if let Some(head) = read_legacy_time(text, start) {
        return Some(head);
    }
    let bytes = text.as_bytes();
    let mut at = skip_space(text, start + 2);
    let (mut closes, mut keeps_whitespace) = (false, false);
    loop {
        match bytes.get(at)? {
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                let (separator, body) = Separator::after(text, at + 2);
                let kind = HeadKind::Call { name: at..at + 2, closes, keeps_whitespace, separator };
                return Some(Head { kind, body });
            }
            b'/' => closes = true,
            b'#' => keeps_whitespace = true,
            b'!' | b'?' | b'~' | b'>' => {}
            b'.' | b'$' => return read_variable(text, at),
            _ => return read_name(text, at, closes, keeps_whitespace),
        }
        at = skip_space(text, at + 1);
    }
}

/// `<USER>` and its kin at `start`, in any case: the macro's name and the marker's length.
pub(super) fn read_legacy_marker(text: &str, start: usize) -> Option<(&'static str, usize)> {
    let rest = &text.as_bytes()[start..];
    MARKERS.iter().find_map(|(marker, name)| {
        let found = rest.get(..marker.len())?.eq_ignore_ascii_case(marker.as_bytes());
        found.then_some((*name, marker.len()))
    })
}

/// `{{time_UTC+2}}` is `{{time::UTC+2}}`.
fn read_legacy_time(text: &str, start: usize) -> Option<Head> {
    const PREFIX: &str = "{{time_utc";
    let rest = &text.as_bytes()[start..];
    if !rest.get(..PREFIX.len())?.eq_ignore_ascii_case(PREFIX.as_bytes()) {
        return None;
    }
    let sign = rest.get(PREFIX.len())?;
    let digits = rest[PREFIX.len() + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let tail = rest.get(PREFIX.len() + 1 + digits..)?;
    if !matches!(sign, b'+' | b'-') || digits == 0 || !tail.starts_with(b"}}") {
        return None;
    }
    let (name, separator) = (start + 2..start + 6, Separator::Colon);
    let kind = HeadKind::Call { name, closes: false, keeps_whitespace: false, separator };
    Some(Head { kind, body: start + 7 })
}

/// Whatever stands between a name and the next white space, `:`, `|` or `}` is ignored: `{{user!}}` is
/// `{{user}}`.
fn read_name(text: &str, at: usize, closes: bool, keeps_whitespace: bool) -> Option<Head> {
    let bytes = text.as_bytes();
    if !bytes.get(at)?.is_ascii_alphabetic() {
        return None;
    }
    let length = bytes[at..].iter().take_while(|byte| is_name_byte(**byte)).count();
    let name = at..at + length;
    let end = name_end(text, name.end);
    let (separator, body) = Separator::after(text, end);
    Some(Head { kind: HeadKind::Call { name, closes, keeps_whitespace, separator }, body })
}

/// A variable's name ends in a letter, a digit or `_`, so that `{{.x--}}` is a decrement. `{{.}}` has none.
fn read_variable(text: &str, at: usize) -> Option<Head> {
    let bytes = text.as_bytes();
    let is_global = bytes[at] == b'$';
    let start = skip_space(text, at + 1);
    if !bytes.get(start)?.is_ascii_alphabetic() {
        let kind = HeadKind::Variable { is_global, name: start..start, operator: Operator::Get };
        return may_be_ignored(text, start).then_some(Head { kind, body: start });
    }
    let length = bytes[start..].iter().take_while(|byte| is_name_byte(**byte)).count();
    let hyphens = bytes[start..start + length].iter().rev().take_while(|byte| **byte == b'-');
    let name = start..start + length - hyphens.count();
    let after = skip_space(text, name.end);
    let found = OPERATORS.iter().find(|(sign, _)| text[after..].starts_with(sign));
    let (sign, operator) = found.copied().unwrap_or(("", Operator::Get));
    Some(Head { kind: HeadKind::Variable { is_global, name, operator }, body: after + sign.len() })
}

/// Where the white space, `:`, `|` or `}` behind a name is.
fn name_end(text: &str, at: usize) -> usize {
    let found = text[at..].find(|c| is_space(c) || matches!(c, ':' | '|' | '}'));
    at + found.unwrap_or(text.len() - at)
}

/// Whether a shorthand without a name ends here, or goes on with flags and then something like a name.
fn may_be_ignored(text: &str, at: usize) -> bool {
    let rest = text[at..].trim_start_matches(|c| is_space(c) || "!?~#>.$".contains(c));
    match rest.as_bytes() {
        [b'}', b'}', ..] | [b'/', b'/', ..] => true,
        [b'/', ..] => may_be_ignored(rest, 1),
        [first, ..] => first.is_ascii_alphabetic(),
        [] => false,
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

// === impl Head ===

impl Head {
    /// `::` separates arguments here.
    pub fn is_list(&self) -> bool {
        matches!(self.kind, HeadKind::Call { separator: Separator::List, .. })
    }

    pub fn is_call(&self) -> bool {
        matches!(self.kind, HeadKind::Call { .. })
    }

    /// A name and nothing else: the one argument read is empty and was not asked for.
    pub fn is_bare(&self, arguments: &[super::Level]) -> bool {
        matches!(self.kind, HeadKind::Call { separator: Separator::Space, .. })
            && arguments.iter().all(|level| level.range.is_empty())
    }
}

// === impl Separator ===

impl Separator {
    /// The separator at or after `at`, and where the first argument begins.
    fn after(text: &str, at: usize) -> (Self, usize) {
        let at = skip_space(text, at);
        match &text.as_bytes()[at..] {
            [b':', b':', ..] => (Self::List, at + 2),
            [b':', ..] => (Self::Colon, at + 1),
            _ => (Self::Space, at),
        }
    }
}

// === impl Operator ===

impl Operator {
    pub fn takes_value(self) -> bool {
        !matches!(self, Self::Get | Self::Increment | Self::Decrement)
    }

    /// Whether what stands at `at` is passed over behind this operator, which takes no value: nothing, one
    /// sign, or one name.
    pub fn may_precede(self, text: &str, at: usize) -> bool {
        let ends = |at: usize| text[skip_space(text, at)..].starts_with("}}");
        ends(at) || self.skip_one(text, at).is_some_and(ends)
    }

    fn skip_one(self, text: &str, at: usize) -> Option<usize> {
        let rest = &text[at..];
        let sign = OPERATORS.iter().map(|(sign, _)| *sign).find(|sign| rest.starts_with(sign));
        if let Some(sign) = sign.filter(|_| self != Self::Get) {
            return Some(at + sign.len());
        }
        match rest.as_bytes() {
            [b'/', b'/', ..] => Some(at + 2),
            [b'!' | b'?' | b'~' | b'#' | b'>' | b'/' | b'.' | b'$', ..] => Some(at + 1),
            [first, ..] if first.is_ascii_alphabetic() => Some(at + name_end(rest, 0)),
            _ => None,
        }
    }
}

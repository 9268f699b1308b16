//! Bytes that should be JSON text: what real files get wrong about it is repaired and said.

use std::{borrow::Cow, fmt};

/// A file's text, and what was done to it.
#[derive(Debug)]
pub struct JsonText<'a> {
    pub text: Cow<'a, str>,
    pub repairs: Vec<Repair>,
}

/// What was wrong with the text; as a sentence for the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repair {
    ByteOrderMark,
    /// The first byte that is no UTF-8.
    NotUtf8 {
        from: usize,
    },
    /// How many halves of surrogate pairs stand alone, and the byte where the first one does.
    LoneSurrogates {
        count: usize,
        first: usize,
    },
}

/// Reads bytes as every lenient reader would: without a byte order mark, unreadable bytes and lone surrogates as
/// U+FFFD. Cost: one pass; a copy only where something is repaired.
pub fn json_text(bytes: &[u8]) -> JsonText<'_> {
    let mut repairs = Vec::new();
    let bytes = match bytes.strip_prefix(b"\xEF\xBB\xBF") {
        Some(rest) => {
            repairs.push(Repair::ByteOrderMark);
            rest
        }
        None => bytes,
    };
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(error) => {
            repairs.push(Repair::NotUtf8 { from: error.valid_up_to() });
            String::from_utf8_lossy(bytes).into_owned().into()
        }
    };
    let lone = lone_surrogates(text.as_bytes());
    let Some(&first) = lone.first() else { return JsonText { text, repairs } };
    repairs.push(Repair::LoneSurrogates { count: lone.len(), first });
    JsonText { text: replaced(&text, &lone).into(), repairs }
}

/// Where an escape stands for half of a character whose other half is not beside it.
fn lone_surrogates(text: &[u8]) -> Vec<usize> {
    let (mut lone, mut at) = (Vec::new(), 0);
    while let Some(next) = memchr::memchr(b'\\', &text[at..]) {
        at += next;
        let follows = |unit: Option<u16>| unit.is_some_and(|unit| (0xDC00..0xE000).contains(&unit));
        at += match code_unit(text, at) {
            Some(0xD800..0xDC00) if follows(code_unit(text, at + 6)) => 12,
            Some(0xD800..0xE000) => {
                lone.push(at);
                6
            }
            // Another escape: a backslash and at least the byte behind it.
            _ => 2,
        };
        at = at.min(text.len());
    }
    lone
}

/// The value of `\uXXXX` at `at`.
fn code_unit(text: &[u8], at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().all(u8::is_ascii_hexdigit).then_some(())?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn replaced(text: &str, places: &[usize]) -> String {
    let mut repaired = String::with_capacity(text.len());
    let mut done = 0;
    for &place in places {
        repaired.push_str(&text[done..place]);
        repaired.push_str("\\ufffd");
        done = place + 6;
    }
    repaired.push_str(&text[done..]);
    repaired
}

// === impl Repair ===

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByteOrderMark => f.write_str("the byte order mark was skipped"),
            Self::NotUtf8 { from } => {
                write!(f, "not UTF-8 from byte {from}: unreadable bytes became U+FFFD")
            }
            Self::LoneSurrogates { count, first } => {
                write!(f, "{count} lone surrogates became U+FFFD, the first at byte {first}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: &str, repairs: &[Repair]) {
        let read = json_text(bytes);
        assert_eq!((&*read.text, &*read.repairs), (expected, repairs));
    }

    #[test]
    fn sound_text_is_borrowed_as_it_is() {
        let text = r#"{"a":"\ud83d\ude00 \\ud83d \u00e9 é\\"}"#;
        check(text.as_bytes(), text, &[]);
        assert!(matches!(json_text(text.as_bytes()).text, Cow::Borrowed(_)));
    }

    #[test]
    fn encodings_are_repaired() {
        check(b"\xEF\xBB\xBF{}", "{}", &[Repair::ByteOrderMark]);
        check(b"{\"\xFF\"}", "{\"\u{FFFD}\"}", &[Repair::NotUtf8 { from: 2 }]);
    }

    #[test]
    fn halves_that_stand_alone_are_replaced() {
        let lone = |count, first| [Repair::LoneSurrogates { count, first }];
        check(br#""\ud83d""#, r#""\ufffd""#, &lone(1, 1));
        check(br#""\ude00\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#, &lone(1, 1));
        check(br#""\ud83d\u0041\ud83d""#, r#""\ufffd\u0041\ufffd""#, &lone(2, 1));
        check(br#""\\\ud83d""#, r#""\\\ufffd""#, &lone(1, 3));
    }

    #[test]
    fn text_that_ends_inside_an_escape_is_left_to_the_parser() {
        check(b"\"\\", "\"\\", &[]);
        check(br#""\ud8"#, r#""\ud8"#, &[]);
        check(br#""\u+123""#, r#""\u+123""#, &[]);
    }
}

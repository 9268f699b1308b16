//! Reads JSON under limits: depth, values, strings and keys are checked before a tree is built.
//!
//! One pass over the bytes, no recursion, memory in proportion to the depth. Whether the text is
//! JSON at all is for the parser that runs behind it.

use std::ops::Range;

use kernel::{
    JsonText, Repair, json_text,
    limits::{
        DOCUMENT_BYTES_MAX, DOCUMENT_DEPTH_MAX, DOCUMENT_KEY_CHARS_MAX, DOCUMENT_NODES_MAX,
        DOCUMENT_STRING_BYTES_MAX,
    },
};
use serde_json::Value;

use super::{
    error::FormatError,
    report::{Code, Report},
};

/// Reads a document, repairing its encoding, and refuses it with the place where it breaks a limit.
pub fn read_json(bytes: &[u8], report: &mut Report) -> Result<Value, FormatError> {
    if bytes.len() > DOCUMENT_BYTES_MAX {
        let what = format!("a document of {} bytes", bytes.len());
        return Err(FormatError::limit("file", what, DOCUMENT_BYTES_MAX));
    }
    if let Some(what) = other_format(bytes) {
        return Err(FormatError::unusable("file", format!("is {what}, not JSON")));
    }
    let JsonText { text, repairs } = json_text(bytes);
    for repair in repairs {
        let code = match repair {
            Repair::ByteOrderMark | Repair::NotUtf8 { .. } => Code::EncodingRepaired,
            Repair::LoneSurrogates { .. } => Code::LoneSurrogate,
        };
        report.add(code, "", repair.to_string());
    }
    let values = Scan::of(text.as_bytes())?.values;
    let value: Value = serde_json::from_str(&text).map_err(|error| syntax_error(&error))?;
    let kept = count(&value);
    if kept < values {
        let message =
            format!("{} values stand under a repeated key: the last counts", values - kept);
        report.add(Code::RepeatedKey, "", message);
    }
    Ok(value)
}

/// What a file is that cannot be JSON, by how it begins: its bytes would be counted as keys and strings.
fn other_format(bytes: &[u8]) -> Option<&'static str> {
    const SIGNATURES: &[(&[u8], &str)] = &[
        (b"\x89PNG", "a PNG picture"),
        (b"\xFF\xD8\xFF", "a JPEG picture"),
        (b"RIFF", "a WebP picture"),
        (b"GIF8", "a GIF picture"),
        (b"PK\x03\x04", "a zip archive"),
        (b"\x1F\x8B", "compressed with gzip"),
        (b"%PDF", "a PDF document"),
        (b"\xFF\xFE", "UTF-16 text"),
        (b"\xFE\xFF", "UTF-16 text"),
    ];
    let found = SIGNATURES.iter().find(|(signature, _)| bytes.starts_with(signature));
    found.map(|(_, what)| *what)
}

/// Where the scanner is inside the document.
enum Frame {
    List(usize),
    /// The bytes of the current key, and whether the next string is a key.
    Object(Range<usize>, bool),
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    frames: Vec<Frame>,
    values: usize,
}

// === impl Scan ===

impl<'a> Scan<'a> {
    fn of(text: &'a [u8]) -> Result<Self, FormatError> {
        let mut scan = Self { text, at: 0, frames: Vec::new(), values: 0 };
        while let Some(&byte) = scan.text.get(scan.at) {
            match byte {
                b'"' => scan.string()?,
                b'{' => scan.open(Frame::Object(0..0, true))?,
                b'[' => scan.open(Frame::List(0))?,
                b'}' | b']' => {
                    scan.frames.pop();
                    scan.at += 1;
                }
                b',' => scan.next_item(),
                b':' | b' ' | b'\t' | b'\r' | b'\n' => scan.at += 1,
                _ => scan.scalar()?,
            }
        }
        Ok(scan)
    }

    fn open(&mut self, frame: Frame) -> Result<(), FormatError> {
        self.count_value()?;
        if self.frames.len() >= DOCUMENT_DEPTH_MAX {
            let what = format!("nesting of {} levels", self.frames.len() + 1);
            return Err(FormatError::limit(self.path(), what, DOCUMENT_DEPTH_MAX));
        }
        self.frames.push(frame);
        self.at += 1;
        Ok(())
    }

    fn next_item(&mut self) {
        match self.frames.last_mut() {
            Some(Frame::List(index)) => *index += 1,
            Some(Frame::Object(_, key_follows)) => *key_follows = true,
            None => {}
        }
        self.at += 1;
    }

    fn scalar(&mut self) -> Result<(), FormatError> {
        self.count_value()?;
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|b| b",]}:\"[{ \t\r\n".contains(b)).unwrap_or(rest.len());
        self.check_string(length)?;
        self.at += length;
        Ok(())
    }

    fn string(&mut self) -> Result<(), FormatError> {
        let start = self.at + 1;
        let (bytes, chars) = self.measure_string();
        match self.frames.last_mut() {
            Some(Frame::Object(key, key_follows)) if *key_follows => {
                *key = start..self.at.saturating_sub(1).max(start);
                *key_follows = false;
                if chars > DOCUMENT_KEY_CHARS_MAX {
                    let what = format!("a key of {chars} characters");
                    return Err(FormatError::limit(self.path(), what, DOCUMENT_KEY_CHARS_MAX));
                }
                Ok(())
            }
            _ => {
                self.count_value()?;
                self.check_string(bytes)
            }
        }
    }

    /// Steps over a string; its length once unescaped, in bytes and in characters.
    fn measure_string(&mut self) -> (usize, usize) {
        self.at += 1;
        let (mut bytes, mut chars) = (0, 0);
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'"' => {
                    self.at += 1;
                    break;
                }
                b'\\' => {
                    bytes += self.escape();
                    chars += 1;
                }
                _ => {
                    bytes += 1;
                    chars += usize::from(byte & 0xC0 != 0x80);
                    self.at += 1;
                }
            }
        }
        (bytes, chars)
    }

    /// Steps over an escape; how many bytes it stands for.
    fn escape(&mut self) -> usize {
        if self.text.get(self.at + 1) != Some(&b'u') {
            self.at += 2;
            return 1;
        }
        let unit = self.code_unit(self.at);
        let low = self.code_unit(self.at + 6).filter(|low| (0xDC00..0xE000).contains(low));
        let (length, bytes) = match unit {
            Some(0..0x80) => (6, 1),
            Some(0x80..0x800) => (6, 2),
            Some(0xD800..0xDC00) if low.is_some() => (12, 4),
            Some(_) => (6, 3),
            None => (2, 1),
        };
        self.at += length;
        bytes
    }

    /// The value of `\uXXXX` at `at`.
    fn code_unit(&self, at: usize) -> Option<u32> {
        let escape = self.text.get(at..at + 6)?;
        let digits = std::str::from_utf8(escape.strip_prefix(b"\\u")?).ok()?;
        u32::from_str_radix(digits, 16).ok()
    }

    fn count_value(&mut self) -> Result<(), FormatError> {
        self.values += 1;
        if self.values > DOCUMENT_NODES_MAX {
            return Err(FormatError::limit(self.path(), "too many values", DOCUMENT_NODES_MAX));
        }
        Ok(())
    }

    fn check_string(&self, bytes: usize) -> Result<(), FormatError> {
        if bytes <= DOCUMENT_STRING_BYTES_MAX {
            return Ok(());
        }
        let what = format!("a string of {bytes} bytes");
        Err(FormatError::limit(self.path(), what, DOCUMENT_STRING_BYTES_MAX))
    }

    /// The place as `data.entries[3].content`; long keys are cut, control characters not shown.
    fn path(&self) -> String {
        let mut path = String::new();
        for frame in &self.frames {
            match frame {
                Frame::List(index) => path.push_str(&format!("[{index}]")),
                Frame::Object(key, _) => {
                    let key = String::from_utf8_lossy(&self.text[key.clone()]);
                    let separator = if path.is_empty() || key.is_empty() { "" } else { "." };
                    path.push_str(separator);
                    let shown =
                        |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
                    path.extend(key.chars().take(64).map(shown));
                }
            }
        }
        if path.is_empty() { "root".to_owned() } else { path }
    }
}

fn syntax_error(error: &serde_json::Error) -> FormatError {
    let place = format!("line {} column {}", error.line(), error.column());
    let text = error.to_string();
    let reason = text.split(" at line ").next().unwrap_or(&text);
    FormatError::unusable(place, format!("not JSON: {reason}"))
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Value, FormatError> {
        read_json(text.as_bytes(), &mut Report::default())
    }

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        assert_eq!(read(text).expect_err("should be refused").to_string(), expected);
    }

    #[track_caller]
    fn repaired(bytes: &[u8], expected: &str, code: Code) {
        let mut report = Report::default();
        let value = read_json(bytes, &mut report).expect("should be read");
        assert_eq!((value["a"].as_str(), report.has(code)), (Some(expected), true), "{report:?}");
    }

    #[test]
    fn numbers_and_key_order_survive() {
        let text = r#"{"z":1.10,"a":12345678901234567890123,"m":1e400}"#;
        let kept = read(text).map(|value| value.to_string().replace("e+", "e"));
        assert_eq!(kept, Ok(text.to_owned()));
    }

    #[test]
    fn thirty_two_levels_are_the_most() {
        assert!(read(&format!("{}{}", "[".repeat(32), "]".repeat(32))).is_ok());
        refused(
            &format!("{{\"a\":[1,{}{}]}}", "[".repeat(31), "]".repeat(31)),
            &format!("a[1]{}: nesting of 33 levels, at most 32 are allowed", "[0]".repeat(30)),
        );
    }

    #[test]
    fn a_million_open_brackets_end_at_once() {
        assert!(matches!(read(&"[".repeat(1_000_000)), Err(FormatError::Limit(_))));
    }

    #[test]
    fn too_many_values_are_refused_where_they_begin_to_be() {
        let text = format!("{{\"a\":[{}0]}}", "0,".repeat(DOCUMENT_NODES_MAX));
        refused(&text, "a[99998]: too many values, at most 100000 are allowed");
    }

    #[test]
    fn a_long_string_is_refused_with_its_place() {
        let text =
            format!(r#"{{"data":{{"d":["","{}"]}}}}"#, "x".repeat(DOCUMENT_STRING_BYTES_MAX + 1));
        refused(&text, "data.d[1]: a string of 1048577 bytes, at most 1048576 are allowed");
    }

    #[test]
    fn an_escaped_string_counts_what_it_stands_for() {
        let text = format!(r#"{{"a":"{}"}}"#, r"\u0041".repeat(DOCUMENT_STRING_BYTES_MAX));
        assert!(read(&text).is_ok());
    }

    #[test]
    fn a_long_key_is_refused() {
        let text = format!(r#"{{"{}":1}}"#, "é".repeat(1025));
        let place = "é".repeat(64);
        refused(&text, &format!("{place}: a key of 1025 characters, at most 1024 are allowed"));
    }

    #[test]
    fn a_long_number_is_refused() {
        assert!(matches!(
            read(&"1".repeat(DOCUMENT_STRING_BYTES_MAX + 1)),
            Err(FormatError::Limit(_))
        ));
    }

    #[test]
    fn broken_json_names_line_and_column() {
        refused("{\n\"a\": }", "line 2 column 6: not JSON: expected value");
        refused("", "line 1 column 0: not JSON: EOF while parsing a value");
        refused("{\"a\":1} x", "line 1 column 9: not JSON: trailing characters");
    }

    #[test]
    fn encodings_are_repaired_and_said() {
        repaired(b"\xEF\xBB\xBF{\"a\":\"b\"}", "b", Code::EncodingRepaired);
        repaired(b"{\"a\":\"b\xFFc\"}", "b\u{FFFD}c", Code::EncodingRepaired);
        repaired(br#"{"a":"x\ud83dy"}"#, "x\u{FFFD}y", Code::LoneSurrogate);
        repaired(br#"{"a":"x\udc00\ud83d\ude00"}"#, "x\u{FFFD}😀", Code::LoneSurrogate);
        repaired(br#"{"a":"x","a":"y"}"#, "y", Code::RepeatedKey);
    }
}

//! Reads JSON that nobody trusts: every limit is checked before the value it would break is built.

use std::{cell::RefCell, fmt};

use kernel::{JsonText, Repair, json_text, limits};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Values that each entry may hold beyond the document's own allowance: SillyTavern writes some 50.
const NODES_PER_ENTRY: usize = 64;
/// Places of duplicate keys that are remembered.
const DUPLICATES_MAX: usize = 100;
/// How serde_json hands over a number whose digits it keeps (`arbitrary_precision`).
const NUMBER_TOKEN: &str = "$serde_json::private::Number";

/// A document within the limits.
#[derive(Debug)]
pub struct Document {
    pub root: Value,
    /// Where an object names a key twice; the last value counts, as in JavaScript.
    pub duplicates: Vec<String>,
    /// What was wrong with its text.
    pub repairs: Vec<Repair>,
}

/// Why a document is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StructureError {
    #[error("the file has {bytes} bytes, at most {limit} are allowed")]
    Bytes { bytes: usize, limit: usize },
    #[error("not JSON: {message}")]
    Syntax { message: String },
    #[error("{path} is nested deeper than {limit} levels")]
    Depth { path: String, limit: usize },
    #[error("more than {limit} values up to {path}")]
    Nodes { path: String, limit: usize },
    #[error("{path} is a string of {bytes} bytes, at most {limit} are allowed")]
    String { path: String, bytes: usize, limit: usize },
    #[error("{path} has a key of {chars} characters, at most {limit} are allowed")]
    Key { path: String, chars: usize, limit: usize },
    #[error("{path} has more than {limit} entries")]
    Entries { path: String, limit: usize },
}

/// Parses a whole file: one pass, no recursion beyond the depth limit, memory bounded by the limits.
pub fn read(bytes: &[u8]) -> Result<Document, StructureError> {
    if bytes.len() > limits::IMPORT_BYTES_MAX {
        let (bytes, limit) = (bytes.len(), limits::IMPORT_BYTES_MAX);
        return Err(StructureError::Bytes { bytes, limit });
    }
    let JsonText { text, repairs } = json_text(bytes);
    let guard = Guard::default();
    let mut json = serde_json::Deserializer::from_str(&text);
    let read = Node(&guard).deserialize(&mut json).and_then(|root| json.end().map(|()| root));
    let guard = guard.0.into_inner();
    match (read, guard.broken) {
        (Ok(root), _) => Ok(Document { root, duplicates: guard.duplicates, repairs }),
        (Err(_), Some(broken)) => Err(broken),
        (Err(error), None) => Err(StructureError::Syntax { message: error.to_string() }),
    }
}

#[derive(Default)]
struct Guard(RefCell<Progress>);

#[derive(Default)]
struct Progress {
    path: Vec<Step>,
    nodes: usize,
    entries: usize,
    duplicates: Vec<String>,
    broken: Option<StructureError>,
}

enum Step {
    Key(String),
    Index(usize),
}

struct Node<'g>(&'g Guard);

// === impl StructureError ===

impl StructureError {
    /// The place of what is too large, where there is one.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Bytes { .. } | Self::Syntax { .. } => None,
            Self::Depth { path, .. }
            | Self::Nodes { path, .. }
            | Self::String { path, .. }
            | Self::Key { path, .. }
            | Self::Entries { path, .. } => Some(path),
        }
    }

    /// How much is accepted, where that is what was broken.
    pub fn limit(&self) -> Option<usize> {
        match self {
            Self::Syntax { .. } => None,
            Self::Bytes { limit, .. }
            | Self::Depth { limit, .. }
            | Self::Nodes { limit, .. }
            | Self::String { limit, .. }
            | Self::Key { limit, .. }
            | Self::Entries { limit, .. } => Some(*limit),
        }
    }
}

// === impl Progress ===

impl Progress {
    fn path(&self) -> String {
        let mut text = String::from("$");
        for step in &self.path {
            match step {
                Step::Key(key) => {
                    text.push('.');
                    text.extend(key.chars().take(80));
                }
                Step::Index(index) => {
                    text.push_str(&format!("[{index}]"));
                }
            }
        }
        text
    }

    /// Whether the value being read is the list or map of a book's entries.
    fn at_entries(&self) -> bool {
        let keys: Vec<&str> = self
            .path
            .iter()
            .map(|step| if let Step::Key(key) = step { key.as_str() } else { "" })
            .collect();
        matches!(
            keys.as_slice(),
            ["entries"] | ["data", "entries"] | ["data", "character_book", "entries"]
        )
    }
}

// === impl Guard ===

impl Guard {
    fn refuse<E: serde::de::Error>(&self, error: impl FnOnce(&Progress) -> StructureError) -> E {
        let broken = error(&self.0.borrow());
        self.0.borrow_mut().broken = Some(broken);
        E::custom("limit")
    }

    fn count<E: serde::de::Error>(&self) -> Result<(), E> {
        let (nodes, limit) = {
            let mut progress = self.0.borrow_mut();
            progress.nodes += 1;
            (progress.nodes, limits::DOCUMENT_NODES_MAX + progress.entries * NODES_PER_ENTRY)
        };
        if nodes > limit {
            return Err(self.refuse(|at| StructureError::Nodes { path: at.path(), limit }));
        }
        Ok(())
    }

    fn string<E: serde::de::Error>(&self, text: &str) -> Result<(), E> {
        let (bytes, limit) = (text.len(), limits::DOCUMENT_STRING_BYTES_MAX);
        if bytes > limit {
            return Err(self.refuse(|at| StructureError::String { path: at.path(), bytes, limit }));
        }
        Ok(())
    }

    fn key<E: serde::de::Error>(&self, key: &str) -> Result<(), E> {
        let limit = limits::DOCUMENT_KEY_CHARS_MAX;
        let chars = if key.len() > limit { key.chars().count() } else { 0 };
        if chars > limit {
            return Err(self.refuse(|at| StructureError::Key { path: at.path(), chars, limit }));
        }
        Ok(())
    }

    fn enter<E: serde::de::Error>(&self) -> Result<bool, E> {
        let limit = limits::DOCUMENT_DEPTH_MAX;
        if self.0.borrow().path.len() >= limit {
            return Err(self.refuse(|at| StructureError::Depth { path: at.path(), limit }));
        }
        Ok(self.0.borrow().at_entries())
    }

    /// Counts one entry of a book, which widens the allowance.
    fn admit<E: serde::de::Error>(&self) -> Result<(), E> {
        let limit = limits::BOOK_ENTRIES_MAX;
        let entries = {
            let mut progress = self.0.borrow_mut();
            progress.entries += 1;
            progress.entries
        };
        if entries > limit {
            return Err(self.refuse(|at| StructureError::Entries { path: at.path(), limit }));
        }
        Ok(())
    }

    fn step(&self, step: Step) {
        self.0.borrow_mut().path.push(step);
    }

    fn leave(&self) {
        self.0.borrow_mut().path.pop();
    }

    fn duplicate(&self, key: &str) {
        let mut progress = self.0.borrow_mut();
        if progress.duplicates.len() < DUPLICATES_MAX {
            let path = format!("{}.{key}", progress.path());
            progress.duplicates.push(path);
        }
    }
}

// === impl Node ===

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        self.0.count()?;
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Value, E> {
        self.0.string(text)?;
        Ok(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let entries = self.0.enter()?;
        let mut list = Vec::new();
        loop {
            self.0.step(Step::Index(list.len()));
            let item = items.next_element_seed(Node(self.0))?;
            self.0.leave();
            let Some(item) = item else { return Ok(Value::Array(list)) };
            if entries {
                self.0.admit()?;
            }
            list.push(item);
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        let mut entries = None;
        while let Some(key) = fields.next_key::<String>()? {
            if key == NUMBER_TOKEN && map.is_empty() {
                let digits: String = fields.next_value()?;
                return digits.parse().map(Value::Number).map_err(A::Error::custom);
            }
            let entry = match entries {
                Some(known) => known,
                None => *entries.insert(self.0.enter()?),
            };
            self.0.key(&key)?;
            if map.contains_key(&key) {
                self.0.duplicate(&key);
            }
            if entry {
                self.0.admit()?;
            }
            self.0.step(Step::Key(key.clone()));
            let value = fields.next_value_seed(Node(self.0))?;
            self.0.leave();
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&str, StructureError>) {
        let read = read(text.as_bytes()).map(|document| document.root.to_string());
        assert_eq!(read, expected.map(str::to_owned));
    }

    fn nested(levels: usize) -> String {
        "[".repeat(levels) + &"]".repeat(levels)
    }

    #[test]
    fn a_document_comes_out_as_it_went_in() {
        let text = r#"{"b":1.50,"a":[null,true,"x",-0.0,123456789012345678901234567890]}"#;
        check(text, Ok(text));
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        check("\u{feff}{}", Ok("{}"));
    }

    #[test]
    fn thirty_two_levels_are_the_most() {
        assert!(read(nested(32).as_bytes()).is_ok());
        let path = format!("${}", "[0]".repeat(32));
        check(&nested(33), Err(StructureError::Depth { path, limit: 32 }));
    }

    #[test]
    fn a_million_brackets_are_refused_at_the_thirty_third() {
        let refused = read("[".repeat(1_000_000).as_bytes());
        assert!(matches!(refused, Err(StructureError::Depth { limit: 32, .. })), "{refused:?}");
    }

    #[test]
    fn a_string_over_a_mebibyte_is_refused_by_its_place() {
        let text = format!(r#"{{"entries":{{"7":{{"content":"{}"}}}}}}"#, "x".repeat(1_048_577));
        let path = "$.entries.7.content".to_owned();
        check(&text, Err(StructureError::String { path, bytes: 1_048_577, limit: 1_048_576 }));
    }

    #[test]
    fn a_key_over_1024_characters_is_refused() {
        let text = format!(r#"{{"{}":1}}"#, "ä".repeat(1_025));
        check(&text, Err(StructureError::Key { path: "$".into(), chars: 1_025, limit: 1_024 }));
    }

    #[test]
    fn one_hundred_thousand_values_outside_entries_are_the_most() {
        let text = format!(r#"{{"junk":[{}0]}}"#, "0,".repeat(99_998));
        let refused = read(text.as_bytes());
        assert!(
            matches!(refused, Err(StructureError::Nodes { limit: 100_000, .. })),
            "{refused:?}"
        );
    }

    #[test]
    fn ten_thousand_entries_are_the_most_and_widen_the_allowance() {
        let full = |count: usize| {
            let entry = format!("{{\"key\":[{}0]}}", "0,".repeat(47));
            format!(r#"{{"entries":[{}]}}"#, vec![entry; count].join(","))
        };
        assert!(read(full(10_000).as_bytes()).is_ok());
        let refused = read(full(10_001).as_bytes());
        assert!(
            matches!(refused, Err(StructureError::Entries { limit: 10_000, .. })),
            "{refused:?}"
        );
    }

    #[test]
    fn a_key_given_twice_is_reported_and_the_last_value_counts() {
        let document = read(br#"{"a":{"b":1,"b":2}}"#).expect("within the limits");
        assert_eq!(document.root["a"]["b"], 2);
        assert_eq!(document.duplicates, ["$.a.b"]);
    }

    #[test]
    fn what_is_not_json_is_refused_with_its_line() {
        let refused = read(b"{\n\"a\": }");
        let Err(StructureError::Syntax { message }) = refused else { panic!("{refused:?}") };
        assert!(message.contains("line 2"), "{message}");
    }

    #[test]
    fn text_after_the_document_is_refused() {
        assert!(matches!(read(b"{} x"), Err(StructureError::Syntax { .. })));
    }
}

//! Prompt files: text in flat `<section key="…">` tags becomes a batch of keyed adds (20-ledger, rule 5.7).
//!
//! A file written in the standing document's own form — each body on its own lines, a blank line between
//! sections, no reserved tag in a body — renders byte for byte as it was written.

use std::collections::HashSet;

use crate::command::{InvalidKey, InvalidText, Key, Text};

const OPEN: &str = "<section";
const CLOSE: &str = "</section>";

/// Why a file is refused, and where; line and column (in characters) count from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {fault}")]
pub struct TagError {
    pub line: usize,
    pub column: usize,
    pub fault: TagFault,
}

/// What is wrong at that place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TagFault {
    #[error("the section is not closed")]
    Unclosed,
    #[error("a section may not lie in another")]
    Nested,
    #[error("this closes no section")]
    Unopened,
    #[error("a section begins with {OPEN} key=\"…\">")]
    Malformed,
    #[error("the key {0:?} is used twice")]
    Twice(String),
    #[error("the key {0}")]
    Key(#[from] InvalidKey),
    #[error("the text {0}")]
    Text(#[from] InvalidText),
}

/// The sections of a file in its order. Untagged runs get the fallback key, then `fallback#2` and so on;
/// runs of white space are nothing; an empty file is one empty fallback section. Linear in the file.
pub fn parse(file: &str, fallback: &Key) -> Result<Vec<(Key, Text)>, TagError> {
    let mut reader = Reader { file, fallback, runs: 0, keys: HashSet::new(), sections: vec![] };
    let mut at = 0;
    while let Some((found, tag)) = next_tag(file, at) {
        reader.untagged(at, found)?;
        at = match tag {
            OPEN => reader.section(found)?,
            _ => return Err(error(file, found, TagFault::Unopened)),
        };
    }
    reader.untagged(at, file.len())?;
    if reader.sections.is_empty() {
        reader.keep(0, fallback.clone(), "")?;
    }
    Ok(reader.sections)
}

/// The request id of one section of a batch: the index tells runs under one fallback apart.
pub fn request_id(base: &str, index: usize, key: &Key) -> String {
    format!("{base}:{index}:{}", key.as_str())
}

struct Reader<'a> {
    file: &'a str,
    fallback: &'a Key,
    runs: usize,
    keys: HashSet<Key>,
    sections: Vec<(Key, Text)>,
}

// === impl Reader ===

impl Reader<'_> {
    /// Reads the section that opens at `from`; answers where the file goes on.
    fn section(&mut self, from: usize) -> Result<usize, TagError> {
        let fail = |at, fault| Err(error(self.file, at, fault));
        let head = &self.file[from + OPEN.len()..];
        let Some((key, _)) = head.strip_prefix(" key=\"").and_then(|rest| rest.split_once('"'))
        else {
            return fail(from, TagFault::Malformed);
        };
        let body = from + OPEN.len() + " key=\"".len() + key.len() + 1;
        if !self.file[body..].starts_with('>') {
            return fail(from, TagFault::Malformed);
        }
        let body = body + 1;
        let end = match next_tag(self.file, body) {
            None => return fail(from, TagFault::Unclosed),
            Some((at, OPEN)) => return fail(at, TagFault::Nested),
            Some((at, _)) => at,
        };
        let key = Key::new(key).map_err(|fault| error(self.file, from, fault.into()))?;
        self.keep(from, key, on_its_lines(&self.file[body..end]))?;
        Ok(end + CLOSE.len())
    }

    fn untagged(&mut self, from: usize, to: usize) -> Result<(), TagError> {
        let run = self.file[from..to].trim();
        if run.is_empty() {
            return Ok(());
        }
        self.runs += 1;
        let key = match self.runs {
            1 => Ok(self.fallback.clone()),
            run => Key::new(&format!("{}#{run}", self.fallback.as_str())),
        };
        let key = key.map_err(|fault| error(self.file, from, fault.into()))?;
        self.keep(from, key, run)
    }

    fn keep(&mut self, at: usize, key: Key, content: &str) -> Result<(), TagError> {
        let content =
            Text::or_empty(content).map_err(|fault| error(self.file, at, fault.into()))?;
        if !self.keys.insert(key.clone()) {
            let twice = TagFault::Twice(key.as_str().to_owned());
            return Err(error(self.file, at, twice));
        }
        self.sections.push((key, content));
        Ok(())
    }
}

/// A body without the line ends that set it off from its tags.
fn on_its_lines(body: &str) -> &str {
    let body = body.strip_prefix("\r\n").or_else(|| body.strip_prefix('\n')).unwrap_or(body);
    body.strip_suffix("\r\n").or_else(|| body.strip_suffix('\n')).unwrap_or(body)
}

/// The next opening or closing tag from a place on.
fn next_tag(file: &str, from: usize) -> Option<(usize, &'static str)> {
    let mut at = from;
    loop {
        at += file[at..].find('<')?;
        match &file[at..] {
            rest if rest.starts_with(CLOSE) => return Some((at, CLOSE)),
            rest if opens(rest) => return Some((at, OPEN)),
            _ => at += 1,
        }
    }
}

/// `<section` and then the end of the word: `<sections>` is text.
fn opens(rest: &str) -> bool {
    let after = rest.strip_prefix(OPEN);
    after.is_some_and(|after| {
        !after.starts_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_')
    })
}

fn error(file: &str, at: usize, fault: TagFault) -> TagError {
    let before = &file[..at];
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = before.matches('\n').count() + 1;
    TagError { line, column: before[line_start..].chars().count() + 1, fault }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(file: &str) -> Result<Vec<(Key, Text)>, TagError> {
        parse(file, &Key::new("main").expect("a key"))
    }

    #[track_caller]
    fn check(file: &str, expected: &[(&str, &str)]) {
        let sections = read(file).expect("the file is well formed");
        let sections: Vec<_> =
            sections.iter().map(|(key, text)| (key.as_str(), text.as_str())).collect();
        assert_eq!(sections, expected);
    }

    #[track_caller]
    fn refused(file: &str, line: usize, column: usize, fault: TagFault) {
        assert_eq!(read(file), Err(TagError { line, column, fault }));
    }

    fn section(key: &str, body: &str) -> String {
        format!("<section key=\"{key}\">\n{body}\n</section>")
    }

    #[test]
    fn sections_come_in_file_order_without_their_line_ends() {
        check(
            &format!("{}\n\n{}", section("b", "B\n"), section("a", "A")),
            &[("b", "B\n"), ("a", "A")],
        );
        check("<section key=\"a\">x</section>", &[("a", "x")]);
    }

    #[test]
    fn untagged_runs_get_the_fallback_key_and_are_counted() {
        let file = format!("first\n{}\n second \n{}third", section("a", "A"), section("b", "B"));
        check(
            &file,
            &[("main", "first"), ("a", "A"), ("main#2", "second"), ("b", "B"), ("main#3", "third")],
        );
    }

    #[test]
    fn an_empty_file_is_one_empty_section() {
        check("", &[("main", "")]);
        check(" \n", &[("main", "")]);
    }

    #[test]
    fn other_tags_are_text() {
        check("<sections> <b> < section>", &[("main", "<sections> <b> < section>")]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        refused("x\n é<section key=\"a\">", 2, 3, TagFault::Unclosed);
        let nested = "<section key=\"a\">\n<section key=\"b\"></section></section>";
        refused(nested, 2, 1, TagFault::Nested);
        refused("a</section>", 1, 2, TagFault::Unopened);
        refused("<section>x</section>", 1, 1, TagFault::Malformed);
        refused("<section key=\"a\" role=\"user\">x</section>", 1, 1, TagFault::Malformed);
        let twice = format!("{}\n{}", section("a", "1"), section("a", "2"));
        refused(&twice, 4, 1, TagFault::Twice("a".into()));
        refused(&format!("x {}", section("main", "1")), 1, 3, TagFault::Twice("main".into()));
        refused("<section key=\"\">x</section>", 1, 1, TagFault::Key(InvalidKey::Empty));
    }

    #[test]
    fn each_section_of_a_batch_has_its_own_request_id() {
        let key = Key::new("rules").expect("a key");
        assert_eq!(request_id("r1", 2, &key), "r1:2:rules");
    }

    proptest! {
        #[test]
        fn a_file_in_the_documents_own_form_is_read_back_exactly(
            bodies in prop::collection::vec("([a-zé<>/ ]|\n){0,24}", 1..5)
        ) {
            let file: Vec<_> =
                bodies.iter().enumerate().map(|(at, body)| section(&format!("k{at}"), body)).collect();
            let sections = read(&file.join("\n\n")).expect("it is well formed");
            let found: Vec<_> = sections.iter().map(|(_, text)| text.as_str().to_owned()).collect();
            prop_assert_eq!(found, bodies);
        }
    }
}

//! The keys of a world's entries, each once, sorted by how they are matched (reference A6).

use std::collections::HashMap;

use kernel::digest_parts;

use super::{
    automaton::{Automaton, Needle, Scratch},
    cache::{AutomatonId, HitCache},
    words::WordBoundary,
};
use crate::regex_key::{Pattern, PatternSet, is_space};

/// A key of an entry, as its table holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// Empty as written, or refused by a limit: matches nothing.
    Never,
    /// Nothing but white space.
    Blank,
    Plain(u32),
    Pattern(u32),
    /// Holds macros: known once they are expanded.
    Macro(u32),
}

/// How an entry's plain keys are matched; None leaves it to the scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct KeyOptions {
    pub case_sensitive: Option<bool>,
    pub whole_words: Option<bool>,
}

/// What a scan fills in where an entry leaves it open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MatchMode {
    pub case_sensitive: bool,
    pub whole_words: bool,
    pub words: WordBoundary,
}

/// Keys by kind.
#[derive(Debug)]
pub struct KeyTable {
    plain: Vec<PlainKey>,
    patterns: Vec<Pattern>,
    macros: Vec<MacroKey>,
    pattern_set: Option<PatternSet>,
    seen: HashMap<(String, KeyOptions), Key>,
    bytes_left: usize,
    /// Keys that found no room.
    pub refused: usize,
}

/// The automata for a table's plain keys in one mode.
#[derive(Debug)]
pub struct KeyAutomata {
    words: WordBoundary,
    may_cross_lines: bool,
    /// Over lower-cased texts.
    folded: Option<Part>,
    /// Over texts as they are.
    exact: Option<Part>,
}

#[derive(Debug)]
pub struct MacroKey {
    pub text: String,
    pub options: KeyOptions,
}

#[derive(Debug)]
struct PlainKey {
    text: String,
    options: KeyOptions,
    /// Only a single word can be a whole word; more than one is a substring.
    is_one_word: bool,
}

#[derive(Debug)]
struct Part {
    id: AutomatonId,
    automaton: Automaton,
    /// The key of each needle.
    keys: Vec<u32>,
}

/// Patterns from which one pass over the text pays off.
const PATTERN_SET_MIN: usize = 8;

// === impl KeyTable ===

impl KeyTable {
    /// An empty table for keys of so many bytes together.
    pub fn new(bytes_max: usize) -> Self {
        Self {
            plain: Vec::new(),
            patterns: Vec::new(),
            macros: Vec::new(),
            pattern_set: None,
            seen: HashMap::new(),
            bytes_left: bytes_max,
            refused: 0,
        }
    }

    /// Takes a key in as it is written, or after its macros; one that holds macros waits for them.
    pub fn add(&mut self, written: &str, options: KeyOptions, holds_macros: bool) -> Key {
        let text = if holds_macros { written } else { written.trim_matches(is_space) };
        if written.is_empty() {
            return Key::Never;
        }
        if text.is_empty() {
            return Key::Blank;
        }
        let place = (text.to_owned(), options);
        if let Some(&key) = self.seen.get(&place) {
            return key;
        }
        let key = self.store(text, options, holds_macros);
        self.seen.insert(place, key);
        key
    }

    /// Ends the building: patterns are compiled together.
    pub fn close(&mut self) {
        self.seen = HashMap::new();
        if self.patterns.len() >= PATTERN_SET_MIN {
            self.pattern_set = Some(PatternSet::new(&self.patterns));
        }
    }

    pub fn plain_count(&self) -> usize {
        self.plain.len()
    }

    pub fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }

    pub fn pattern_set(&self) -> Option<&PatternSet> {
        self.pattern_set.as_ref()
    }

    pub fn macros(&self) -> &[MacroKey] {
        &self.macros
    }

    fn store(&mut self, text: &str, options: KeyOptions, holds_macros: bool) -> Key {
        let Some(left) = self.bytes_left.checked_sub(text.len()) else {
            self.refused += 1;
            return Key::Never;
        };
        self.bytes_left = left;
        if holds_macros {
            self.macros.push(MacroKey { text: text.to_owned(), options });
            return Key::Macro(self.macros.len() as u32 - 1);
        }
        if let Some(pattern) = Pattern::from_key(text) {
            self.patterns.push(pattern);
            return Key::Pattern(self.patterns.len() as u32 - 1);
        }
        let is_one_word = !text.contains(is_space);
        self.plain.push(PlainKey { text: text.to_owned(), options, is_one_word });
        Key::Plain(self.plain.len() as u32 - 1)
    }
}

// === impl KeyAutomata ===

impl KeyAutomata {
    pub fn new(table: &KeyTable, mode: MatchMode) -> Self {
        Self {
            words: mode.words,
            may_cross_lines: table.plain.iter().any(|key| key.text.contains('\n')),
            folded: Part::new(table, mode, false),
            exact: Part::new(table, mode, true),
        }
    }

    /// Whether a plain key can reach over the end of a line. If not, texts joined by line breaks hold
    /// what each of them holds, and nothing else.
    pub fn may_cross_lines(&self) -> bool {
        self.may_cross_lines
    }

    /// Calls `hit` with each plain key that the text holds.
    pub fn scan(
        &self,
        text: &str,
        cache: Option<&HitCache>,
        scratch: &mut Scratch,
        mut hit: impl FnMut(u32),
    ) {
        for (part, folds) in [(&self.folded, true), (&self.exact, false)] {
            let Some(part) = part else { continue };
            let mut scan = || match folds {
                true => part.automaton.scan(&lower(text), self.words, scratch),
                false => part.automaton.scan(text, self.words, scratch),
            };
            match cache {
                None => scan().into_iter().for_each(|needle| hit(part.keys[needle as usize])),
                Some(cache) => {
                    let needles = cache.hits(part.id, text, scan);
                    needles.iter().for_each(|&needle| hit(part.keys[needle as usize]));
                }
            }
        }
    }

    pub fn memory_bytes(&self) -> usize {
        let parts = [&self.folded, &self.exact].into_iter().flatten();
        parts.map(|part| part.automaton.memory_bytes() + part.keys.len() * 4).sum()
    }
}

// Lower case as JavaScript's `toLowerCase` has it, which is also Rust's.
fn lower(text: &str) -> std::borrow::Cow<'_, str> {
    if text.is_ascii() { text.to_ascii_lowercase().into() } else { text.to_lowercase().into() }
}

// === impl Part ===

impl Part {
    fn new(table: &KeyTable, mode: MatchMode, case_sensitive: bool) -> Option<Self> {
        let is_in = |key: &PlainKey| {
            key.options.case_sensitive.unwrap_or(mode.case_sensitive) == case_sensitive
        };
        let keys: Vec<u32> =
            (0u32..).zip(&table.plain).filter(|(_, key)| is_in(key)).map(|(id, _)| id).collect();
        if keys.is_empty() {
            return None;
        }
        let texts: Vec<std::borrow::Cow<'_, str>> = keys
            .iter()
            .map(|&id| &table.plain[id as usize].text)
            .map(|text| if case_sensitive { text.as_str().into() } else { lower(text) })
            .collect();
        let needles: Vec<Needle<'_>> = keys
            .iter()
            .zip(&texts)
            .map(|(&id, text)| {
                let key = &table.plain[id as usize];
                let whole_word = key.options.whole_words.unwrap_or(mode.whole_words);
                Needle { text, whole_word: whole_word && key.is_one_word }
            })
            .collect();
        // More keys than an automaton can number do not fit the limit on their bytes.
        let automaton = Automaton::new(&needles).ok()?;
        Some(Self { id: identity(&needles, mode.words, case_sensitive), automaton, keys })
    }
}

// The same keys matched the same way find the same things, whatever world they are of.
fn identity(needles: &[Needle<'_>], words: WordBoundary, case_sensitive: bool) -> AutomatonId {
    let mut parts: Vec<&[u8]> = Vec::with_capacity(needles.len() * 2 + 2);
    parts.push(if case_sensitive { b"exact" } else { b"folded" });
    parts.push(if words == WordBoundary::Unicode { b"unicode" } else { b"ascii" });
    for needle in needles {
        parts.push(needle.text.as_bytes());
        parts.push(if needle.whole_word { b"word" } else { b"part" });
    }
    let digest = digest_parts(&parts);
    let mut id = [0; 16];
    id.copy_from_slice(&digest.as_bytes()[..16]);
    AutomatonId(u128::from_be_bytes(id))
}

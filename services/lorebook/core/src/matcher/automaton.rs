//! One Aho-Corasick automaton over many keys, which finds for a text the keys that occur in it.

use std::collections::HashMap;

use aho_corasick::{
    Anchored, MatchKind,
    automaton::{Automaton as Machine, StateID},
    dfa,
    nfa::{contiguous, noncontiguous},
};

use super::words::{Borders, WordBoundary};

/// A key as it must occur in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needle<'k> {
    pub text: &'k str,
    pub whole_word: bool,
}

/// The compiled keys. A key's id is its place in the list it was built from.
#[derive(Debug)]
pub struct Automaton {
    engine: Engine,
    patterns: Vec<Pattern>,
}

/// What a scan needs besides the automaton; kept to be used again.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Per pattern.
    marks: Vec<Marks>,
    touched: Vec<u32>,
    looks: u64,
}

/// Why no automaton exists: too many keys for its state numbers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the keys do not fit one automaton")]
pub struct TooManyKeys;

#[derive(Debug)]
enum Engine {
    /// Faster, and about four bytes per state and class of bytes large.
    Dfa(dfa::DFA),
    Nfa(contiguous::NFA),
}

/// A text to be found, and the keys that want it anywhere or as a whole word.
#[derive(Debug, Default)]
struct Pattern {
    length: usize,
    anywhere: Vec<u32>,
    as_word: Vec<u32>,
}

/// What is settled of a pattern and of those shorter ones that end wherever it does: bits, so that
/// the marks of many keys stay small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Marks(u8);

/// One scan under way.
struct Run<'a, 't> {
    patterns: &'a [Pattern],
    borders: Borders<'t>,
    scratch: &'a mut Scratch,
    hits: Vec<u32>,
}

/// Bytes that a DFA may take; larger key sets run on the compact automaton.
const DFA_BYTES_MAX: usize = 32 << 20;

// === impl Automaton ===

impl Automaton {
    /// Compiles keys; none of them is empty.
    pub fn new(needles: &[Needle<'_>]) -> Result<Self, TooManyKeys> {
        let mut places: HashMap<&str, usize> = HashMap::with_capacity(needles.len());
        let mut texts: Vec<&str> = Vec::with_capacity(needles.len());
        let mut patterns: Vec<Pattern> = Vec::with_capacity(needles.len());
        for (id, needle) in (0u32..).zip(needles) {
            let place = *places.entry(needle.text).or_insert_with(|| {
                texts.push(needle.text);
                patterns.push(Pattern { length: needle.text.len(), ..Pattern::default() });
                patterns.len() - 1
            });
            let pattern = &mut patterns[place];
            if needle.whole_word { &mut pattern.as_word } else { &mut pattern.anywhere }.push(id);
        }
        Ok(Self { engine: Engine::new(&texts).ok_or(TooManyKeys)?, patterns })
    }

    /// The ids of all keys that occur in the text, each once.
    ///
    /// Cost: linear in the text and the keys found, for ASCII word boundaries; Unicode ones may cost
    /// the number of keys that end at one place, at each place.
    pub fn scan(&self, text: &str, words: WordBoundary, scratch: &mut Scratch) -> Vec<u32> {
        if scratch.marks.len() < self.patterns.len() {
            scratch.marks.resize(self.patterns.len(), Marks::default());
        }
        let borders = Borders::new(text, words);
        let mut run = Run { patterns: &self.patterns, borders, scratch, hits: Vec::new() };
        match &self.engine {
            Engine::Dfa(machine) => run.over(machine, text),
            Engine::Nfa(machine) => run.over(machine, text),
        }
        let hits = run.hits;
        for place in scratch.touched.drain(..) {
            scratch.marks[place as usize] = Marks::default();
        }
        hits
    }

    pub fn memory_bytes(&self) -> usize {
        let engine = match &self.engine {
            Engine::Dfa(machine) => machine.memory_usage(),
            Engine::Nfa(machine) => machine.memory_usage(),
        };
        let ids = |pattern: &Pattern| (pattern.anywhere.len() + pattern.as_word.len()) * 4;
        engine
            + self.patterns.iter().map(|pattern| size_of::<Pattern>() + ids(pattern)).sum::<usize>()
    }
}

// === impl Engine ===

impl Engine {
    fn new(texts: &[&str]) -> Option<Self> {
        let trie =
            noncontiguous::Builder::new().match_kind(MatchKind::Standard).build(texts).ok()?;
        if dfa_bytes(texts) <= DFA_BYTES_MAX {
            dfa::Builder::new().build_from_noncontiguous(&trie).ok().map(Self::Dfa)
        } else {
            contiguous::Builder::new().build_from_noncontiguous(&trie).ok().map(Self::Nfa)
        }
    }
}

// The size of a DFA: states of the trie times the row that the distinct bytes of the keys need.
fn dfa_bytes(texts: &[&str]) -> usize {
    let mut sorted: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
    sorted.sort_unstable();
    let mut states = 2;
    let mut previous: &[u8] = &[];
    for text in sorted {
        states += text.len() - previous.iter().zip(text).take_while(|(a, b)| a == b).count();
        previous = text;
    }
    let mut used = [false; 256];
    texts.iter().flat_map(|text| text.bytes()).for_each(|byte| used[byte as usize] = true);
    // Each byte of a key is a class of its own, and so is each run of others between them.
    let borders = used.windows(2).filter(|pair| pair[0] || pair[1]).count();
    let classes = borders + 1;
    states * classes.next_power_of_two() * size_of::<u32>()
}

// === impl Run ===

impl Run<'_, '_> {
    fn over<M: Machine>(&mut self, machine: &M, text: &str) {
        // Built to run unanchored; a refusal would leave nothing to find.
        let Ok(mut state) = machine.start_state(Anchored::No) else { return };
        for (at, &byte) in text.as_bytes().iter().enumerate() {
            state = machine.next_state(Anchored::No, state, byte);
            if machine.is_special(state) && machine.is_match(state) {
                self.settle(machine, state, at + 1);
            }
        }
    }

    // Looks at the patterns that end here, the longest first. Each is a suffix of the one before,
    // so what was settled for one of them holds for all that follow it.
    #[inline]
    fn settle<M: Machine>(&mut self, machine: &M, state: StateID, end: usize) {
        let longest = machine.match_pattern(state, 0).as_usize();
        let marks = self.scratch.marks[longest];
        // The right border is the same for all of them, and rules all whole words out at once.
        if marks.has(Marks::CHAIN_FOUND)
            && (marks.has(Marks::CHAIN_FOUND_AS_WORDS | Marks::FOUND_AS_WORD)
                || !self.borders.may_end(end))
        {
            return;
        }
        let may_end = self.borders.may_end(end);
        let settled = if may_end { Marks::CHAIN_FOUND_AS_WORDS } else { Marks::CHAIN_FOUND };
        for index in 0..machine.match_len(state) {
            let place = machine.match_pattern(state, index).as_usize();
            self.scratch.looks += 1;
            let before = self.scratch.marks[place];
            self.look(place, end, may_end);
            if before.has(settled) {
                break;
            }
        }
    }

    fn look(&mut self, place: usize, end: usize, may_end: bool) {
        let pattern = &self.patterns[place];
        let marks = &mut self.scratch.marks[place];
        if *marks == Marks::default() {
            self.scratch.touched.push(place as u32);
            if pattern.as_word.is_empty() {
                marks.set(Marks::FOUND_AS_WORD);
            }
        }
        if !marks.has(Marks::FOUND) {
            self.hits.extend_from_slice(&pattern.anywhere);
        }
        marks.set(Marks::FOUND | Marks::CHAIN_FOUND);
        if !may_end {
            return;
        }
        // Of a shorter pattern the left neighbour is a character of the longer one: its answer stays
        // the same wherever that occurs. Only the longest has to be asked again at its next hit.
        if self.borders.kind() == WordBoundary::Ascii {
            marks.set(Marks::CHAIN_FOUND_AS_WORDS);
        }
        if !marks.has(Marks::FOUND_AS_WORD) && self.borders.may_start(end - pattern.length) {
            marks.set(Marks::FOUND_AS_WORD);
            self.hits.extend_from_slice(&pattern.as_word);
        }
    }
}

// === impl Marks ===

impl Marks {
    /// It occurs.
    const FOUND: u8 = 1;
    /// It occurs as a whole word, or nobody asks for that.
    const FOUND_AS_WORD: u8 = 1 << 1;
    /// It and the shorter ones have been marked as found.
    const CHAIN_FOUND: u8 = 1 << 2;
    /// So have the shorter ones as whole words, as far as they can be.
    const CHAIN_FOUND_AS_WORDS: u8 = 1 << 3;

    fn has(self, bits: u8) -> bool {
        self.0 & bits == bits
    }

    fn set(&mut self, bits: u8) {
        self.0 |= bits;
    }
}

// === impl Scratch ===

impl Scratch {
    /// Patterns looked at by all scans so far: the cost beyond reading the text.
    pub fn looks(&self) -> u64 {
        self.looks
    }
}

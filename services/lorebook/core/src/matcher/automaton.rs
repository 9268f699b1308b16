//! One Aho-Corasick automaton over many keys, which finds for a text the keys that occur in it.

use aho_corasick::{
    Anchored, MatchKind,
    automaton::StateID,
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
    keys: Vec<Key>,
}

/// What a scan needs besides the automaton; kept to be used again.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Per key: it was found.
    found: Vec<bool>,
    /// Per longest key of a state: what of the state's keys is found.
    settled: Vec<Settled>,
    touched: Vec<u32>,
    /// Keys looked at, for tests of the cost.
    pub looks: u64,
}

/// Why no automaton exists: too many keys for its state numbers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the keys do not fit one automaton")]
pub struct TooManyKeys;

/// How much of the keys that end at a state is found already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Settled {
    #[default]
    Nothing,
    /// All but whole words.
    Substrings,
    All,
}

#[derive(Debug)]
enum Engine {
    /// Faster, and about four bytes per state and class of bytes large.
    Dfa(dfa::DFA),
    Nfa(contiguous::NFA),
}

#[derive(Debug, Clone, Copy)]
struct Key {
    length: u32,
    whole_word: bool,
}

/// Bytes that a DFA may take; larger key sets run on the compact automaton.
const DFA_BYTES_MAX: usize = 40 << 20;

// === impl Automaton ===

impl Automaton {
    /// Compiles keys; none of them is empty.
    pub fn new(needles: &[Needle<'_>]) -> Result<Self, TooManyKeys> {
        let texts: Vec<&[u8]> = needles.iter().map(|needle| needle.text.as_bytes()).collect();
        let trie = noncontiguous::Builder::new()
            .match_kind(MatchKind::Standard)
            .build(&texts)
            .map_err(|_| TooManyKeys)?;
        let engine = if dfa_bytes(&texts) <= DFA_BYTES_MAX {
            dfa::Builder::new().build_from_noncontiguous(&trie).map(Engine::Dfa)
        } else {
            contiguous::Builder::new().build_from_noncontiguous(&trie).map(Engine::Nfa)
        };
        let key = |needle: &Needle<'_>| Key {
            length: needle.text.len() as u32,
            whole_word: needle.whole_word,
        };
        Ok(Self {
            engine: engine.map_err(|_| TooManyKeys)?,
            keys: needles.iter().map(key).collect(),
        })
    }

    /// The ids of all keys that occur in the text, each once, in the order of their first hits.
    pub fn scan(&self, text: &str, words: WordBoundary, scratch: &mut Scratch) -> Vec<u32> {
        let mut hits = Vec::new();
        let borders = Borders::new(text, words);
        scratch.prepare(self.keys.len());
        match &self.engine {
            Engine::Dfa(automaton) => self.run(automaton, text, &borders, scratch, &mut hits),
            Engine::Nfa(automaton) => self.run(automaton, text, &borders, scratch, &mut hits),
        }
        scratch.clean(&hits);
        hits
    }

    pub fn memory_bytes(&self) -> usize {
        use aho_corasick::automaton::Automaton;
        let engine = match &self.engine {
            Engine::Dfa(automaton) => automaton.memory_usage(),
            Engine::Nfa(automaton) => automaton.memory_usage(),
        };
        engine + self.keys.len() * size_of::<Key>()
    }

    fn run<A: aho_corasick::automaton::Automaton>(
        &self,
        automaton: &A,
        text: &str,
        borders: &Borders<'_>,
        scratch: &mut Scratch,
        hits: &mut Vec<u32>,
    ) {
        // Built to run unanchored; a refusal would leave nothing to find.
        let Ok(mut state) = automaton.start_state(Anchored::No) else { return };
        for (at, &byte) in text.as_bytes().iter().enumerate() {
            state = automaton.next_state(Anchored::No, state, byte);
            if automaton.is_special(state) && automaton.is_match(state) {
                self.settle(automaton, state, at + 1, borders, scratch, hits);
            }
        }
    }

    // Looks at the keys that end here. States with the same longest key end the same keys, so the
    // mark is kept there; it is set only once every key is found, or a later hit would be lost.
    #[inline]
    fn settle<A: aho_corasick::automaton::Automaton>(
        &self,
        automaton: &A,
        state: StateID,
        end: usize,
        borders: &Borders<'_>,
        scratch: &mut Scratch,
        hits: &mut Vec<u32>,
    ) {
        let longest = automaton.match_pattern(state, 0).as_usize();
        let settled = scratch.settled[longest];
        if settled == Settled::All {
            return;
        }
        // The right border is the same for all of them and rules all whole words out at once.
        let may_end = borders.may_end(end);
        if settled == Settled::Substrings && !may_end {
            return;
        }
        let mut after = Settled::All;
        for index in 0..automaton.match_len(state) {
            let id = automaton.match_pattern(state, index).as_usize();
            scratch.looks += 1;
            if scratch.found[id] {
                continue;
            }
            let Key { length, whole_word } = self.keys[id];
            if !whole_word || (may_end && borders.may_start(end - length as usize)) {
                scratch.found[id] = true;
                hits.push(id as u32);
            } else {
                after = Settled::Substrings;
            }
        }
        if settled != after {
            scratch.settled[longest] = after;
            scratch.touched.push(longest as u32);
        }
    }
}

// The size of a DFA: states of the trie times the row that the distinct bytes of the keys need.
fn dfa_bytes(texts: &[&[u8]]) -> usize {
    let mut sorted = texts.to_vec();
    sorted.sort_unstable();
    let shared = |a: &[u8], b: &[u8]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let mut states = 2;
    let mut previous: &[u8] = &[];
    for text in sorted {
        states += text.len() - shared(previous, text);
        previous = text;
    }
    let mut used = [false; 256];
    texts.iter().flat_map(|text| text.iter()).for_each(|&byte| used[byte as usize] = true);
    let classes = used.iter().filter(|&&used| used).count() * 2 + 1;
    states * classes.min(256).next_power_of_two() * size_of::<u32>()
}

// === impl Scratch ===

impl Scratch {
    fn prepare(&mut self, keys: usize) {
        if self.found.len() < keys {
            self.found.resize(keys, false);
            self.settled.resize(keys, Settled::Nothing);
        }
    }

    fn clean(&mut self, hits: &[u32]) {
        for &id in hits {
            self.found[id as usize] = false;
        }
        for id in self.touched.drain(..) {
            self.settled[id as usize] = Settled::Nothing;
        }
    }
}

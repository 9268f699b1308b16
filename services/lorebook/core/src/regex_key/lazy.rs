//! A linear-time automaton over many translated patterns, built as it runs and bounded in its work.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use regex_automata::{
    Anchored, Input, MatchKind,
    hybrid::{
        LazyStateID,
        dfa::{Cache, DFA},
    },
    nfa::thompson::{self, WhichCaptures},
    util::syntax,
};

use super::backtrack::{Steps, StepsExhausted};

/// The compiled patterns, and caches of states that runs leave for later runs.
#[derive(Debug)]
pub struct LazyDfa {
    dfa: DFA,
    caches: Mutex<Vec<Cache>>,
}

/// How much one automaton may take.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Bytes of the compiled patterns; more are refused.
    pub compiled_bytes: usize,
    /// Bytes of states that a run keeps.
    pub cache_bytes: usize,
    /// Caches kept for later runs; each belongs to one run at a time.
    pub caches_kept: usize,
}

/// How a run came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Run {
    /// The patterns that match, ascending.
    Found(Vec<u32>),
    /// The text makes the automaton grow faster than it is read.
    GaveUp,
}

/// Bytes of text that are read for the price of one step.
const TEXT_BYTES_PER_STEP: usize = 256;

/// Bytes of states that are built for the price of one step.
const STATE_BYTES_PER_STEP: usize = 64;

/// A run that reads fewer bytes per state it builds gives up.
const TEXT_BYTES_PER_STATE_MIN: usize = 16;

/// Steps that reading a text once costs.
pub fn text_cost(text: &str) -> u64 {
    1 + (text.len() / TEXT_BYTES_PER_STEP) as u64
}

// === impl LazyDfa ===

impl LazyDfa {
    /// Compiles translated patterns; None if they are too large together.
    pub fn new<P: AsRef<str>>(patterns: &[P], bounds: Bounds) -> Option<Self> {
        let nfa = thompson::Compiler::new()
            .syntax(syntax::Config::new().utf8(false))
            .configure(
                thompson::Config::new()
                    .utf8(false)
                    .which_captures(WhichCaptures::None)
                    .nfa_size_limit(Some(bounds.compiled_bytes)),
            )
            .build_many(patterns)
            .ok()?;
        let config = DFA::config()
            .match_kind(MatchKind::All)
            .cache_capacity(bounds.cache_bytes)
            .skip_cache_capacity_check(true)
            .minimum_cache_clear_count(Some(1))
            .minimum_bytes_per_state(Some(TEXT_BYTES_PER_STATE_MIN));
        let dfa = DFA::builder().configure(config).build_from_nfa(nfa).ok()?;
        Some(Self { dfa, caches: Mutex::new(Vec::with_capacity(bounds.caches_kept)) })
    }

    /// Which patterns match anywhere in the text.
    pub fn run(&self, text: &str, steps: &mut Steps) -> Result<Run, StepsExhausted> {
        steps.spend(text_cost(text))?;
        let kept = self.caches.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut cache = kept.unwrap_or_else(|| self.dfa.create_cache());
        let built = |cache: &Cache| {
            cache.clear_count() * self.dfa.get_config().get_cache_capacity() + cache.memory_usage()
        };
        let before = built(&cache);
        let found = self.search(text, &mut cache);
        let grown = built(&cache).saturating_sub(before);
        let mut caches = self.caches.lock().unwrap_or_else(PoisonError::into_inner);
        if caches.len() < caches.capacity() {
            caches.push(cache);
        }
        drop(caches);
        steps.spend((grown / STATE_BYTES_PER_STEP) as u64)?;
        Ok(found.map_or(Run::GaveUp, Run::Found))
    }

    // None: it gave up.
    fn search(&self, text: &str, cache: &mut Cache) -> Option<Vec<u32>> {
        let input = Input::new(text).anchored(Anchored::No);
        let mut found = Found::new(self.dfa.pattern_len());
        cache.search_start(0);
        let mut state = self.dfa.start_state_forward(cache, &input).ok()?;
        for (at, &byte) in text.as_bytes().iter().enumerate() {
            let next = self.dfa.next_state(cache, state, byte);
            cache.search_update(at);
            state = next.ok()?;
            if state.is_tagged() {
                if state.is_dead() || state.is_quit() {
                    break;
                }
                if state.is_match() && found.take(&self.dfa, cache, state) {
                    break;
                }
            }
        }
        if !found.is_full() && !state.is_dead() {
            state = self.dfa.next_eoi_state(cache, state).ok()?;
            if state.is_match() {
                found.take(&self.dfa, cache, state);
            }
        }
        cache.search_finish(text.len());
        Some(found.patterns())
    }
}

/// The patterns found so far.
struct Found {
    is_found: Vec<bool>,
    left: usize,
    /// States all of whose patterns are found; they lose their numbers when the cache is cleared.
    settled: HashSet<LazyStateID>,
    clears: usize,
}

// === impl Found ===

impl Found {
    fn new(patterns: usize) -> Self {
        Self { is_found: vec![false; patterns], left: patterns, settled: HashSet::new(), clears: 0 }
    }

    fn is_full(&self) -> bool {
        self.left == 0
    }

    // Answers whether nothing is left to find.
    fn take(&mut self, dfa: &DFA, cache: &Cache, state: LazyStateID) -> bool {
        if self.clears != cache.clear_count() {
            self.clears = cache.clear_count();
            self.settled.clear();
        }
        if self.settled.insert(state) {
            for index in 0..dfa.match_len(cache, state) {
                let pattern = dfa.match_pattern(cache, state, index).as_usize();
                if !std::mem::replace(&mut self.is_found[pattern], true) {
                    self.left -= 1;
                }
            }
        }
        self.is_full()
    }

    fn patterns(self) -> Vec<u32> {
        (0u32..).zip(self.is_found).filter(|&(_, found)| found).map(|(id, _)| id).collect()
    }
}

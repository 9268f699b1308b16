//! Remembers which keys a message holds, so that a turn scans only its new text.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Found keys by (automaton, text). Bounded; what was not asked for lately goes first.
#[derive(Debug)]
pub struct HitCache {
    bytes_max: usize,
    generations: Mutex<Generations>,
}

/// Identifies an automaton together with the way it was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AutomatonId(pub u128);

type Hits = Arc<[u32]>;

/// By text, for each automaton. The text itself is kept, so that two texts with one hash are still two.
type Generation = HashMap<AutomatonId, HashMap<Box<str>, Hits, Keyed>, Keyed>;

#[derive(Debug)]
struct Generations {
    young: Generation,
    old: Generation,
    young_bytes: usize,
    key: Keyed,
}

/// A fast hash under a key that nobody outside knows.
#[derive(Debug, Clone, Copy)]
struct Keyed([u64; 2]);

struct Folding {
    state: u64,
    key: u64,
}

// === impl HitCache ===

impl HitCache {
    /// An empty cache of at most `bytes_max` bytes, hashing under `key`, which should be random.
    pub fn new(bytes_max: usize, key: [u64; 2]) -> Self {
        let key = Keyed(key);
        let empty = || HashMap::with_hasher(key);
        let generations = Generations { young: empty(), old: empty(), young_bytes: 0, key };
        Self { bytes_max, generations: Mutex::new(generations) }
    }

    /// The keys that the text holds, from memory or from `scan`.
    pub fn hits(
        &self,
        automaton: AutomatonId,
        text: &str,
        scan: impl FnOnce() -> Vec<u32>,
    ) -> Arc<[u32]> {
        if let Some(hits) = self.lock().find(automaton, text) {
            return hits;
        }
        let hits: Hits = scan().into();
        self.lock().put(automaton, text.into(), Arc::clone(&hits), self.bytes_max / 2);
        hits
    }

    fn lock(&self) -> MutexGuard<'_, Generations> {
        // Nothing in here panics half way, and a lost entry costs a scan at most.
        self.generations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Generations ===

impl Generations {
    fn find(&mut self, automaton: AutomatonId, text: &str) -> Option<Hits> {
        let young = self.young.get(&automaton).and_then(|of| of.get(text));
        if let Some(hits) = young {
            return Some(Arc::clone(hits));
        }
        let (text, hits) = self.old.get_mut(&automaton)?.remove_entry(text)?;
        self.insert(automaton, text, Arc::clone(&hits));
        Some(hits)
    }

    fn put(
        &mut self,
        automaton: AutomatonId,
        text: Box<str>,
        hits: Hits,
        generation_bytes_max: usize,
    ) {
        let added = bytes(&text, &hits);
        if added > generation_bytes_max {
            return;
        }
        if self.young_bytes + added > generation_bytes_max {
            self.old = std::mem::replace(&mut self.young, HashMap::with_hasher(self.key));
            self.young_bytes = 0;
        }
        self.insert(automaton, text, hits);
    }

    fn insert(&mut self, automaton: AutomatonId, text: Box<str>, hits: Hits) {
        self.young_bytes += bytes(&text, &hits);
        let of = self.young.entry(automaton).or_insert_with(|| HashMap::with_hasher(self.key));
        of.insert(text, hits);
    }
}

// The automaton is named for each text: one that holds few texts is no lighter than that.
fn bytes(text: &str, hits: &Hits) -> usize {
    text.len() + size_of_val(hits.as_ref()) + size_of::<(Box<str>, Hits, AutomatonId)>() + 32
}

// === impl Keyed ===

impl BuildHasher for Keyed {
    type Hasher = Folding;
    fn build_hasher(&self) -> Folding {
        Folding { state: self.0[0], key: self.0[1] | 1 }
    }
}

// === impl Folding ===

impl Folding {
    // One multiplication for two words: texts of many kilobytes come with each request.
    fn fold(&mut self, first: u64, second: u64) {
        let key = self.key ^ 0x9E37_79B9_7F4A_7C15;
        let product = u128::from(self.state ^ first) * u128::from(key ^ second);
        self.state = (product as u64) ^ ((product >> 64) as u64) ^ self.key.rotate_left(17);
    }
}

impl Hasher for Folding {
    fn write(&mut self, bytes: &[u8]) {
        let (pairs, rest) = bytes.as_chunks::<16>();
        for pair in pairs {
            let [first, second] = words(pair);
            self.fold(first, second);
        }
        let mut last = [0; 16];
        last[..rest.len()].copy_from_slice(rest);
        let [first, second] = words(&last);
        self.fold(first ^ (bytes.len() as u64).rotate_left(32), second);
    }

    fn finish(&self) -> u64 {
        self.state
    }
}

fn words(pair: &[u8; 16]) -> [u64; 2] {
    let both = u128::from_le_bytes(*pair);
    [both as u64, (both >> 64) as u64]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(cache: &HitCache, text: &str, answer: u32) -> u32 {
        cache.hits(AutomatonId(1), text, || vec![answer])[0]
    }

    #[test]
    fn a_text_is_scanned_once() {
        let cache = HitCache::new(10_000, [1, 2]);
        assert_eq!(ask(&cache, "a", 1), 1);
        assert_eq!(ask(&cache, "a", 2), 1);
        assert_eq!(ask(&cache, "b", 3), 3);
    }

    #[test]
    fn another_automaton_has_its_own_answer() {
        let cache = HitCache::new(10_000, [1, 2]);
        ask(&cache, "a", 1);
        assert_eq!(cache.hits(AutomatonId(2), "a", || vec![9])[0], 9);
    }

    #[test]
    fn the_cache_is_bounded_and_keeps_what_is_used() {
        let cache = HitCache::new(4_000, [1, 2]);
        for n in 0..1_000 {
            ask(&cache, &format!("text {n}"), n);
            assert_eq!(ask(&cache, "kept", 7), 7);
        }
        let generations = cache.lock();
        assert!(generations.young_bytes <= 2_000);
        let texts = |of: &Generation| of.values().map(HashMap::len).sum::<usize>();
        assert!(texts(&generations.young) + texts(&generations.old) < 60);
    }
}

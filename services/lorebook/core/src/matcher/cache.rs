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

#[derive(Debug)]
struct Generations {
    young: HashMap<Place, Hits, Keyed>,
    old: HashMap<Place, Hits, Keyed>,
    young_bytes: usize,
}

/// The text itself is kept, so that two texts with one hash are still two.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Place {
    text: Arc<str>,
    automaton: AutomatonId,
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
        let empty = || HashMap::with_hasher(Keyed(key));
        let generations = Generations { young: empty(), old: empty(), young_bytes: 0 };
        Self { bytes_max, generations: Mutex::new(generations) }
    }

    /// The keys that the text holds, from memory or from `scan`.
    pub fn hits(
        &self,
        automaton: AutomatonId,
        text: &Arc<str>,
        scan: impl FnOnce() -> Vec<u32>,
    ) -> Arc<[u32]> {
        let place = Place { text: Arc::clone(text), automaton };
        if let Some(hits) = self.lock().find(&place) {
            return hits;
        }
        let hits: Hits = scan().into();
        self.lock().put(place, Arc::clone(&hits), self.bytes_max / 2);
        hits
    }

    fn lock(&self) -> MutexGuard<'_, Generations> {
        // Nothing in here panics half way, and a lost entry costs a scan at most.
        self.generations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Generations ===

impl Generations {
    fn find(&mut self, place: &Place) -> Option<Hits> {
        if let Some(hits) = self.young.get(place) {
            return Some(Arc::clone(hits));
        }
        let (place, hits) = self.old.remove_entry(place)?;
        self.young_bytes += bytes(&place, &hits);
        self.young.insert(place, Arc::clone(&hits));
        Some(hits)
    }

    fn put(&mut self, place: Place, hits: Hits, generation_bytes_max: usize) {
        let added = bytes(&place, &hits);
        if added > generation_bytes_max {
            return;
        }
        if self.young_bytes + added > generation_bytes_max {
            self.old = std::mem::replace(&mut self.young, HashMap::with_hasher(*self.old.hasher()));
            self.young_bytes = 0;
        }
        self.young_bytes += added;
        self.young.insert(place, hits);
    }
}

fn bytes(place: &Place, hits: &Hits) -> usize {
    place.text.len() + size_of_val(hits.as_ref()) + size_of::<(Place, Hits)>() + 32
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
    fn fold(&mut self, word: u64) {
        let product = u128::from(self.state ^ word) * u128::from(self.key ^ 0x9E37_79B9_7F4A_7C15);
        self.state = (product as u64) ^ ((product >> 64) as u64) ^ self.key.rotate_left(17);
    }
}

impl Hasher for Folding {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.fold(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.fold(u64::from_le_bytes(last) ^ (bytes.len() as u64).rotate_left(32));
    }

    fn finish(&self) -> u64 {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(cache: &HitCache, text: &str, answer: u32) -> u32 {
        cache.hits(AutomatonId(1), &Arc::from(text), || vec![answer])[0]
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
        assert_eq!(cache.hits(AutomatonId(2), &Arc::from("a"), || vec![9])[0], 9);
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
        assert!(generations.young.len() + generations.old.len() < 60);
    }
}

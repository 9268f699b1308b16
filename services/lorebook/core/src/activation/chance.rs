//! The rolls of a dice that decide groups and probabilities.

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

/// A source of chance. Successive rolls are numbers from 0 up to but not including 1.
pub trait Rolls {
    fn roll(&mut self) -> f64;
}

/// Rolls that follow from a seed: the same seed gives the same lore.
#[derive(Debug, Clone)]
pub struct SeededRolls(ChaCha8Rng);

/// Rolls fixed in advance, to replay a scan; 0 after the last.
#[derive(Debug, Clone, Default)]
pub struct ScriptedRolls(std::collections::VecDeque<f64>);

// === impl SeededRolls ===

impl SeededRolls {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }
}

impl Rolls for SeededRolls {
    fn roll(&mut self) -> f64 {
        // 53 bits, all that a float between 0 and 1 can tell apart evenly.
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

// === impl ScriptedRolls ===

impl ScriptedRolls {
    pub fn new(rolls: impl IntoIterator<Item = f64>) -> Self {
        Self(rolls.into_iter().collect())
    }
}

impl Rolls for ScriptedRolls {
    fn roll(&mut self) -> f64 {
        self.0.pop_front().unwrap_or(0.0)
    }
}

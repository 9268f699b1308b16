//! Races on one world: seeded interleavings of everything that writes it, and the laws that hold whoever is first.
//!
//! A run is made from its seed alone: who calls, what they call, and, on one thread, who may go on at each step of the
//! store. So a failing seed is the whole report: the same seed makes the same run. On real threads the machine decides.

pub mod deed;
pub mod laws;
pub mod place;
pub mod run;
pub mod stepped;
pub mod turnstile;

mod asked;
mod model;

pub use place::{Kind, Place};
pub use run::{Pace, Report, run};
pub use stepped::Fault;

/// Numbers from a seed (splitmix64): the same everywhere, for ever.
#[derive(Debug, Clone)]
pub struct Dice(u64);

// === impl Dice ===

impl Dice {
    pub fn of(seed: u64) -> Self {
        Self(seed)
    }

    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `sides`, which is not 0.
    pub fn below(&mut self, sides: usize) -> usize {
        usize::try_from(self.roll() % sides as u64).unwrap_or(0)
    }

    pub fn one_of<'a, T>(&mut self, things: &'a [T]) -> Option<&'a T> {
        if things.is_empty() { None } else { things.get(self.below(things.len())) }
    }
}

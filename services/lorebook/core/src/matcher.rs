//! Finds plain keys in texts: one pass over the text for all keys of a world.

pub mod automaton;
pub mod cache;
pub mod words;

pub use automaton::{Automaton, Needle, Scratch, TooManyKeys};
pub use cache::{AutomatonId, HitCache};
pub use words::WordBoundary;

//! Finds keys in texts: one pass over a text for all plain keys of a world.

mod automaton;
mod cache;
mod keys;
mod words;

pub use automaton::{Automaton, Needle, Scratch, TooManyKeys};
pub use cache::{AutomatonId, HitCache};
pub use keys::{Key, KeyAutomata, KeyOptions, KeyTable, MacroKey, MatchMode};
pub use words::WordBoundary;

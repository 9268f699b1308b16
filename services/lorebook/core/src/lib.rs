//! Lore: worlds and entries, their layers, the files they come from, and what a text activates. Pure.

pub mod activation;
pub mod matcher;
pub mod regex_key;

mod codes;

pub mod change;
pub mod edit;
pub mod entry;
pub mod export;
pub mod fields;
pub mod import;
pub mod keys_text;
pub mod projection;
pub mod revision;
pub mod vocabulary;
pub mod world;

pub use entry::{CharacterFilter, Entry, EntryBody};
pub use vocabulary::{EntryRole, GenerationType, Layer, OverlayAction, Position, SelectiveLogic};
pub use world::{Book, World, WorldSettings};

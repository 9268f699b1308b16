//! Lore: worlds and entries, their layers, the files they come from, and what a text activates. Pure.

pub mod entry;
pub mod vocabulary;
pub mod world;

pub use entry::{CharacterFilter, Entry, EntryBody};
pub use vocabulary::{EntryRole, GenerationType, Layer, OverlayAction, Position, SelectiveLogic};
pub use world::{Book, World, WorldSettings};

//! Segments and history become the messages of one request; pure, for each profile mode.
//!
//! The ledger folds its events into items and renders them here; the loader previews with the same
//! code. Nothing in this crate reads a store, a clock or a network.

pub mod contract;
pub mod derive;
pub mod escape;
pub mod history;
pub mod in_chat;
pub mod item;
pub mod journal;
pub mod message;
pub mod prefix;
pub mod segment;

pub use message::{Block, Role};
pub use segment::{Placement, ProfileMode, Segment, SegmentKind};

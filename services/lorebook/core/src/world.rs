//! A world's head: its name, its switches, and the scan settings its book brought along.

use kernel::{EntryId, WorldId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::entry::Entry;

/// A lorebook without its rows. Its serde form is the stored form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct World {
    pub id: WorldId,
    pub name: String,
    pub enabled: bool,
    /// Whether finished turns may lead to proposals on it.
    pub dynamic_enabled: bool,
    /// Moves once per mutation that changes what the lore says; a stamp, not a counter of edits.
    pub content_revision: u64,
    /// Of an embedded book: immutable, never the target of a change.
    pub embedded: bool,
    pub settings: WorldSettings,
}

/// What a book says about itself. None leaves the decision to the request.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WorldSettings {
    pub description: String,
    /// Messages scanned; 0 scans nothing.
    pub scan_depth: Option<u32>,
    /// Tokens that this book's entries may take.
    pub token_budget: Option<u32>,
    pub recursive_scanning: Option<bool>,
    pub case_sensitive: Option<bool>,
    pub match_whole_words: Option<bool>,
    pub use_group_scoring: Option<bool>,
    /// The book's `extensions` object, kept whole.
    pub extensions: Map<String, Value>,
    /// Top-level fields that no format of ours knows, kept for a lossless export.
    pub extra: Map<String, Value>,
}

/// A world with all its rows, in ascending `ordinal`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Book {
    pub world: World,
    pub entries: Vec<Entry>,
}

// === impl Book ===

impl Book {
    pub fn entry(&self, id: &EntryId) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.id == *id)
    }
}

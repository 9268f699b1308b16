//! What an export says beyond the form it is written in: layers, overlays, history. Kept under `skald`.

use kernel::EntryId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{change::Record, entry::OverlayAction};

/// The member of an entry, and of the book, that holds a stamp.
pub const KEY: &str = "skald";

/// Beside the rows of an exported book.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BookStamp {
    pub enabled: bool,
    pub dynamic_enabled: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Record>,
}

/// Beside one exported row. An overlay's row is written switched off, so that SillyTavern shows the
/// authored view of the file; `enabled` here is the truth.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EntryStamp {
    /// Its id at the time, which other stamps of the file name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<EntryId>,
    /// Its place, where the file's own order does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ordinal: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Given for a row of the dynamic layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlay_action: Option<OverlayAction>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<EntryId>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub locked: bool,
    #[serde(skip_serializing_if = "is_zero")]
    pub entry_revision: u64,
    /// Unknown members whose names mean something else in the form that was written.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

fn is_zero(revision: &u64) -> bool {
    *revision == 0
}

// === impl BookStamp ===

impl Default for BookStamp {
    fn default() -> Self {
        Self { enabled: true, dynamic_enabled: false, history: Vec::new() }
    }
}

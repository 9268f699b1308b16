//! One entry of a world: what SillyTavern's format knows of it (reference A1), and its place in the layers.

use kernel::EntryId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use crate::vocabulary::{
    EntryRole, GenerationType, Layer, OverlayAction, Position, SelectiveLogic,
};

/// One row of a world. Its serde form is the stored form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub id: EntryId,
    /// The number the file's format knows it by; unique in a world only as far as its file was.
    pub uid: i64,
    /// Place among the world's rows, ascending: settles ties of `order` in the candidate list (A4).
    pub ordinal: i64,
    pub layer: Layer,
    /// Of dynamic rows only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlay_action: Option<OverlayAction>,
    /// The authored row that a REPLACE or SUPPRESS hides; null once that row is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes_entry_id: Option<EntryId>,
    /// A retired overlay row; what it hid is in effect again.
    #[serde(default)]
    pub archived: bool,
    /// May not be the target of a proposed change.
    #[serde(default)]
    pub locked: bool,
    /// Counts the edits of this row; an undo over a row that moved refuses.
    #[serde(default)]
    pub entry_revision: u64,
    pub body: EntryBody,
}

/// What the lore says and when it fires: the fields of SillyTavern's format, with the defaults of a
/// newly created entry (reference A1). Numbers are finite, because JSON holds no others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EntryBody {
    /// The title; never in a prompt.
    pub comment: String,
    pub content: String,
    pub keys: Vec<String>,
    pub secondary_keys: Vec<String>,
    /// False: the secondary keys are ignored.
    pub selective: bool,
    pub selective_logic: SelectiveLogic,
    pub constant: bool,
    /// Meant for a vector search; the keyword scan ignores the flag.
    pub vectorized: bool,
    pub enabled: bool,
    /// Higher is considered first and lands later in its block.
    pub order: f64,
    pub position: Position,
    /// Messages from the end; of `Position::AtDepth` only.
    pub depth: u32,
    /// Of `Position::AtDepth` only.
    pub role: EntryRole,
    /// Of `Position::Outlet` only.
    pub outlet_name: String,
    pub ignore_budget: bool,
    pub exclude_recursion: bool,
    pub prevent_recursion: bool,
    /// The recursion level from which it may fire; 0 = from the start.
    pub delay_until_recursion: u32,
    /// Percent.
    pub probability: f64,
    pub use_probability: bool,
    /// A comma-separated list of inclusion groups.
    pub group: String,
    pub group_override: bool,
    pub group_weight: f64,
    /// None: the scan's own setting.
    pub use_group_scoring: Option<bool>,
    /// Messages scanned; 0 scans nothing. None: the scan's own setting.
    pub scan_depth: Option<u32>,
    /// None: the scan's own setting.
    pub case_sensitive: Option<bool>,
    /// None: the scan's own setting.
    pub match_whole_words: Option<bool>,
    pub match_persona_description: bool,
    pub match_character_description: bool,
    pub match_character_personality: bool,
    pub match_character_depth_prompt: bool,
    pub match_scenario: bool,
    pub match_creator_notes: bool,
    /// Messages for which it stays on once active.
    pub sticky: Option<u32>,
    /// Messages for which it stays off once active.
    pub cooldown: Option<u32>,
    /// Messages that the chat must have before it may fire.
    pub delay: Option<u32>,
    /// Names of generation types, unknown ones kept; empty = all.
    pub triggers: Vec<String>,
    pub character_filter: Option<CharacterFilter>,
    pub automation_id: String,
    /// Display only.
    pub add_memo: bool,
    /// Display only.
    pub display_index: Option<i64>,
    /// The entry's `extensions` object, kept whole.
    pub extensions: Map<String, Value>,
    /// Fields that no format of ours knows, kept for a lossless export.
    pub extra: Map<String, Value>,
}

/// For which characters an entry may fire; an empty list does not filter.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CharacterFilter {
    /// The lists name who is kept out rather than who is let in.
    pub is_exclude: bool,
    /// Basenames of avatar files, not display names.
    pub names: Vec<String>,
    pub tags: Vec<String>,
}

// === impl Entry ===

impl Entry {
    /// A row of the user's own.
    pub fn authored(id: EntryId, uid: i64, ordinal: i64, body: EntryBody) -> Self {
        Self {
            id,
            uid,
            ordinal,
            layer: Layer::Authored,
            overlay_action: None,
            supersedes_entry_id: None,
            archived: false,
            locked: false,
            entry_revision: 0,
            body,
        }
    }

    /// Neither switched off nor retired.
    pub fn is_live(&self) -> bool {
        self.body.enabled && !self.archived
    }

    /// A SUPPRESS row: it hides and says nothing.
    pub fn is_marker(&self) -> bool {
        self.overlay_action == Some(OverlayAction::Suppress)
    }

    /// The authored row that this one hides while it is live.
    pub fn hides(&self) -> Option<&EntryId> {
        match self.overlay_action {
            Some(OverlayAction::Replace | OverlayAction::Suppress) if self.is_live() => {
                self.supersedes_entry_id.as_ref()
            }
            _ => None,
        }
    }
}

// === impl EntryBody ===

impl Default for EntryBody {
    fn default() -> Self {
        Self {
            comment: String::new(),
            content: String::new(),
            keys: Vec::new(),
            secondary_keys: Vec::new(),
            selective: true,
            selective_logic: SelectiveLogic::AndAny,
            constant: false,
            vectorized: false,
            enabled: true,
            order: 100.0,
            position: Position::BeforeChar,
            depth: 4,
            role: EntryRole::System,
            outlet_name: String::new(),
            ignore_budget: false,
            exclude_recursion: false,
            prevent_recursion: false,
            delay_until_recursion: 0,
            probability: 100.0,
            use_probability: true,
            group: String::new(),
            group_override: false,
            group_weight: 100.0,
            use_group_scoring: None,
            scan_depth: None,
            case_sensitive: None,
            match_whole_words: None,
            match_persona_description: false,
            match_character_description: false,
            match_character_personality: false,
            match_character_depth_prompt: false,
            match_scenario: false,
            match_creator_notes: false,
            sticky: None,
            cooldown: None,
            delay: None,
            triggers: Vec::new(),
            character_filter: None,
            automation_id: String::new(),
            add_memo: false,
            display_index: None,
            extensions: Map::new(),
            extra: Map::new(),
        }
    }
}

//! What one compile reads: everything is an argument, nothing is fetched.

use std::{collections::HashMap, sync::Arc};

use kernel::{CharacterId, Digest, EntryId, PresetId, Timestamp, UserId, WorldId};
use macros::Variables;
use prompt::{ProfileMode, Role};
use serde::{Deserialize, Serialize};

use super::prepare::Prepared;
use crate::{
    character::Character,
    diagnostic::Diagnostic,
    preset::{Preset, Sampling},
    selection::{BindingSource, Options},
    user::User,
};

/// The input of [`compile`](super::compile). `Input::default()` is an empty selection in JOURNAL.
#[derive(Debug, Clone, Default)]
pub struct Input {
    pub mode: ProfileMode,
    pub generation: GenerationType,
    pub options: Options,
    pub preset: Option<Loaded<PresetId, Preset>>,
    pub character: Option<Loaded<CharacterId, Character>>,
    pub user: Option<Loaded<UserId, User>>,
    /// Worlds in effect, in order; for the audit.
    pub worlds: Vec<World>,
    /// Entries that fired, in activation order, which is also their rank.
    pub lore: Vec<LoreEntry>,
    /// The owner's policy text, when role-play is active.
    pub rp_policy: Option<String>,
    /// The known part of the chat, oldest first: what macros quote.
    pub messages: Vec<Message>,
    /// Messages before `messages[0]`.
    pub messages_before: u64,
    /// The user's messages of the whole path: the author's note counts these.
    pub user_message_count: u64,
    /// A reply was generated before.
    pub has_real_reply: bool,
    /// The history begins with a turn that somebody wrote.
    pub has_authored_opening: bool,
    /// Names for macros where no user or character is selected.
    pub names: Names,
    pub now: Timestamp,
    /// The user's distance from UTC in minutes, east positive.
    pub utc_offset_min: i32,
    /// Drives chance; a new one for each generation.
    pub seed: u64,
    /// Drives `{{pick}}`; the same one for the life of a session.
    pub pick_seed: u64,
    /// Of the path before this slot; with `prepared`, what the lore's macros left.
    pub variables: Variables,
    /// The fields as the lore saw them; none = they are expanded here.
    pub prepared: Option<Prepared>,
    pub model: Model,
    /// Sampling that the session sets over the preset's.
    pub overrides: Sampling,
    /// Profile sections that are live in the context (JOURNAL), with the hashes they landed with.
    pub live: HashMap<String, Digest>,
    /// Of the live lore that is still in effect: its present hash, by section key (JOURNAL).
    pub live_lore: HashMap<String, Digest>,
    /// UTF-8 bytes of the profile at the most; none = the default, never above the hard limit.
    pub profile_bytes_max: Option<usize>,
    /// Found while loading and activating; they lead the profile's own.
    pub diagnostics: Vec<Diagnostic>,
}

/// A resource as it was read.
#[derive(Debug, Clone)]
pub struct Loaded<Id, T> {
    pub id: Id,
    pub name: String,
    /// Its etag or content hash: what the audit remembers.
    pub revision: String,
    pub model: Arc<T>,
}

/// What kind of generation it is (reference A1, `triggers`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GenerationType {
    #[default]
    Normal,
    Continue,
    Impersonate,
    Swipe,
    Regenerate,
    Quiet,
}

/// A world in effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct World {
    pub id: WorldId,
    pub name: String,
    pub content_revision: u64,
    pub sources: Vec<BindingSource>,
}

/// An entry that fired.
#[derive(Debug, Clone, PartialEq)]
pub struct LoreEntry {
    pub world: WorldId,
    pub entry: EntryId,
    /// After macros and decorators.
    pub content: String,
    /// Of the stored entry: the stable input of its section's hash.
    pub source_hash: Digest,
    pub position: LorePosition,
    /// Higher lands later in its block.
    pub order: f64,
    /// Place in the text order within its position, ascending; none = derived from `order` (reference A11).
    pub text_rank: Option<u32>,
    /// Of the DYNAMIC layer.
    pub dynamic: bool,
    /// Its macros hold time, chance or last messages.
    pub volatile: bool,
    /// Ids of the messages that its macros quoted.
    pub quotes: Vec<String>,
    /// Why it fired; for the audit.
    pub reason: String,
}

/// Where an entry's text goes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LorePosition {
    BeforeCharacter,
    AfterCharacter,
    AuthorNoteTop,
    AuthorNoteBottom,
    AtDepth {
        depth: u32,
        role: Role,
    },
    ExamplesTop,
    ExamplesBottom,
    Outlet {
        name: String,
    },
    /// A number nobody defined: the text goes nowhere.
    Unknown,
}

/// One message that macros can quote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub id: String,
    pub name: String,
    pub is_user: bool,
    pub text: String,
    pub at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    pub user: Option<String>,
    pub character: Option<String>,
}

/// The model that the request goes to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Model {
    pub name: String,
    /// 0 = unknown.
    pub window_tokens: u32,
}

// === impl Input ===

impl Input {
    /// What `{{user}}` gives (seeds-notes 1.2).
    pub fn user_name(&self) -> &str {
        match (&self.user, &self.names.user) {
            (Some(user), _) => user.model.name(),
            (None, Some(name)) => name,
            (None, None) => "User",
        }
    }

    /// What `{{char}}` gives: the nickname first, except in IN_CHAT, as in SillyTavern.
    pub fn character_name(&self) -> &str {
        match (&self.names.character, &self.character) {
            (Some(name), _) => name,
            (None, Some(card)) if self.mode == ProfileMode::InChat => &card.model.name,
            (None, Some(card)) => card.model.spoken_name(),
            (None, None) => "Assistant",
        }
    }
}

// === impl GenerationType ===

impl GenerationType {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Continue => "continue",
            Self::Impersonate => "impersonate",
            Self::Swipe => "swipe",
            Self::Regenerate => "regenerate",
            Self::Quiet => "quiet",
        }
    }
}

// === impl LoreEntry ===

impl LoreEntry {
    /// The section that it lands as.
    pub fn key(&self) -> String {
        lore_key(&self.world, &self.entry)
    }
}

/// The section key of an entry.
pub fn lore_key(world: &WorldId, entry: &EntryId) -> String {
    ["lore:", world.as_str(), ":", entry.as_str()].concat()
}

// === impl LorePosition ===

impl LorePosition {
    /// The label in a wrapper and in the audit.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::BeforeCharacter => "before",
            Self::AfterCharacter => "after",
            Self::AuthorNoteTop => "author-note-top",
            Self::AuthorNoteBottom => "author-note-bottom",
            Self::AtDepth { .. } => "at-depth",
            Self::ExamplesTop => "examples-top",
            Self::ExamplesBottom => "examples-bottom",
            Self::Outlet { .. } => "outlet",
            Self::Unknown => "unknown",
        }
    }
}

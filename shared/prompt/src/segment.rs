//! One addressable piece of a compiled profile, as the loader hands it to the ledger.

use kernel::Digest;
use serde::{Deserialize, Serialize};

use crate::message::Role;

/// How a profile enters the context (20-ledger, section 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileMode {
    /// Keyed sections that land once and stay: the request only ever grows.
    #[default]
    Journal,
    /// SillyTavern's own placement and text, rebuilt for each request.
    InChat,
    /// Seed 001 to the letter: one system profile section, then history.
    Contract,
}

/// What a segment is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SegmentKind {
    /// A prompt of the preset, an override of the card included.
    Prompt,
    /// A field of the character card.
    CharacterField,
    /// The user's description.
    UserField,
    /// One lore entry (JOURNAL, CONTRACT) or one block of lore (IN_CHAT).
    Lore,
    /// The session's author's note with the lore around it.
    AuthorNote,
    /// One message of a dialogue example, with its opening line.
    Example,
    /// The greeting as a style reference.
    Greeting,
    /// Fixed lines of the preset: new chat, continue nudge, send-if-empty.
    Control,
    /// The owner's RP policy text.
    RpPolicy,
    /// CONTRACT's one profile section.
    Profile,
}

/// Where a segment belongs, relative to the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Ahead of the history, in list order.
    Before,
    /// Inside the history, `depth` messages from its end; at one depth in list order.
    /// The loader has already merged and ordered what shares a depth (reference B3.5).
    InChat { depth: u32 },
    /// Behind the history, in list order.
    After,
}

/// One piece of a profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// Names the place, not the resource: `prompt:<identifier>`, `character:description`,
    /// `user:description`, `lore:<world>:<entry>`, `rp:policy`, `profile`.
    pub key: String,
    pub kind: SegmentKind,
    pub placement: Placement,
    pub role: Role,
    /// The speaker, where the preset or an example names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// After macros. In JOURNAL and CONTRACT the loader has wrapped it (`st-…`) and escaped what it
    /// wraps: it is rendered as it is, never escaped again. In IN_CHAT it is plain.
    pub text: String,
    /// Source text and stable inputs; equal hashes mean that nothing changed (JOURNAL).
    pub source_hash: Digest,
    /// Holds macros whose value changes by itself: time, chance, last messages.
    #[serde(default)]
    pub volatile: bool,
    /// Of the DYNAMIC layer: rendered under `Dynamic World State`.
    #[serde(default)]
    pub dynamic: bool,
    /// May be merged with its neighbours of role system (`squash_system_messages`).
    #[serde(default)]
    pub squash: bool,
    /// Ids of the activation messages that its macros quoted.
    #[serde(default)]
    pub quotes: Vec<String>,
}

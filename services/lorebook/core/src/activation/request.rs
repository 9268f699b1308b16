//! What a caller asks for.

use std::collections::BTreeSet;

use kernel::{EntryId, WorldId};

use super::{Defects, Settings, TimedState};
use crate::vocabulary::GenerationType;

/// One scan: the texts, the settings, and what earlier scans of the path left behind.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The newest messages of the path, oldest first, without hidden ones.
    pub messages: Vec<Message>,
    /// Messages of the whole path: timed effects count them. None: as many as are here.
    pub message_count: Option<u32>,
    pub sources: TextSources,
    /// Texts scanned for every entry: the author's note, injected prompts.
    pub extra_texts: Vec<String>,
    pub settings: Settings,
    /// The window less what is kept for the reply; the lore budget is a share of it.
    pub context_tokens: u32,
    pub timed: TimedState,
    /// Entries that fire without their keys, for a vector search or a model's pick. Switches,
    /// filters, delays and cooldowns still hold.
    pub forced: BTreeSet<(WorldId, EntryId)>,
    pub generation: GenerationType,
    /// Whom the character filters are about.
    pub character: CharacterContext,
    /// A scan that changes nothing: timed effects are neither read nor started.
    pub dry_run: bool,
    /// Every entry that does not fire is answered with its reason.
    pub explain: bool,
    /// For tests and explanations only.
    pub defects: Defects,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Message {
    pub name: String,
    pub text: String,
}

/// Texts that an entry is matched against when its flags ask for them. Before macros.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextSources {
    pub persona_description: String,
    pub character_description: String,
    pub character_personality: String,
    pub character_depth_prompt: String,
    pub scenario: String,
    pub creator_notes: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CharacterContext {
    /// The file name of the avatar; filters name it without its extension.
    pub avatar: String,
    /// None: the character has no list of tags, and tag filters let everything pass.
    pub tags: Option<Vec<String>>,
}

//! A character card, typed: what `compile` reads of V1, V2 and V3 (reference D).
//!
//! The original file stays beside this model in the store, untouched.

use std::sync::Arc;

use prompt::Role;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A card with its defaults filled in; texts as written, macros unexpanded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Character {
    pub spec: CardSpec,
    /// Never empty: a card without one is named after its file.
    pub name: String,
    /// V3; the name that `{{char}}` gives where it is set.
    pub nickname: Option<String>,
    pub description: String,
    pub personality: String,
    pub scenario: String,
    pub first_message: String,
    pub alternate_greetings: Vec<String>,
    pub group_only_greetings: Vec<String>,
    pub message_example: String,
    pub system_prompt: String,
    pub post_history_instructions: String,
    /// Never sent.
    pub creator_notes: String,
    pub creator: String,
    pub character_version: String,
    pub tags: Vec<String>,
    /// `extensions.depth_prompt`, when its text is not empty.
    pub depth_prompt: Option<DepthPrompt>,
    /// `extensions.world`: the name of a world that the card wants; a hint, never a binding.
    pub world_name: Option<String>,
    /// The embedded book as written; `null` and absent are the same (reference E34).
    pub book: Option<Arc<Value>>,
}

/// Which specification a card follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CardSpec {
    V1,
    V2,
    V3,
}

/// A text that a card wants inside the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepthPrompt {
    pub text: String,
    pub depth: u32,
    pub role: Role,
}

// === impl CardSpec ===

impl CardSpec {
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
            Self::V3 => "v3",
        }
    }
}

// === impl Character ===

impl Character {
    /// A V2 card with a name and nothing else.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            spec: CardSpec::V2,
            name: name.into(),
            nickname: None,
            description: String::new(),
            personality: String::new(),
            scenario: String::new(),
            first_message: String::new(),
            alternate_greetings: Vec::new(),
            group_only_greetings: Vec::new(),
            message_example: String::new(),
            system_prompt: String::new(),
            post_history_instructions: String::new(),
            creator_notes: String::new(),
            creator: String::new(),
            character_version: String::new(),
            tags: Vec::new(),
            depth_prompt: None,
            world_name: None,
            book: None,
        }
    }

    /// 0 is the first message, n the nth alternate; out of range is `None` (reference C, seed 001).
    pub fn greeting(&self, index: usize) -> Option<&str> {
        match index {
            0 => Some(&self.first_message),
            n => self.alternate_greetings.get(n - 1).map(String::as_str),
        }
    }

    /// What the card is called in a conversation: the nickname where one is set.
    pub fn spoken_name(&self) -> &str {
        self.nickname.as_deref().filter(|name| !name.trim().is_empty()).unwrap_or(&self.name)
    }
}

// === impl DepthPrompt ===

impl DepthPrompt {
    pub const DEPTH_DEFAULT: u32 = 4;
}

//! What a model is sent: a flat list of blocks, compared block by block by the prefix law.

use serde::{Deserialize, Serialize};

/// How a block is presented to the model. Always derived, never sent by a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    System,
    Developer,
    User,
    Assistant,
}

/// One block of a request. Blocks are never joined, so that a longer request extends a shorter one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Block {
    pub role: Role,
    /// The speaker's name, where a preset asks for one (`names_behavior` 1; example speakers).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub text: String,
}

// === impl Role ===

impl Role {
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Developer => "developer",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

// === impl Block ===

impl Block {
    pub fn new(role: Role, text: impl Into<String>) -> Self {
        Self { role, name: None, text: text.into() }
    }
}

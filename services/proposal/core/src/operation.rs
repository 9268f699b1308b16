//! The stored operations, in lorebook's vocabulary, and the caps that hold for whoever writes one.

use kernel::{EntryId, limits};
use serde::{Deserialize, Serialize};

/// One change to one world. Its serde form is the stored form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    pub kind: Kind,
    /// None for a create.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<EntryId>,
    /// None inherits the target's; so do the following ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constant: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keywords: Option<Vec<String>>,
    /// Why, for the reviewer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rationale: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Create,
    Update,
    Replace,
    Suppress,
    Archive,
}

/// A cap that an operation exceeds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OverCap {
    #[error("there are {count} operations, at most {} are allowed", limits::CHANGE_OPERATIONS_MAX)]
    Operations { count: usize },
    #[error(
        "the name has {chars} characters, at most {} are allowed",
        limits::CHANGE_NAME_CHARS_MAX
    )]
    Name { chars: usize },
    #[error(
        "the content has {bytes} bytes, at most {} are allowed",
        limits::CHANGE_CONTENT_BYTES_MAX
    )]
    Content { bytes: usize },
    #[error("there are {count} keywords, at most {} are allowed", limits::CHANGE_KEYWORDS_MAX)]
    Keywords { count: usize },
    #[error(
        "keyword {} has {chars} characters, at most {} are allowed",
        at + 1,
        limits::CHANGE_KEYWORD_CHARS_MAX
    )]
    Keyword { at: usize, chars: usize },
    #[error(
        "the rationale has {chars} characters, at most {} are allowed",
        limits::CHANGE_NOTE_CHARS_MAX
    )]
    Rationale { chars: usize },
}

/// Whether a changeset may hold this many operations.
pub fn check_count(count: usize) -> Result<(), OverCap> {
    at_most(count, limits::CHANGE_OPERATIONS_MAX, |count| OverCap::Operations { count })
}

// === impl Kind ===

impl Kind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Replace => "replace",
            Self::Suppress => "suppress",
            Self::Archive => "archive",
        }
    }
}

// === impl Operation ===

impl Operation {
    /// Whether it keeps to the caps of 50-proposal, section 1.
    pub fn check_caps(&self) -> Result<(), OverCap> {
        let chars = |text: &str| text.chars().count();
        if let Some(name) = &self.name {
            at_most(chars(name), limits::CHANGE_NAME_CHARS_MAX, |chars| OverCap::Name { chars })?;
        }
        if let Some(content) = &self.content {
            at_most(content.len(), limits::CHANGE_CONTENT_BYTES_MAX, |bytes| OverCap::Content {
                bytes,
            })?;
        }
        if let Some(keywords) = &self.keywords {
            at_most(keywords.len(), limits::CHANGE_KEYWORDS_MAX, |count| OverCap::Keywords {
                count,
            })?;
            for (at, keyword) in keywords.iter().enumerate() {
                let over = |chars| OverCap::Keyword { at, chars };
                at_most(chars(keyword), limits::CHANGE_KEYWORD_CHARS_MAX, over)?;
            }
        }
        at_most(chars(&self.rationale), limits::CHANGE_NOTE_CHARS_MAX, |chars| OverCap::Rationale {
            chars,
        })
    }
}

fn at_most(found: usize, limit: usize, over: impl Fn(usize) -> OverCap) -> Result<(), OverCap> {
    if found > limit { Err(over(found)) } else { Ok(()) }
}

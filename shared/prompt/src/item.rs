//! What a fold leaves in the context: skeletons of sections, messages and stamps, in placement order.
//!
//! A skeleton never holds a text, only where it lies in the log; so a snapshot is small and a purge of
//! the log is a purge of the text. The order of a list of items is where they render, not their offsets:
//! an edited section keeps its place with a newer offset.

use std::sync::Arc;

use kernel::{Digest, Salt, Timestamp, commit};
use serde::{Deserialize, Serialize};

use crate::{
    derive::{Author, Source, Tier, TurnClass, imported_class},
    message::Role,
    segment::SegmentKind,
};

/// A text in the log: the event that holds it, and which of that event's texts it is (0 is the main one).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TextRef {
    pub offset: u64,
    pub part: u16,
    pub bytes: u32,
}

/// Commits to a content without holding it: equal content is found by committing it with the same salt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Commitment {
    salt: Salt,
    digest: Digest,
}

/// One item of the context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Item {
    Section(Section),
    Message(Message),
    Stamp(Stamp),
}

/// An occurrence of keyed standing content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// The event that gave it its present content.
    pub offset: u64,
    pub key: Arc<str>,
    /// Set on what the ledger landed for the loader; its keys are a namespace of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileMark>,
    /// The tier that first added the key.
    pub owner: Tier,
    /// The earlier occurrence that this one takes the place of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<u64>,
    /// Nothing: the key is withdrawn here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// Turns that its macros quoted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotes: Vec<u64>,
    /// Written by a deliberate rewrite: counts as sent once a stamp is in context.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rewritten: bool,
}

/// A section's text and the commitment that decides equality.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    pub text: TextRef,
    pub commitment: Commitment,
}

/// What is known about a section that a compiled profile landed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileMark {
    pub kind: SegmentKind,
    /// The role that the profile declares; shown as an attribute where it is not `system`.
    pub role: Role,
    /// Of the DYNAMIC layer.
    pub dynamic: bool,
    /// Declared inside or behind the history: lands again after enough drift.
    pub sinks: bool,
    /// Of the source that was landed; none once the section was taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_hash: Option<Digest>,
}

/// A message where it lies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The event that put it here.
    pub offset: u64,
    pub voice: Voice,
    /// Nothing: it was taken back and one fixed line stands for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<TextRef>,
}

/// Whose message it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Voice {
    /// A user's message.
    Received { turn: u64 },
    /// A turn written without generation.
    Authored { turn: u64, author: Author, class: TurnClass },
    /// A turn of an imported chat.
    Imported { turn: u64, author: Author },
    /// Context without a key.
    Fact { tier: Tier, actor: Arc<str> },
    /// A tool that was asked to run.
    ToolRequested { name: Arc<str> },
    /// A tool's answer; `run` is the offset of the request.
    ToolSettled { run: u64, took_ms: i64 },
    /// What stands for a compacted range, and the turns that it covers.
    Summary { covers: Vec<u64> },
}

/// A request's own mark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    pub offset: u64,
    /// The reply slot that it was for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<u64>,
    pub at: Timestamp,
}

/// One thing to render: an item, or the reply that shows behind its slot's last stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    Section(&'a Section),
    Message(&'a Message),
    Stamp(&'a Stamp),
    Reply { slot: u64, text: TextRef },
}

// === impl Commitment ===

impl Commitment {
    pub fn new(salt: Salt, content: &str) -> Self {
        Self { salt, digest: commit(salt, content.as_bytes()) }
    }

    /// Whether this is the content that was committed to.
    pub fn is_to(&self, content: &str) -> bool {
        commit(self.salt, content.as_bytes()) == self.digest
    }
}

// === impl Item ===

impl Item {
    pub fn offset(&self) -> u64 {
        match self {
            Self::Section(section) => section.offset,
            Self::Message(message) => message.offset,
            Self::Stamp(stamp) => stamp.offset,
        }
    }

    pub fn as_section(&self) -> Option<&Section> {
        match self {
            Self::Section(section) => Some(section),
            Self::Message(_) | Self::Stamp(_) => None,
        }
    }

    /// Whether the leading run may hold it: the standing document ends before the first that it may not.
    pub fn may_stand(&self) -> bool {
        self.as_section().is_some_and(|section| section.supersedes.is_none())
    }

    pub fn piece(&self) -> Piece<'_> {
        match self {
            Self::Section(section) => Piece::Section(section),
            Self::Message(message) => Piece::Message(message),
            Self::Stamp(stamp) => Piece::Stamp(stamp),
        }
    }
}

// === impl Section ===

impl Section {
    pub fn is_withdrawn(&self) -> bool {
        self.content.is_none()
    }

    /// Lore of a profile, which compaction keeps only while it is active.
    pub fn is_lore(&self) -> bool {
        self.profile.as_ref().is_some_and(|profile| profile.kind == SegmentKind::Lore)
    }

    /// Empties it where it lies: what it quoted was taken back.
    pub fn take_back(&mut self) {
        self.content = None;
        self.quotes.clear();
        if let Some(profile) = &mut self.profile {
            profile.source_hash = None;
        }
    }
}

// === impl Voice ===

impl Voice {
    /// The turn whose message it is.
    pub fn turn(&self) -> Option<u64> {
        match *self {
            Self::Received { turn } | Self::Authored { turn, .. } | Self::Imported { turn, .. } => {
                Some(turn)
            }
            Self::Fact { .. }
            | Self::ToolRequested { .. }
            | Self::ToolSettled { .. }
            | Self::Summary { .. } => None,
        }
    }

    /// What its role is derived from.
    pub fn source(&self) -> Source {
        match *self {
            Self::Received { .. } => Source::Received,
            Self::Authored { class, .. } => Source::Authored(class),
            Self::Imported { author, .. } => Source::Imported(author),
            Self::Fact { tier, .. } => Source::Fact(tier),
            Self::ToolRequested { .. } | Self::ToolSettled { .. } => Source::ToolRun,
            Self::Summary { .. } => Source::Summary,
        }
    }

    /// The class and author of its wrapper, where it has one.
    pub fn wrapper(&self) -> Option<(TurnClass, Author)> {
        match *self {
            Self::Authored { class: TurnClass::AssistantOutput, .. } => None,
            Self::Authored { author, class, .. } => Some((class, author)),
            Self::Imported { author, .. } => imported_class(author).map(|class| (class, author)),
            _ => None,
        }
    }
}

// === impl Piece ===

impl Piece<'_> {
    /// The text that rendering it needs.
    pub fn text(&self) -> Option<TextRef> {
        match self {
            Self::Section(section) => section.content.map(|content| content.text),
            Self::Message(message) => message.text,
            Self::Stamp(_) => None,
            Self::Reply { text, .. } => Some(*text),
        }
    }
}

//! JOURNAL: the context rendered as one standing document and everything else where it lies.
//!
//! Block 0 is the protocol text; block 1 the standing document, if there is one; then each item is a
//! block of its own, so that a later request begins with the bytes of an earlier one (the prefix law).

pub(crate) mod form;
mod protocol;

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Serialize};

use crate::{
    derive::{Source, role},
    escape,
    item::{Piece, Section, TextRef},
    message::Block,
    prefix::BlockMark,
};

/// The form of a render. A session keeps the one it began with until its prefix is broken anyway.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(try_from = "u32", into = "u32")]
pub enum RenderVersion {
    #[default]
    V1,
}

/// A version that this build has no renderer for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("render version {0} is not known to this build")]
pub struct UnknownRenderVersion(pub u32);

/// Where the texts of skeletons are found.
pub trait Texts {
    fn text(&self, at: TextRef) -> Option<&str>;
}

/// Texts that were read ahead, as [`needed`] names them.
impl Texts for BTreeMap<TextRef, String> {
    fn text(&self, at: TextRef) -> Option<&str> {
        self.get(&at).map(String::as_str)
    }
}

/// What is the last block of one request only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail<'a> {
    /// The caller steers one reply.
    Guidance(&'a str),
    /// The request asks for a summary.
    SummaryInstruction(&'a str),
}

/// Where a block came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Protocol,
    /// The offsets of the sections that stand, in order.
    Document(Vec<u64>),
    Section(u64),
    Message(u64),
    Stamp(u64),
    /// The slot, and the event that holds the reply's text.
    Reply {
        slot: u64,
        offset: u64,
    },
    Tail,
}

/// A rendered request; `origins` has one entry for each block.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rendered {
    pub blocks: Vec<Block>,
    pub origins: Vec<Origin>,
}

/// A text that the skeleton names and the log does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("text {} of the event at offset {} is missing", .0.part, .0.offset)]
pub struct MissingText(pub TextRef);

/// Renders the pieces of a context. Linear in pieces and texts.
pub fn render<'a>(
    version: RenderVersion,
    pieces: impl IntoIterator<Item = Piece<'a>>,
    tail: Option<Tail<'_>>,
    texts: &impl Texts,
) -> Result<Rendered, MissingText> {
    match version {
        RenderVersion::V1 => render_v1(pieces, tail, texts),
    }
}

/// The texts that [`render`] will ask for.
pub fn needed<'a>(pieces: impl IntoIterator<Item = Piece<'a>>) -> Vec<TextRef> {
    pieces.into_iter().filter_map(|piece| piece.text()).collect()
}

fn render_v1<'a>(
    pieces: impl IntoIterator<Item = Piece<'a>>,
    tail: Option<Tail<'_>>,
    texts: &impl Texts,
) -> Result<Rendered, MissingText> {
    let mut pieces = pieces.into_iter().peekable();
    let mut out = Rendered::default();
    out.push(Source::Protocol, protocol::V1, Origin::Protocol);

    let (mut document, mut standing) = (String::new(), Vec::new());
    while let Some(Piece::Section(section)) =
        pieces.next_if(|piece| matches!(piece, Piece::Section(s) if s.supersedes.is_none()))
    {
        if !standing.is_empty() {
            document.push_str("\n\n");
        }
        form::section(&mut document, section, false, section_text(texts, section)?);
        standing.push(section.offset);
    }
    if !standing.is_empty() {
        out.push(Source::StandingDocument, document, Origin::Document(standing));
    }

    for piece in pieces {
        match piece {
            Piece::Section(section) => {
                let mut rendered = String::new();
                form::section(&mut rendered, section, true, section_text(texts, section)?);
                out.push(Source::LaterSection, rendered, Origin::Section(section.offset));
            }
            Piece::Message(message) => {
                let rendered = form::message(message, text_of(texts, piece.text())?);
                out.push(message.voice.source(), rendered, Origin::Message(message.offset));
            }
            Piece::Stamp(stamp) => {
                out.push(Source::Stamp, form::stamp(stamp), Origin::Stamp(stamp.offset));
            }
            Piece::Reply { slot, text: at } => {
                let reply = text_of(texts, Some(at))?.unwrap_or_default();
                out.push(Source::Reply, reply, Origin::Reply { slot, offset: at.offset });
            }
        }
    }

    match tail {
        Some(Tail::Guidance(text)) => {
            out.push(Source::Guidance, escape::text(text), Origin::Tail);
        }
        Some(Tail::SummaryInstruction(text)) => {
            out.push(Source::SummaryInstruction, escape::text(text), Origin::Tail);
        }
        None => {}
    }
    Ok(out)
}

/// A section's text. What a profile landed is wrapped and escaped already ([`Segment::text`]).
///
/// [`Segment::text`]: crate::Segment::text
fn section_text<'a>(
    texts: &'a impl Texts,
    section: &Section,
) -> Result<Option<Cow<'a, str>>, MissingText> {
    let at = Piece::Section(section).text();
    if section.profile.is_none() {
        return text_of(texts, at);
    }
    at.map(|at| texts.text(at).map(escape::wrapped).ok_or(MissingText(at))).transpose()
}

/// The escaped text of a piece; none where the piece has none.
fn text_of(texts: &impl Texts, at: Option<TextRef>) -> Result<Option<Cow<'_, str>>, MissingText> {
    at.map(|at| texts.text(at).map(escape::text).ok_or(MissingText(at))).transpose()
}

// === impl RenderVersion ===

impl TryFrom<u32> for RenderVersion {
    type Error = UnknownRenderVersion;
    fn try_from(version: u32) -> Result<Self, UnknownRenderVersion> {
        match version {
            1 => Ok(Self::V1),
            other => Err(UnknownRenderVersion(other)),
        }
    }
}

impl From<RenderVersion> for u32 {
    fn from(version: RenderVersion) -> u32 {
        match version {
            RenderVersion::V1 => 1,
        }
    }
}

// === impl Origin ===

impl Origin {
    /// The events whose items the block shows.
    pub fn offsets(&self) -> Vec<u64> {
        match self {
            Self::Protocol | Self::Tail => Vec::new(),
            Self::Document(offsets) => offsets.clone(),
            Self::Section(offset)
            | Self::Message(offset)
            | Self::Stamp(offset)
            | Self::Reply { offset, .. } => vec![*offset],
        }
    }
}

// === impl Rendered ===

impl Rendered {
    /// What the next request of the session is compared with.
    pub fn marks(&self) -> Vec<BlockMark> {
        let marks = self.blocks.iter().zip(&self.origins);
        marks.map(|(block, origin)| BlockMark::new(block, origin.offsets())).collect()
    }

    pub(crate) fn push(&mut self, source: Source, text: impl Into<String>, origin: Origin) {
        self.blocks.push(Block::new(role(source), text));
        self.origins.push(origin);
    }
}

#[cfg(test)]
mod tests;

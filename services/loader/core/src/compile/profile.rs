//! What one compile gives back, and the segments on the way there.

use std::sync::Arc;

use kernel::Digest;
use macros::Variables;
use prompt::{Placement, Role, Segment, SegmentKind, in_chat};
use serde::{Deserialize, Serialize};

use super::{audit::Audit, call_config::CallConfig, text::Text};
use crate::{diagnostic::Diagnostic, preset::PresetMode};

/// A compiled profile: frozen, however its resources change later.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// In order. In CONTRACT the first one is the seed's one profile section.
    pub segments: Vec<Segment>,
    /// Live keys that are no longer in effect (JOURNAL).
    pub withdrawn: Vec<String>,
    pub call_config: CallConfig,
    /// How IN_CHAT turns the history into messages.
    pub chat: in_chat::Options,
    /// Sections that callers added take no part in this request (CONTRACT, IN_CHAT).
    pub preset_mode: PresetMode,
    pub diagnostics: Vec<Diagnostic>,
    pub audit: Audit,
    /// The audit as it is stored.
    pub audit_json: String,
    /// SHA-256 of the audit's JSON.
    pub fingerprint: Digest,
    /// After this compile; they belong to the path, not to the session.
    pub variables: Variables,
}

/// Where a segment comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    pub key: Arc<str>,
    /// Pieces of resources in the order of their texts: `prompt:main`, `character:description`, …
    pub from: Vec<Arc<str>>,
    pub bytes: usize,
    pub source_hash: Digest,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub volatile: bool,
}

/// The segments of one try at a composition.
#[derive(Debug, Default)]
pub(super) struct Composed {
    pub segments: Vec<Segment>,
    pub origins: Vec<Origin>,
    pub chat: in_chat::Options,
    pub diagnostics: Vec<Diagnostic>,
    pub variables: Variables,
}

/// A segment before it is one.
#[derive(Debug)]
pub(super) struct Piece {
    pub key: Arc<str>,
    pub kind: SegmentKind,
    pub placement: Placement,
    pub role: Role,
    pub name: Option<String>,
    pub text: Text,
    pub squash: bool,
    pub dynamic: bool,
    /// None: made from the text.
    pub hash: Option<Digest>,
}

// === impl Profile ===

impl Profile {
    /// CONTRACT's one profile section.
    pub fn system_text(&self) -> Option<&str> {
        let profile = self.segments.iter().find(|s| s.kind == SegmentKind::Profile);
        profile.map(|segment| segment.text.as_str())
    }

    /// Lore that takes part in this compile, by section key.
    pub fn active_lore_keys(&self) -> impl Iterator<Item = &str> {
        self.audit.lore.iter().filter(|lore| lore.kept).map(|lore| lore.key.as_str())
    }
}

// === impl Piece ===

impl Piece {
    pub fn new(key: impl Into<Arc<str>>, kind: SegmentKind, role: Role, text: Text) -> Self {
        Self {
            key: key.into(),
            kind,
            placement: Placement::Before,
            role,
            name: None,
            text,
            squash: false,
            dynamic: false,
            hash: None,
        }
    }

    pub fn at(self, placement: Placement) -> Self {
        Self { placement, ..self }
    }

    fn source_hash(&self) -> Digest {
        self.hash.unwrap_or_else(|| self.text.hash(&self.key, self.role.name()))
    }
}

// === impl Composed ===

impl Composed {
    pub fn with_capacity(segments: usize) -> Self {
        Self {
            segments: Vec::with_capacity(segments),
            origins: Vec::with_capacity(segments),
            ..Self::default()
        }
    }

    /// UTF-8 bytes of all segments.
    pub fn bytes(&self) -> usize {
        self.segments.iter().map(|segment| segment.text.len()).sum()
    }

    /// Adds a segment with its text as it is.
    pub fn push(&mut self, mut piece: Piece) {
        let source_hash = piece.source_hash();
        let text = std::mem::take(&mut piece.text.text);
        self.push_shown(piece, source_hash, text);
    }

    /// Adds a segment whose text is rendered as `shown` makes it.
    pub fn push_as(&mut self, piece: Piece, shown: impl FnOnce(&Piece) -> String) {
        if !piece.text.is_empty() {
            let (source_hash, shown) = (piece.source_hash(), shown(&piece));
            self.push_shown(piece, source_hash, shown);
        }
    }

    /// Adds a segment that is rendered and hashed already.
    pub fn push_shown(&mut self, piece: Piece, source_hash: Digest, shown: String) {
        if shown.is_empty() {
            return;
        }
        self.origins.push(Origin {
            key: piece.key.clone(),
            from: piece.text.from,
            bytes: shown.len(),
            source_hash,
            volatile: piece.text.volatile,
        });
        self.segments.push(Segment {
            key: piece.key.as_ref().to_owned(),
            kind: piece.kind,
            placement: piece.placement,
            role: piece.role,
            name: piece.name,
            text: shown,
            source_hash,
            volatile: piece.text.volatile,
            dynamic: piece.dynamic,
            squash: piece.squash,
            quotes: piece.text.quotes,
        });
    }
}

/// What diagnostics and origins call a preset's prompt.
pub(super) fn prompt_place(identifier: &str) -> Arc<str> {
    ["prompt:", identifier].concat().into()
}

/// The key of a prompt's section. An identifier too long or too odd for a key goes by its hash.
pub(super) fn prompt_key(place: &Arc<str>) -> Arc<str> {
    const PLACE_BYTES_MAX: usize = 207;
    if place.len() <= PLACE_BYTES_MAX && !place.chars().any(char::is_control) {
        return place.clone();
    }
    let identifier = place.strip_prefix("prompt:").unwrap_or(place);
    let hash = kernel::digest(identifier.as_bytes()).to_hex();
    format!("prompt:#{}", &hash[..32]).into()
}

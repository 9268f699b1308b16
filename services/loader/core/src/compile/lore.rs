//! Lore that fired, sorted into the places it wants and into text order (reference A11).

use kernel::{Digest, digest_parts, name::DYNAMIC_HEADING};
use prompt::{ProfileMode, Role};

use super::{
    input::{LoreEntry, LorePosition},
    text::{Expander, Outlets, Text},
};
use crate::{diagnostic::Code, preset::Preset};

/// Lore by place, each list in text order, authored entries before dynamic ones.
#[derive(Debug, Default)]
pub(super) struct Lore<'i> {
    pub before: Vec<&'i LoreEntry>,
    pub after: Vec<&'i LoreEntry>,
    pub note_top: Vec<&'i LoreEntry>,
    pub note_bottom: Vec<&'i LoreEntry>,
    pub examples_top: Vec<&'i LoreEntry>,
    pub examples_bottom: Vec<&'i LoreEntry>,
    /// By depth, then assistant, user, system.
    pub at_depth: Vec<AtDepth<'i>>,
    /// By rank.
    pub outlets: Vec<(&'i str, Vec<&'i LoreEntry>)>,
    pub unknown: Vec<&'i LoreEntry>,
    /// Fired without a text.
    pub empty: Vec<&'i LoreEntry>,
}

/// The lore of one depth and role.
#[derive(Debug)]
pub(super) struct AtDepth<'i> {
    pub depth: u32,
    pub role: Role,
    pub entries: Vec<&'i LoreEntry>,
}

// === impl Lore ===

impl<'i> Lore<'i> {
    /// Sorts entries that come in activation order. In CONTRACT the rank is the text order (seed 001).
    pub fn sorted(entries: &[&'i LoreEntry], mode: ProfileMode) -> Self {
        let mut lore = Self::default();
        for &entry in &ranked(entries, mode) {
            if let LorePosition::Outlet { name } = &entry.position
                && !entry.content.is_empty()
            {
                push_outlet(&mut lore.outlets, name, entry);
            }
        }
        for entry in in_text_order(entries, mode) {
            let list = match &entry.position {
                _ if entry.content.is_empty() => &mut lore.empty,
                LorePosition::BeforeCharacter => &mut lore.before,
                LorePosition::AfterCharacter => &mut lore.after,
                LorePosition::AuthorNoteTop => &mut lore.note_top,
                LorePosition::AuthorNoteBottom => &mut lore.note_bottom,
                LorePosition::ExamplesTop => &mut lore.examples_top,
                LorePosition::ExamplesBottom => &mut lore.examples_bottom,
                LorePosition::AtDepth { depth, role } => lore.depth_list(*depth, *role),
                LorePosition::Outlet { .. } => continue,
                LorePosition::Unknown => &mut lore.unknown,
            };
            list.push(entry);
        }
        lore.at_depth.sort_by_key(|block| (block.depth, role_rank(block.role)));
        lore
    }

    /// What `{{outlet::name}}` gives.
    pub fn outlets(&self) -> Outlets {
        let join = |entries: &[&LoreEntry], stable: bool| {
            let kept = entries.iter().filter(|entry| !(stable && entry.volatile));
            kept.map(|entry| entry.content.as_str()).collect::<Vec<_>>().join("\n")
        };
        let all = |stable| {
            let texts = self.outlets.iter();
            texts.map(|(name, list)| ((*name).to_owned(), join(list, stable))).collect()
        };
        let volatile = self.outlets.iter().any(|(_, list)| list.iter().any(|e| e.volatile));
        Outlets { texts: all(false), stable: all(true), volatile }
    }

    /// Says of each entry that cannot go anywhere why.
    pub fn report(&self, preset: &Preset, expander: &mut Expander) {
        for entry in &self.unknown {
            expander.say(Code::WorldBookPositionUnknown, &entry.key());
        }
        for entry in &self.empty {
            expander.say(Code::WorldBookEntryEmpty, &entry.key());
        }
        let reads = |name: &str| {
            preset.prompts.iter().any(|p| p.content.contains("outlet") && p.content.contains(name))
        };
        for (name, entries) in &self.outlets {
            if name.is_empty() || !reads(name) {
                for entry in entries {
                    expander.say(Code::WorldBookOutletSkipped, &entry.key());
                }
            }
        }
    }

    fn depth_list(&mut self, depth: u32, role: Role) -> &mut Vec<&'i LoreEntry> {
        let found = self.at_depth.iter().position(|b| b.depth == depth && b.role == role);
        let at = found.unwrap_or_else(|| {
            self.at_depth.push(AtDepth { depth, role, entries: Vec::new() });
            self.at_depth.len() - 1
        });
        &mut self.at_depth[at].entries
    }
}

// === impl LoreEntry ===

impl LoreEntry {
    pub(super) fn text(&self) -> Text {
        Text {
            text: self.content.clone(),
            stable: None,
            volatile: self.volatile,
            quotes: self.quotes.clone(),
            from: vec![self.key().into()],
        }
    }

    /// Half says which stored entry it is, half what else it was made from: the first half alone tells
    /// whether an entry that does not fire now was edited.
    pub(super) fn segment_hash(&self, format: &str) -> Digest {
        let content = if self.volatile { "" } else { self.content.as_str() };
        let rest = digest_parts(&[format.as_bytes(), content.as_bytes()]);
        let mut bytes = *rest.as_bytes();
        bytes[..16].copy_from_slice(&self.source_hash.as_bytes()[..16]);
        Digest::from_bytes(bytes)
    }
}

/// Whether a section that landed with `landed` still says what its entry says now.
pub(super) fn still_holds(landed: Digest, entry: Digest) -> bool {
    landed.as_bytes()[..16] == entry.as_bytes()[..16]
}

/// One block of text: authored entries, then dynamic ones under their heading; no heading over nothing.
pub(super) fn block(entries: &[&LoreEntry]) -> Text {
    let first_dynamic = entries.iter().position(|entry| entry.dynamic);
    let texts = entries.iter().enumerate().map(|(at, entry)| {
        let text = entry.text();
        if Some(at) == first_dynamic {
            text.map(|text| format!("{DYNAMIC_HEADING}\n{text}"))
        } else {
            text
        }
    });
    Text::joined(texts, "\n")
}

/// By rank: the order in which a budget keeps entries.
pub(super) fn ranked<'i>(entries: &[&'i LoreEntry], mode: ProfileMode) -> Vec<&'i LoreEntry> {
    let mut ranked = entries.to_vec();
    if mode != ProfileMode::Contract {
        ranked.sort_by(|a, b| b.order.total_cmp(&a.order));
    }
    ranked
}

fn in_text_order<'i>(entries: &[&'i LoreEntry], mode: ProfileMode) -> Vec<&'i LoreEntry> {
    let mut ordered = ranked(entries, mode);
    if mode != ProfileMode::Contract {
        // Built by prepending: ties come out reversed.
        ordered.reverse();
        if ordered.iter().all(|entry| entry.text_rank.is_some()) {
            ordered.sort_by_key(|entry| entry.text_rank);
        }
    }
    ordered.sort_by_key(|entry| entry.dynamic);
    ordered
}

fn push_outlet<'i>(
    outlets: &mut Vec<(&'i str, Vec<&'i LoreEntry>)>,
    name: &'i str,
    entry: &'i LoreEntry,
) {
    match outlets.iter_mut().find(|(known, _)| *known == name) {
        Some((_, list)) => list.push(entry),
        None => outlets.push((name, vec![entry])),
    }
}

/// Reading downward at one depth: assistant, then user, then system (reference B3.5).
pub(super) const fn role_rank(role: Role) -> u8 {
    match role {
        Role::Assistant => 0,
        Role::User => 1,
        Role::System | Role::Developer => 2,
    }
}

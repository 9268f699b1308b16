//! Why a profile is what it is: enough to explain each piece later, without the texts.

use std::ptr;

use serde::{Deserialize, Serialize};

use super::{
    input::{Input, LoreEntry, World},
    profile::Origin,
};

/// What took part in a compile, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    pub mode: prompt::ProfileMode,
    pub generation: super::GenerationType,
    pub preset: Option<Resource>,
    pub character: Option<Resource>,
    pub user: Option<Resource>,
    pub options: crate::selection::Options,
    /// Worlds in effect with their revisions and everything that binds them.
    pub worlds: Vec<World>,
    /// Lore that fired, in activation order.
    pub lore: Vec<ActivatedLore>,
    pub model: super::Model,
    pub seed: u64,
    /// Where each segment comes from, in order.
    pub segments: Vec<Origin>,
}

/// A resource at the revision that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    pub id: String,
    pub name: String,
    pub revision: String,
}

/// An entry that fired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivatedLore {
    pub key: String,
    pub reason: String,
    pub position: String,
    pub dynamic: bool,
    /// False: the profile's budget left it out.
    pub kept: bool,
}

// === impl Audit ===

impl Audit {
    pub(super) fn new(input: &Input, kept: &[&LoreEntry], segments: Vec<Origin>) -> Self {
        // Kept entries come in the order of all of them.
        let mut kept = kept.iter().peekable();
        let lore = |entry: &LoreEntry| ActivatedLore {
            key: entry.key(),
            reason: entry.reason.clone(),
            position: entry.position.name().to_owned(),
            dynamic: entry.dynamic,
            kept: kept.next_if(|&&next| ptr::eq(next, entry)).is_some(),
        };
        Self {
            mode: input.mode,
            generation: input.generation,
            preset: input.preset.as_ref().map(resource),
            character: input.character.as_ref().map(resource),
            user: input.user.as_ref().map(resource),
            options: input.options.clone(),
            worlds: input.worlds.clone(),
            lore: input.lore.iter().map(lore).collect(),
            model: input.model.clone(),
            seed: input.seed,
            segments,
        }
    }

    /// The stored form.
    pub(super) fn to_json(&self) -> String {
        const BYTES_EACH: usize = 256;
        let pieces = 8 + self.worlds.len() + self.lore.len() + self.segments.len();
        let mut json = Vec::with_capacity(pieces * BYTES_EACH);
        let written = serde_json::to_writer(&mut json, self);
        debug_assert!(written.is_ok(), "nothing in an audit cannot be written");
        String::from_utf8(json).unwrap_or_default()
    }
}

fn resource<Id: std::fmt::Display, T>(loaded: &super::Loaded<Id, T>) -> Resource {
    Resource {
        id: loaded.id.to_string(),
        name: loaded.name.clone(),
        revision: loaded.revision.clone(),
    }
}

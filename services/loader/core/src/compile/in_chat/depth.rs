//! Texts inside the history, merged the way SillyTavern merges them (reference B3.5).

use std::{collections::BTreeMap, sync::Arc};

use prompt::Role;

use crate::{
    compile::{lore::role_rank, text::Text},
    preset::Injection,
};

/// SillyTavern looks no deeper.
const DEPTH_MAX: u32 = 10_000;

/// Everything that goes to a depth.
#[derive(Debug, Default)]
pub(super) struct Depths {
    prompts: Vec<(Place, Text)>,
    /// With the key that orders them.
    extensions: Vec<(String, Place, Text)>,
}

/// A depth, then an order, then a role: one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    depth: u32,
    order: i64,
    role: Role,
}

// === impl Depths ===

impl Depths {
    /// A prompt of the preset.
    pub fn prompt(&mut self, depth: u32, order: i64, role: Role, text: Text) {
        self.prompts.push((Place { depth, order, role }, text));
    }

    /// A text that is none of the preset's: these have one order and come behind its prompts.
    pub fn extension(&mut self, key: &str, depth: u32, role: Role, text: Text) {
        let place = Place { depth, order: Injection::ORDER_DEFAULT, role };
        self.extensions.push((key.to_owned(), place, text));
    }

    /// Which pieces are here.
    pub fn from(&self) -> Vec<Arc<str>> {
        let prompts = self.prompts.iter().map(|(_, text)| text);
        let texts = prompts.chain(self.extensions.iter().map(|(_, _, text)| text));
        texts.filter(|text| !text.is_blank()).flat_map(|text| text.from.clone()).collect()
    }

    /// One text for each depth, order and role, reading downward. Prompts are joined as they are, and
    /// then trimmed as a whole; the others one by one.
    pub fn merged(mut self) -> Vec<(u32, i64, Role, Text)> {
        self.extensions.sort_by(|(a, ..), (b, ..)| a.encode_utf16().cmp(b.encode_utf16()));
        let mut merged: BTreeMap<(u32, i64, u8), (Role, Text)> = BTreeMap::new();
        for (place, text) in self.prompts {
            add(&mut merged, place, text);
        }
        for (_, text) in merged.values_mut() {
            trim(text);
        }
        merged.retain(|_, (_, text)| !text.is_empty());
        for (_, place, mut text) in self.extensions {
            trim(&mut text);
            add(&mut merged, place, text);
        }
        merged
            .into_iter()
            .map(|((depth, order, _), (role, text))| (depth, order, role, text))
            .collect()
    }
}

fn add(merged: &mut BTreeMap<(u32, i64, u8), (Role, Text)>, place: Place, text: Text) {
    if text.is_empty() || place.depth > DEPTH_MAX {
        return;
    }
    let key = (place.depth, place.order, role_rank(place.role));
    match merged.get_mut(&key) {
        Some((_, all)) => all.push("\n", &text),
        None => {
            merged.insert(key, (place.role, text));
        }
    }
}

fn trim(text: &mut Text) {
    if text.stable.is_some() || text.text.trim().len() < text.text.len() {
        *text = std::mem::take(text).map(|text| text.trim().to_owned());
    }
}

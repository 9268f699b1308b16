//! Keys that hold macros, as they read at present.

use kernel::limits;

use super::{Diagnostic, Expander, Search, Spot, Texts, Window, seen::Seen};
use crate::{
    activation::{compiled::CompiledWorld, diagnostic::Code},
    matcher::{Key, KeyAutomata, KeyTable},
};

/// The keys of one world that hold macros, expanded and compiled.
pub struct Expanded {
    texts: Vec<String>,
    table: KeyTable,
    automata: KeyAutomata,
    keys: Vec<Key>,
    seen: Seen,
}

// === impl Expanded ===

impl Expanded {
    /// Expands in the order of the file; None if no key holds macros.
    pub fn new(
        world: &CompiledWorld,
        search: &mut Search<'_>,
        expander: &mut dyn Expander,
    ) -> Option<Self> {
        if world.keys().macros().is_empty() {
            return None;
        }
        let id = &world.world.id;
        let mut texts = Vec::new();
        for (key, expansion) in world.keys().macros().iter().zip(expand(world, expander)) {
            for said in &expansion.diagnostics {
                let detail =
                    format!("{} {} in the key {}", said.code.as_str(), said.macro_text, key.text);
                search.diagnostics.push(Diagnostic::of_world(Code::Macro, id, detail));
            }
            texts.push(expansion.text);
        }
        let expanded = Self::compile(world, texts, search);
        if expanded.table.refused > 0 {
            let detail = format!("{} keys", expanded.table.refused);
            search.diagnostics.push(Diagnostic::of_world(Code::ExpandedKeyBytesLimit, id, detail));
        }
        Some(expanded)
    }

    /// Expands anew, after lore wrote variables; None if all keys read as they did.
    pub fn again(
        &self,
        world: &CompiledWorld,
        search: &Search<'_>,
        expander: &mut dyn Expander,
    ) -> Option<Self> {
        let texts: Vec<String> =
            expand(world, expander).into_iter().map(|expansion| expansion.text).collect();
        (texts != self.texts).then(|| Self::compile(world, texts, search))
    }

    pub fn scan(&mut self, spot: Spot, text: &str, search: &mut Search<'_>) {
        let Self { automata, seen, .. } = self;
        automata.scan(text, None, &mut search.scratch, |key| {
            seen.mark(key, spot);
        });
    }

    pub fn recursed(&mut self) {
        self.seen.recursed();
    }

    pub fn holds(
        &mut self,
        id: u32,
        window: Window,
        texts: &Texts,
        search: &mut Search<'_>,
        world: &CompiledWorld,
    ) -> bool {
        match self.keys[id as usize] {
            Key::Plain(id) => self.seen.holds(id, window),
            Key::Pattern(id) => self.seen.matches(&self.table, id, window, texts, search, world),
            Key::Blank => search.defects.blank_keys_match,
            Key::Never | Key::Macro(_) => false,
        }
    }

    fn compile(world: &CompiledWorld, texts: Vec<String>, search: &Search<'_>) -> Self {
        let mut table = KeyTable::new(limits::EXPANDED_KEY_BYTES_MAX);
        let written = world.keys().macros().iter().zip(&texts);
        let keys = written.map(|(key, text)| table.add(text, key.options, false)).collect();
        table.close();
        let automata = KeyAutomata::new(&table, search.mode);
        Self { texts, table, automata, keys, seen: Seen::default() }
    }
}

fn expand(world: &CompiledWorld, expander: &mut dyn Expander) -> Vec<macros::Expansion> {
    let place = format!("lore:{}:keys", world.world.id);
    let keys = world.keys().macros().iter();
    keys.map(|key| expander.expand(&key.text, &place)).collect()
}

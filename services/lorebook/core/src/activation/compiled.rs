//! A world made ready to be activated: decorators taken off, keys compiled, candidates sorted.

use std::{
    collections::BTreeSet,
    sync::{Mutex, OnceLock, PoisonError},
};

use kernel::{Digest, EntryId, digest, digest_parts, limits};
use macros::Template;

use super::{
    Defects,
    decorators::{self, Decorators},
    diagnostic::{Code, Diagnostic, SkipReason},
    expander::may_hold_macros,
    tokens::TokenCounter,
};
use crate::{
    entry::Entry,
    matcher::{Key, KeyAutomata, KeyOptions, KeyTable, MatchMode, WordBoundary},
    projection::{self, LeftOut, Projected},
    regex_key, revision,
    vocabulary::{EntryRole, Position},
    world::World,
};

/// One revision of a world, compiled. Immutable, shared by requests; no part of it depends on one.
#[derive(Debug)]
pub struct CompiledWorld {
    pub world: World,
    /// The effective ones, in the order of the file.
    entries: Vec<CompiledEntry>,
    /// Rows that are not in effect.
    left_out: Vec<(SkipReason, EntryId)>,
    /// Entries by `order` descending, ties by place: their turn among the world's candidates.
    by_order: Vec<u32>,
    /// Entries by id, to find one.
    by_id: Vec<u32>,
    keys: KeyTable,
    /// For each plain key the entries that have it as a primary one.
    entries_of_key: Vec<Vec<u32>>,
    /// The recursion levels that entries wait for, switched off ones included (reference A8).
    levels: BTreeSet<u32>,
    /// Entries to be looked at whatever plain keys are found.
    always: Vec<u32>,
    automata: [OnceLock<KeyAutomata>; 8],
    diagnostics: Vec<Diagnostic>,
}

/// An entry with what can be known of it before a scan.
#[derive(Debug)]
pub struct CompiledEntry {
    pub entry: Entry,
    pub decorators: Decorators,
    /// Without decorators, before macros.
    pub content: Template,
    pub content_holds_macros: bool,
    pub primary: Vec<Key>,
    pub secondary: Vec<Key>,
    pub additional: Vec<Key>,
    pub excluded: Vec<Key>,
    /// The inclusion groups it is a member of.
    pub groups: Vec<String>,
    /// Moves with any edit; timed effects hang on it. Of the text before macros.
    pub hash: Digest,
    /// Of a text without macros.
    tokens: OnceLock<Counted>,
    /// Of the text that its macros gave last.
    expanded_tokens: Mutex<Option<(Digest, Counted)>>,
}

/// A number of tokens, and who counted them.
#[derive(Debug, Clone, Copy)]
struct Counted {
    counter: &'static str,
    tokens: u32,
}

// === impl CompiledWorld ===

impl CompiledWorld {
    /// Compiles the rows of a world, in the order of its file: those that the projection leaves in
    /// effect. Plain keys are compiled for the modes that scans ask for, when they first do:
    /// `prepare` does it ahead of them.
    pub fn new(world: World, rows: Vec<Entry>) -> Self {
        Self::with_defects(world, rows, Defects::default())
    }

    /// The same as SillyTavern would read it. For tests and explanations only.
    pub fn with_defects(world: World, rows: Vec<Entry>, defects: Defects) -> Self {
        let Projected { effective, left_out } = projection::project(rows);
        let levels = levels(&effective, &left_out);
        let mut keys = KeyTable::new(limits::WORLD_KEY_BYTES_MAX);
        let compile = |entry| CompiledEntry::new(&world, entry, &mut keys, defects);
        let entries: Vec<CompiledEntry> = effective.into_iter().map(compile).collect();
        keys.close();
        let mut by_order: Vec<u32> = (0..entries.len() as u32).collect();
        by_order.sort_by(|&a, &b| order_descending(&entries[a as usize], &entries[b as usize]));
        let mut by_id = by_order.clone();
        by_id.sort_by(|&a, &b| entries[a as usize].entry.id.cmp(&entries[b as usize].entry.id));
        let mut entries_of_key = vec![Vec::new(); keys.plain_count()];
        let mut always = Vec::new();
        for (at, entry) in entries.iter().enumerate() {
            entry.register(at as u32, &mut entries_of_key, &mut always);
        }
        let mut compiled = Self {
            levels,
            left_out: left_out.into_iter().map(|(why, row)| (why.into(), row.id)).collect(),
            diagnostics: Vec::new(),
            automata: std::array::from_fn(|_| OnceLock::new()),
            world,
            entries,
            by_order,
            by_id,
            keys,
            entries_of_key,
            always,
        };
        compiled.diagnostics = compiled.diagnose();
        compiled
    }

    /// Builds the automata for a mode, so that no scan has to wait for it.
    pub fn prepare(&self, mode: MatchMode) {
        self.automata(mode);
    }

    pub fn entries(&self) -> &[CompiledEntry] {
        &self.entries
    }

    pub fn entry(&self, id: &EntryId) -> Option<&CompiledEntry> {
        let of = |at: &u32| &self.entries[*at as usize];
        let found = self.by_id.binary_search_by(|at| of(at).entry.id.cmp(id)).ok()?;
        Some(of(&self.by_id[found]))
    }

    /// The rows that are not in effect, each with the reason.
    pub fn left_out(&self) -> &[(SkipReason, EntryId)] {
        &self.left_out
    }

    /// Bytes of the compiled automata.
    pub fn automata_bytes(&self) -> usize {
        self.automata.iter().filter_map(OnceLock::get).map(KeyAutomata::memory_bytes).sum()
    }

    pub(super) fn by_order(&self) -> &[u32] {
        &self.by_order
    }

    pub(super) fn keys(&self) -> &KeyTable {
        &self.keys
    }

    pub(super) fn entries_of_key(&self, key: u32) -> &[u32] {
        &self.entries_of_key[key as usize]
    }

    pub(super) fn always(&self) -> &[u32] {
        &self.always
    }

    pub(super) fn levels(&self) -> &BTreeSet<u32> {
        &self.levels
    }

    pub(super) fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    pub(super) fn automata(&self, mode: MatchMode) -> &KeyAutomata {
        let place = usize::from(mode.case_sensitive)
            + 2 * usize::from(mode.whole_words)
            + 4 * usize::from(mode.words == WordBoundary::Unicode);
        self.automata[place].get_or_init(|| KeyAutomata::new(&self.keys, mode))
    }

    fn diagnose(&self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        if self.keys.refused > 0 {
            let detail =
                format!("{} keys beyond {} bytes", self.keys.refused, limits::WORLD_KEY_BYTES_MAX);
            found.push(Diagnostic::of_world(Code::KeyBytesLimit, &self.world.id, detail));
        }
        for compiled in &self.entries {
            let mut say = |code, detail: &str| {
                found.push(Diagnostic::of_entry(code, &self.world.id, &compiled.entry.id, detail));
            };
            compiled.decorators.ignored.iter().for_each(|line| say(Code::DecoratorIgnored, line));
            let body = &compiled.entry.body;
            for written in body.keys.iter().chain(&body.secondary_keys) {
                let key = written.trim_matches(regex_key::is_space);
                if key.is_empty() {
                    say(Code::KeyBlank, written);
                } else if let Some(reason) = regex_key::refused(key) {
                    say(Code::RegexInvalid, &format!("{key}: {reason}"));
                }
            }
        }
        found
    }
}

// Those of effective and of disabled entries; other rows are no lore of the file's.
fn levels(effective: &[Entry], left_out: &[(LeftOut, Entry)]) -> BTreeSet<u32> {
    let disabled = left_out.iter().filter(|(why, _)| *why == LeftOut::Disabled).map(|(_, row)| row);
    let levels = effective.iter().chain(disabled).map(|row| row.body.delay_until_recursion);
    levels.filter(|&level| level > 0).collect()
}

/// Higher `order` first.
pub(super) fn order_descending(a: &CompiledEntry, b: &CompiledEntry) -> std::cmp::Ordering {
    let (a, b) = (a.entry.body.order, b.entry.body.order);
    // An order is a number of JSON, which knows none that cannot be compared.
    b.partial_cmp(&a).unwrap_or(std::cmp::Ordering::Equal)
}

// === impl CompiledEntry ===

impl CompiledEntry {
    fn new(world: &World, entry: Entry, keys: &mut KeyTable, defects: Defects) -> Self {
        let body = &entry.body;
        let (decorators, content) = decorators::strip(&body.content, !defects.decorators_dropped);
        let options = KeyOptions {
            case_sensitive: body.case_sensitive.or(world.settings.case_sensitive),
            whole_words: body.match_whole_words.or(world.settings.match_whole_words),
        };
        let mut compile = |written: &[String]| -> Vec<Key> {
            written.iter().map(|key| keys.add(key, options, may_hold_macros(key))).collect()
        };
        Self {
            primary: compile(&body.keys),
            secondary: compile(&body.secondary_keys),
            additional: compile(&decorators.additional_keys),
            excluded: compile(&decorators.exclude_keys),
            groups: groups(&body.group),
            hash: hash(world, &entry),
            content: content.into(),
            content_holds_macros: may_hold_macros(content),
            decorators,
            tokens: OnceLock::new(),
            expanded_tokens: Mutex::new(None),
            entry,
        }
    }

    pub fn position(&self) -> Position {
        self.decorators.position.unwrap_or(self.entry.body.position)
    }

    pub fn depth(&self) -> u32 {
        self.decorators.depth.unwrap_or(self.entry.body.depth)
    }

    pub fn role(&self) -> EntryRole {
        self.decorators.role.unwrap_or(self.entry.body.role)
    }

    /// Messages that it scans, where it has its own number.
    pub fn scan_depth(&self) -> Option<u32> {
        self.decorators.scan_depth.or(self.entry.body.scan_depth)
    }

    /// Tokens of its text: counted once as long as the text and the counter stay the same.
    pub fn tokens(&self, text: &str, counter: &dyn TokenCounter) -> u32 {
        let count = || Counted { counter: counter.name(), tokens: counter.count(text) };
        let is_mine = |counted: &Counted| counted.counter == counter.name();
        if !self.content_holds_macros {
            let known = self.tokens.get_or_init(count);
            return if is_mine(known) { known.tokens } else { count().tokens };
        }
        let hash = digest(text.as_bytes());
        let lock = || self.expanded_tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().filter(|(of, counted)| *of == hash && is_mine(counted));
        let (_, counted) = known.unwrap_or_else(|| (hash, count()));
        *lock() = Some((hash, counted));
        counted.tokens
    }

    // What can fire it: plain keys by themselves, anything else by looking at it each time.
    fn register(&self, at: u32, entries_of_key: &mut [Vec<u32>], always: &mut Vec<u32>) {
        let is_plain = |key: &Key| matches!(key, Key::Plain(_) | Key::Never);
        if self.entry.body.constant
            || self.decorators.activate
            || !self.primary.iter().all(is_plain)
        {
            always.push(at);
            return;
        }
        for key in &self.primary {
            if let Key::Plain(key) = key {
                let entries = &mut entries_of_key[*key as usize];
                if entries.last() != Some(&at) {
                    entries.push(at);
                }
            }
        }
    }
}

// A comma and the white space behind it separate; other white space belongs to the name.
fn groups(list: &str) -> Vec<String> {
    let names = list.split(',').enumerate().map(|(at, name)| match at {
        0 => name,
        _ => name.trim_start_matches(regex_key::is_space),
    });
    let mut groups: Vec<String> = Vec::new();
    for name in names.filter(|name| !name.is_empty()) {
        if !groups.iter().any(|known| known == name) {
            groups.push(name.to_owned());
        }
    }
    groups
}

fn hash(world: &World, entry: &Entry) -> Digest {
    // What moves no revision moves no hash: it would depend on when a process compiled the world.
    // A body of strings, numbers and maps always serialises; were it not to, all its edits would
    // share one hash and effects would outlive them.
    let body = serde_json::to_vec(&revision::lore(entry).body).unwrap_or_default();
    digest_parts(&[world.id.as_str().as_bytes(), entry.id.as_str().as_bytes(), &body])
}

//! Which keys of a world the texts of a scan hold.

use std::{collections::HashMap, sync::Arc};

use kernel::limits;

use super::{
    Defects,
    compiled::CompiledWorld,
    diagnostic::{Code, Diagnostic},
    expander::Expander,
    texts::{RECURSION, Texts, Window},
};
use crate::{
    matcher::{HitCache, Key, KeyAutomata, KeyTable, MatchMode, Scratch},
    regex_key::{Haystack, Steps, Verdict},
};

/// What all worlds of a scan share while they look for keys.
pub(super) struct Search<'s> {
    pub mode: MatchMode,
    pub cache: Option<&'s HitCache>,
    pub scratch: Scratch,
    pub steps: Steps,
    pub defects: Defects,
    pub diagnostics: Vec<Diagnostic>,
    windows: HashMap<Window, Haystack>,
}

/// The found keys of one world.
pub(super) struct Hits<'s> {
    world: &'s CompiledWorld,
    fixed: Table<'s>,
    /// The keys that macros expanded to in this request.
    expanded: Option<Box<(KeyTable, KeyAutomata)>>,
    expanded_keys: Vec<Key>,
    expanded_seen: Seen,
    /// Plain keys found since they were last taken.
    fresh: Vec<u32>,
}

struct Table<'s> {
    automata: &'s KeyAutomata,
    seen: Seen,
}

/// Where the keys of one table were found.
#[derive(Default)]
struct Seen {
    /// Per plain key that was found the newest message and the extras that hold it. Of many keys
    /// few are found, and a list of all would push the automaton out of the processor's cache.
    places: HashMap<u32, Places>,
    /// Per window what is known of each pattern.
    patterns: HashMap<Window, Vec<Verdict>>,
}

#[derive(Debug, Clone, Copy)]
struct Places {
    /// `NO_MESSAGE` if none does.
    newest: u32,
    extras: u8,
}

const NO_MESSAGE: u32 = u32::MAX;

// === impl Search ===

impl<'s> Search<'s> {
    pub fn new(mode: MatchMode, cache: Option<&'s HitCache>, defects: Defects) -> Self {
        Self {
            mode,
            cache,
            scratch: Scratch::default(),
            steps: Steps::new(limits::REGEX_STEPS_MAX as u64),
            defects,
            diagnostics: Vec::new(),
            windows: HashMap::new(),
        }
    }

    /// Forgets the windows that a new recursion text makes longer.
    pub fn recursed(&mut self) {
        self.windows.retain(|window, _| window.extras & RECURSION == 0);
    }
}

// === impl Hits ===

impl<'s> Hits<'s> {
    /// Scans all texts of the request for the keys of a world.
    pub fn new(
        world: &'s CompiledWorld,
        texts: &Texts,
        search: &mut Search<'_>,
        expander: &mut dyn Expander,
    ) -> Self {
        let automata = world.automata(search.mode);
        let mut hits = Self {
            world,
            fixed: Table { automata, seen: Seen::default() },
            expanded: None,
            expanded_keys: Vec::new(),
            expanded_seen: Seen::default(),
            fresh: Vec::new(),
        };
        hits.expand(search, expander);
        for (at, text) in (0u32..).zip(&texts.messages) {
            hits.scan(text, search, true, |places| places.newest = places.newest.min(at));
        }
        for extra in &texts.extras {
            hits.scan(&extra.text, search, false, |places| places.extras |= extra.bit);
        }
        hits
    }

    /// Scans a recursion text.
    pub fn recurse(&mut self, text: &Arc<str>, search: &mut Search<'_>) {
        self.scan(text, search, false, |places| places.extras |= RECURSION);
        for seen in [&mut self.fixed.seen, &mut self.expanded_seen] {
            seen.patterns.retain(|window, _| window.extras & RECURSION == 0);
        }
    }

    /// The plain keys found since this was last asked.
    pub fn take_fresh(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.fresh)
    }

    /// Whether the texts in the window hold the key.
    pub fn holds(
        &mut self,
        key: Key,
        window: Window,
        texts: &Texts,
        search: &mut Search<'_>,
    ) -> bool {
        if window.depth == 0 {
            return false;
        }
        match key {
            Key::Never => false,
            Key::Blank => search.defects.blank_keys_match,
            Key::Plain(id) => self.fixed.seen.holds(id, window),
            Key::Pattern(id) => {
                let table = self.world.keys();
                self.fixed.seen.matches(table, id, window, texts, search, self.world)
            }
            Key::Macro(id) => self.holds_expanded(id, window, texts, search),
        }
    }

    fn holds_expanded(
        &mut self,
        id: u32,
        window: Window,
        texts: &Texts,
        search: &mut Search<'_>,
    ) -> bool {
        let Some(expanded) = &self.expanded else { return false };
        match self.expanded_keys[id as usize] {
            Key::Plain(id) => self.expanded_seen.holds(id, window),
            Key::Pattern(id) => {
                self.expanded_seen.matches(&expanded.0, id, window, texts, search, self.world)
            }
            Key::Blank => search.defects.blank_keys_match,
            Key::Never | Key::Macro(_) => false,
        }
    }

    // Keys with macros are expanded once per request, in the order of the file.
    fn expand(&mut self, search: &mut Search<'_>, expander: &mut dyn Expander) {
        let macros = self.world.keys().macros();
        if macros.is_empty() {
            return;
        }
        let id = &self.world.world.id;
        let place = format!("lore:{id}:keys");
        let mut table = KeyTable::new(limits::EXPANDED_KEY_BYTES_MAX);
        for key in macros {
            let text = expander.expand(&key.text, &place).text;
            self.expanded_keys.push(table.add(&text, key.options, false));
        }
        table.close();
        if table.refused > 0 {
            let detail = format!("{} keys", table.refused);
            let code = Code::ExpandedKeyBytesLimit;
            search.diagnostics.push(Diagnostic::of_world(code, id, detail));
        }
        let automata = KeyAutomata::new(&table, search.mode);
        self.expanded = Some(Box::new((table, automata)));
    }

    fn scan(
        &mut self,
        text: &Arc<str>,
        search: &mut Search<'_>,
        is_message: bool,
        mark: impl Fn(&mut Places),
    ) {
        // Only messages come again in later requests.
        let cache = search.cache.filter(|_| is_message);
        let (seen, fresh) = (&mut self.fixed.seen, &mut self.fresh);
        self.fixed.automata.scan(text, cache, &mut search.scratch, |key| {
            if seen.mark(key, &mark) {
                fresh.push(key);
            }
        });
        if let Some(expanded) = &self.expanded {
            let seen = &mut self.expanded_seen;
            expanded.1.scan(text, None, &mut search.scratch, |key| {
                seen.mark(key, &mark);
            });
        }
    }
}

// === impl Seen ===

impl Seen {
    // Answers whether the key is seen for the first time.
    fn mark(&mut self, key: u32, mark: impl Fn(&mut Places)) -> bool {
        let known = self.places.len();
        mark(self.places.entry(key).or_insert(Places { newest: NO_MESSAGE, extras: 0 }));
        self.places.len() > known
    }

    fn holds(&self, key: u32, window: Window) -> bool {
        let holds =
            |places: &Places| places.newest < window.depth || places.extras & window.extras != 0;
        self.places.get(&key).is_some_and(holds)
    }

    fn matches(
        &mut self,
        table: &KeyTable,
        id: u32,
        window: Window,
        texts: &Texts,
        search: &mut Search<'_>,
        world: &CompiledWorld,
    ) -> bool {
        let Search { windows, steps, diagnostics, .. } = search;
        let haystack = windows.entry(window).or_insert_with(|| Haystack::new(texts.joined(window)));
        let mut exhausted = false;
        let verdicts = self.patterns.entry(window).or_insert_with(|| match table.pattern_set() {
            Some(set) => set.run(table.patterns(), haystack, steps),
            None => vec![Verdict::Unknown; table.patterns().len()],
        });
        let verdict = &mut verdicts[id as usize];
        if *verdict == Verdict::Unknown {
            let found = table.patterns()[id as usize].is_match(haystack, steps);
            exhausted = found.is_err();
            *verdict = if found == Ok(true) { Verdict::Matches } else { Verdict::Misses };
        }
        let found = *verdict == Verdict::Matches;
        if exhausted {
            let detail = table.patterns()[id as usize].source();
            let code = Code::RegexStepsExhausted;
            let said = Diagnostic::of_world(code, &world.world.id, detail);
            if !diagnostics.contains(&said) {
                diagnostics.push(said);
            }
        }
        found
    }
}

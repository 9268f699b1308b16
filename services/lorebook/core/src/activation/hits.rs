//! Which keys of a world the texts of a scan hold.

mod expanded;
mod seen;

use std::{collections::HashMap, ops::Range};

use kernel::limits;

use super::{
    Defects,
    compiled::CompiledWorld,
    diagnostic::Diagnostic,
    expander::Expander,
    texts::{RECURSION, Spot, Texts, Window},
};
use crate::{
    matcher::{HitCache, Key, KeyAutomata, MatchMode, Scratch},
    regex_key::{Haystack, Steps},
};
use expanded::Expanded;
use seen::Seen;

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
    automata: &'s KeyAutomata,
    seen: Seen,
    /// The keys that macros expanded to in this request.
    expanded: Option<Box<Expanded>>,
    /// Plain keys found since they were last taken.
    fresh: Vec<u32>,
}

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
        let mut hits = Self {
            world,
            automata: world.automata(search.mode),
            seen: Seen::default(),
            expanded: Expanded::new(world, search, expander).map(Box::new),
            fresh: Vec::new(),
        };
        for (spot, text) in texts.all() {
            hits.scan(spot, text, search);
        }
        hits
    }

    /// Scans a recursion text; each of its parts is what one entry says.
    pub fn recurse(&mut self, text: &str, parts: &[Range<usize>], search: &mut Search<'_>) {
        let spot = Spot::Extra(RECURSION);
        if search.cache.is_some() && !self.automata.may_cross_lines() {
            // The same entries fire turn after turn, in ever other company.
            parts.iter().for_each(|part| self.scan_plain(spot, &text[part.clone()], true, search));
            self.scan_expanded(spot, text, search);
        } else {
            self.scan(spot, text, search);
        }
        self.seen.recursed();
        if let Some(expanded) = &mut self.expanded {
            expanded.recursed();
        }
    }

    /// Whether keys hold macros.
    pub fn holds_macros(&self) -> bool {
        self.expanded.is_some()
    }

    /// Reads the keys with macros anew and, where one has changed, scans all texts for them.
    pub fn expand_again(
        &mut self,
        texts: &Texts,
        search: &mut Search<'_>,
        expander: &mut dyn Expander,
    ) {
        let known = self.expanded.as_ref();
        let Some(mut again) = known.and_then(|known| known.again(self.world, search, expander))
        else {
            return;
        };
        for (spot, text) in texts.all() {
            again.scan(spot, text, search);
        }
        self.expanded = Some(Box::new(again));
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
            Key::Plain(id) => self.seen.holds(id, window),
            Key::Pattern(id) => {
                self.seen.matches(self.world.keys(), id, window, texts, search, self.world)
            }
            Key::Macro(id) => self
                .expanded
                .as_mut()
                .is_some_and(|expanded| expanded.holds(id, window, texts, search, self.world)),
        }
    }

    fn scan(&mut self, spot: Spot, text: &str, search: &mut Search<'_>) {
        // Only messages come again in later requests as they are.
        self.scan_plain(spot, text, matches!(spot, Spot::Message(_)), search);
        self.scan_expanded(spot, text, search);
    }

    fn scan_plain(&mut self, spot: Spot, text: &str, remember: bool, search: &mut Search<'_>) {
        let cache = search.cache.filter(|_| remember);
        let (seen, fresh) = (&mut self.seen, &mut self.fresh);
        self.automata.scan(text, cache, &mut search.scratch, |key| {
            if seen.mark(key, spot) {
                fresh.push(key);
            }
        });
    }

    fn scan_expanded(&mut self, spot: Spot, text: &str, search: &mut Search<'_>) {
        if let Some(expanded) = &mut self.expanded {
            expanded.scan(spot, text, search);
        }
    }
}

//! The passes of a scan (reference A8).

use std::{
    collections::{BTreeSet, HashSet},
    ops::Range,
};

use kernel::{EntryId, WorldId, limits};

use super::{
    Request, Source, Tools,
    candidates::Candidates,
    diagnostic::{Code, Diagnostic, SkipReason, Skipped},
    eligibility::Fired,
    expander::Expander,
    hits::{Hits, Search},
    output::{Activated, Activation, Reason, Stats},
    settle::Budget,
    texts::{Texts, started},
    timed::{Active, TimedState},
};

/// Why a pass takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Initial,
    /// Over texts that fired entries added, or for the next level of delayed entries.
    Recursion,
    /// One message deeper, because too few entries fired.
    MinActivations,
}

/// A scan under way.
pub(super) struct Scan<'s> {
    pub request: &'s Request,
    pub candidates: Candidates<'s>,
    pub texts: Texts,
    pub search: Search<'s>,
    pub hits: Vec<Hits<'s>>,
    pub active: Active,
    pub message_count: u32,
    /// Candidates that the request forces.
    pub forced: BTreeSet<usize>,
    /// Candidates that fired, in order.
    pub activated: Vec<usize>,
    /// Messages by which the scan reaches deeper than it was set to.
    pub skew: u32,
    /// The level up to which delayed entries may fire.
    pub level: u32,
    levels: Vec<u32>,
    /// Of the latest pass.
    state: State,
    /// A text with macros was expanded since the keys were: variables may have moved.
    pub wrote: bool,
    key_expansions: usize,
    /// Entries looked at so far, pass by pass.
    looks: usize,
    /// Groups that an entry which fired is in.
    pub taken: HashSet<String>,
    /// Candidates that lost a group.
    pub lost: HashSet<usize>,
    /// What has been said of which candidate.
    said: HashSet<(Code, usize)>,
    pub standing: Vec<Standing>,
    /// Candidates to look at in each pass, in list order.
    pub considered: BTreeSet<usize>,
    reasons: Vec<Option<SkipReason>>,
    pub budget: Budget,
    pub entries: Vec<Activated>,
    timed: TimedState,
    pub passes: u32,
}

/// An entry that fired in this pass and is not settled yet.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fresh {
    pub at: usize,
    pub fired: Fired,
}

/// What the entries of this pass say to later ones.
#[derive(Debug, Default)]
pub(super) struct Spoken {
    /// Their texts, joined; none if no entry is heard.
    text: Option<String>,
    /// Where each of them lies in it.
    parts: Vec<Range<usize>>,
    /// Tokens that they take of the budget; none for dropped ones.
    tokens: u64,
    /// Passes are repeated over what one of them says.
    recurses: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Open,
    Activated,
    /// It lost its roll, or its world's budget is spent: both are final.
    Out,
}

// === impl Scan ===

impl<'s> Scan<'s> {
    pub fn new(request: &'s Request, sources: &'s [Source], tools: &mut Tools<'s>) -> Self {
        let settings = &request.settings;
        let mut search = Search::new(settings.match_mode(), tools.cache, request.defects);
        let candidates = Candidates::new(sources, settings.order, &mut search.diagnostics);
        for world in &candidates.worlds {
            search.diagnostics.extend_from_slice(world.diagnostics());
        }
        let texts = Texts::new(request, tools.expander);
        let messages = || u32::try_from(request.messages.len()).unwrap_or(u32::MAX);
        let message_count = request.message_count.unwrap_or_else(messages);
        let mut timed = request.timed.clone();
        let active = match request.dry_run {
            true => Active::default(),
            false => timed.begin(message_count, &candidates),
        };
        let hits: Vec<Hits<'_>> = candidates
            .worlds
            .iter()
            .map(|world| Hits::new(world, &texts, &mut search, tools.expander))
            .collect();
        let mut levels = levels(&candidates);
        let level = if levels.is_empty() { 0 } else { levels.remove(0) };
        let mut scan = Self {
            standing: vec![Standing::Open; candidates.len()],
            reasons: if request.explain { vec![None; candidates.len()] } else { Vec::new() },
            budget: Budget::new(request, candidates.worlds.len()),
            forced: BTreeSet::new(),
            activated: Vec::new(),
            considered: BTreeSet::new(),
            entries: Vec::new(),
            skew: 0,
            passes: 0,
            level,
            levels,
            state: State::Initial,
            wrote: false,
            key_expansions: 1,
            looks: 0,
            taken: HashSet::new(),
            lost: HashSet::new(),
            said: HashSet::new(),
            request,
            candidates,
            texts,
            search,
            hits,
            active,
            message_count,
            timed,
        };
        scan.force();
        scan.consider_all_that_may_fire();
        scan
    }

    /// Passes until nothing is left to do.
    pub fn run(mut self, tools: &mut Tools<'_>) -> Activation {
        let mut next = Some(State::Initial);
        while let Some(state) = next {
            let steps_max = self.request.settings.max_recursion_steps;
            if steps_max > 0 && self.passes >= steps_max {
                break;
            }
            if self.looks > limits::SCAN_LOOKS_MAX {
                self.search.diagnostics.push(Diagnostic {
                    code: Code::PassesLimit,
                    world: None,
                    entry: None,
                    detail: format!("ended after {} passes", self.passes),
                });
                break;
            }
            self.passes += 1;
            self.state = state;
            if std::mem::take(&mut self.wrote) {
                self.expand_keys_again(tools.expander);
            }
            self.consider_found_keys();
            let fresh = self.fire(state);
            let fresh = self.settle_groups(fresh, state, tools.rolls);
            let spoken = self.settle(fresh, tools);
            next = self.next_state(state, &spoken);
            if next.is_some() {
                self.recurse(spoken);
            }
        }
        self.explain_the_rest();
        self.finish()
    }

    fn force(&mut self) {
        if self.request.forced.is_empty() {
            return;
        }
        let mut unknown = self.request.forced.clone();
        for at in 0..self.candidates.len() {
            if unknown.remove(&self.ids(at)) {
                self.forced.insert(at);
            }
        }
        for world in &self.candidates.worlds {
            let id = &world.world.id;
            world.left_out().iter().for_each(|(_, row)| {
                unknown.remove(&(id.clone(), row.clone()));
            });
        }
        for (world, entry) in unknown {
            let said = Diagnostic::of_entry(Code::ForcedUnknown, &world, &entry, "");
            self.search.diagnostics.push(said);
        }
    }

    // Entries of plain keys alone are looked at once a key of theirs is found.
    fn consider_all_that_may_fire(&mut self) {
        self.considered.extend(self.forced.iter().chain(&self.active.sticky));
        for (world, places) in self.candidates.worlds.iter().zip(&self.candidates.places) {
            self.considered
                .extend(world.always().iter().map(|&entry| places[entry as usize] as usize));
        }
    }

    // SillyTavern reads a key's macros each time it looks for the key.
    fn expand_keys_again(&mut self, expander: &mut dyn Expander) {
        for hits in self.hits.iter_mut().filter(|hits| hits.holds_macros()) {
            if self.key_expansions >= limits::KEY_EXPANSIONS_MAX {
                let detail = format!("{} times", limits::KEY_EXPANSIONS_MAX);
                let said =
                    Diagnostic { code: Code::KeyExpansionsLimit, world: None, entry: None, detail };
                if !self.search.diagnostics.contains(&said) {
                    self.search.diagnostics.push(said);
                }
                return;
            }
            self.key_expansions += 1;
            hits.expand_again(&self.texts, &mut self.search, expander);
        }
    }

    fn consider_found_keys(&mut self) {
        let worlds = self.candidates.worlds.iter().zip(&self.candidates.places);
        for (hits, (world, places)) in self.hits.iter_mut().zip(worlds) {
            for key in hits.take_fresh() {
                let entries = world.entries_of_key(key).iter();
                self.considered.extend(entries.map(|&entry| places[entry as usize] as usize));
            }
        }
    }

    // Entries that no pass looked at are looked at now, as the last pass would have.
    fn explain_the_rest(&mut self) {
        for at in 0..self.reasons.len() {
            if self.standing[at] == Standing::Open
                && self.reasons[at].is_none()
                && let Err(reason) = self.eligible(at, self.state)
            {
                self.skip(at, reason);
            }
        }
    }

    // The entries that fire in this pass: sticky ones first, forced ones next, then in list order.
    fn fire(&mut self, state: State) -> Vec<Fresh> {
        let open: Vec<usize> = self
            .considered
            .iter()
            .copied()
            .filter(|&at| self.standing[at] == Standing::Open)
            .collect();
        self.looks += open.len();
        let mut fresh = Vec::with_capacity(open.len());
        for at in open {
            match self.eligible(at, state) {
                Ok(fired) => fresh.push(Fresh { at, fired }),
                Err(reason) => self.skip(at, reason),
            }
        }
        fresh.sort_by_key(|one| {
            (!self.active.sticky.contains(&one.at), one.fired.0 != Reason::Forced, one.at)
        });
        fresh
    }

    fn next_state(&mut self, state: State, spoken: &Spoken) -> Option<State> {
        if !self.budget.overflowed {
            let deeper_texts_heard = state == State::MinActivations
                && self.request.settings.recursive
                && !self.texts.recursion.is_empty();
            if spoken.recurses || deeper_texts_heard {
                return Some(State::Recursion);
            }
            if self.goes_deeper() {
                self.skew += 1;
                return Some(State::MinActivations);
            }
        }
        if self.levels.is_empty() {
            return None;
        }
        self.level = self.levels.remove(0);
        Some(State::Recursion)
    }

    fn goes_deeper(&self) -> bool {
        let settings = &self.request.settings;
        let depth = settings.scan_depth.saturating_add(self.skew);
        let depth_max = settings.min_activations_depth_max;
        let is_too_deep = depth_max > 0 && depth > depth_max;
        self.activated.len() < settings.min_activations as usize
            && !is_too_deep
            && depth as usize <= self.request.messages.len()
    }

    /// Keeps what an entry says for later passes, if they scan it.
    pub(super) fn speak(&self, at: usize, text: &str, tokens: u32, spoken: &mut Spoken) {
        let candidate = self.candidates.at(at);
        let world = &self.candidates.worlds[candidate.world].world.settings;
        if candidate.compiled.entry.body.prevent_recursion
            || world.recursive_scanning == Some(false)
        {
            return;
        }
        let from = match &mut spoken.text {
            Some(all) => {
                all.push('\n');
                all.len()
            }
            None => 0,
        };
        let all = spoken.text.get_or_insert_with(|| started(""));
        all.push_str(text);
        spoken.parts.push(from..all.len());
        spoken.tokens += u64::from(tokens);
        spoken.recurses |= self.is_recursive(candidate);
    }

    fn recurse(&mut self, spoken: Spoken) {
        let Some(text) = spoken.text else { return };
        self.budget.kept += spoken.tokens;
        let text = self.texts.recurse(text);
        self.search.recursed();
        for hits in &mut self.hits {
            hits.recurse(text, &spoken.parts, &mut self.search);
        }
    }

    pub(super) fn skip(&mut self, at: usize, reason: SkipReason) {
        if let Some(place) = self.reasons.get_mut(at) {
            *place = Some(reason);
        }
    }

    /// Says something of a candidate, once.
    pub(super) fn say(&mut self, code: Code, at: usize, detail: &str) {
        if self.said.insert((code, at)) {
            let (world, entry) = self.ids(at);
            self.search.diagnostics.push(Diagnostic::of_entry(code, &world, &entry, detail));
        }
    }

    pub(super) fn ids(&self, at: usize) -> (WorldId, EntryId) {
        let candidate = self.candidates.at(at);
        let world = &self.candidates.worlds[candidate.world].world.id;
        (world.clone(), candidate.compiled.entry.id.clone())
    }

    // Candidates in their order, then the rows that are none.
    fn skipped(&self) -> Vec<Skipped> {
        let reasons = self.reasons.iter().enumerate();
        let candidates = reasons
            .filter(|(at, _)| self.standing[*at] != Standing::Activated)
            .filter_map(|(at, reason)| {
                let (world, entry) = self.ids(at);
                Some(Skipped { world, entry, reason: (*reason)? })
            });
        let left_out = self.candidates.worlds.iter().flat_map(|world| {
            world.left_out().iter().map(|(reason, entry)| Skipped {
                world: world.world.id.clone(),
                entry: entry.clone(),
                reason: *reason,
            })
        });
        candidates.chain(left_out).collect()
    }

    fn finish(mut self) -> Activation {
        if !self.request.dry_run {
            for &at in &self.activated {
                self.timed.start(self.message_count, &self.candidates, at);
            }
        }
        let skipped = if self.request.explain { self.skipped() } else { Vec::new() };
        let revision =
            |world: &&super::CompiledWorld| (world.world.id.clone(), world.world.content_revision);
        Activation {
            skipped,
            worlds: self.candidates.worlds.iter().map(revision).collect(),
            stats: Stats {
                candidates: self.candidates.len() as u32,
                passes: self.passes,
                budget_tokens: self.budget.limit,
                used_tokens: self.budget.used,
                overflowed: self.budget.overflowed,
                regex_steps_left: self.search.steps.left(),
            },
            entries: self.entries,
            diagnostics: self.search.diagnostics,
            timed: self.timed,
        }
    }
}

// The distinct levels of delayed entries, ascending.
fn levels(candidates: &Candidates<'_>) -> Vec<u32> {
    let levels = candidates.worlds.iter().flat_map(|world| world.levels());
    levels.copied().collect::<BTreeSet<u32>>().into_iter().collect()
}

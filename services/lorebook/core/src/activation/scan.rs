//! The passes of a scan (reference A8).

use std::collections::BTreeSet;

use kernel::{EntryId, WorldId};

use super::{
    Request, Rolls, Source, Tools,
    candidates::{Candidate, Candidates},
    diagnostic::{Code, Diagnostic, SkipReason, Skipped},
    eligibility::Fired,
    hits::{Hits, Search},
    output::{Activated, Activation, Stats},
    texts::Texts,
    timed::{Active, TimedState},
};
use crate::{matcher::MatchMode, vocabulary::Position};

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
    standing: Vec<Standing>,
    /// Candidates to look at in each pass, in list order.
    considered: BTreeSet<usize>,
    reasons: Vec<Option<SkipReason>>,
    budget: Budget,
    entries: Vec<Activated>,
    timed: TimedState,
    passes: u32,
}

/// An entry that fired in this pass and is not settled yet.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fresh {
    pub at: usize,
    /// Its place in the list of the pass.
    pub place: usize,
    pub fired: Fired,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Open,
    Activated,
    /// It lost its roll, which is final.
    Failed,
}

/// The tokens that lore may take.
struct Budget {
    limit: u64,
    /// Of texts that recursion scans.
    kept: u64,
    overflowed: bool,
    used: u64,
    used_by_world: Vec<u64>,
}

// === impl Scan ===

impl<'s> Scan<'s> {
    pub fn new(request: &'s Request, sources: &'s [Source], tools: &mut Tools<'s>) -> Self {
        let settings = &request.settings;
        let mode = MatchMode {
            case_sensitive: settings.case_sensitive,
            whole_words: settings.match_whole_words,
            words: settings.word_boundary,
        };
        let mut search = Search::new(mode, tools.cache, request.defects);
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
            standing: vec![Standing::Open; candidates.list.len()],
            reasons: if request.explain { vec![None; candidates.list.len()] } else { Vec::new() },
            budget: Budget::new(request, candidates.worlds.len()),
            forced: BTreeSet::new(),
            activated: Vec::new(),
            considered: BTreeSet::new(),
            entries: Vec::new(),
            skew: 0,
            passes: 0,
            level,
            levels,
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
            self.passes += 1;
            self.consider_found_keys();
            let fresh = self.fire(state);
            let fresh = self.settle_groups(fresh, state, tools.rolls);
            let spoken = self.settle(fresh, tools);
            next = self.next_state(state, &spoken);
            if next.is_some() {
                self.recurse(&spoken);
            }
        }
        self.finish()
    }

    fn force(&mut self) {
        for (world, entry) in &self.request.forced {
            let is_it = |candidate: &Candidate<'_>| {
                candidate.compiled.entry.id == *entry
                    && self.candidates.worlds[candidate.world].world.id == *world
            };
            match self.candidates.list.iter().position(is_it) {
                Some(at) => {
                    self.forced.insert(at);
                }
                None => {
                    let said = Diagnostic::of_entry(Code::ForcedUnknown, world, entry, "");
                    self.search.diagnostics.push(said);
                }
            }
        }
    }

    // Entries of plain keys alone are looked at once a key of theirs is found; to explain, all are.
    fn consider_all_that_may_fire(&mut self) {
        if self.request.explain {
            self.considered.extend(0..self.candidates.list.len());
            return;
        }
        self.considered.extend(self.forced.iter().chain(&self.active.sticky));
        for (world, places) in self.candidates.worlds.iter().zip(&self.candidates.places) {
            self.considered
                .extend(world.always().iter().map(|&entry| places[entry as usize] as usize));
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

    // The entries that fire in this pass: sticky ones first, forced ones next, then in list order.
    fn fire(&mut self, state: State) -> Vec<Fresh> {
        let open: Vec<usize> = self
            .considered
            .iter()
            .copied()
            .filter(|&at| self.standing[at] == Standing::Open)
            .collect();
        let mut fresh = Vec::new();
        for at in open {
            match self.eligible(at, state) {
                Ok(fired) => fresh.push(Fresh { at, place: 0, fired }),
                Err(reason) => self.skip(at, reason),
            }
        }
        fresh.sort_by_key(|one| {
            (!self.active.sticky.contains(&one.at), !self.forced.contains(&one.at), one.at)
        });
        (0..).zip(&mut fresh).for_each(|(place, one)| one.place = place);
        fresh
    }

    // Rolls probabilities, expands texts and spends the budget. Answers which entries may be heard
    // by later passes, with their texts.
    fn settle(&mut self, fresh: Vec<Fresh>, tools: &mut Tools<'_>) -> Vec<(usize, String)> {
        let mut spoken = Vec::new();
        let mut pass_tokens = 0;
        for one in fresh {
            let candidate = self.candidates.list[one.at];
            let body = &candidate.compiled.entry.body;
            if self.budget.overflowed && !body.ignore_budget {
                self.drop_by_budget(one.at, Code::BudgetExceeded);
                if self.request.defects.dropped_text_leaks {
                    spoken.push((one.at, candidate.compiled.content.clone()));
                }
                continue;
            }
            if !self.passes_roll(one.at, tools.rolls) {
                self.standing[one.at] = Standing::Failed;
                self.considered.remove(&one.at);
                self.skip(one.at, SkipReason::Probability);
                continue;
            }
            let expansion = self.expand(candidate, tools);
            let tokens = candidate.compiled.tokens(&expansion.text, tools.tokens);
            pass_tokens += u64::from(tokens);
            let text = expansion.text.clone();
            if self.spend(one.at, tokens, pass_tokens) {
                self.activate(one, expansion, tokens);
                spoken.push((self.activated[self.activated.len() - 1], text));
            } else if self.request.defects.dropped_text_leaks {
                spoken.push((one.at, text));
            }
        }
        spoken
    }

    fn passes_roll(&self, at: usize, rolls: &mut dyn Rolls) -> bool {
        let body = &self.candidates.list[at].compiled.entry.body;
        let is_certain = !body.use_probability || body.probability == 100.0;
        if is_certain || self.active.sticky.contains(&at) {
            return true;
        }
        let roll = rolls.roll() * 100.0;
        roll <= body.probability
            && (body.probability > 0.0 || self.request.defects.zero_percent_fires)
    }

    fn expand(&mut self, candidate: Candidate<'_>, tools: &mut Tools<'_>) -> macros::Expansion {
        let compiled = candidate.compiled;
        if !compiled.content_holds_macros {
            return macros::Expansion { text: compiled.content.clone(), ..Default::default() };
        }
        let world = &self.candidates.worlds[candidate.world].world.id;
        let entry = &compiled.entry.id;
        let expansion = tools.expander.expand(&compiled.content, &format!("lore:{world}:{entry}"));
        for said in &expansion.diagnostics {
            let detail = format!("{} {}", said.code.as_str(), said.macro_text);
            let said = Diagnostic::of_entry(Code::Macro, world, entry, detail);
            self.search.diagnostics.push(said);
        }
        expansion
    }

    // Whether the entry still fits.
    fn spend(&mut self, at: usize, tokens: u32, pass_tokens: u64) -> bool {
        let candidate = self.candidates.list[at];
        let world = candidate.world;
        let ignores = candidate.compiled.entry.body.ignore_budget;
        if !ignores && self.budget.kept + pass_tokens >= self.budget.limit {
            self.budget.overflowed = true;
            self.drop_by_budget(at, Code::BudgetExceeded);
            return false;
        }
        let own = self.candidates.worlds[world].world.settings.token_budget.filter(|&own| own > 0);
        let used = self.budget.used_by_world[world] + u64::from(tokens);
        if !ignores && own.is_some_and(|own| used > u64::from(own)) {
            self.drop_by_budget(at, Code::WorldBudgetExceeded);
            return false;
        }
        self.budget.used += u64::from(tokens);
        self.budget.used_by_world[world] = used;
        true
    }

    fn drop_by_budget(&mut self, at: usize, code: Code) {
        let (world, entry) = self.ids(at);
        let said = Diagnostic::of_entry(code, &world, &entry, "");
        if !self.search.diagnostics.contains(&said) {
            self.search.diagnostics.push(said);
        }
        self.skip(at, SkipReason::Budget);
    }

    fn activate(&mut self, one: Fresh, expansion: macros::Expansion, tokens: u32) {
        let candidate = self.candidates.list[one.at];
        let world = self.candidates.worlds[candidate.world];
        self.standing[one.at] = Standing::Activated;
        self.considered.remove(&one.at);
        self.activated.push(one.at);
        let cost = (tokens, self.passes);
        let entry = Activated::new(world, candidate, one.fired, expansion, cost);
        let unplaced = match entry.position {
            Position::Unknown(number) => Some((Code::PositionUnknown, number.to_string())),
            Position::Outlet if entry.outlet.is_empty() => {
                Some((Code::OutletUnnamed, String::new()))
            }
            _ => None,
        };
        if let Some((code, detail)) = unplaced {
            let said = Diagnostic::of_entry(code, &entry.world, &entry.entry, detail);
            self.search.diagnostics.push(said);
        }
        self.entries.push(entry);
    }

    fn next_state(&mut self, state: State, spoken: &[(usize, String)]) -> Option<State> {
        if !self.budget.overflowed {
            let mut heard = spoken.iter().filter(|(at, _)| self.is_heard(*at));
            let some_recurse = heard.any(|(at, _)| self.is_recursive(self.candidates.list[*at]));
            let deeper_texts_heard = state == State::MinActivations
                && self.request.settings.recursive
                && !self.texts.recursion.is_empty();
            if some_recurse || deeper_texts_heard {
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

    // Whether later passes scan what the entry says.
    fn is_heard(&self, at: usize) -> bool {
        let candidate = self.candidates.list[at];
        let world = &self.candidates.worlds[candidate.world].world.settings;
        !candidate.compiled.entry.body.prevent_recursion && world.recursive_scanning != Some(false)
    }

    fn recurse(&mut self, spoken: &[(usize, String)]) {
        let heard: Vec<&(usize, String)> =
            spoken.iter().filter(|(at, _)| self.is_heard(*at)).collect();
        if heard.is_empty() {
            return;
        }
        let tokens =
            |at: usize| self.entries.iter().zip(&self.activated).rev().find(|(_, a)| **a == at);
        self.budget.kept += heard
            .iter()
            .filter_map(|(at, _)| tokens(*at))
            .map(|(e, _)| u64::from(e.tokens))
            .sum::<u64>();
        let texts: Vec<&str> = heard.iter().map(|(_, text)| text.as_str()).collect();
        let text = self.texts.recurse(&texts.join("\n"));
        self.search.recursed();
        for hits in &mut self.hits {
            hits.recurse(&text, &mut self.search);
        }
    }

    pub(super) fn skip(&mut self, at: usize, reason: SkipReason) {
        if let Some(place) = self.reasons.get_mut(at) {
            *place = Some(reason);
        }
    }

    fn ids(&self, at: usize) -> (WorldId, EntryId) {
        let candidate = self.candidates.list[at];
        let world = &self.candidates.worlds[candidate.world].world.id;
        (world.clone(), candidate.compiled.entry.id.clone())
    }

    fn finish(mut self) -> Activation {
        if !self.request.dry_run {
            for &at in &self.activated {
                self.timed.start(self.message_count, &self.candidates, at);
            }
        }
        let reasons = self.reasons.iter().enumerate();
        let skipped = reasons
            .filter(|(at, _)| self.standing[*at] != Standing::Activated)
            .filter_map(|(at, reason)| {
                let (world, entry) = self.ids(at);
                Some(Skipped { world, entry, reason: (*reason)? })
            })
            .collect();
        let revision =
            |world: &&super::CompiledWorld| (world.world.id.clone(), world.world.content_revision);
        Activation {
            skipped,
            worlds: self.candidates.worlds.iter().map(revision).collect(),
            stats: Stats {
                candidates: self.candidates.list.len() as u32,
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
    let levels = candidates.list.iter().map(|one| one.compiled.entry.body.delay_until_recursion);
    levels.filter(|&level| level > 0).collect::<BTreeSet<u32>>().into_iter().collect()
}

// === impl Budget ===

impl Budget {
    fn new(request: &Request, worlds: usize) -> Self {
        Self {
            limit: request.settings.budget(request.context_tokens),
            kept: 0,
            overflowed: false,
            used: 0,
            used_by_world: vec![0; worlds],
        }
    }
}

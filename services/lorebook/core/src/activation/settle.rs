//! What becomes of the entries that fired in a pass: rolls, texts, and the token budget (reference A8.4).

use super::{
    Request, Rolls, Tools,
    candidates::Candidate,
    diagnostic::{Code, Diagnostic, SkipReason},
    output::Activated,
    scan::{Fresh, Scan, Spoken, Standing},
};
use crate::vocabulary::Position;

/// The tokens that lore may take.
pub(super) struct Budget {
    pub limit: u64,
    /// Of texts that recursion scans.
    pub kept: u64,
    pub overflowed: bool,
    pub used: u64,
    pub used_by_world: Vec<u64>,
}

// === impl Scan ===

impl Scan<'_> {
    // Rolls probabilities, expands texts and spends the budget. Answers what later passes may hear.
    pub(super) fn settle(&mut self, fresh: Vec<Fresh>, tools: &mut Tools<'_>) -> Spoken {
        let mut spoken = Spoken::default();
        let mut pass_tokens = 0;
        self.entries.reserve(fresh.len());
        for one in fresh {
            let candidate = self.candidates.at(one.at);
            let body = &candidate.compiled.entry.body;
            if self.budget.overflowed && !body.ignore_budget {
                self.drop_by_budget(one.at, Code::BudgetExceeded);
                if self.request.defects.dropped_text_leaks {
                    self.speak(one.at, &candidate.compiled.content, 0, &mut spoken);
                }
                continue;
            }
            if !self.passes_roll(one.at, tools.rolls) {
                self.standing[one.at] = Standing::Out;
                self.considered.remove(&one.at);
                self.skip(one.at, SkipReason::Probability);
                continue;
            }
            let expansion = self.expand(candidate, tools);
            let tokens = candidate.compiled.tokens(&expansion.text, tools.tokens);
            if self.spend(one.at, tokens, pass_tokens + u64::from(tokens)) {
                pass_tokens += u64::from(tokens);
                self.speak(one.at, &expansion.text, tokens, &mut spoken);
                self.activate(one, expansion, tokens);
            } else if self.request.defects.dropped_text_leaks {
                self.speak(one.at, &expansion.text, 0, &mut spoken);
            }
        }
        spoken
    }

    fn passes_roll(&self, at: usize, rolls: &mut dyn Rolls) -> bool {
        let body = &self.candidates.at(at).compiled.entry.body;
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
            let text = compiled.content.as_str().to_owned();
            return macros::Expansion { text, ..Default::default() };
        }
        let world = &self.candidates.worlds[candidate.world].world.id;
        let entry = &compiled.entry.id;
        let place = ["lore:", world.as_str(), ":", entry.as_str()].concat();
        self.wrote = true;
        let expansion = tools.expander.expand_template(&compiled.content, &place);
        for said in &expansion.diagnostics {
            let detail = format!("{} {}", said.code.as_str(), said.macro_text);
            let said = Diagnostic::of_entry(Code::Macro, world, entry, detail);
            self.search.diagnostics.push(said);
        }
        expansion
    }

    // Whether the entry still fits.
    fn spend(&mut self, at: usize, tokens: u32, pass_tokens: u64) -> bool {
        let candidate = self.candidates.at(at);
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
            // Nothing frees the world's budget again: another pass would only roll and expand it once more.
            self.standing[at] = Standing::Out;
            self.drop_by_budget(at, Code::WorldBudgetExceeded);
            return false;
        }
        self.budget.used += u64::from(tokens);
        self.budget.used_by_world[world] = used;
        true
    }

    fn drop_by_budget(&mut self, at: usize, code: Code) {
        self.say(code, at, "");
        self.skip(at, SkipReason::Budget);
    }

    fn activate(&mut self, one: Fresh, expansion: macros::Expansion, tokens: u32) {
        let at = one.at;
        let candidate = self.candidates.at(at);
        let world = self.candidates.worlds[candidate.world];
        self.standing[at] = Standing::Activated;
        self.considered.remove(&at);
        self.activated.push(at);
        self.taken.extend(candidate.compiled.groups.iter().cloned());
        let cost = (tokens, self.passes);
        let entry = Activated::new(world, candidate, one.fired, expansion, cost);
        match entry.position {
            Position::Unknown(number) => self.say(Code::PositionUnknown, at, &number.to_string()),
            Position::Outlet if entry.outlet.is_empty() => self.say(Code::OutletUnnamed, at, ""),
            _ => {}
        }
        self.entries.push(entry);
    }
}

// === impl Budget ===

impl Budget {
    pub fn new(request: &Request, worlds: usize) -> Self {
        Self {
            limit: request.settings.budget(request.context_tokens),
            kept: 0,
            overflowed: false,
            used: 0,
            used_by_world: vec![0; worlds],
        }
    }
}

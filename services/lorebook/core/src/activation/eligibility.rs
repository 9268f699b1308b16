//! Whether a candidate fires in a pass, and if not, why (reference A7 and A8.1).

use super::{
    candidates::Candidate,
    diagnostic::SkipReason,
    output::Reason,
    scan::{Scan, State},
    texts::Window,
};
use crate::{entry::EntryBody, matcher::Key, vocabulary::SelectiveLogic};

/// How a candidate fires: the reason, and the keys that matched.
pub(super) type Fired = (Reason, Vec<String>);

// === impl Scan ===

impl Scan<'_> {
    /// The first rule that applies decides.
    pub(super) fn eligible(&mut self, at: usize, state: State) -> Result<Fired, SkipReason> {
        let candidate = self.candidates.at(at);
        let is_sticky = self.active.sticky.contains(&at);
        self.barred(candidate, at, state, is_sticky)?;
        let decorators = &candidate.compiled.decorators;
        if decorators.activate {
            return Ok((Reason::Decorator, Vec::new()));
        }
        if decorators.dont_activate {
            return Err(SkipReason::DontActivate);
        }
        let reason = if self.forced.contains(&at) {
            Reason::Forced
        } else if candidate.compiled.entry.body.constant {
            Reason::Constant
        } else if is_sticky {
            Reason::Sticky
        } else {
            return self.matched(candidate, state).map(|keys| (Reason::Key, keys));
        };
        Ok((reason, Vec::new()))
    }

    // Filters and effects that no key overrules; what is switched off is no candidate at all.
    fn barred(
        &self,
        candidate: Candidate<'_>,
        at: usize,
        state: State,
        is_sticky: bool,
    ) -> Result<(), SkipReason> {
        let body = &candidate.compiled.entry.body;
        let generation = self.request.generation.name();
        if !body.triggers.is_empty() && !body.triggers.iter().any(|kind| kind == generation) {
            return Err(SkipReason::Trigger);
        }
        if !self.passes_character_filter(body) {
            return Err(SkipReason::CharacterFilter);
        }
        if body.delay.is_some_and(|delay| self.message_count < delay) {
            return Err(SkipReason::Delay);
        }
        if is_sticky {
            return Ok(());
        }
        if self.active.cooldown.contains(&at) {
            return Err(SkipReason::Cooldown);
        }
        let level = body.delay_until_recursion;
        if level > 0 && (state != State::Recursion || level > self.level) {
            return Err(SkipReason::DelayUntilRecursion);
        }
        let excluded = body.exclude_recursion && self.is_recursive(candidate);
        if excluded && state == State::Recursion {
            return Err(SkipReason::ExcludedFromRecursion);
        }
        Ok(())
    }

    fn passes_character_filter(&self, body: &EntryBody) -> bool {
        let Some(filter) = &body.character_filter else { return true };
        let character = &self.request.character;
        let passes = |listed: bool| listed != filter.is_exclude;
        let avatar = &character.avatar;
        let name = avatar.rsplit_once('.').map_or(avatar.as_str(), |(name, _)| name);
        if !filter.names.is_empty() && !passes(filter.names.iter().any(|listed| listed == name)) {
            return false;
        }
        match &character.tags {
            Some(tags) if !filter.tags.is_empty() => {
                passes(filter.tags.iter().any(|tag| tags.contains(tag)))
            }
            _ => true,
        }
    }

    /// Whether passes are repeated over what this entry's world says; the world's word counts first.
    pub(super) fn is_recursive(&self, candidate: Candidate<'_>) -> bool {
        let world = self.candidates.worlds[candidate.world];
        world.world.settings.recursive_scanning.unwrap_or(self.request.settings.recursive)
    }

    /// What an entry sees in this pass.
    pub(super) fn window(&self, candidate: Candidate<'_>, state: State) -> Window {
        let world = &self.candidates.worlds[candidate.world].world.settings;
        let depth = candidate.compiled.scan_depth().unwrap_or_else(|| {
            world.scan_depth.unwrap_or(self.request.settings.scan_depth).saturating_add(self.skew)
        });
        let shuts_out = world.recursive_scanning == Some(false);
        self.texts.window(candidate.compiled, depth, state != State::MinActivations && !shuts_out)
    }

    fn matched(
        &mut self,
        candidate: Candidate<'_>,
        state: State,
    ) -> Result<Vec<String>, SkipReason> {
        let compiled = candidate.compiled;
        let body = &compiled.entry.body;
        if compiled.primary.is_empty() {
            return Err(SkipReason::NoKeys);
        }
        let window = self.window(candidate, state);
        let primary = self.first_held(candidate.world, &compiled.primary, window);
        let Some(primary) = primary else { return Err(SkipReason::PrimaryMiss) };
        let mut matched = vec![body.keys[primary].clone()];
        if body.selective && !compiled.secondary.is_empty() {
            let held = self.all_held(candidate.world, &compiled.secondary, window);
            if !satisfied(body.selective_logic, held.len(), compiled.secondary.len()) {
                return Err(SkipReason::SecondaryMiss);
            }
            matched.extend(held.into_iter().map(|key| body.secondary_keys[key].clone()));
        }
        if !compiled.additional.is_empty() {
            let held = self.all_held(candidate.world, &compiled.additional, window);
            if held.is_empty() {
                return Err(SkipReason::AdditionalMiss);
            }
            let keys = &compiled.decorators.additional_keys;
            matched.extend(held.into_iter().map(|key| keys[key].clone()));
        }
        if self.first_held(candidate.world, &compiled.excluded, window).is_some() {
            return Err(SkipReason::ExcludedHit);
        }
        Ok(matched)
    }

    fn first_held(&mut self, world: usize, keys: &[Key], window: Window) -> Option<usize> {
        let (hits, texts, search) = (&mut self.hits[world], &self.texts, &mut self.search);
        keys.iter().position(|&key| hits.holds(key, window, texts, search))
    }

    /// The places of the keys that the window holds.
    pub(super) fn all_held(&mut self, world: usize, keys: &[Key], window: Window) -> Vec<usize> {
        let (hits, texts, search) = (&mut self.hits[world], &self.texts, &mut self.search);
        (0..keys.len()).filter(|&key| hits.holds(keys[key], window, texts, search)).collect()
    }
}

fn satisfied(logic: SelectiveLogic, held: usize, all: usize) -> bool {
    match logic {
        SelectiveLogic::AndAny => held > 0,
        SelectiveLogic::NotAll => held < all,
        SelectiveLogic::NotAny => held == 0,
        SelectiveLogic::AndAll => held == all,
        SelectiveLogic::Unknown(_) => false,
    }
}

//! Inclusion groups: of the entries of one group that fire in a pass one stays (reference A9).

use std::{cmp::Ordering, collections::HashSet};

use indexmap::IndexMap;

use super::{
    diagnostic::{Code, SkipReason},
    scan::{Fresh, Scan, State},
};
use crate::vocabulary::SelectiveLogic;

/// A group and its members among the entries that fired in this pass, by place in their list.
struct Group {
    name: String,
    members: Vec<usize>,
    /// A sticky member holds it, so nobody else is chosen.
    is_held: bool,
}

/// The entries of a pass; losers are taken out without moving the others.
struct Field {
    /// The candidate in each place, whether it is still in or not.
    places: Vec<usize>,
    fresh: Vec<Option<Fresh>>,
    lost: Vec<usize>,
    takes_last_along: bool,
}

// === impl Scan ===

impl Scan<'_> {
    /// Takes the losers of all groups out of the fired entries.
    pub(super) fn settle_groups(
        &mut self,
        fresh: Vec<Fresh>,
        state: State,
        rolls: &mut dyn super::Rolls,
    ) -> Vec<Fresh> {
        let mut groups = self.groups_of(&fresh);
        if groups.is_empty() {
            return fresh;
        }
        let mut field = Field {
            places: fresh.iter().map(|one| one.at).collect(),
            fresh: fresh.into_iter().map(Some).collect(),
            lost: Vec::new(),
            takes_last_along: self.request.defects.double_group_removal,
        };
        self.keep_sticky(&mut groups, &mut field);
        self.keep_best_scores(&mut groups, &mut field, state);
        for group in &mut groups {
            self.choose(group, &mut field, rolls);
        }
        for &lost in &field.lost {
            self.skip(lost, SkipReason::GroupLost);
            self.lost.insert(lost);
        }
        field.fresh.into_iter().flatten().collect()
    }

    // In order of first appearance, names that are whole numbers first and ascending.
    fn groups_of(&self, fresh: &[Fresh]) -> Vec<Group> {
        let mut members: IndexMap<&str, Vec<usize>> = IndexMap::new();
        for (place, one) in fresh.iter().enumerate() {
            for name in &self.candidates.at(one.at).compiled.groups {
                members.entry(name).or_default().push(place);
            }
        }
        let group = |(name, members): (&str, Vec<usize>)| Group {
            name: name.to_owned(),
            members,
            is_held: false,
        };
        let mut groups: Vec<Group> = members.into_iter().map(group).collect();
        groups.sort_by_key(|group| index(&group.name).unwrap_or(u64::MAX));
        groups
    }

    fn keep_sticky(&self, groups: &mut [Group], field: &mut Field) {
        for group in groups {
            let is_sticky = |place: &usize| {
                field.get(*place).is_some_and(|one| self.active.sticky.contains(&one.at))
            };
            let (sticky, others): (Vec<usize>, Vec<usize>) =
                group.members.iter().partition(|place| is_sticky(place));
            if !sticky.is_empty() {
                group.is_held = true;
                others.into_iter().for_each(|place| field.remove(place));
            }
        }
    }

    fn keep_best_scores(&mut self, groups: &mut [Group], field: &mut Field, state: State) {
        for group in groups.iter_mut().filter(|group| !group.is_held) {
            self.leave_out_losers(group, field);
            let scored: Vec<(usize, bool)> = group
                .members
                .iter()
                .map(|&place| (place, self.is_scored(field.at(place))))
                .collect();
            if !scored.iter().any(|&(_, is_scored)| is_scored) {
                continue;
            }
            let scores: Vec<usize> =
                group.members.iter().map(|&place| self.score(field.at(place), state)).collect();
            let best = scores.iter().copied().max().unwrap_or(0);
            let losers: HashSet<usize> = scored
                .iter()
                .zip(scores)
                .filter(|&(&(_, is_scored), score)| is_scored && score < best)
                .map(|(&(place, _), _)| place)
                .collect();
            losers.iter().for_each(|&place| field.remove(place));
            group.members.retain(|place| !losers.contains(place));
        }
    }

    fn choose(&mut self, group: &mut Group, field: &mut Field, rolls: &mut dyn super::Rolls) {
        if group.is_held {
            return;
        }
        self.leave_out_losers(group, field);
        if self.is_taken(&group.name) {
            for &place in &group.members {
                // Who lost in the pass that took it comes back in each later one; that is no news.
                if !self.lost.contains(&field.at(place)) {
                    self.say(Code::GroupTaken, field.at(place), &group.name);
                }
                field.remove(place);
            }
            return;
        }
        if group.members.len() < 2 {
            return;
        }
        let winner =
            self.overriding(group, field).unwrap_or_else(|| self.roll(group, field, rolls));
        for &place in group.members.iter().filter(|&&place| place != winner) {
            field.remove(place);
        }
    }

    // One group's loser takes no part in the next.
    fn leave_out_losers(&self, group: &mut Group, field: &Field) {
        if !self.request.defects.losers_win_again {
            group.members.retain(|&place| field.get(place).is_some());
        }
    }

    fn is_scored(&self, at: usize) -> bool {
        let candidate = self.candidates.at(at);
        let world = &self.candidates.worlds[candidate.world].world.settings;
        let own = candidate.compiled.entry.body.use_group_scoring.or(world.use_group_scoring);
        own.unwrap_or(self.request.settings.use_group_scoring)
    }

    fn score(&mut self, at: usize, state: State) -> usize {
        let candidate = self.candidates.at(at);
        let compiled = candidate.compiled;
        if compiled.primary.is_empty() {
            return 0;
        }
        let window = self.window(candidate, state);
        let primary = self.all_held(candidate.world, &compiled.primary, window).len();
        let secondary = self.all_held(candidate.world, &compiled.secondary, window).len();
        match compiled.entry.body.selective_logic {
            SelectiveLogic::AndAny => primary + secondary,
            SelectiveLogic::AndAll if secondary == compiled.secondary.len() => primary + secondary,
            _ => primary,
        }
    }

    // Whether an entry of an earlier pass is in the group.
    fn is_taken(&self, name: &str) -> bool {
        if !self.request.defects.exclusivity_by_whole_list {
            return self.taken.contains(name);
        }
        self.activated.iter().any(|&at| self.candidates.at(at).compiled.entry.body.group == name)
    }

    // The overriding member of the highest order.
    fn overriding(&self, group: &Group, field: &Field) -> Option<usize> {
        let body = |place: usize| &self.candidates.at(field.at(place)).compiled.entry.body;
        let overriding = group.members.iter().copied().filter(|&place| body(place).group_override);
        overriding.reduce(|best, place| {
            let order = body(place).order.partial_cmp(&body(best).order);
            if order == Some(Ordering::Greater) { place } else { best }
        })
    }

    fn roll(&self, group: &Group, field: &Field, rolls: &mut dyn super::Rolls) -> usize {
        let weight =
            |place: usize| self.candidates.at(field.at(place)).compiled.entry.body.group_weight;
        let sum: f64 = group.members.iter().map(|&place| weight(place)).sum();
        let roll = rolls.roll() * sum;
        let mut reached = 0.0;
        let winner = group.members.iter().copied().find(|&place| {
            reached += weight(place);
            roll <= reached
        });
        winner.unwrap_or(group.members[0])
    }
}

// A name that JavaScript lists ahead of all others, as its number.
fn index(name: &str) -> Option<u64> {
    let number: u64 = name.parse().ok()?;
    (number < u64::from(u32::MAX) && number.to_string() == name).then_some(number)
}

// === impl Field ===

impl Field {
    fn get(&self, place: usize) -> Option<&Fresh> {
        self.fresh[place].as_ref()
    }

    // The candidate that stands or stood in the place.
    fn at(&self, place: usize) -> usize {
        self.places[place]
    }

    fn remove(&mut self, place: usize) {
        let gone = match self.fresh[place].take() {
            None if self.takes_last_along => self.fresh.iter_mut().rev().find_map(Option::take),
            gone => gone,
        };
        self.lost.extend(gone.map(|one| one.at));
    }
}

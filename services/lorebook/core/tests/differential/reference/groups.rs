//! Reference A9: of the entries of one group that fire in a pass one stays.

use super::{Scan, State};

struct Group {
    name: String,
    members: Vec<usize>,
    held: bool,
}

/// The entries of a pass that are still in.
struct Field {
    left: Vec<usize>,
    takes_last_along: bool,
}

impl Scan<'_> {
    pub fn one_of_each_group(&mut self, fresh: Vec<usize>, state: State) -> Vec<usize> {
        let mut groups = self.groups(&fresh);
        let mut field = Field { left: fresh, takes_last_along: self.defects.double_group_removal };
        for group in &mut groups {
            let sticky = |at: &usize| field.is_in(*at) && self.timed.is_sticky(*at);
            let (stay, go): (Vec<usize>, Vec<usize>) =
                group.members.iter().partition(|at| sticky(at));
            if !stay.is_empty() {
                group.held = true;
                go.into_iter().for_each(|at| field.remove(at));
            }
        }
        groups.retain(|group| !group.held);
        for group in &mut groups {
            self.drop_losers(group, &field);
            self.by_score(group, &mut field, state);
        }
        for group in &mut groups {
            self.drop_losers(group, &field);
            self.choose(group, &mut field);
        }
        field.left
    }

    // In order of first appearance, whole numbers first.
    fn groups(&self, fresh: &[usize]) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for &at in fresh {
            for name in names(self.rows[at].group()) {
                match groups.iter_mut().find(|group| group.name == name) {
                    Some(group) if group.members.contains(&at) => {}
                    Some(group) => group.members.push(at),
                    None => groups.push(Group { name, members: vec![at], held: false }),
                }
            }
        }
        let number = |name: &str| name.parse::<u32>().ok().filter(|n| n.to_string() == name);
        groups.sort_by_key(|group| number(&group.name).map_or((1, 0), |number| (0, number)));
        groups
    }

    fn drop_losers(&self, group: &mut Group, field: &Field) {
        if !self.defects.losers_win_again {
            group.members.retain(|&at| field.is_in(at));
        }
    }

    fn by_score(&mut self, group: &mut Group, field: &mut Field, state: State) {
        let all = self.is_on("use_group_scoring");
        let own = |scan: &Self, at: usize| scan.rows[at].file["useGroupScoring"].as_bool();
        if !all && !group.members.iter().any(|&at| own(self, at) == Some(true)) {
            return;
        }
        let scores: Vec<usize> = group
            .members
            .iter()
            .map(|&at| {
                let row = self.rows[at].clone();
                self.score(&row, state)
            })
            .collect();
        let best = scores.iter().copied().max().unwrap_or(0);
        let members = std::mem::take(&mut group.members);
        for (at, score) in members.into_iter().zip(scores) {
            if own(self, at).unwrap_or(all) && score < best {
                field.remove(at);
            } else {
                group.members.push(at);
            }
        }
    }

    fn choose(&mut self, group: &Group, field: &mut Field) {
        let taken = self.activated.iter().any(|&at| match self.defects.exclusivity_by_whole_list {
            true => self.rows[at].group() == group.name,
            false => names(self.rows[at].group()).contains(&group.name),
        });
        if taken {
            group.members.iter().for_each(|&at| field.remove(at));
            return;
        }
        if group.members.len() < 2 {
            return;
        }
        let mut over: Vec<usize> = group
            .members
            .iter()
            .copied()
            .filter(|&at| self.rows[at].flag("groupOverride"))
            .collect();
        over.sort_by(|&a, &b| {
            let order = |at: usize| self.rows[at].number("order", 100.0);
            order(b).total_cmp(&order(a))
        });
        let winner = match over.first() {
            Some(&at) => at,
            None => {
                let weight = |scan: &Self, at: usize| scan.rows[at].number("groupWeight", 100.0);
                let sum: f64 = group.members.iter().map(|&at| weight(self, at)).sum();
                let roll = self.roll() * sum;
                let mut reached = 0.0;
                let mut reaches = |at: usize| {
                    reached += weight(self, at);
                    reached >= roll
                };
                group.members.iter().copied().find(|&at| reaches(at)).unwrap_or(group.members[0])
            }
        };
        group.members.iter().filter(|&&at| at != winner).for_each(|&at| field.remove(at));
    }
}

// Split at commas and the white space behind them.
fn names(list: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (at, name) in list.split(',').enumerate() {
        let name = if at == 0 { name } else { name.trim_start() };
        if !name.is_empty() {
            names.push(name.to_owned());
        }
    }
    names
}

// === impl Field ===

impl Field {
    fn is_in(&self, at: usize) -> bool {
        self.left.contains(&at)
    }

    fn remove(&mut self, at: usize) {
        match self.left.iter().position(|&one| one == at) {
            Some(place) => {
                self.left.remove(place);
            }
            None if self.takes_last_along => {
                self.left.pop();
            }
            None => {}
        }
    }
}

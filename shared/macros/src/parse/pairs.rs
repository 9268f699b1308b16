//! Which closing tag belongs to which opening: balanced by name, the leftmost opening first.

use std::collections::{HashMap, VecDeque};

use super::{Kind, Level, Macro};
use crate::table::accepts_scope;

/// The openings of one name that wait for their closing tag.
#[derive(Default)]
struct Waiting {
    /// Macros that can take one more argument; the newest is closed first.
    scopes: Vec<usize>,
    /// Macros that cannot. The oldest claims a closing tag that no scope needs, and both stay literal.
    others: VecDeque<usize>,
}

// === impl Level ===

impl Level {
    /// Finds the partners. Cost: linear in the number of macros.
    ///
    /// Without `scopes` (in the value of a variable shorthand) there are none, and a closing tag is a
    /// call like any other.
    pub(super) fn pair(&mut self, text: &str, scopes: bool) {
        self.partner = vec![None; self.macros.len()];
        self.has_scopes = scopes;
        if !scopes || !self.macros.iter().any(Macro::is_closing) {
            return;
        }
        let mut waiting: HashMap<String, Waiting> = HashMap::new();
        for (index, one) in self.macros.iter().enumerate() {
            let Kind::Call(call) = &one.kind else { continue };
            let name = text[call.name.clone()].to_ascii_lowercase();
            if !call.closes {
                let of_name = waiting.entry(name.clone()).or_default();
                if accepts_scope(call.id, call.arguments.len()) {
                    of_name.scopes.push(index);
                } else {
                    of_name.others.push_back(index);
                }
            } else if let Some(of_name) = waiting.get_mut(&name) {
                let opening = of_name.scopes.pop().or_else(|| of_name.others.pop_front());
                let Some(opening) = opening else { continue };
                self.partner[opening] = Some(index);
                self.partner[index] = Some(opening);
            }
        }
    }
}

// === impl Macro ===

impl Macro {
    pub fn is_closing(&self) -> bool {
        matches!(&self.kind, Kind::Call(call) if call.closes)
    }
}

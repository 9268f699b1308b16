//! What callers do to a world: deeds thrown from the seed, made into requests by what their caller sees.

use super::Dice;

/// One thing that one caller does; twins share it and make the same request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deed {
    /// Its name, from which ids are made.
    pub id: usize,
    pub verb: Verb,
    /// What decides targets and texts.
    pub salt: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Applies a change for the revision that its caller saw.
    Apply,
    /// Closes the change of that deed.
    Close {
        of: usize,
    },
    /// Edits one row's content.
    Edit,
    Create,
    Delete,
    Lock,
    Reorder,
    /// An edit and a creation at once.
    Batch,
    Undo,
    Reset,
    /// Switches the world's head.
    Switch,
    /// Imports a file as a world of its own.
    Import,
    /// Takes a backup of the world and restores it as another.
    Restore,
}

/// Who does what: each caller's deeds in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub deeds: Vec<Deed>,
    /// Indices of `deeds`; one that several name is done by each of them.
    pub callers: Vec<Vec<usize>>,
}

const VERBS: [Verb; 20] = [
    Verb::Apply,
    Verb::Apply,
    Verb::Apply,
    Verb::Apply,
    Verb::Apply,
    Verb::Edit,
    Verb::Edit,
    Verb::Edit,
    Verb::Undo,
    Verb::Undo,
    Verb::Undo,
    Verb::Create,
    Verb::Delete,
    Verb::Lock,
    Verb::Reorder,
    Verb::Batch,
    Verb::Reset,
    Verb::Switch,
    Verb::Import,
    Verb::Restore,
];

// === impl Plan ===

impl Plan {
    pub fn of(dice: &mut Dice) -> Self {
        let mut plan = Self { deeds: Vec::new(), callers: Vec::new() };
        for _ in 0..2 + dice.below(3) {
            let mut own = Vec::new();
            for _ in 0..1 + dice.below(4) {
                own.push(plan.another(dice));
            }
            plan.callers.push(own);
        }
        plan
    }

    /// A new deed, one that closes an earlier change, or an earlier one once more.
    fn another(&mut self, dice: &mut Dice) -> usize {
        let id = self.deeds.len();
        if id > 0 && dice.below(4) == 0 {
            return dice.below(id);
        }
        let applies = |deed: &&Deed| deed.verb == Verb::Apply;
        let of = self.deeds.iter().filter(applies).map(|deed| deed.id).next_back();
        let verb = match of {
            Some(of) if dice.below(6) == 0 => Verb::Close { of },
            _ => *dice.one_of(&VERBS).unwrap_or(&Verb::Apply),
        };
        self.deeds.push(Deed { id, verb, salt: dice.roll() });
        id
    }
}

// === impl Verb ===

impl Verb {
    /// Whether its success changes what the lore says.
    pub fn moves(self) -> bool {
        match self {
            Self::Apply
            | Self::Edit
            | Self::Create
            | Self::Delete
            | Self::Batch
            | Self::Undo
            | Self::Reset => true,
            Self::Close { .. }
            | Self::Lock
            | Self::Switch
            | Self::Import
            | Self::Restore
            // A reorder may put rows where they are already.
            | Self::Reorder => false,
        }
    }
}

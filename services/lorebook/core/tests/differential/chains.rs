//! Chats that go on, with swipes, regenerations, deletions, branches and edits between their turns: what
//! effects do from turn to turn (reference A10).

use lorebook_core::activation::Defects;
use serde_json::{Value, json};

use crate::{generator::Dice, lore_cases, reference};

/// Turns of one chat.
const TURNS: usize = 14;

struct Chat {
    case: Value,
    /// The state after the scan at each number of messages that the path went through.
    states: Vec<Value>,
}

/// Plays the chat of a seed; what first differs, if anything does.
pub fn differs(seed: u64) -> Option<String> {
    let mut dice = Dice::new(seed);
    let mut chat = Chat::new(&mut dice);
    for turn in 0..TURNS {
        let state = chat.step(&mut dice);
        chat.case["timed"] = state;
        let slow = reference::answer(&chat.case, &Defects::default());
        let fast = lore_cases::answer(&chat.case, Defects::default());
        if let Some(difference) = lore_cases::difference(&slow, &fast) {
            return Some(format!("seed {seed}, turn {turn}: {difference}"));
        }
        chat.keep(&slow["timed"]);
    }
    None
}

// === impl Chat ===

impl Chat {
    fn new(dice: &mut Dice) -> Self {
        let mut case = dice.case();
        case["chat"] = json!([]);
        let books = case["books"].as_array_mut().expect("books");
        for book in books.iter_mut() {
            for entry in book["entries"].as_array_mut().expect("entries") {
                for (kind, most) in [("sticky", 4), ("cooldown", 5), ("delay", 4)] {
                    if dice.is(2) {
                        entry[kind] = json!(dice.below(most));
                    }
                }
            }
        }
        let first = books[0].clone();
        for again in books.iter_mut().filter(|book| book["name"] == first["name"]) {
            again["entries"] = first["entries"].clone();
        }
        Self { case, states: vec![json!({"sticky": {}, "cooldown": {}})] }
    }

    fn messages(&mut self) -> &mut Vec<Value> {
        self.case["chat"].as_array_mut().expect("a list")
    }

    /// Changes the chat; answers the state that goes in.
    fn step(&mut self, dice: &mut Dice) -> Value {
        let length = self.messages().len();
        let newest = self.states[self.states.len() - 1].clone();
        match dice.below(10) {
            // The newest message anew, with the state before it.
            0 if length > 0 => {
                self.messages()[length - 1] = dice.message();
                self.states.truncate(length);
                self.states[length - 1].clone()
            }
            // Again at the same length, by a client that knows no branches.
            1 => newest,
            // Messages go; the newest state stays, or the one of that time comes back.
            2 | 3 if length > 1 => {
                let left = 1 + dice.below(length as u64 - 1) as usize;
                self.messages().truncate(left);
                self.states.truncate(left + 1);
                if dice.is(2) { newest } else { self.states[left - 1].clone() }
            }
            4 => {
                self.edit(dice);
                self.states[self.states.len() - 1].clone()
            }
            _ => {
                let message = dice.message();
                self.messages().push(message);
                newest
            }
        }
    }

    /// Changes one entry: its effects are of another one from now on.
    fn edit(&mut self, dice: &mut Dice) {
        let books = self.case["books"].as_array_mut().expect("books");
        let at = dice.below(books.len() as u64) as usize;
        let name = books[at]["name"].as_str().expect("a name").to_owned();
        let uid = dice.below(8) as usize;
        // A book may take part by two sources.
        for book in books.iter_mut().filter(|book| book["name"] == name) {
            let Some(entry) = book["entries"].get_mut(uid) else { return };
            let content = format!("{} edited", entry["content"].as_str().expect("a text"));
            entry["content"] = json!(content);
        }
        for state in &mut self.states {
            for kind in ["sticky", "cooldown"] {
                if let Some(effect) = state[kind].get_mut(format!("{name}.{uid}")) {
                    effect["edited"] = json!(true);
                }
            }
        }
    }

    /// The state after the scan; an effect of an entry as it was stays one.
    fn keep(&mut self, after: &Value) {
        let mut after = after.clone();
        for kind in ["sticky", "cooldown"] {
            for (key, effect) in after[kind].as_object_mut().expect("effects") {
                let before = &self.case["timed"][kind][key];
                if before["edited"] == true && before["start"] == effect["start"] {
                    effect["edited"] = json!(true);
                }
            }
        }
        let length = self.messages().len();
        self.states.truncate(length);
        self.states.push(after);
    }
}

//! Reference A10: sticky and cooldown.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Scan;

/// A stored effect; of an entry as it is now, or as it was before an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effect {
    pub start: i64,
    pub end: i64,
    pub protected: bool,
    pub of_now: bool,
}

#[derive(Debug, Default)]
pub struct Timed {
    pub sticky: BTreeMap<String, Effect>,
    pub cooldown: BTreeMap<String, Effect>,
    sticky_now: Vec<usize>,
    cooling_now: Vec<usize>,
}

impl Timed {
    pub fn is_sticky(&self, at: usize) -> bool {
        self.sticky_now.contains(&at)
    }

    pub fn is_cooling(&self, at: usize) -> bool {
        self.cooling_now.contains(&at)
    }
}

impl Scan<'_> {
    pub fn begin_timed(&mut self) {
        self.timed.sticky = read(&self.input["timed"]["sticky"]);
        self.timed.cooldown = read(&self.input["timed"]["cooldown"]);
        let length = self.length();
        let (kept, now, ended) = self.check(&self.timed.sticky, "sticky");
        self.timed.sticky = kept;
        self.timed.sticky_now = now;
        for at in ended {
            let cooldown = self.rows[at].number("cooldown", 0.0) as i64;
            if cooldown > 0 {
                let effect =
                    Effect { start: length, end: length + cooldown, protected: true, of_now: true };
                self.timed.cooldown.insert(self.rows[at].key(), effect);
                self.timed.cooling_now.push(at);
            }
        }
        let (kept, now, _) = self.check(&self.timed.cooldown, "cooldown");
        self.timed.cooldown = kept;
        self.timed.cooling_now.extend(now);
    }

    // What is kept, which entries it is active on, and on which it ends now.
    fn check(
        &self,
        effects: &BTreeMap<String, Effect>,
        kind: &str,
    ) -> (BTreeMap<String, Effect>, Vec<usize>, Vec<usize>) {
        let length = self.length();
        let (mut kept, mut active, mut ended) = (BTreeMap::new(), Vec::new(), Vec::new());
        for (key, effect) in effects {
            if length <= effect.start && !effect.protected {
                continue;
            }
            let at = self.rows.iter().position(|row| row.key() == *key && effect.of_now);
            let Some(at) = at else {
                if length < effect.end {
                    kept.insert(key.clone(), *effect);
                }
                continue;
            };
            if self.rows[at].number(kind, 0.0) <= 0.0 {
                continue;
            }
            if length >= effect.end {
                ended.push(at);
                continue;
            }
            kept.insert(key.clone(), *effect);
            active.push(at);
        }
        (kept, active, ended)
    }

    pub fn start_timed(&mut self) {
        let start = self.length();
        for &at in &self.activated {
            let row = &self.rows[at];
            for (kind, effects) in
                [("sticky", &mut self.timed.sticky), ("cooldown", &mut self.timed.cooldown)]
            {
                let span = row.number(kind, 0.0) as i64;
                if span > 0 {
                    let effect =
                        Effect { start, end: start + span, protected: false, of_now: true };
                    effects.entry(row.key()).or_insert(effect);
                }
            }
        }
    }
}

fn read(effects: &Value) -> BTreeMap<String, Effect> {
    let one = |effect: &Value| Effect {
        start: effect["start"].as_i64().unwrap_or(0),
        end: effect["end"].as_i64().unwrap_or(0),
        protected: effect["protected"].as_bool().unwrap_or(false),
        of_now: !effect["edited"].as_bool().unwrap_or(false),
    };
    let effects = effects.as_object().into_iter().flatten();
    effects.map(|(key, effect)| (key.clone(), one(effect))).collect()
}

//! Reference A4 to A11 read word for word: every text anew for every key of every entry of every pass.
//!
//! Works on the case as it is written, not on the types of the core.

mod groups;
mod matching;
mod output;
mod timed;

use std::collections::HashMap;

use lorebook_core::activation::Defects;
use serde_json::Value;

use timed::Timed;

/// The answer to a case, in the form of the golden ones.
pub fn answer(input: &Value, defects: &Defects) -> Value {
    let mut scan = Scan::new(input, defects);
    scan.begin_timed();
    scan.run();
    scan.start_timed();
    output::render(&scan)
}

/// One entry of the candidate list.
#[derive(Debug, Clone)]
pub struct Row<'c> {
    pub book: &'c str,
    pub uid: i64,
    pub file: &'c Value,
    pub decorators: Decorators,
    /// Without decorators; after its activation without macros.
    pub content: String,
}

#[derive(Debug, Clone, Default)]
pub struct Decorators {
    pub activate: bool,
    pub dont_activate: bool,
    pub scan_depth: Option<i64>,
    pub depth: Option<i64>,
    pub role: Option<i64>,
    pub position: Option<i64>,
    pub additional_keys: Vec<String>,
    pub exclude_keys: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Initial,
    Recursion,
    MinActivations,
}

pub struct Scan<'c> {
    pub input: &'c Value,
    pub defects: &'c Defects,
    pub rows: Vec<Row<'c>>,
    pub activated: Vec<usize>,
    pub failed: Vec<usize>,
    pub timed: Timed,
    pub recursion: Vec<String>,
    pub skew: i64,
    pub variables: HashMap<String, String>,
    rolls: Vec<f64>,
    levels: Vec<i64>,
    level: i64,
    overflowed: bool,
}

// --- reading the case ---

pub fn list(value: &Value) -> Vec<&Value> {
    value.as_array().map(|items| items.iter().collect()).unwrap_or_default()
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

// === impl Row ===

impl<'c> Row<'c> {
    fn new(book: &'c str, file: &'c Value, defects: &Defects) -> Self {
        let (decorators, content) = matching::decorators(text(&file["content"]), defects);
        Self { book, uid: file["uid"].as_i64().unwrap_or(0), file, decorators, content }
    }

    pub fn key(&self) -> String {
        format!("{}.{}", self.book, self.uid)
    }

    pub fn flag(&self, name: &str) -> bool {
        self.file[name].as_bool().unwrap_or(false)
    }

    pub fn number(&self, name: &str, default: f64) -> f64 {
        self.file[name].as_f64().unwrap_or(default)
    }

    pub fn texts(&self, name: &str) -> Vec<&'c str> {
        list(&self.file[name]).into_iter().map(text).collect()
    }

    pub fn group(&self) -> &'c str {
        text(&self.file["group"])
    }

    fn level(&self) -> i64 {
        match &self.file["delayUntilRecursion"] {
            Value::Bool(delayed) => i64::from(*delayed),
            other => other.as_i64().unwrap_or(0),
        }
    }
}

// === impl Scan ===

impl<'c> Scan<'c> {
    fn new(input: &'c Value, defects: &'c Defects) -> Self {
        let rows = candidates(input, defects);
        let mut levels: Vec<i64> = rows.iter().map(Row::level).filter(|&level| level > 0).collect();
        levels.sort_unstable();
        levels.dedup();
        let level = if levels.is_empty() { 0 } else { levels.remove(0) };
        Self {
            input,
            defects,
            rows,
            activated: Vec::new(),
            failed: Vec::new(),
            timed: Timed::default(),
            recursion: Vec::new(),
            skew: 0,
            variables: HashMap::new(),
            rolls: list(&input["random"]).into_iter().filter_map(Value::as_f64).collect(),
            levels,
            level,
            overflowed: false,
        }
    }

    pub fn setting(&self, name: &str) -> &'c Value {
        &self.input["settings"][format!("world_info_{name}")]
    }

    pub fn is_on(&self, name: &str) -> bool {
        self.setting(name).as_bool().unwrap_or(false)
    }

    pub fn amount(&self, name: &str) -> i64 {
        self.setting(name).as_i64().unwrap_or(0)
    }

    pub fn length(&self) -> i64 {
        list(&self.input["chat"]).len() as i64
    }

    pub fn roll(&mut self) -> f64 {
        if self.rolls.is_empty() { 0.0 } else { self.rolls.remove(0) }
    }

    // A8, the loop.
    fn run(&mut self) {
        let budget = self.budget();
        let mut state = State::Initial;
        let mut loops = 0;
        loop {
            let steps = self.amount("max_recursion_steps");
            if steps > 0 && loops >= steps {
                return;
            }
            loops += 1;
            let mut fresh: Vec<usize> =
                (0..self.rows.len()).filter(|&at| self.fires(at, state)).collect();
            fresh.sort_by_key(|&at| (!self.timed.is_sticky(at), !self.is_forced_copy(at), at));
            let fresh = self.one_of_each_group(fresh, state);
            let passed = self.activate(&fresh, budget);
            let heard: Vec<usize> =
                passed.into_iter().filter(|&at| !self.rows[at].flag("preventRecursion")).collect();
            let Some(next) = self.next(state, &heard) else { return };
            if !heard.is_empty() {
                let said: Vec<&str> =
                    heard.iter().map(|&at| self.rows[at].content.as_str()).collect();
                let said = said.join("\n");
                self.recursion.push(said);
            }
            state = next;
        }
    }

    fn budget(&self) -> i64 {
        let percent = self.amount("budget") as f64;
        let context = self.input["maxContext"].as_f64().unwrap_or(0.0);
        let budget = ((percent * context / 100.0).round() as i64).max(1);
        match self.amount("budget_cap") {
            0 => budget,
            cap => budget.min(cap),
        }
    }

    // A8.1.
    fn fires(&mut self, at: usize, state: State) -> bool {
        let row = self.rows[at].clone();
        let is_sticky = self.timed.is_sticky(at);
        if self.failed.contains(&at) || self.activated.contains(&at) || row.flag("disable") {
            return false;
        }
        let triggers = row.texts("triggers");
        if !triggers.is_empty() && !triggers.contains(&text(&self.input["trigger"])) {
            return false;
        }
        if !self.passes_filter(&row) || (self.length() as f64) < row.number("delay", 0.0) {
            return false;
        }
        if !is_sticky {
            let recursing = state == State::Recursion;
            if self.timed.is_cooling(at)
                || (row.level() > 0 && (!recursing || row.level() > self.level))
                || (recursing && self.is_on("recursive") && row.flag("excludeRecursion"))
            {
                return false;
            }
        }
        if row.decorators.activate {
            return true;
        }
        if row.decorators.dont_activate {
            return false;
        }
        self.is_forced(at) || row.flag("constant") || is_sticky || self.matches(&row, state)
    }

    fn is_forced(&self, at: usize) -> bool {
        let row = &self.rows[at];
        list(&self.input["forced"])
            .into_iter()
            .any(|one| text(&one[0]) == row.book && one[1].as_i64() == Some(row.uid))
    }

    // An entry that its decorator activates is itself, not the caller's copy.
    fn is_forced_copy(&self, at: usize) -> bool {
        self.is_forced(at) && !self.rows[at].decorators.activate
    }

    fn passes_filter(&self, row: &Row<'_>) -> bool {
        let filter = &row.file["characterFilter"];
        let excludes = filter["isExclude"].as_bool().unwrap_or(false);
        let avatar = text(&self.input["avatar"]);
        let name = &avatar[..avatar.rfind('.').unwrap_or(avatar.len())];
        let names = list(&filter["names"]);
        if !names.is_empty() && names.iter().any(|one| text(one) == name) == excludes {
            return false;
        }
        let tags = list(&filter["tags"]);
        if tags.is_empty() || !self.input["tags"].is_array() {
            return true;
        }
        let own = list(&self.input["tags"]);
        tags.iter().any(|tag| own.contains(tag)) != excludes
    }

    // A8.4. Answers those that did not fail their roll; ones dropped by the budget only by defect.
    fn activate(&mut self, fresh: &[usize], budget: i64) -> Vec<usize> {
        let tokens = |text: &str| text.split_whitespace().count() as i64;
        let before: i64 = self.recursion.iter().map(|text| tokens(text)).sum();
        let mut said = String::new();
        let mut passed = Vec::new();
        for &at in fresh {
            let ignores = self.rows[at].flag("ignoreBudget");
            if self.overflowed && !ignores {
                passed.extend(self.defects.dropped_text_leaks.then_some(at));
                continue;
            }
            if !self.passes_roll(at) {
                self.failed.push(at);
                continue;
            }
            let content = self.expand(&self.rows[at].content.clone());
            said.push_str(&content);
            said.push('\n');
            self.rows[at].content = content;
            if !ignores && before + tokens(&said) >= budget {
                self.overflowed = true;
                passed.extend(self.defects.dropped_text_leaks.then_some(at));
                continue;
            }
            self.activated.push(at);
            passed.push(at);
        }
        passed
    }

    fn passes_roll(&mut self, at: usize) -> bool {
        let row = &self.rows[at];
        let probability = row.number("probability", 100.0);
        let rolls = row.file["useProbability"].as_bool().unwrap_or(true);
        if !rolls || probability == 100.0 || self.timed.is_sticky(at) {
            return true;
        }
        let passes = self.roll() * 100.0 <= probability;
        passes && (probability > 0.0 || self.defects.zero_percent_fires)
    }

    // A8.5.
    fn next(&mut self, state: State, heard: &[usize]) -> Option<State> {
        let recursive = self.is_on("recursive") && !self.overflowed;
        let unread = state == State::MinActivations && !self.recursion.is_empty();
        if recursive && (!heard.is_empty() || unread) {
            return Some(State::Recursion);
        }
        let depth = self.amount("depth") + self.skew;
        let depth_max = self.amount("min_activations_depth_max");
        if (self.activated.len() as i64) < self.amount("min_activations")
            && !self.overflowed
            && !(depth_max > 0 && depth > depth_max)
            && depth <= self.length()
        {
            self.skew += 1;
            return Some(State::MinActivations);
        }
        if self.levels.is_empty() {
            return None;
        }
        self.level = self.levels.remove(0);
        Some(State::Recursion)
    }
}

// A4: which books, and the sorted candidate list.
fn candidates<'c>(input: &'c Value, defects: &Defects) -> Vec<Row<'c>> {
    let books = list(&input["books"]);
    let precedence = ["global", "chat", "persona", "character"];
    let selected = |name: &str, kind: &str| {
        let of = |kind: &str| {
            books.iter().any(|book| text(&book["name"]) == name && text(&book["source"]) == kind)
        };
        precedence.iter().find(|kind| of(kind)) == Some(&kind)
    };
    let rows = |kind: &str| -> Vec<Row<'c>> {
        let mut rows = Vec::new();
        let mut seen = Vec::new();
        for book in books.iter().filter(|book| text(&book["source"]) == kind) {
            let name = text(&book["name"]);
            if selected(name, kind) && !seen.contains(&name) {
                seen.push(name);
                let mut entries: Vec<Row<'c>> = list(&book["entries"])
                    .into_iter()
                    .map(|file| Row::new(name, file, defects))
                    .collect();
                entries.sort_by_key(|row| row.uid);
                rows.append(&mut entries);
            }
        }
        rows
    };
    let sorted = |mut rows: Vec<Row<'c>>| {
        rows.sort_by(|a, b| b.number("order", 100.0).total_cmp(&a.number("order", 100.0)));
        rows
    };
    let [global, chat, persona, character] = precedence.map(rows);
    let rest = match input["settings"]["world_info_character_strategy"].as_i64().unwrap_or(1) {
        0 => sorted([global, character].concat()),
        2 => [sorted(global), sorted(character)].concat(),
        _ => [sorted(character), sorted(global)].concat(),
    };
    [sorted(chat), sorted(persona), rest].concat()
}

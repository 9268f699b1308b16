//! Random cases in the form of the golden ones: small vocabularies, so that things meet.

use serde_json::{Map, Value, json};

/// A small generator of numbers; the same seed gives the same ones.
pub struct Dice(u64);

const WORDS: [&str; 18] = [
    "cat",
    "dog",
    "Elf",
    "elf",
    "дом",
    "домой",
    "龙",
    "恐龙",
    "c++",
    "red cat",
    "hundred",
    "_cat",
    "café",
    "caf",
    "Istanbul",
    "İ",
    "ΣΑΣ",
    "Bob",
];
const KEYS: [&str; 26] = [
    "cat",
    "dog",
    "elf",
    "ELF",
    "дом",
    "龙",
    "c++",
    "red cat",
    "_cat",
    "caf",
    "i",
    "σας",
    " cat ",
    "",
    " ",
    "{{user}}",
    "{{char}} sings",
    "{{getvar::v}}",
    "/d.g/",
    "/ELF/i",
    "/^cat/m",
    "/\\x01Bob: /",
    "/(cat|dog)\\s\\1/",
    "/cat",
    "/a/b/",
    "/(/",
];
const PIECES: [&str; 8] = [
    "{{user}}",
    "{{char}} sings",
    "{{setvar::v::cat}}",
    "{{setvar::v::龙}}",
    "{{getvar::v}}",
    "{{noop}}",
    "\u{2028}",
    "dog",
];
const DECORATORS: [&str; 15] = [
    "@@activate",
    "@@dont_activate",
    "@@activate ",
    "@@@activate",
    "@@@dont_activate",
    "@@unknown",
    "@@depth 1",
    "@@depth x",
    "@@role user",
    "@@scan_depth 1",
    "@@position after_desc",
    "@@additional_keys dog, elf",
    "@@exclude_keys cat, 龙",
    "@@activate_only_after 2",
    "@@",
];
const SOURCES: [&str; 4] = ["global", "character", "chat", "persona"];
const GROUPS: [&str; 9] = ["a", "b", "a,b", "b, c", "c,a", "7", "b,7", "a ", "constructor"];
const FLAGS: [&str; 6] = [
    "matchPersonaDescription",
    "matchCharacterDescription",
    "matchCharacterPersonality",
    "matchCharacterDepthPrompt",
    "matchScenario",
    "matchCreatorNotes",
];

// === impl Dice ===

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// One whole case.
    pub fn case(&mut self) -> Value {
        let messages = self.below(7);
        let chat: Vec<Value> = (0..messages).map(|_| self.message()).collect();
        let mut books: Vec<Value> = (0..1 + self.below(4)).map(|at| self.book(at)).collect();
        // One book by two sources.
        if self.is(5) {
            let mut again = books[0].clone();
            again["source"] = json!(self.of(&SOURCES));
            books.push(again);
        }
        let random: Vec<f64> = (0..40).map(|_| self.roll()).collect();
        let (timed, forced) = (self.timed(&books, messages), self.forced(&books));
        let scan_data: Map<String, Value> = FLAGS
            .iter()
            .map(|flag| {
                let name = flag.strip_prefix("match").unwrap_or(flag);
                let name = format!("{}{}", name[..1].to_lowercase(), &name[1..]);
                let text = if self.is(3) { String::new() } else { self.text(3) };
                (name, json!(text))
            })
            .collect();
        let mut case = json!({
            "books": books,
            "chat": chat,
            "user": "Bob",
            "char": "Mira",
            "avatar": self.of(&["mira.png", "mira.v2.png", "mira", ""]),
            "settings": self.settings(),
            "maxContext": self.of(&[20, 60, 120, 4_096, 4_096]),
            "trigger": self.of(&["normal", "continue", "swipe", "quiet"]),
            "random": random,
            "scanData": scan_data,
            "timed": timed,
            "forced": forced,
        });
        if self.is(2) {
            case["tags"] = json!(self.some(&["hero", "villain"]));
        }
        if self.is(3) {
            case["extraTexts"] = json!([self.text(3)]);
        }
        case
    }

    pub fn message(&mut self) -> Value {
        json!({"name": self.of(&["Bob", "Mira"]), "mes": self.text(5)})
    }

    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// One time in so many.
    pub fn is(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    fn some<T: Copy>(&mut self, all: &[T]) -> Vec<T> {
        let count = self.below(all.len() as u64 + 1);
        (0..count).map(|_| self.of(all)).collect()
    }

    fn roll(&mut self) -> f64 {
        match self.below(8) {
            0 => 0.0,
            1 => 0.5,
            _ => self.below(10_000) as f64 / 10_000.0,
        }
    }

    fn text(&mut self, words: u64) -> String {
        let count = self.below(words + 1);
        let words: Vec<&str> = (0..count).map(|_| self.of(&WORDS)).collect();
        words.join(" ")
    }

    fn settings(&mut self) -> Value {
        json!({
            "world_info_depth": self.below(5),
            "world_info_min_activations": self.of(&[0, 0, 2, 5]),
            "world_info_min_activations_depth_max": self.of(&[0, 2, 4]),
            "world_info_budget": self.of(&[1, 25, 50, 100, 100]),
            "world_info_budget_cap": self.of(&[0, 0, 8, 30]),
            "world_info_include_names": self.is(2),
            "world_info_recursive": !self.is(3),
            "world_info_case_sensitive": self.is(3),
            "world_info_match_whole_words": self.is(2),
            "world_info_use_group_scoring": self.is(4),
            "world_info_character_strategy": self.below(3),
            "world_info_max_recursion_steps": self.of(&[0, 0, 1, 2, 3]),
        })
    }

    fn book(&mut self, at: u64) -> Value {
        let source = self.of(&SOURCES);
        let entries: Vec<Value> = (0..self.below(8)).map(|uid| self.entry(uid)).collect();
        json!({"name": format!("book{at}"), "source": source, "entries": entries})
    }

    fn content(&mut self, uid: u64) -> String {
        let mut content = String::new();
        if self.is(5) {
            for _ in 0..1 + self.below(3) {
                content.push_str(self.of(&DECORATORS));
                content.push('\n');
            }
            if self.is(6) {
                content.pop();
                return content;
            }
        }
        if self.is(3) {
            content.push_str(self.of(&PIECES));
            content.push(' ');
        }
        match self.below(8) {
            0 => content,
            1 => content.trim_end().to_owned(),
            _ => format!("{content}e{uid} {}", self.text(3)),
        }
    }

    fn entry(&mut self, uid: u64) -> Value {
        let mut entry = Map::new();
        let keys: Vec<&str> = (0..self.below(4)).map(|_| self.of(&KEYS)).collect();
        entry.insert("uid".into(), json!(uid));
        entry.insert("key".into(), json!(keys));
        entry.insert("content".into(), json!(self.content(uid)));
        let mut put = |dice: &mut Self, one_in: u64, name: &str, values: &[Value]| {
            if dice.is(one_in) {
                let value = values[dice.below(values.len() as u64) as usize].clone();
                entry.insert(name.to_owned(), value);
            }
        };
        let [yes, no] = [json!(true), json!(false)];
        let numbers = |all: &[f64]| all.iter().map(|&one| json!(one)).collect::<Vec<Value>>();
        put(self, 2, "order", &numbers(&[0.0, 50.0, 99.5, 100.0, 200.0, -3.0]));
        put(self, 2, "position", &[0, 1, 2, 3, 4, 4, 5, 6, 7, 8].map(|one| json!(one)));
        put(self, 2, "depth", &[0, 1, 4].map(|one| json!(one)));
        put(self, 2, "role", &[0, 1, 2].map(|one| json!(one)));
        put(self, 2, "outletName", &["o", "p", ""].map(|one| json!(one)));
        put(self, 3, "selective", &[yes.clone(), no.clone()]);
        put(self, 2, "selectiveLogic", &[0, 1, 2, 3, 7].map(|one| json!(one)));
        put(self, 6, "constant", std::slice::from_ref(&yes));
        put(self, 10, "disable", std::slice::from_ref(&yes));
        put(self, 6, "ignoreBudget", std::slice::from_ref(&yes));
        put(self, 5, "excludeRecursion", std::slice::from_ref(&yes));
        put(self, 5, "preventRecursion", std::slice::from_ref(&yes));
        put(
            self,
            5,
            "delayUntilRecursion",
            &[yes.clone(), no.clone(), json!(1), json!(2), json!(4)],
        );
        put(self, 4, "probability", &numbers(&[0.0, 10.0, 50.0, 99.5, 100.0]));
        put(self, 8, "useProbability", std::slice::from_ref(&no));
        put(self, 3, "group", &GROUPS.map(|one| json!(one)));
        put(self, 4, "groupOverride", std::slice::from_ref(&yes));
        put(self, 3, "groupWeight", &numbers(&[0.0, 0.5, 1.0, 300.0]));
        put(self, 4, "useGroupScoring", &[yes.clone(), no.clone()]);
        put(self, 4, "scanDepth", &[0, 1, 2, 1_001].map(|one| json!(one)));
        put(self, 4, "caseSensitive", &[yes.clone(), no.clone()]);
        put(self, 4, "matchWholeWords", &[yes.clone(), no]);
        for kind in ["sticky", "cooldown", "delay"] {
            put(self, 4, kind, &[0, 1, 2, 4].map(|one| json!(one)));
        }
        for flag in FLAGS {
            put(self, 8, flag, std::slice::from_ref(&yes));
        }
        let kinds = [json!(["normal"]), json!(["swipe", "quiet"]), json!([])];
        put(self, 8, "triggers", &kinds);
        if self.is(3) {
            let keys: Vec<&str> = (0..self.below(4)).map(|_| self.of(&KEYS)).collect();
            entry.insert("keysecondary".into(), json!(keys));
        }
        if self.is(10) {
            let filter = json!({
                "isExclude": self.is(2),
                "names": self.some(&["mira", "mira.v2", "tom"]),
                "tags": self.some(&["hero", "villain"]),
            });
            entry.insert("characterFilter".into(), filter);
        }
        Value::Object(entry)
    }

    // Effects of earlier turns, of entries as they are, as they were, and of unknown ones.
    fn timed(&mut self, books: &[Value], messages: u64) -> Value {
        let mut timed = json!({"sticky": {}, "cooldown": {}});
        for book in books {
            for uid in 0..9 {
                for kind in ["sticky", "cooldown"] {
                    if self.is(5) {
                        let start = self.below(messages + 2);
                        let end = start + 1 + self.below(4);
                        let key = format!("{}.{uid}", book["name"].as_str().expect("a name"));
                        timed[kind][key] = json!({
                            "start": start,
                            "end": end,
                            "protected": self.is(4),
                            // What is switched off now was not when the effect began.
                            "edited": self.is(6) || book["entries"][uid]["disable"] == true,
                        });
                    }
                }
            }
        }
        timed
    }

    fn forced(&mut self, books: &[Value]) -> Value {
        let mut forced = Vec::new();
        for book in books {
            if self.is(4) {
                forced.push(json!([book["name"], self.below(8)]));
            }
        }
        json!(forced)
    }
}

//! Reference A4's decorators, A5's texts, A6's keys and A7's logic.

use lorebook_core::activation::Defects;

use super::{Decorators, Row, Scan, State, list, text};

/// Splits the decorators off a content.
pub fn decorators(content: &str, defects: &Defects) -> (Decorators, String) {
    let mut found = Decorators::default();
    if !content.starts_with("@@") {
        return (found, content.to_owned());
    }
    let lines: Vec<&str> = content.split('\n').collect();
    let mut falls_back = false;
    for (at, line) in lines.iter().enumerate() {
        if !line.starts_with("@@") {
            return (found, lines[at..].join("\n"));
        }
        if line.starts_with("@@@") && !falls_back {
            continue;
        }
        let said = line.strip_prefix("@@@").or_else(|| line.strip_prefix("@@")).unwrap_or("");
        let honoured = honour(said, &mut found, defects);
        let known = ["activate", "dont_activate"].iter().any(|name| said.starts_with(name));
        falls_back = !known && !honoured;
    }
    (found, content.to_owned())
}

// The two that SillyTavern knows, and ours beyond it.
fn honour(said: &str, found: &mut Decorators, defects: &Defects) -> bool {
    match said {
        "activate" => found.activate = true,
        "dont_activate" => found.dont_activate = true,
        _ if defects.decorators_dropped => return false,
        _ => return honour_more(said, found).is_some(),
    }
    true
}

fn honour_more(said: &str, found: &mut Decorators) -> Option<()> {
    let (name, value) = said.split_once(' ')?;
    let value = value.trim();
    match name {
        "depth" => {
            found.depth = Some(value.parse::<u32>().ok()?.into());
            found.position = found.position.or(Some(4));
        }
        "scan_depth" => found.scan_depth = Some(value.parse::<u32>().ok()?.into()),
        "role" => {
            let roles = ["system", "user", "assistant"];
            found.role = Some(roles.iter().position(|role| *role == value)? as i64);
        }
        "position" => {
            found.position = Some(match value {
                "before_desc" | "before_char" => 0,
                "after_desc" | "after_char" => 1,
                _ => return None,
            });
        }
        "additional_keys" => found.additional_keys.extend(keys(value)?),
        "exclude_keys" => found.exclude_keys.extend(keys(value)?),
        _ => return None,
    }
    Some(())
}

fn keys(value: &str) -> Option<Vec<String>> {
    let keys = value.split(',').map(str::trim).filter(|key| !key.is_empty()).map(str::to_owned);
    Some(keys.collect()).filter(|keys: &Vec<String>| !keys.is_empty())
}

impl Scan<'_> {
    /// A6 and A7 for one entry.
    pub fn matches(&mut self, row: &Row<'_>, state: State) -> bool {
        let Some(text) = self.scanned(row, state) else { return false };
        let primary = row.texts("key");
        if !primary.iter().any(|key| self.holds(&text, key, row)) {
            return false;
        }
        let secondary = row.texts("keysecondary");
        if row.file["selective"].as_bool().unwrap_or(true) && !secondary.is_empty() {
            let hits = secondary.iter().filter(|key| self.holds(&text, key, row)).count();
            let fits = match row.file["selectiveLogic"].as_i64().unwrap_or(0) {
                0 => hits > 0,
                1 => hits < secondary.len(),
                2 => hits == 0,
                3 => hits == secondary.len(),
                _ => false,
            };
            if !fits {
                return false;
            }
        }
        let more = &row.decorators.additional_keys;
        if !more.is_empty() && !more.iter().any(|key| self.holds(&text, key, row)) {
            return false;
        }
        !row.decorators.exclude_keys.iter().any(|key| self.holds(&text, key, row))
    }

    /// A9b.
    pub fn score(&mut self, row: &Row<'_>, state: State) -> usize {
        let (primary, secondary) = (row.texts("key"), row.texts("keysecondary"));
        if primary.is_empty() {
            return 0;
        }
        let text = self.scanned(row, state);
        let mut hits = |keys: &[&str]| match &text {
            Some(text) => keys.iter().filter(|key| self.holds(text, key, row)).count(),
            None => 0,
        };
        let (of_primary, of_secondary) = (hits(&primary), hits(&secondary));
        match row.file["selectiveLogic"].as_i64().unwrap_or(0) {
            0 => of_primary + of_secondary,
            3 if of_secondary == secondary.len() => of_primary + of_secondary,
            _ => of_primary,
        }
    }

    // A5; None: nothing is scanned.
    fn scanned(&mut self, row: &Row<'_>, state: State) -> Option<String> {
        let own = row.decorators.scan_depth.or_else(|| row.file["scanDepth"].as_i64());
        let depth = own.unwrap_or(self.amount("depth") + self.skew).min(1_000);
        if depth <= 0 {
            return None;
        }
        let mut messages: Vec<String> = list(&self.input["chat"])
            .into_iter()
            .rev()
            .map(|one| match self.is_on("include_names") {
                true => format!("{}: {}", text(&one["name"]), text(&one["mes"])),
                false => text(&one["mes"]).to_owned(),
            })
            .map(|one| one.trim().to_owned())
            .collect();
        messages.truncate(depth as usize);
        let mut scanned = format!("\u{1}{}", messages.join("\n\u{1}"));
        let sources = [
            ("matchPersonaDescription", "personaDescription"),
            ("matchCharacterDescription", "characterDescription"),
            ("matchCharacterPersonality", "characterPersonality"),
            ("matchCharacterDepthPrompt", "characterDepthPrompt"),
            ("matchScenario", "scenario"),
            ("matchCreatorNotes", "creatorNotes"),
        ];
        for (flag, source) in sources {
            let source = text(&self.input["scanData"][source]);
            if row.flag(flag) && !source.is_empty() {
                let source = self.expand(source);
                scanned.push_str(&format!("\n\u{1}{source}"));
            }
        }
        for extra in list(&self.input["extraTexts"]) {
            scanned.push_str(&format!("\n\u{1}{}", text(extra)));
        }
        if state != State::MinActivations {
            for said in &self.recursion {
                scanned.push_str(&format!("\n\u{1}{said}"));
            }
        }
        Some(scanned)
    }

    fn holds(&mut self, text: &str, key: &str, row: &Row<'_>) -> bool {
        let key = self.expand(key);
        if key.is_empty() {
            return false;
        }
        let key = key.trim();
        if key.is_empty() {
            return self.defects.blank_keys_match;
        }
        if let Some((pattern, flags)) = key.strip_prefix('/').and_then(|rest| rest.rsplit_once('/'))
            && !pattern.is_empty()
            && flags.chars().all(|flag| "gimsuy".contains(flag))
            && !pattern.replace("\\/", "").contains('/')
            && let Ok(regex) =
                regress::Regex::with_flags(pattern, flags.replace(['g', 'y'], "").as_str())
        {
            return regex
                .find(text)
                .is_some_and(|found| !flags.contains('y') || found.start() == 0);
        }
        let own = |name: &str| row.file[name].as_bool();
        let sensitive = own("caseSensitive").unwrap_or(self.is_on("case_sensitive"));
        let (text, key) = match sensitive {
            true => (text.to_owned(), key.to_owned()),
            false => (text.to_lowercase(), key.to_lowercase()),
        };
        let whole = own("matchWholeWords").unwrap_or(self.is_on("match_whole_words"));
        if !whole || key.split_whitespace().count() > 1 {
            return text.contains(&key);
        }
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        text.char_indices().any(|(at, _)| {
            text[at..].starts_with(&key)
                && !text[..at].chars().next_back().is_some_and(is_word)
                && !text[at + key.len()..].chars().next().is_some_and(is_word)
        })
    }

    /// The few macros of the generated cases.
    pub fn expand(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((call, tail)) = after.split_once("}}") else { break };
            out.push_str(before);
            let parts: Vec<&str> = call.split("::").collect();
            match parts[..] {
                ["user"] => out.push_str(text_of(&self.input["user"])),
                ["char"] => out.push_str(text_of(&self.input["char"])),
                ["noop"] => {}
                ["setvar", name, value] => {
                    self.variables.insert(name.to_owned(), value.to_owned());
                }
                ["getvar", name] => {
                    out.push_str(self.variables.get(name).map_or("", String::as_str));
                }
                _ => out.push_str(&format!("{{{{{call}}}}}")),
            }
            rest = tail;
        }
        out.push_str(rest);
        out
    }
}

fn text_of(value: &serde_json::Value) -> &str {
    text(value)
}

//! The texts of a scan, and which of them an entry sees (reference A5).

use std::ops::Range;

use super::{Message, Request, compiled::CompiledEntry, expander::Expander};
use crate::{entry::EntryBody, regex_key::is_space};

/// Messages seen at the most, whatever an entry asks for.
pub(super) const DEPTH_MAX: u32 = 1_000;

/// Everything that can be matched.
#[derive(Debug)]
pub(super) struct Texts {
    messages: Messages,
    /// In the order in which a window holds them.
    extras: Vec<Extra>,
    /// Texts of fired entries, one per pass.
    pub recursion: Vec<String>,
}

/// The messages, newest first, in one text: a window holds its beginning.
#[derive(Debug)]
struct Messages {
    all: String,
    /// Where each one lies.
    places: Vec<Range<usize>>,
}

/// A text that is no message.
#[derive(Debug)]
struct Extra {
    bit: u8,
    text: String,
}

/// Where a text stands.
#[derive(Debug, Clone, Copy)]
pub(super) enum Spot {
    /// Counted from the newest message.
    Message(u32),
    /// Behind the messages, under this bit.
    Extra(u8),
}

/// Which texts an entry sees: so many messages, and the extras of these bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Window {
    /// 0: nothing at all, extras included.
    pub depth: u32,
    pub extras: u8,
}

const PERSONA: u8 = 1;
const DESCRIPTION: u8 = 1 << 1;
const PERSONALITY: u8 = 1 << 2;
const DEPTH_PROMPT: u8 = 1 << 3;
const SCENARIO: u8 = 1 << 4;
const CREATOR_NOTES: u8 = 1 << 5;
const EXTRA_TEXT: u8 = 1 << 6;
/// The texts that fired entries added.
pub(super) const RECURSION: u8 = 1 << 7;

/// Stands before each text, so that a key cannot reach from one into the next.
const START: &str = "\u{1}";

// === impl Texts ===

impl Texts {
    pub fn new(request: &Request, expander: &mut dyn Expander) -> Self {
        let sources = &request.sources;
        let mut extras = Vec::new();
        for (bit, text, place) in [
            (PERSONA, &sources.persona_description, "scan:persona_description"),
            (DESCRIPTION, &sources.character_description, "scan:character_description"),
            (PERSONALITY, &sources.character_personality, "scan:character_personality"),
            (DEPTH_PROMPT, &sources.character_depth_prompt, "scan:character_depth_prompt"),
            (SCENARIO, &sources.scenario, "scan:scenario"),
            (CREATOR_NOTES, &sources.creator_notes, "scan:creator_notes"),
        ] {
            if !text.is_empty() {
                let text = expander.expand(text, place).text;
                extras.push(Extra { bit, text: started(&text) });
            }
        }
        extras.extend(
            request
                .extra_texts
                .iter()
                .filter(|text| !text.is_empty())
                .map(|text| Extra { bit: EXTRA_TEXT, text: started(text) }),
        );
        let newest = request.messages.iter().rev().take(DEPTH_MAX as usize);
        let messages = Messages::new(newest, request.settings.include_names);
        Self { messages, extras, recursion: Vec::new() }
    }

    /// Adds what a pass fired, a [`started`] text; it is scanned in later passes.
    pub fn recurse(&mut self, text: String) -> &str {
        self.recursion.push(text);
        self.recursion.last().map_or("", String::as_str)
    }

    /// Every text that can be matched so far.
    pub fn all(&self) -> impl Iterator<Item = (Spot, &str)> {
        let messages = (0..).zip(self.messages.iter());
        let messages = messages.map(|(at, text)| (Spot::Message(at), text));
        let extras = self.extras.iter().map(|extra| (Spot::Extra(extra.bit), extra.text.as_str()));
        let recursion = self.recursion.iter().map(|text| (Spot::Extra(RECURSION), text.as_str()));
        messages.chain(extras).chain(recursion)
    }

    /// What an entry sees. Windows that hold the same texts are equal.
    pub fn window(&self, entry: &CompiledEntry, depth: u32, sees_recursion: bool) -> Window {
        let asked =
            EXTRA_TEXT | flags(&entry.entry.body) | if sees_recursion { RECURSION } else { 0 };
        let recursion = if self.recursion.is_empty() { 0 } else { RECURSION };
        let present = self.extras.iter().fold(recursion, |bits, extra| bits | extra.bit);
        let messages = self.messages.places.len().max(1) as u32;
        Window { depth: depth.min(messages), extras: asked & present }
    }

    /// The text that a pattern is matched against.
    pub fn joined(&self, window: Window) -> String {
        if window.depth == 0 {
            return String::new();
        }
        let extras = self.extras.iter().filter(|extra| extra.bit & window.extras != 0);
        let recursion = self.recursion.iter().filter(|_| window.extras & RECURSION != 0);
        // Without messages the place of the first stays, empty.
        let mut all = vec![self.messages.newest(window.depth as usize).unwrap_or(START)];
        all.extend(extras.map(|extra| extra.text.as_str()));
        all.extend(recursion.map(String::as_str));
        all.join("\n")
    }
}

/// A text that no key reaches into from outside.
pub(super) fn started(text: &str) -> String {
    [START, text].concat()
}

// === impl Messages ===

impl Messages {
    fn new<'r>(newest: impl Iterator<Item = &'r Message> + Clone, include_names: bool) -> Self {
        const AROUND: usize = START.len() + ": ".len() + "\n".len();
        let bytes = newest.clone().map(|message| message.name.len() + message.text.len() + AROUND);
        let mut all = String::with_capacity(bytes.sum());
        let mut places = Vec::with_capacity(newest.size_hint().0);
        for Message { name, text } in newest {
            if !all.is_empty() {
                all.push('\n');
            }
            let from = all.len();
            all.push_str(START);
            // Trimmed as a whole; the colon is no white space.
            if include_names {
                all.push_str(name.trim_start_matches(is_space));
                all.push_str(": ");
                all.push_str(text);
            } else {
                all.push_str(text.trim_start_matches(is_space));
            }
            let kept = all[from + START.len()..].trim_end_matches(is_space).len();
            all.truncate(from + START.len() + kept);
            places.push(from..all.len());
        }
        Self { all, places }
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        self.places.iter().map(|place| &self.all[place.clone()])
    }

    /// So many, a line break between them; None if there is none at all.
    fn newest(&self, count: usize) -> Option<&str> {
        let last = self.places.get(..count).unwrap_or(&self.places).last()?;
        Some(&self.all[..last.end])
    }
}

fn flags(body: &EntryBody) -> u8 {
    [
        (body.match_persona_description, PERSONA),
        (body.match_character_description, DESCRIPTION),
        (body.match_character_personality, PERSONALITY),
        (body.match_character_depth_prompt, DEPTH_PROMPT),
        (body.match_scenario, SCENARIO),
        (body.match_creator_notes, CREATOR_NOTES),
    ]
    .into_iter()
    .filter(|&(asked, _)| asked)
    .fold(0, |bits, (_, bit)| bits | bit)
}

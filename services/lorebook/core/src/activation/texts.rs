//! The texts of a scan, and which of them an entry sees (reference A5).

use std::sync::Arc;

use super::{Request, compiled::CompiledEntry, expander::Expander};
use crate::{entry::EntryBody, regex_key::is_space};

/// Messages seen at the most, whatever an entry asks for.
pub(super) const DEPTH_MAX: u32 = 1_000;

/// Everything that can be matched.
#[derive(Debug)]
pub(super) struct Texts {
    /// Newest first.
    pub messages: Vec<Arc<str>>,
    /// In the order in which a window holds them.
    pub extras: Vec<Extra>,
    /// Texts of fired entries, one per pass.
    pub recursion: Vec<Arc<str>>,
}

/// A text that is no message.
#[derive(Debug)]
pub(super) struct Extra {
    pub bit: u8,
    pub text: Arc<str>,
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
        let include_names = request.settings.include_names;
        let message = |message: &super::Message| -> Arc<str> {
            let Message { name, text } = message;
            match include_names {
                true => format!("{START}{}", trim(&format!("{name}: {text}"))).into(),
                false => format!("{START}{}", trim(text)).into(),
            }
        };
        use super::Message;
        let messages =
            request.messages.iter().rev().take(DEPTH_MAX as usize).map(message).collect();
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
                extras.push(Extra { bit, text: format!("{START}{text}").into() });
            }
        }
        extras.extend(
            request
                .extra_texts
                .iter()
                .filter(|text| !text.is_empty())
                .map(|text| Extra { bit: EXTRA_TEXT, text: format!("{START}{text}").into() }),
        );
        Self { messages, extras, recursion: Vec::new() }
    }

    /// Adds what a pass fired; the text is scanned in later passes.
    pub fn recurse(&mut self, text: &str) -> Arc<str> {
        let text: Arc<str> = format!("{START}{text}").into();
        self.recursion.push(Arc::clone(&text));
        text
    }

    /// Every text that can be matched so far.
    pub fn all(&self) -> impl Iterator<Item = (Spot, &Arc<str>)> {
        let messages = (0..).zip(&self.messages).map(|(at, text)| (Spot::Message(at), text));
        let extras = self.extras.iter().map(|extra| (Spot::Extra(extra.bit), &extra.text));
        let recursion = self.recursion.iter().map(|text| (Spot::Extra(RECURSION), text));
        messages.chain(extras).chain(recursion)
    }

    /// What an entry sees. Windows that hold the same texts are equal.
    pub fn window(&self, entry: &CompiledEntry, depth: u32, sees_recursion: bool) -> Window {
        let asked =
            EXTRA_TEXT | flags(&entry.entry.body) | if sees_recursion { RECURSION } else { 0 };
        let recursion = if self.recursion.is_empty() { 0 } else { RECURSION };
        let present = self.extras.iter().fold(recursion, |bits, extra| bits | extra.bit);
        let messages = self.messages.len().max(1) as u32;
        Window { depth: depth.min(messages), extras: asked & present }
    }

    /// The text that a pattern is matched against.
    pub fn joined(&self, window: Window) -> String {
        if window.depth == 0 {
            return String::new();
        }
        let messages = self.messages.iter().take(window.depth as usize);
        let extras = self.extras.iter().filter(|extra| extra.bit & window.extras != 0);
        let recursion = self.recursion.iter().filter(|_| window.extras & RECURSION != 0);
        // Without messages the place of the first stays, empty.
        let nothing: Arc<str> = START.into();
        let all: Vec<&str> = messages
            .chain(self.messages.is_empty().then_some(&nothing))
            .chain(extras.map(|extra| &extra.text))
            .chain(recursion)
            .map(|text| &**text)
            .collect();
        all.join("\n")
    }
}

fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
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

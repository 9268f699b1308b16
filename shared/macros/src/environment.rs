//! Everything a macro may read: names, card, chat, clock, seed and limits, all borrowed from the caller.

use kernel::{Timestamp, limits};

/// What one expansion reads. `Environment::default()` is an empty world at the epoch, so callers
/// name the fields that they have and fill up with `..Environment::default()`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Environment<'a> {
    /// `{{user}}`.
    pub user: &'a str,
    /// `{{char}}`.
    pub char: &'a str,
    /// The members of a group conversation in order; `None` outside of one.
    pub group: Option<&'a [GroupMember<'a>]>,
    pub card: Card<'a>,
    /// The user's description.
    pub persona: &'a str,
    /// The known part of the conversation, oldest first.
    pub chat: &'a [ChatLine<'a>],
    /// Messages before `chat[0]` that the caller did not pass; shifts the message numbers.
    pub chat_offset: usize,
    /// Number of the oldest message of the last request, when known.
    pub first_included: Option<usize>,
    /// What stands in the input field.
    pub input: &'a str,
    pub now: Timestamp,
    /// The user's distance from UTC in minutes, east positive.
    pub utc_offset_min: i32,
    pub model: &'a str,
    /// Tokens of the model's window.
    pub max_context: u64,
    /// Tokens kept for the reply.
    pub max_response: u64,
    /// `normal`, `swipe`, `continue`, …; empty before the first generation.
    pub generation_type: &'a str,
    /// Lore collected under an outlet's name.
    pub outlets: &'a [(String, String)],
    /// The text that is being overridden; `None` outside of an override.
    pub original: Option<&'a str>,
    /// Drives `random` and `roll`; a new one for each request.
    pub seed: u64,
    /// Drives `pick`; the same one for the life of a conversation.
    pub pick_seed: u64,
    /// The text's place (`prompt:main`, `lore:<world>:<entry>`), so that equal texts in different
    /// places draw independently and a `pick` stays what it was.
    pub seed_scope: &'a str,
    pub limits: Limits,
    pub quirks: Quirks,
}

/// The fields of a character card. They enter the text as they are and are not expanded again.
#[derive(Debug, Clone, Copy, Default)]
pub struct Card<'a> {
    pub description: &'a str,
    pub personality: &'a str,
    pub scenario: &'a str,
    pub system_prompt: &'a str,
    pub post_history: &'a str,
    pub depth_prompt: &'a str,
    pub creator_notes: &'a str,
    pub version: &'a str,
    /// As written in the card; `{{mesExamples}}` normalises it.
    pub mes_examples: &'a str,
    pub first_message: &'a str,
    pub alternate_greetings: &'a [String],
}

#[derive(Debug, Clone, Copy)]
pub struct GroupMember<'a> {
    pub name: &'a str,
    pub muted: bool,
}

/// One message of the conversation.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChatLine<'a> {
    /// Reported in [`Expansion::quotes`](crate::Expansion::quotes) when the text is quoted.
    pub id: &'a str,
    pub name: &'a str,
    pub is_user: bool,
    /// Kept from the model: `lastMessage` still sees it, `lastUserMessage` and `lastCharMessage` do not.
    pub is_hidden: bool,
    pub text: &'a str,
    pub at: Option<Timestamp>,
    pub alternatives: Option<Alternatives>,
}

/// The alternatives (swipes) of a message.
#[derive(Debug, Clone, Copy)]
pub struct Alternatives {
    pub count: usize,
    /// Index of the selected one. At or past `count`, it is being generated.
    pub selected: usize,
}

/// Bounds of one expansion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Macros evaluated.
    pub steps: usize,
    /// Macros inside macros, and scopes inside scopes.
    pub depth: usize,
    /// Bytes of the result, and of all macro values on the way to it.
    pub output_bytes: usize,
    /// Bytes of names and values of all variables after a write.
    pub variable_bytes: usize,
}

/// Defects of SillyTavern 1.19 that can be switched on to explain a difference. All off by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quirks {
    /// A scoped macro that stays literal loses the opening braces and the name of its closing tag.
    pub eat_closing_tags: bool,
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: limits::MACRO_STEPS_MAX,
            depth: limits::MACRO_DEPTH_MAX,
            output_bytes: limits::MACRO_OUTPUT_BYTES_MAX,
            variable_bytes: limits::MACRO_VARIABLE_BYTES_MAX,
        }
    }
}

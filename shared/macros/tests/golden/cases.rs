//! Golden cases: an input, the world it is expanded in, and what SillyTavern 1.19 makes of it.

use kernel::Timestamp;
use macros::{Alternatives, Card, ChatLine, Environment, Quirks, Variables, expand};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
pub struct Case {
    pub id: String,
    pub input: String,
    pub context: Context,
    pub expected: String,
}

#[derive(Deserialize)]
pub struct Context {
    pub user: String,
    pub char: String,
    /// Texts by their name in SillyTavern; whatever is no text counts as empty.
    #[serde(default)]
    pub fields: Value,
    #[serde(default)]
    pub chat: Vec<Line>,
    #[serde(default)]
    pub original: Option<String>,
    /// Milliseconds since 1970.
    #[serde(default)]
    pub now: i64,
    #[serde(default)]
    pub utc_offset_min: i32,
}

#[derive(Deserialize)]
pub struct Line {
    #[serde(default)]
    name: String,
    #[serde(default)]
    is_user: bool,
    #[serde(default)]
    is_system: bool,
    mes: String,
    /// Milliseconds since 1970; other forms are not read.
    #[serde(default)]
    send_date: Value,
    #[serde(default)]
    swipes: Option<Vec<String>>,
    #[serde(default)]
    swipe_id: usize,
}

/// How a case came out.
pub enum Outcome {
    Passed,
    /// Equal once a named defect of SillyTavern's is switched on.
    Diverges(&'static str, String),
    Failed(String),
}

// === impl Case ===

impl Case {
    pub fn outcome(&self) -> Outcome {
        let ours = self.expanded(Quirks::default());
        if ours == self.expected {
            Outcome::Passed
        } else if self.expanded(Quirks { eat_closing_tags: true }) == self.expected {
            Outcome::Diverges("eat_closing_tags", ours)
        } else {
            Outcome::Failed(ours)
        }
    }

    fn expanded(&self, quirks: Quirks) -> String {
        let field = |name: &str| self.context.fields[name].as_str().unwrap_or_default();
        let greetings = &self.context.fields["alternateGreetings"];
        let greetings = Vec::<String>::deserialize(greetings).unwrap_or_default();
        let card = Card {
            description: field("description"),
            personality: field("personality"),
            scenario: field("scenario"),
            system_prompt: field("system"),
            post_history: field("jailbreak"),
            depth_prompt: field("charDepthPrompt"),
            creator_notes: field("creatorNotes"),
            version: field("version"),
            mes_examples: field("mesExamples"),
            first_message: field("firstMessage"),
            alternate_greetings: &greetings,
        };
        let chat: Vec<ChatLine<'_>> = self.context.chat.iter().map(Line::as_chat_line).collect();
        let environment = Environment {
            user: &self.context.user,
            char: &self.context.char,
            card,
            persona: field("persona"),
            chat: &chat,
            original: self.context.original.as_deref(),
            now: Timestamp::from_micros(self.context.now * 1_000),
            utc_offset_min: self.context.utc_offset_min,
            quirks,
            ..Environment::default()
        };
        expand(&self.input, &environment, &mut Variables::default()).text
    }
}

// === impl Line ===

impl Line {
    fn as_chat_line(&self) -> ChatLine<'_> {
        ChatLine {
            name: &self.name,
            is_user: self.is_user,
            is_hidden: self.is_system,
            text: &self.mes,
            alternatives: self
                .swipes
                .as_ref()
                .map(|all| Alternatives { count: all.len(), selected: self.swipe_id }),
            at: self.send_date.as_i64().map(|millis| Timestamp::from_micros(millis * 1_000)),
            ..ChatLine::default()
        }
    }
}

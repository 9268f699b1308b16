//! Golden cases: an input, the world it is expanded in, and what SillyTavern 1.19 makes of it.

use macros::{Card, ChatLine, Environment, Quirks, Variables, expand};
use serde::Deserialize;

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
    #[serde(default)]
    pub fields: Fields,
    #[serde(default)]
    pub chat: Vec<Line>,
    #[serde(default)]
    pub original: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Fields {
    description: String,
    personality: String,
    scenario: String,
    persona: String,
    mes_examples: String,
    system: String,
    jailbreak: String,
    version: String,
    char_depth_prompt: String,
    creator_notes: String,
    first_message: String,
    alternate_greetings: Vec<String>,
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
        let fields = &self.context.fields;
        let card = Card {
            description: &fields.description,
            personality: &fields.personality,
            scenario: &fields.scenario,
            system_prompt: &fields.system,
            post_history: &fields.jailbreak,
            depth_prompt: &fields.char_depth_prompt,
            creator_notes: &fields.creator_notes,
            version: &fields.version,
            mes_examples: &fields.mes_examples,
            first_message: &fields.first_message,
            alternate_greetings: &fields.alternate_greetings,
        };
        let chat: Vec<ChatLine<'_>> = self.context.chat.iter().map(Line::as_chat_line).collect();
        let environment = Environment {
            user: &self.context.user,
            char: &self.context.char,
            card,
            persona: &fields.persona,
            chat: &chat,
            original: self.context.original.as_deref(),
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
            ..ChatLine::default()
        }
    }
}

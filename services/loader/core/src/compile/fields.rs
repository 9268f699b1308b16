//! The texts of the card and the persona, each expanded once, before any prompt (reference C).
//!
//! Inside a field other fields' macros give nothing, so that no field can pull another one in.

use std::borrow::Cow;

use macros::{Card, Field, Template};
use prompt::ProfileMode;

use super::{
    input::Input,
    text::{Expander, Text},
};
use crate::{
    Character,
    diagnostic::{Code, Diagnostic},
    preset::Preset,
};

/// What macros of a field may ask for, by the name that a diagnostic gives it.
const READABLE: [(Field, &str); 9] = [
    (Field::Description, "description"),
    (Field::Personality, "personality"),
    (Field::Scenario, "scenario"),
    (Field::Persona, "persona"),
    (Field::SystemPrompt, "system_prompt"),
    (Field::PostHistory, "post_history_instructions"),
    (Field::MesExamples, "message_example"),
    (Field::DepthPrompt, "depth_prompt"),
    (Field::Greeting, "first_message"),
];

/// What card and persona macros give, and what the markers place.
#[derive(Debug, Clone, Default)]
pub(super) struct Fields {
    pub description: Text,
    pub personality: Text,
    pub scenario: Text,
    pub persona: Text,
    pub examples: Text,
    pub depth_prompt: Text,
    /// The greeting in use; empty once a reply was generated.
    pub greeting: Text,
    /// Only for macros: what is placed is expanded where it stands, with its `{{original}}`.
    system_prompt: String,
    post_history: String,
    version: String,
    greetings: Vec<String>,
}

/// Expands every field of the selection's character and user.
pub(super) fn expand(input: &Input, preset: &Preset, expander: &mut Expander) {
    let mut fields = Fields::default();
    if let Some(user) = &input.user {
        fields.persona = field(input, expander, "user:description", user.model.description());
    }
    if let Some(card) = input.character.as_ref().map(|card| &card.model) {
        let of_card = [
            (&mut fields.description, "character:description", &card.description),
            (&mut fields.personality, "character:personality", &card.personality),
            (&mut fields.scenario, "character:scenario", &card.scenario),
            (&mut fields.examples, "character:message-example", &card.message_example),
        ];
        for (into, place, raw) in of_card {
            *into = field(input, expander, place, if is_trimmed(input) { raw.trim() } else { raw });
        }
        if let Some(depth_prompt) = &card.depth_prompt {
            fields.depth_prompt =
                field(input, expander, "character:depth-prompt", &depth_prompt.text);
        }
        fields.greeting = greeting(input, expander);
        fields.version.clone_from(&card.character_version);
        let note = input.options.authors_note.as_ref();
        let note = note.map(|note| Template::from(note.text.as_str()));
        let asked = |field| {
            preset.prompts.iter().any(|prompt| prompt.content.may_read(field))
                || note.as_ref().is_some_and(|note| note.may_read(field))
        };
        if asked(Field::SystemPrompt) {
            fields.system_prompt =
                expander.peek("character:system-prompt", &card.system_prompt.as_str().into());
        }
        if asked(Field::PostHistory) {
            let raw = card.post_history_instructions.as_str().into();
            fields.post_history = expander.peek("character:post-history-instructions", &raw);
        }
        if asked(Field::Greeting) {
            let all = std::iter::once(&card.first_message).chain(&card.alternate_greetings);
            fields.greetings =
                all.map(|raw| expander.peek("character:greeting", &raw.as_str().into())).collect();
        }
    }
    expander.fields = Cow::Owned(fields);
}

/// SillyTavern trims a card's texts before it does anything with them.
fn is_trimmed(input: &Input) -> bool {
    input.mode == ProfileMode::InChat
}

/// Only the greeting in use has side effects, and only while it is the last thing that was said.
fn greeting(input: &Input, expander: &mut Expander) -> Text {
    let Some(card) = input.character.as_ref().filter(|_| !input.has_real_reply) else {
        return Text::default();
    };
    let index = usize::try_from(input.options.greeting_index).unwrap_or(usize::MAX);
    let Some(raw) = card.model.greeting(index) else {
        let said = Diagnostic::new(Code::GreetingOutOfRange, "character:greeting-reference");
        expander.diagnostics.push(said.with("index", index));
        return Text::default();
    };
    field(input, expander, "character:greeting-reference", raw)
}

/// One field's text. What it would have pulled in of another is said, since nothing stands there.
fn field(input: &Input, expander: &mut Expander, place: &'static str, raw: &str) -> Text {
    let raw = Template::from(raw);
    let lost = READABLE.into_iter().filter(|(field, _)| raw.may_read(*field) && has(input, *field));
    for (_, name) in lost {
        let said = Diagnostic::new(Code::FieldMacroEmpty, place).with("field", name);
        expander.diagnostics.push(said);
    }
    expander.expand(place, &raw)
}

/// Whether the selection has a text for the field, whatever it expands to.
fn has(input: &Input, field: Field) -> bool {
    let card = input.character.as_ref().map(|card| &card.model);
    let of_card = |text: fn(&Character) -> &str| card.is_some_and(|card| !text(card).is_empty());
    match field {
        Field::Persona => {
            input.user.as_ref().is_some_and(|user| !user.model.description().is_empty())
        }
        Field::Description => of_card(|card| &card.description),
        Field::Personality => of_card(|card| &card.personality),
        Field::Scenario => of_card(|card| &card.scenario),
        Field::SystemPrompt => of_card(|card| &card.system_prompt),
        Field::PostHistory => of_card(|card| &card.post_history_instructions),
        Field::MesExamples => of_card(|card| &card.message_example),
        Field::DepthPrompt => card.is_some_and(|card| card.depth_prompt.is_some()),
        Field::Greeting => of_card(|card| &card.first_message),
        // Said elsewhere, or there.
        Field::CreatorNotes | Field::Version => false,
    }
}

// === impl Fields ===

impl Fields {
    /// The card as macros read it.
    pub fn card(&self, frozen: bool, hidden: impl Fn(Field) -> bool) -> Card<'_> {
        let read = |field, text| if hidden(field) { "" } else { as_read(text, frozen) };
        let plain = |field, text| if hidden(field) { "" } else { text };
        let (first_message, alternate_greetings) = match self.greetings.split_first() {
            Some((first, others)) if !hidden(Field::Greeting) => (first.as_str(), others),
            _ => ("", &[][..]),
        };
        Card {
            description: read(Field::Description, &self.description),
            personality: read(Field::Personality, &self.personality),
            scenario: read(Field::Scenario, &self.scenario),
            system_prompt: plain(Field::SystemPrompt, self.system_prompt.as_str()),
            post_history: plain(Field::PostHistory, self.post_history.as_str()),
            depth_prompt: read(Field::DepthPrompt, &self.depth_prompt),
            creator_notes: "",
            version: &self.version,
            mes_examples: read(Field::MesExamples, &self.examples),
            first_message,
            alternate_greetings,
        }
    }

    /// The persona as `{{persona}}` reads it.
    pub fn persona(&self, frozen: bool, hidden: impl Fn(Field) -> bool) -> &str {
        if hidden(Field::Persona) { "" } else { as_read(&self.persona, frozen) }
    }

    /// The field's text, where it is one that is placed as a whole.
    pub fn text(&self, field: Field) -> Option<&Text> {
        Some(match field {
            Field::Description => &self.description,
            Field::Personality => &self.personality,
            Field::Scenario => &self.scenario,
            Field::Persona => &self.persona,
            Field::MesExamples => &self.examples,
            Field::DepthPrompt => &self.depth_prompt,
            _ => return None,
        })
    }

    /// Whether one of them changes by itself.
    pub fn are_volatile(&self) -> bool {
        let texts = [
            &self.description,
            &self.personality,
            &self.scenario,
            &self.persona,
            &self.examples,
            &self.depth_prompt,
        ];
        texts.iter().any(|text| text.volatile)
    }

    /// Whether the field has a text.
    pub fn has(&self, field: Field) -> bool {
        match field {
            Field::SystemPrompt => !self.system_prompt.is_empty(),
            Field::PostHistory => !self.post_history.is_empty(),
            Field::Greeting => !self.greetings.is_empty(),
            Field::CreatorNotes | Field::Version => false,
            _ => self.text(field).is_some_and(|text| !text.is_empty()),
        }
    }
}

fn as_read(text: &Text, frozen: bool) -> &str {
    if frozen { text.stable() } else { &text.text }
}

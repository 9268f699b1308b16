//! Golden cases: a preset, card texts, lore and a chat, and the messages SillyTavern 1.19 sends for them.

use std::{collections::BTreeMap, sync::Arc};

use kernel::{CharacterId, EntryId, PresetId, UserId, WorldId, digest};
use loader_core::{
    Character, User,
    character::DepthPrompt,
    compile::{GenerationType, Input, Loaded, LoreEntry, LorePosition, Message, compile},
    format::{Report, preset},
    selection::{AuthorsNote, NotePosition},
};
use prompt::{
    Block, ProfileMode, Role,
    in_chat::{HistoryItem, assemble},
};
use serde::Deserialize;
use serde_json::Value;

/// Cases that differ on purpose, each named after the defect or the custom of SillyTavern's that explains it.
const DIVERGENCES: [(&str, &str); 7] = [
    (
        "nudge-overwritten",
        "examples behind everything else take the place of the continued message and its nudge: both are lost",
    ),
    ("depth-as-text", "a depth written as text is never met, so that the prompt is lost"),
    ("flag-as-number", "a flag counts only where it is exactly `true`"),
    ("lore-expanded-again", "lore is expanded when it activates, and once more in its marker"),
    ("note-expanded-twice", "a note inside the history is expanded twice, once for nothing"),
    ("history-expanded", "macros in messages are expanded; ours go out as somebody wrote them"),
    ("send-if-empty-raw", "macros in the text for an empty turn are not expanded"),
];

/// Why the case of this id differs, if it does on purpose.
pub fn divergence(id: &str) -> Option<&'static str> {
    DIVERGENCES.into_iter().find(|(name, _)| *name == id).map(|(_, why)| why)
}

#[derive(Deserialize)]
pub struct Case {
    pub input: CaseInput,
    expected: Expected,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CaseInput {
    pub id: String,
    preset: Value,
    #[serde(default)]
    fields: Fields,
    #[serde(default)]
    wi_before: String,
    #[serde(default)]
    wi_after: String,
    #[serde(default)]
    extension_prompts: BTreeMap<String, Extension>,
    #[serde(default)]
    chat: Vec<Line>,
    user: String,
    char: String,
    #[serde(rename = "type", default)]
    kind: Option<GenerationType>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Fields {
    description: String,
    personality: String,
    scenario: String,
    persona: String,
    system: String,
    jailbreak: String,
    mes_examples: String,
}

/// What SillyTavern's extensions ask to have inserted.
#[derive(Deserialize)]
struct Extension {
    value: String,
    /// 0 behind main, 1 in the chat, 2 before main.
    position: i64,
    #[serde(default)]
    depth: u32,
    #[serde(default)]
    role: i64,
}

#[derive(Deserialize)]
struct Line {
    name: String,
    is_user: bool,
    #[serde(default)]
    is_system: bool,
    mes: String,
}

#[derive(Deserialize)]
struct Expected {
    messages: Vec<Sent>,
}

#[derive(Deserialize)]
struct Sent {
    role: String,
    content: String,
    #[serde(default)]
    name: Option<String>,
}

// === impl Case ===

impl Case {
    /// The first difference, if there is one.
    pub fn difference(&self) -> Result<Option<String>, String> {
        let found = self.input.messages()?;
        let expected = &self.expected.messages;
        for (at, (want, got)) in expected.iter().zip(&found).enumerate() {
            let same = want.role == got.role.name()
                && want.content == got.text
                && want.name.as_deref() == got.name.as_deref();
            if !same {
                let want = format!("{} {:?} {:?}", want.role, want.name, want.content);
                let got = format!("{} {:?} {:?}", got.role.name(), got.name, got.text);
                return Ok(Some(format!("message {at}: expected {want}, got {got}")));
            }
        }
        let counts = (expected.len(), found.len());
        Ok((counts.0 != counts.1)
            .then(|| format!("expected {} messages, got {}", counts.0, counts.1)))
    }
}

// === impl CaseInput ===

impl CaseInput {
    /// The request that compile and assembly make of the case.
    fn messages(&self) -> Result<Vec<Block>, String> {
        let input = self.compile_input()?;
        let profile = compile(&input).map_err(|error| error.to_string())?;
        let history: Vec<HistoryItem> = self.shown().map(Line::as_history).collect();
        Ok(assemble(&profile.segments, &history, &profile.chat))
    }

    fn compile_input(&self) -> Result<Input, String> {
        let (preset, _) = preset::read_document(self.preset.clone(), &mut Report::default())
            .map_err(|error| error.to_string())?;
        let mut input = Input {
            mode: ProfileMode::InChat,
            generation: self.kind.unwrap_or_default(),
            preset: Some(loaded(PresetId::derived(&["case"]), preset)),
            user: Some(loaded(UserId::derived(&["case"]), self.user()?)),
            user_message_count: 1,
            has_real_reply: true,
            ..Input::default()
        };
        let mut character = self.character();
        for (number, text) in [&self.wi_before, &self.wi_after].into_iter().enumerate() {
            let positions = [LorePosition::BeforeCharacter, LorePosition::AfterCharacter];
            if !text.is_empty() {
                input.lore.push(lore(number, text, positions[number].clone()));
            }
        }
        for (key, extension) in &self.extension_prompts {
            extension.add(key, &mut input, &mut character)?;
        }
        input.character = Some(loaded(CharacterId::derived(&["case"]), character));
        input.messages = self.shown().enumerate().map(|(at, line)| line.as_message(at)).collect();
        Ok(input)
    }

    fn shown(&self) -> impl Iterator<Item = &Line> {
        self.chat.iter().filter(|line| !line.is_system)
    }

    fn user(&self) -> Result<User, String> {
        User::new(self.user.clone(), self.fields.persona.clone()).map_err(|error| error.to_string())
    }

    fn character(&self) -> Character {
        let fields = &self.fields;
        Character {
            description: fields.description.clone(),
            personality: fields.personality.clone(),
            scenario: fields.scenario.clone(),
            system_prompt: fields.system.clone(),
            post_history_instructions: fields.jailbreak.clone(),
            message_example: fields.mes_examples.clone(),
            ..Character::new(self.char.clone())
        }
    }
}

// === impl Extension ===

impl Extension {
    fn add(&self, key: &str, input: &mut Input, character: &mut Character) -> Result<(), String> {
        let role = match self.role {
            1 => Role::User,
            2 => Role::Assistant,
            _ => Role::System,
        };
        let (text, depth) = (self.value.clone(), self.depth);
        match key {
            "DEPTH_PROMPT" => character.depth_prompt = Some(DepthPrompt { text, depth, role }),
            "2_floating_prompt" => {
                let position = match self.position {
                    0 => NotePosition::AfterMain,
                    2 => NotePosition::BeforeMain,
                    _ => NotePosition::InChat,
                };
                let note = AuthorsNote { text, depth, role, position, interval: 1 };
                input.options.authors_note = Some(note);
            }
            key if key.starts_with("customDepthWI_") => {
                let position = LorePosition::AtDepth { depth, role };
                input.lore.push(lore(input.lore.len() + 2, &text, position));
            }
            other => return Err(format!("{other}: no such extension prompt")),
        }
        Ok(())
    }
}

// === impl Line ===

impl Line {
    fn as_history(&self) -> HistoryItem<'_> {
        let role = if self.is_user { Role::User } else { Role::Assistant };
        HistoryItem { role, name: Some(&self.name), text: &self.mes }
    }

    fn as_message(&self, at: usize) -> Message {
        Message {
            id: at.to_string(),
            name: self.name.clone(),
            is_user: self.is_user,
            text: self.mes.clone(),
            at: None,
        }
    }
}

fn loaded<Id, T>(id: Id, model: T) -> Loaded<Id, T> {
    Loaded { id, name: "case".to_owned(), revision: String::new(), model: Arc::new(model) }
}

fn lore(number: usize, content: &str, position: LorePosition) -> LoreEntry {
    LoreEntry {
        world: WorldId::derived(&["case"]),
        entry: EntryId::derived(&["case", &number.to_string()]),
        content: content.to_owned(),
        source_hash: digest(content.as_bytes()),
        position,
        order: 100.0,
        text_rank: None,
        dynamic: false,
        volatile: false,
        quotes: Vec::new(),
        reason: "key".to_owned(),
    }
}

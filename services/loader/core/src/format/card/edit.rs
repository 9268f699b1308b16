//! Edits of a card's document: what they do not name stays as the file has it, in its order and with
//! its numbers as written.

use serde_json::{Map, Value};

use crate::format::{error::FormatError, guard::read_json, report::Report};

/// One text of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextField {
    Name,
    Description,
    Personality,
    Scenario,
    MessageExample,
    SystemPrompt,
    PostHistoryInstructions,
    CreatorNotes,
}

/// One change of a card.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    Text(TextField, String),
    /// The first message, then the alternates.
    Greetings(Vec<String>),
    Tags(Vec<String>),
    /// `None` takes the book out.
    Book(Option<Value>),
}

/// What V1 and Pygmalion call the texts that every version has.
const OLD_NAMES: [(&str, &str); 6] = [
    ("name", "char_name"),
    ("description", "char_persona"),
    ("scenario", "world_scenario"),
    ("first_mes", "char_greeting"),
    ("mes_example", "example_dialogue"),
    ("personality", "personality"),
];
/// What SillyTavern writes a second time at the root, under another name.
const COPIES: [(&str, &str); 1] = [("creator_notes", "creatorcomment")];
/// A root without `data` that has one of these is read for all later fields.
const LATER_AT_ROOT: [&str; 4] = ["spec", "character_book", "system_prompt", "extensions"];
const LATER: [&str; 8] = [
    "system_prompt",
    "post_history_instructions",
    "creator_notes",
    "alternate_greetings",
    "tags",
    "creator",
    "character_version",
    "character_book",
];

/// The document after the edits. A V1 card that gets a field of V2 becomes a V2 card.
pub fn edit(document: &[u8], edits: Vec<Edit>) -> Result<Vec<u8>, FormatError> {
    let Value::Object(mut root) = read_json(document, &mut Report::default())? else {
        return Err(FormatError::unusable("root", "a card is a JSON object"));
    };
    let fields: Vec<_> = edits.into_iter().flat_map(fields).collect();
    let later = fields.iter().any(|(key, value)| value.is_some() && LATER.contains(key));
    let flat = !matches!(root.get("data"), Some(Value::Object(_)));
    if flat && later && !LATER_AT_ROOT.iter().any(|key| root.contains_key(*key)) {
        upgrade(&mut root);
    }
    for (key, value) in fields {
        set(&mut root, key, value);
    }
    Ok(Value::Object(root).to_string().into_bytes())
}

// === impl TextField ===

impl TextField {
    /// The key of V2 and V3.
    const fn key(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Description => "description",
            Self::Personality => "personality",
            Self::Scenario => "scenario",
            Self::MessageExample => "mes_example",
            Self::SystemPrompt => "system_prompt",
            Self::PostHistoryInstructions => "post_history_instructions",
            Self::CreatorNotes => "creator_notes",
        }
    }
}

type Field = (&'static str, Option<Value>);

fn fields(edit: Edit) -> Vec<Field> {
    match edit {
        Edit::Text(field, text) => vec![(field.key(), Some(text.into()))],
        Edit::Tags(tags) => vec![("tags", Some(tags.into()))],
        Edit::Book(book) => vec![("character_book", book)],
        Edit::Greetings(mut greetings) => {
            let alternates = greetings.split_off(greetings.len().min(1));
            let first = greetings.pop().unwrap_or_default();
            let alternates = (!alternates.is_empty()).then(|| alternates.into());
            vec![("first_mes", Some(first.into())), ("alternate_greetings", alternates)]
        }
    }
}

/// Sets a field where the card is read from, and its copy at the root where there is one.
fn set(root: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    let Some(Value::Object(data)) = root.get_mut("data") else {
        let old = OLD_NAMES.iter().find(|(new, old)| *new == key && root.contains_key(*old));
        return put(root, old.map_or(key, |(_, old)| old), value);
    };
    put(data, key, value.clone());
    for copy in COPIES.iter().filter(|(name, _)| *name == key).map(|(_, copy)| *copy).chain([key]) {
        if root.contains_key(copy) {
            put(root, copy, value.clone());
        }
    }
}

fn put(fields: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    match value {
        Some(value) => {
            fields.insert(key.to_owned(), value);
        }
        None => {
            fields.shift_remove(key);
        }
    }
}

fn upgrade(root: &mut Map<String, Value>) {
    let mut data = Map::new();
    for (new, old) in OLD_NAMES {
        let value = root.get(new).or_else(|| root.get(old)).cloned();
        data.insert(new.to_owned(), value.unwrap_or_else(|| "".into()));
    }
    for key in LATER {
        data.extend(root.get(key).map(|value| (key.to_owned(), value.clone())));
    }
    root.insert("spec".to_owned(), "chara_card_v2".into());
    root.insert("spec_version".to_owned(), "2.0".into());
    root.insert("data".to_owned(), data.into());
}

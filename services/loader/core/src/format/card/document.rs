//! The JSON of a card becomes a `Character`, whatever age its keys are (reference D).

use std::sync::Arc;

use kernel::limits::BOOK_ENTRIES_MAX;
use prompt::Role;
use serde_json::Value;

use crate::{
    character::{CardSpec, Character, DepthPrompt},
    format::{
        error::FormatError,
        fields::{Fields, kind},
        report::{Code, Report},
        role_named, stem,
    },
};

/// The six texts that every version has.
const TEXTS: [&str; 6] =
    ["name", "description", "personality", "scenario", "first_mes", "mes_example"];
const PYGMALION: [&str; 5] =
    ["char_name", "char_persona", "world_scenario", "char_greeting", "example_dialogue"];
/// Housekeeping of clients at the root of a card, and the root's copies of what `data` holds.
const ROOT_HOUSEKEEPING: &[&str] = &[
    "spec",
    "spec_version",
    "avatar",
    "chat",
    "create_date",
    "creatorcomment",
    "talkativeness",
    "fav",
    "tags",
    "creator",
    "character_version",
    "json_data",
    "metadata",
    "created",
    "modified",
];
/// What V2 and V3 added; any of these makes an object a card.
const LATER_FIELDS: &[&str] = &[
    "system_prompt",
    "post_history_instructions",
    "creator_notes",
    "alternate_greetings",
    "group_only_greetings",
    "character_book",
    "extensions",
];
const DATA_HOUSEKEEPING: &[&str] =
    &["creator_notes_multilingual", "source", "creation_date", "modification_date", "avatar"];
const EXTENSION_HOUSEKEEPING: &[&str] = &["talkativeness", "fav"];

/// Reads a card's document. A card without a name takes the stem of `file_name`.
pub fn read_document(
    value: Value,
    file_name: Option<&str>,
    report: &mut Report,
) -> Result<Character, FormatError> {
    let Value::Object(root) = value else {
        return Err(FormatError::unusable("root", "a card is a JSON object"));
    };
    let mut root = Fields::new(root, "");
    let _ = (root.has("spec") && root.str("spec").is_none()).then(|| root.text("spec", report));
    let mut character = match shape(&root)? {
        Shape::Data(spec) => read_data(root, spec, report)?,
        Shape::RootWithSpec(spec) => {
            read_root_for_data(&mut root, report)?;
            read_flat(&mut root, spec, report)
        }
        Shape::Flat => read_flat(&mut root, CardSpec::V1, report),
        Shape::Pygmalion => read_pygmalion(&mut root, report),
    };
    name_from_file(&mut character, file_name, report)?;
    clean_name(&mut character, report);
    if report.format.is_empty() {
        report.format = format!("chara_card_{}", character.spec.name());
    }
    let greetings = 1 + character.alternate_greetings.len();
    report.count("greetings", if character.first_message.is_empty() { 0 } else { greetings });
    let what = format!("a {:?} card", character.spec);
    report.add(Code::FormatRecognised, "", what);
    Ok(character)
}

enum Shape {
    /// `data` holds the fields; the specification where the file names a known one.
    Data(Option<CardSpec>),
    /// A specification, and no object under `data`.
    RootWithSpec(CardSpec),
    Flat,
    Pygmalion,
}

fn shape(root: &Fields) -> Result<Shape, FormatError> {
    let no_card = |reason| Err(FormatError::unusable("root", reason));
    let spec = root.str("spec");
    let card_only = ["data", "first_mes", "personality", "scenario", "mes_example"];
    if spec == Some("lorebook_v3") || (root.has("entries") && !root.has_any(&card_only)) {
        return no_card("is a world book, not a card: import it as a world");
    }
    if root.has_any(&["prompts", "prompt_order"]) {
        return no_card("is a preset, not a card: import it as a preset");
    }
    let known = spec.and_then(|_| spec_of(root));
    match root.get("data") {
        Some(Value::Object(data))
            if spec.is_some() || TEXTS.iter().any(|t| data.contains_key(*t)) =>
        {
            Ok(Shape::Data(known))
        }
        _ if spec.is_some() => Ok(Shape::RootWithSpec(known.unwrap_or(CardSpec::V2))),
        _ if root.has_any(&TEXTS) => Ok(Shape::Flat),
        _ if root.has_any(&PYGMALION) => Ok(Shape::Pygmalion),
        _ => no_card("has no spec, name or char_name: it is no character card"),
    }
}

fn spec_of(root: &Fields) -> Option<CardSpec> {
    match root.str("spec")? {
        "chara_card_v2" => Some(CardSpec::V2),
        "chara_card_v3" => Some(CardSpec::V3),
        _ => None,
    }
}

/// V2 and V3. The root's copies serve where `data` lacks a field, as in SillyTavern.
fn read_data(
    mut root: Fields,
    spec: Option<CardSpec>,
    report: &mut Report,
) -> Result<Character, FormatError> {
    let spec = spec.unwrap_or_else(|| guess_spec(&mut root, report));
    let mut character = Character::new("");
    character.spec = spec;
    if let Some(mut data) = root.object("data", report) {
        drop_copies(&mut root, &data, report);
        for key in TEXTS.iter().chain(&["character_book"]) {
            if !data.has(key) && root.has(key) {
                report.add(
                    Code::FieldAtRoot,
                    root.path(key),
                    "is missing under data: read from the root",
                );
                data.put(key, root.take(key));
            }
        }
        if !data.has_any(&TEXTS) && !data.has_any(LATER_FIELDS) {
            return Err(FormatError::unusable("data", "holds no field of a character card"));
        }
        read_texts(&mut character, &mut data, report);
        read_later_fields(&mut character, &mut data, report);
        data.drop_all(DATA_HOUSEKEEPING);
        data.report_unknown(report);
    }
    root.drop_all(ROOT_HOUSEKEEPING);
    root.report_unknown(report);
    Ok(character)
}

/// A card without an object under `data` has its fields at the root, or none at all.
fn read_root_for_data(root: &mut Fields, report: &mut Report) -> Result<(), FormatError> {
    let data = root.take("data");
    let found = match &data {
        None => "is missing".to_owned(),
        Some(data) => format!("is {}, not an object", kind(data)),
    };
    if !root.has_any(&TEXTS) && !root.has_any(LATER_FIELDS) {
        let reason = format!("{found}, and the root holds no field of a character card either");
        return Err(FormatError::unusable("data", reason));
    }
    report.add(Code::FieldAtRoot, "data", format!("{found}: the root's fields are read"));
    Ok(())
}

/// SillyTavern writes many fields twice; those of `data` count.
fn drop_copies(root: &mut Fields, data: &Fields, report: &mut Report) {
    let keys: Vec<String> = data.left_over().map(|(key, _)| key.to_owned()).collect();
    for key in keys.iter().filter(|key| !ROOT_HOUSEKEEPING.contains(&key.as_str())) {
        if let Some(copy) = root.take(key)
            && Some(&copy) != data.get(key)
        {
            report.add(Code::RootCopyDiffers, key, "differs from the one under data, which counts");
        }
    }
}

fn guess_spec(root: &mut Fields, report: &mut Report) -> CardSpec {
    let version = root.number("spec_version", &mut Report::default());
    let spec = if version.is_some_and(|v| v >= 3.0) { CardSpec::V3 } else { CardSpec::V2 };
    report.add(Code::SpecUnknown, "spec", format!("is no known one: the card is read as {spec:?}"));
    spec
}

/// V1, and V2 cards that lost their `data`.
fn read_flat(root: &mut Fields, spec: CardSpec, report: &mut Report) -> Character {
    let mut character = Character::new("");
    character.spec = spec;
    read_texts(&mut character, root, report);
    if spec != CardSpec::V1 || root.has_any(&["character_book", "system_prompt", "extensions"]) {
        read_later_fields(&mut character, root, report);
    }
    root.drop_all(ROOT_HOUSEKEEPING);
    root.report_unknown(report);
    character
}

fn read_pygmalion(root: &mut Fields, report: &mut Report) -> Character {
    report.format = "pygmalion".to_owned();
    report.add(Code::OldKey, "", "Pygmalion's keys were read: char_name, char_persona and so on");
    for (old, new) in
        PYGMALION.iter().zip(["name", "description", "scenario", "first_mes", "mes_example"])
    {
        root.rename(old, new);
    }
    read_flat(root, CardSpec::V1, report)
}

fn read_texts(character: &mut Character, fields: &mut Fields, report: &mut Report) {
    let mut text = |key| fields.text(key, report).unwrap_or_default();
    character.name = text("name");
    character.description = text("description");
    character.personality = text("personality");
    character.scenario = text("scenario");
    character.first_message = text("first_mes");
    character.message_example = text("mes_example");
}

/// What V2 and V3 added.
fn read_later_fields(character: &mut Character, data: &mut Fields, report: &mut Report) {
    let mut text = |key| data.text(key, report).unwrap_or_default();
    character.system_prompt = text("system_prompt");
    character.post_history_instructions = text("post_history_instructions");
    character.creator_notes = text("creator_notes");
    character.creator = text("creator");
    character.character_version = text("character_version");
    character.nickname = Some(text("nickname")).filter(|name| !name.is_empty());
    character.alternate_greetings = data.texts("alternate_greetings", report);
    character.group_only_greetings = data.texts("group_only_greetings", report);
    character.tags = tags(data, report);
    character.book = book(data, report);
    if !character.creator_notes.trim().is_empty() {
        report.add(
            Code::CreatorNotesNotSent,
            data.path("creator_notes"),
            "are kept and never sent",
        );
    }
    if let Some(assets) = data.list("assets", report).filter(|assets| !assets.is_empty()) {
        let message = format!("{} assets are kept and not used", assets.len());
        report.add(Code::AssetsNotHonoured, data.path("assets"), message);
    }
    if let Some(extensions) = data.object("extensions", report) {
        read_extensions(character, extensions, report);
    }
}

/// A list, or one text with commas.
fn tags(data: &mut Fields, report: &mut Report) -> Vec<String> {
    let single = data.str("tags").is_some();
    let tags = data.texts("tags", report);
    if !single {
        return tags;
    }
    let split = tags.iter().flat_map(|tags| tags.split(','));
    split.map(|tag| tag.trim().to_owned()).filter(|tag| !tag.is_empty()).collect()
}

/// The embedded book. One that cannot run stays in the model, and the report says so.
fn book(data: &mut Fields, report: &mut Report) -> Option<Arc<Value>> {
    let path = data.path("character_book");
    let book = Value::Object(data.object("character_book", report)?.into_map());
    let entries = match &book["entries"] {
        Value::Array(entries) => Some(entries.len()),
        Value::Object(entries) => Some(entries.len()),
        _ => None,
    };
    match entries {
        Some(entries) if entries <= BOOK_ENTRIES_MAX => {
            report.count("entries", entries);
            report.add(Code::EmbeddedWorldBook, path, format!("a book of {entries} entries"));
        }
        Some(entries) => {
            let message =
                format!("has {entries} entries, at most {BOOK_ENTRIES_MAX} can run: kept, not run");
            report.add(Code::EmbeddedWorldBookInvalid, format_args!("{path}.entries"), message);
        }
        None => {
            let message = "is neither a list nor an object: the book is kept, not run";
            report.add(Code::EmbeddedWorldBookInvalid, format_args!("{path}.entries"), message);
        }
    }
    Some(Arc::new(book))
}

fn read_extensions(character: &mut Character, mut extensions: Fields, report: &mut Report) {
    if let Some(mut fields) = extensions.object("depth_prompt", report) {
        character.depth_prompt = depth_prompt(&mut fields, report);
        fields.report_unknown(report);
    }
    character.world_name = extensions.text("world", report).filter(|world| !world.is_empty());
    if let Some(world) = &character.world_name {
        let world: String = world.chars().take(100).collect();
        let message = format!("points at a world named {world:?}: bind the world itself");
        report.add(Code::WorldLinkNotHonoured, extensions.path("world"), message);
    }
    extensions.drop_all(EXTENSION_HOUSEKEEPING);
    for (key, value) in extensions.left_over().filter(|(_, value)| says_something(value)) {
        let key: String = key.chars().take(100).collect();
        let message = format!("is {}: kept, never run", kind(value));
        report.add(Code::ExtensionNotHonoured, extensions.path(&key), message);
    }
}

fn depth_prompt(fields: &mut Fields, report: &mut Report) -> Option<DepthPrompt> {
    let text = fields.text("prompt", report)?;
    let depth = fields.count("depth", report).unwrap_or(DepthPrompt::DEPTH_DEFAULT);
    let role = role_named(fields, "role", report).unwrap_or(Role::System);
    (!text.is_empty()).then_some(DepthPrompt { text, depth, role })
}

/// Whether there is anything to miss: empty lists, empty objects and switched-off flags are not.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

/// A name goes into prompts, lists and logs; the document keeps the one that it has.
fn clean_name(character: &mut Character, report: &mut Report) {
    if let Some(cleaned) = kernel::name::cleaned(&character.name) {
        let place = name_place(character);
        report.add(Code::NameCleaned, place, "has control characters, which are shown as U+FFFD");
        character.name = cleaned;
    }
}

fn name_place(character: &Character) -> &'static str {
    if character.spec == CardSpec::V1 { "name" } else { "data.name" }
}

fn name_from_file(
    character: &mut Character,
    file_name: Option<&str>,
    report: &mut Report,
) -> Result<(), FormatError> {
    if !character.name.trim().is_empty() {
        return Ok(());
    }
    let place = name_place(character);
    let Some(name) = file_name.and_then(stem) else {
        return Err(FormatError::unusable(place, "is missing, and there is no file name to take"));
    };
    report.add(
        Code::NameFromFile,
        place,
        format!("is missing: the card is called {name:?} after its file"),
    );
    character.name = name.to_owned();
    Ok(())
}

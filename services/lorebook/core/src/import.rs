//! Lorebook files of every kind become strict rows, with a report of what was done to each field.
//!
//! The form is told by its shape. Absent fields take the defaults of a newly created entry (reference
//! A1; SillyTavern back-fills them only in its editor). A card's book follows reference A3, except that
//! an absent `enabled` leaves the entry on, duplicate ids lose nothing, an entry's own `case_sensitive`
//! and `name` are read, and both spellings of every flag are understood wherever they stand.

mod character_book;
pub mod document;
mod foreign;
pub mod lenient;
mod picture;
mod reader;
pub mod report;
mod rows;
pub(crate) mod stamp;
mod world_info;

use kernel::Repair;
use serde_json::{Map, Value};

pub use document::StructureError;
pub use report::{Code, Finding, Report};
pub use rows::ImportedRow;
pub use stamp::{BookStamp, EntryStamp};

use crate::{import::report::Place, world::WorldSettings};

/// The forms that are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// SillyTavern's World Info, `entries` a map or a list.
    WorldInfo,
    /// The ancestral form of World Info, with folders.
    KoboldAi,
    /// The `character_book` of a card, V2 or V3, alone or inside its card.
    CharacterBook,
    /// V3's stand-alone form.
    LorebookV3,
    NovelAi,
    Agnai,
    RisuAi,
}

/// A whole file, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    pub format: Format,
    /// As the file names itself.
    pub name: Option<String>,
    pub settings: WorldSettings,
    /// In the order of the file.
    pub rows: Vec<ImportedRow>,
    /// What an ALL export says about the world beyond its rows.
    pub stamp: Option<BookStamp>,
    pub report: Report,
}

/// Why a file is refused. Nothing of it is kept then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    #[error(transparent)]
    Structure(#[from] StructureError),
    #[error("{path} is {found}, not {wanted}")]
    Shape { path: String, found: &'static str, wanted: &'static str },
    #[error("no lorebook is recognised: an object with `entries` is expected at $")]
    Unrecognised,
    #[error("the picture holds no readable chunk `naidata`, `ccv3` or `chara`")]
    Picture,
}

/// Reads a file in whatever form it has, or what a picture carries of it.
pub fn import(bytes: &[u8]) -> Result<Imported, ImportError> {
    let document = match picture::is_picture(bytes) {
        true => document::read(&picture::document(bytes).ok_or(ImportError::Picture)?)?,
        false => document::read(bytes)?,
    };
    let mut imported = import_value(document.root)?;
    for repair in document.repairs {
        let code = match repair {
            Repair::ByteOrderMark | Repair::NotUtf8 { .. } => Code::EncodingRepaired,
            Repair::LoneSurrogates { .. } => Code::LoneSurrogate,
        };
        imported.report.add(code, &Place::root(), "", repair.to_string());
    }
    for path in document.duplicates {
        imported.report.add(Code::RepeatedKey, &Place::at(path, "repeated"), "", "");
    }
    Ok(imported)
}

/// Reads a value that [`document::read`] or a card's reader has already held to the limits.
pub fn import_value(root: Value) -> Result<Imported, ImportError> {
    let Value::Object(mut root) = root else {
        return Err(shape("$", &root, "an object"));
    };
    match detect(&root).ok_or(ImportError::Unrecognised)? {
        format @ (Format::WorldInfo | Format::KoboldAi) => world_info::read(root, format),
        Format::CharacterBook => {
            match root.get_mut("data").and_then(|d| d.get_mut("character_book")) {
                Some(book) => import_book(book.take(), "$.data.character_book"),
                None => import_book(Value::Object(root), "$"),
            }
        }
        Format::LorebookV3 => match root.shift_remove("data") {
            Some(Value::Object(data)) => character_book::read(data, "$.data", Format::LorebookV3),
            other => Err(shape("$.data", &other.unwrap_or_default(), "an object")),
        },
        Format::NovelAi => foreign::novel_ai(root),
        Format::Agnai => foreign::agnai(root),
        Format::RisuAi => foreign::risu_ai(root),
    }
}

/// Reads the `character_book` of a card that lies at `path` in its file.
pub fn import_book(book: Value, path: &str) -> Result<Imported, ImportError> {
    match book {
        Value::Object(map) => character_book::read(map, path, Format::CharacterBook),
        other => Err(shape(path, &other, "an object")),
    }
}

/// Tells the form of a file by its shape.
pub fn detect(root: &Map<String, Value>) -> Option<Format> {
    let text = |key: &str| root.get(key).and_then(Value::as_str);
    if text("spec") == Some("lorebook_v3") {
        return Some(Format::LorebookV3);
    }
    if root.get("data").and_then(|data| data.get("character_book")).is_some_and(Value::is_object) {
        return Some(Format::CharacterBook);
    }
    if root.contains_key("lorebookVersion") {
        return Some(Format::NovelAi);
    }
    if text("kind") == Some("memory") {
        return Some(Format::Agnai);
    }
    if text("type") == Some("risu") {
        return Some(Format::RisuAi);
    }
    match root.get("entries")? {
        Value::Object(_) if root.contains_key("folders") => Some(Format::KoboldAi),
        Value::Array(list) if !list.iter().any(is_native) => Some(Format::CharacterBook),
        _ => Some(Format::WorldInfo),
    }
}

/// A list entry that spells its keys as World Info does.
fn is_native(entry: &Value) -> bool {
    let has = |name| entry.get(name).is_some();
    (has("key") || has("keysecondary") || has("order") || has("disable")) && !has("keys")
}

fn shape(path: &str, found: &Value, wanted: &'static str) -> ImportError {
    ImportError::Shape { path: path.to_owned(), found: kind(found), wanted }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "absent",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

// === impl Format ===

impl Format {
    pub const ALL: [Self; 7] = [
        Self::WorldInfo,
        Self::KoboldAi,
        Self::CharacterBook,
        Self::LorebookV3,
        Self::NovelAi,
        Self::Agnai,
        Self::RisuAi,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::WorldInfo => "sillytavern_world_info",
            Self::KoboldAi => "koboldai",
            Self::CharacterBook => "character_book",
            Self::LorebookV3 => "lorebook_v3",
            Self::NovelAi => "novelai",
            Self::Agnai => "agnai",
            Self::RisuAi => "risuai",
        }
    }
}

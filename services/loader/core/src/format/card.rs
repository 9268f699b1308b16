//! Character cards from any file: JSON, PNG or CHARX; V1, V2, V3 or Pygmalion's keys.

use kernel::limits::IMPORT_BYTES_MAX;

use super::{
    charx,
    error::FormatError,
    guard::read_json,
    png,
    report::{Code, Report},
};
use crate::character::{CardSpec, Character};

mod document;
mod edit;

pub use document::read_document;
pub use edit::{Edit, TextField, edit};

/// What kind of file a card came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Container {
    Json,
    Png,
    Charx,
}

/// A card read from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedCard {
    pub character: Character,
    pub container: Container,
    /// The card's JSON exactly as the file holds it.
    pub document: Vec<u8>,
    pub report: Report,
}

/// Reads a card. `file_name` lends its stem to a card without a name.
pub fn read(bytes: &[u8], file_name: Option<&str>) -> Result<ImportedCard, FormatError> {
    if bytes.len() > IMPORT_BYTES_MAX {
        let what = format!("a file of {} bytes", bytes.len());
        return Err(FormatError::limit("file", what, IMPORT_BYTES_MAX));
    }
    let mut report = Report::default();
    let (container, document, character) = if png::is_png(bytes) {
        read_png(bytes, file_name, &mut report)?
    } else if bytes.trim_ascii_start().first().is_some_and(|b| b"{[\xEF".contains(b)) {
        let character = read_card_json(bytes, file_name, &mut report)?;
        (Container::Json, bytes.to_vec(), character)
    } else if charx::is_archive(bytes) {
        read_archive(bytes, file_name, &mut report)?
    } else {
        return Err(FormatError::unusable(
            "file",
            "is no PNG picture, no JSON and no CHARX archive",
        ));
    };
    Ok(ImportedCard { character, container, document, report })
}

/// The file with `document` as its card: the picture and the other members stay as they were.
pub fn embed(
    container: Container,
    original: &[u8],
    document: &[u8],
    spec: CardSpec,
) -> Result<Vec<u8>, FormatError> {
    match container {
        Container::Json => Ok(document.to_vec()),
        Container::Png => png::embed(original, document, spec == CardSpec::V3),
        Container::Charx => charx::embed(original, document),
    }
}

// === impl Container ===

impl Container {
    pub const ALL: [Container; 3] = [Self::Json, Self::Png, Self::Charx];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Png => "png",
            Self::Charx => "charx",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|container| container.name() == name)
    }
}

type Read = (Container, Vec<u8>, Character);

/// The first chunk that holds a readable card: `ccv3` before `chara`. When none does, the error is
/// the first chunk's.
fn read_png(
    bytes: &[u8],
    file_name: Option<&str>,
    report: &mut Report,
) -> Result<Read, FormatError> {
    let chunks = png::card_chunks(bytes, report)?;
    if chunks.is_empty() && charx::is_archive(bytes) {
        return read_archive(bytes, file_name, report);
    }
    let mut budget = png::InflateBudget::default();
    let mut failure = None;
    for (at, chunk) in chunks.iter().enumerate() {
        let mut found = Report::default();
        let read = chunk.document(&mut budget, &mut found).and_then(|document| {
            let character = read_card_json(&document, file_name, &mut found)?;
            Ok((document, character))
        });
        match read {
            Ok((document, character)) => {
                report.extend(found);
                report_further(&chunks[at + 1..], chunk.keyword, report);
                return Ok((Container::Png, document, character));
            }
            Err(error) => {
                report.add(Code::CardChunkUnreadable, chunk.place(), error.to_string());
                failure.get_or_insert((chunk.place(), error));
            }
        }
    }
    Err(match failure {
        Some((place, error)) => within(&place, error),
        None => FormatError::unusable(
            "file",
            "the picture holds no card: no chara or ccv3 text before its end",
        ),
    })
}

/// A `chara` beside a `ccv3` is the rule and worth no line; any other further chunk is.
fn report_further(chunks: &[png::CardChunk<'_>], read: png::Keyword, report: &mut Report) {
    let backup = chunks.iter().position(|chunk| chunk.keyword != read);
    for (at, chunk) in chunks.iter().enumerate() {
        if Some(at) != backup {
            report.add(
                Code::FurtherCardChunk,
                chunk.place(),
                "stands behind the card that was read",
            );
        }
    }
}

fn read_archive(
    bytes: &[u8],
    file_name: Option<&str>,
    report: &mut Report,
) -> Result<Read, FormatError> {
    let document = charx::document(bytes, report)?;
    let character =
        read_card_json(&document, file_name, report).map_err(|error| within("card.json", error))?;
    Ok((Container::Charx, document, character))
}

fn read_card_json(
    document: &[u8],
    file_name: Option<&str>,
    report: &mut Report,
) -> Result<Character, FormatError> {
    let value = read_json(document, report)?;
    read_document(value, file_name, report)
}

/// Names the chunk or member in front of the place inside it.
fn within(outer: &str, error: FormatError) -> FormatError {
    let join = |inner: &str| {
        if inner.starts_with(outer) { inner.to_owned() } else { format!("{outer}: {inner}") }
    };
    match error {
        FormatError::Limit(mut limit) => {
            limit.place = join(&limit.place);
            limit.into()
        }
        FormatError::Unusable(mut unusable) => {
            unusable.place = join(&unusable.place);
            unusable.into()
        }
    }
}

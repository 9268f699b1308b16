//! Card texts in PNG pictures: found in any text chunk before IEND, and put back in.

use std::{borrow::Cow, io::Read};

use flate2::read::ZlibDecoder;
use kernel::limits::{DOCUMENT_BYTES_MAX, IMPORT_INFLATED_BYTES_MAX};

use super::{
    base64,
    error::FormatError,
    report::{Code, Report},
};

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Length, type and checksum around a chunk's data.
const CHUNK_FRAME: usize = 12;

/// Which of the two card keywords a chunk carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keyword {
    /// `ccv3`, read first.
    V3,
    /// `chara`.
    V2,
}

/// A text chunk that says it holds a card.
pub struct CardChunk<'a> {
    pub keyword: Keyword,
    kind: ChunkKind,
    offset: usize,
    body: &'a [u8],
}

/// What remains of the bytes that all compressed chunks of a picture may inflate to.
pub struct InflateBudget(usize);

#[derive(Clone, Copy)]
enum ChunkKind {
    Text,
    CompressedText,
    InternationalText,
}

struct Chunk<'a> {
    kind: [u8; 4],
    offset: usize,
    data: &'a [u8],
}

pub fn is_png(bytes: &[u8]) -> bool {
    bytes.starts_with(SIGNATURE)
}

/// The card chunks of a picture: every `ccv3`, then every `chara`, each in file order.
pub fn card_chunks<'a>(
    png: &'a [u8],
    report: &mut Report,
) -> Result<Vec<CardChunk<'a>>, FormatError> {
    let (chunks, end) = chunks(png)?;
    let mut cards: Vec<_> = chunks.iter().filter_map(card_chunk).collect();
    cards.sort_by_key(|card| card.keyword);
    if end < png.len() {
        let message =
            format!("{} bytes behind the end of the picture were not read", png.len() - end);
        report.add(Code::TrailingBytes, "", message);
    }
    Ok(cards)
}

/// The picture with `document` as its only card: a V3 card as `ccv3` beside `chara`, another as `chara`.
pub fn embed(png: &[u8], document: &[u8], v3: bool) -> Result<Vec<u8>, FormatError> {
    let (chunks, end) = chunks(png)?;
    let text = base64::encode(document);
    let mut picture = Vec::with_capacity(png.len() + 2 * text.len());
    picture.extend_from_slice(SIGNATURE);
    for chunk in &chunks {
        if &chunk.kind == b"IEND" {
            write_text(&mut picture, b"chara", text.as_bytes());
            if v3 {
                write_text(&mut picture, b"ccv3", text.as_bytes());
            }
        }
        if card_chunk(chunk).is_none() {
            write_chunk(&mut picture, &chunk.kind, chunk.data);
        }
    }
    // What stands behind the picture is nobody's to drop.
    picture.extend_from_slice(&png[end..]);
    Ok(picture)
}

// === impl CardChunk ===

impl CardChunk<'_> {
    /// How an error names this chunk.
    pub fn place(&self) -> String {
        let kind = match self.kind {
            ChunkKind::Text => "tEXt",
            ChunkKind::CompressedText => "zTXt",
            ChunkKind::InternationalText => "iTXt",
        };
        format!("{kind} chunk {:?} at byte {}", self.keyword.name(), self.offset)
    }

    /// The JSON document in the chunk; repairs go to `report`.
    pub fn document(
        &self,
        budget: &mut InflateBudget,
        report: &mut Report,
    ) -> Result<Vec<u8>, FormatError> {
        let text = self.text(budget)?;
        let trimmed = text.trim_ascii();
        if trimmed.is_empty() {
            return Err(FormatError::unusable(self.place(), "is empty"));
        }
        if trimmed.starts_with(b"{") {
            report.add(Code::PlainChunk, self.place(), "holds JSON without base64");
            return self.bounded(trimmed.to_vec());
        }
        let (document, repaired) = base64::decode(trimmed);
        if repaired {
            report.add(Code::Base64Repaired, self.place(), "is not strict base64");
        }
        self.bounded(document)
    }

    fn bounded(&self, document: Vec<u8>) -> Result<Vec<u8>, FormatError> {
        if document.len() <= DOCUMENT_BYTES_MAX {
            return Ok(document);
        }
        let what = format!("a document of {} bytes", document.len());
        Err(FormatError::limit(self.place(), what, DOCUMENT_BYTES_MAX))
    }

    fn text(&self, budget: &mut InflateBudget) -> Result<Cow<'_, [u8]>, FormatError> {
        let damaged = |reason| FormatError::unusable(self.place(), reason);
        match self.kind {
            ChunkKind::Text => Ok(self.body.into()),
            ChunkKind::CompressedText => {
                let (&method, data) =
                    self.body.split_first().ok_or_else(|| damaged("is cut off"))?;
                self.inflate(method, data, budget)
            }
            ChunkKind::InternationalText => {
                let (&[compressed, method], rest) =
                    self.body.split_first_chunk().ok_or_else(|| damaged("is cut off"))?;
                let (_language, rest) = split_nul(rest).ok_or_else(|| damaged("is cut off"))?;
                let (_keyword, data) = split_nul(rest).ok_or_else(|| damaged("is cut off"))?;
                if compressed == 0 { Ok(data.into()) } else { self.inflate(method, data, budget) }
            }
        }
    }

    fn inflate(
        &self,
        method: u8,
        data: &[u8],
        budget: &mut InflateBudget,
    ) -> Result<Cow<'_, [u8]>, FormatError> {
        if method != 0 {
            let reason = format!("has the unknown compression method {method}");
            return Err(FormatError::unusable(self.place(), reason));
        }
        let mut text = Vec::new();
        let result = ZlibDecoder::new(data).take(budget.0 as u64 + 1).read_to_end(&mut text);
        if text.len() > budget.0 {
            budget.0 = 0;
            let what = "more bytes once inflated than all chunks may have together";
            return Err(FormatError::limit(self.place(), what, IMPORT_INFLATED_BYTES_MAX));
        }
        budget.0 -= text.len();
        match result {
            Ok(_) => Ok(text.into()),
            Err(error) => {
                Err(FormatError::unusable(self.place(), format!("cannot be inflated: {error}")))
            }
        }
    }
}

// === impl Keyword ===

impl Keyword {
    pub const fn name(self) -> &'static str {
        match self {
            Self::V3 => "ccv3",
            Self::V2 => "chara",
        }
    }

    fn of(keyword: &[u8]) -> Option<Self> {
        [Self::V3, Self::V2].into_iter().find(|k| keyword.eq_ignore_ascii_case(k.name().as_bytes()))
    }
}

// === impl InflateBudget ===

impl Default for InflateBudget {
    fn default() -> Self {
        Self(IMPORT_INFLATED_BYTES_MAX)
    }
}

/// All chunks up to IEND, checksums verified, and where the picture ends.
fn chunks(png: &[u8]) -> Result<(Vec<Chunk<'_>>, usize), FormatError> {
    let mut chunks = Vec::new();
    let mut at = SIGNATURE.len();
    loop {
        let chunk = chunk_at(png, at)?;
        at += chunk.data.len() + CHUNK_FRAME;
        let last = &chunk.kind == b"IEND";
        chunks.push(chunk);
        if last {
            return Ok((chunks, at));
        }
    }
}

fn chunk_at(png: &[u8], offset: usize) -> Result<Chunk<'_>, FormatError> {
    let cut = |kind: &str| {
        let place = format!("{kind} at byte {offset}");
        FormatError::unusable(place, "the picture is cut off before its IEND chunk")
    };
    let (length, rest) = png[offset..].split_first_chunk::<4>().ok_or_else(|| cut("chunk"))?;
    let (kind, rest) = rest.split_first_chunk::<4>().ok_or_else(|| cut("chunk"))?;
    let name = kind.escape_ascii().to_string();
    let length = u32::from_be_bytes(*length) as usize;
    let (data, rest) = rest.split_at_checked(length).ok_or_else(|| cut(&name))?;
    let (checksum, _) = rest.split_first_chunk::<4>().ok_or_else(|| cut(&name))?;
    if u32::from_be_bytes(*checksum) != checksum_of(kind, data) {
        return Err(FormatError::unusable(
            format!("{name} chunk at byte {offset}"),
            "its checksum does not match: the picture is damaged",
        ));
    }
    Ok(Chunk { kind: *kind, offset, data })
}

fn card_chunk<'a>(chunk: &Chunk<'a>) -> Option<CardChunk<'a>> {
    let kind = match &chunk.kind {
        b"tEXt" => ChunkKind::Text,
        b"zTXt" => ChunkKind::CompressedText,
        b"iTXt" => ChunkKind::InternationalText,
        _ => return None,
    };
    let (keyword, body) = split_nul(chunk.data)?;
    Some(CardChunk { keyword: Keyword::of(keyword)?, kind, offset: chunk.offset, body })
}

fn split_nul(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|&b| b == 0)?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

fn write_text(picture: &mut Vec<u8>, keyword: &[u8], text: &[u8]) {
    write_chunk(picture, b"tEXt", &[keyword, b"\0", text].concat());
}

fn write_chunk(picture: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
    picture.extend_from_slice(&length.to_be_bytes());
    picture.extend_from_slice(kind);
    picture.extend_from_slice(data);
    picture.extend_from_slice(&checksum_of(kind, data).to_be_bytes());
}

fn checksum_of(kind: &[u8; 4], data: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(kind);
    hasher.update(data);
    hasher.finalize()
}

//! Pictures that carry a lorebook: NovelAI's, and character cards, in a text chunk as base64.

use base64::{Engine as _, alphabet, engine};

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// The chunks that hold a document: NovelAI's lorebook, a card V3, a card V2.
const KEYWORDS: [&[u8]; 3] = [b"naidata", b"ccv3", b"chara"];

/// Exporters pad and alphabetise as they please.
const LENIENT: engine::GeneralPurpose = engine::GeneralPurpose::new(
    &alphabet::STANDARD,
    engine::GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(engine::DecodePaddingMode::Indifferent),
);

/// Whether these bytes are a picture.
pub(super) fn is_picture(bytes: &[u8]) -> bool {
    bytes.starts_with(SIGNATURE)
}

/// The document in the first of the known chunks that can be read.
pub(super) fn document(bytes: &[u8]) -> Option<Vec<u8>> {
    let of = |keyword: &[u8]| {
        let mut texts = texts(bytes).filter(|(name, _)| name.eq_ignore_ascii_case(keyword));
        texts.find_map(|(_, text)| LENIENT.decode(text).ok())
    };
    KEYWORDS.into_iter().find_map(of)
}

// The text chunks, name and text, as far as the picture is whole.
fn texts(bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = &bytes[SIGNATURE.len()..];
    let chunks = std::iter::from_fn(move || {
        let (length, body) = rest.split_first_chunk::<4>()?;
        let (kind, body) = body.split_first_chunk::<4>()?;
        let (data, after) = body.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        // Behind the data is its checksum.
        rest = after.get(4..)?;
        Some((kind, data))
    });
    chunks.filter(|(kind, _)| *kind == b"tEXt").filter_map(|(_, data)| {
        let end = data.iter().position(|byte| *byte == 0)?;
        Some((&data[..end], &data[end + 1..]))
    })
}

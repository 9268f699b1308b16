//! Cards in CHARX archives: `card.json` at the root of a zip, read through its central directory.

use std::io::{Cursor, Read};

use kernel::limits::{ARCHIVE_MEMBERS_MAX, DOCUMENT_BYTES_MAX};
use zip::{CompressionMethod, ZipArchive, ZipWriter, result::ZipError, write::SimpleFileOptions};

use super::{
    error::FormatError,
    report::{Code, Report},
};

const CARD: &str = "card.json";

/// Whether a zip begins here, be it cut off, or its end record stands somewhere near the end: what is
/// before the zip does not matter.
pub fn is_archive(bytes: &[u8]) -> bool {
    const MEMBER: &[u8] = b"PK\x03\x04";
    const END_RECORD: &[u8] = b"PK\x05\x06";
    const END_RECORD_BYTES_MAX: usize = 22 + u16::MAX as usize;
    let tail = &bytes[bytes.len().saturating_sub(END_RECORD_BYTES_MAX)..];
    bytes.starts_with(MEMBER) || tail.windows(END_RECORD.len()).any(|window| window == END_RECORD)
}

/// The bytes of `card.json`.
pub fn document(archive: &[u8], report: &mut Report) -> Result<Vec<u8>, FormatError> {
    let mut zip = open(archive)?;
    if zip.offset() > 0 {
        let message = format!("the archive begins behind {} other bytes", zip.offset());
        report.add(Code::ArchivePrefix, "", message);
    }
    let index = zip.index_for_name(CARD).ok_or_else(|| card_missing(&zip))?;
    let member = zip.by_index(index).map_err(|error| damaged(&error))?;
    let mut document = Vec::new();
    let result = member.take(DOCUMENT_BYTES_MAX as u64 + 1).read_to_end(&mut document);
    if document.len() > DOCUMENT_BYTES_MAX {
        let what = "a document that unpacks to more".to_owned();
        return Err(FormatError::limit(CARD, what, DOCUMENT_BYTES_MAX));
    }
    match result {
        Ok(_) => Ok(document),
        Err(error) => Err(FormatError::unusable(CARD, format!("cannot be unpacked: {error}"))),
    }
}

/// The archive with another `card.json`; every other member and what stands before the archive is
/// kept as it is.
pub fn embed(archive: &[u8], document: &[u8]) -> Result<Vec<u8>, FormatError> {
    let mut zip = open(archive)?;
    let prefix = usize::try_from(zip.offset()).unwrap_or(0).min(archive.len());
    let mut out = Cursor::new(archive[..prefix].to_vec());
    out.set_position(prefix as u64);
    let mut writer = ZipWriter::new(out);
    for index in 0..zip.len() {
        let member = zip.by_index_raw(index).map_err(|error| damaged(&error))?;
        if member.name().is_ok_and(|name| name == CARD) {
            continue;
        }
        writer.raw_copy_file(member).map_err(|error| damaged(&error))?;
    }
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    writer.start_file(CARD, options).map_err(|error| damaged(&error))?;
    std::io::Write::write_all(&mut writer, document).map_err(|error| damaged(&error.into()))?;
    Ok(writer.finish().map_err(|error| damaged(&error))?.into_inner())
}

fn open(archive: &[u8]) -> Result<ZipArchive<Cursor<&[u8]>>, FormatError> {
    let zip = ZipArchive::new(Cursor::new(archive)).map_err(|error| damaged(&error))?;
    if zip.len() > ARCHIVE_MEMBERS_MAX {
        let what = format!("an archive of {} members", zip.len());
        return Err(FormatError::limit("archive", what, ARCHIVE_MEMBERS_MAX));
    }
    Ok(zip)
}

fn damaged(error: &ZipError) -> FormatError {
    let reason = match error {
        ZipError::UnsupportedArchive(feature) => format!("cannot be read: {feature}"),
        ZipError::CompressionMethodNotSupported(method) => {
            format!("is packed with method {method}, which is not read")
        }
        _ => "is damaged or cut off".to_owned(),
    };
    FormatError::unusable("archive", reason)
}

/// A card one folder down is the common mistake, and worth its own words.
fn card_missing(zip: &ZipArchive<Cursor<&[u8]>>) -> FormatError {
    let names = zip.file_names().filter_map(Result::ok);
    let mut misplaced = names.filter(|name| name.rsplit(['/', '\\']).next() == Some(CARD));
    match misplaced.next() {
        Some(name) => {
            let name: String = name.chars().take(200).collect();
            FormatError::unusable(name, "card.json has to stand at the root of the archive")
        }
        None => FormatError::unusable("archive", "holds no card.json"),
    }
}

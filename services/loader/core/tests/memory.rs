//! A hostile file costs at most 64 MiB or ten times its size, and little time.
//!
//! One test in a process of its own: it counts what the process allocates.

use std::{
    io::Write as _,
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use flate2::{Compression, write::ZlibEncoder};
use loader_core::format::{card, persona, preset};
use peak_alloc::PeakAlloc;
use zip::{ZipWriter, write::SimpleFileOptions};

const MIB: usize = 1024 * 1024;
const ALLOWED: usize = 64 * MIB;
/// A second once optimised.
const PATIENCE: Duration = Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 1 });

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

#[track_caller]
fn check(what: &str, file: &[u8], read: impl Fn(&[u8])) {
    ALLOCATED.reset_peak_usage();
    let before = ALLOCATED.current_usage();
    let start = Instant::now();
    read(file);
    assert!(start.elapsed() < PATIENCE, "{what} took {:?}", start.elapsed());
    let cost = ALLOCATED.peak_usage() - before;
    let allowed = ALLOWED.max(10 * file.len());
    println!("{what}: {} KiB cost {} KiB", file.len() / 1024, cost / 1024);
    assert!(cost <= allowed, "{what}: {cost} bytes for a file of {}", file.len());
}

fn any_card(file: &[u8]) {
    let _ = card::read(file, Some("x.png"));
}

/// A picture whose card chunk holds `parts` one after another, compressed.
fn picture(parts: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(b"chara\0\0".to_vec(), Compression::fast());
    parts.for_each(|part| encoder.write_all(&part).expect("memory does not fail"));
    let text = encoder.finish().expect("memory does not fail");
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, data) in [(b"zTXt", &text[..]), (b"IEND", &[])] {
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(kind);
        checksum.update(data);
        png.extend((data.len() as u32).to_be_bytes());
        png.extend(kind);
        png.extend(data);
        png.extend(checksum.finalize().to_be_bytes());
    }
    png
}

fn archive(parts: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut writer = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    writer.start_file("card.json", SimpleFileOptions::default()).expect("memory does not fail");
    parts.for_each(|part| writer.write_all(&part).expect("memory does not fail"));
    writer.finish().expect("memory does not fail").into_inner()
}

/// Fifteen mebibytes of a well-formed card, a part at a time; each part is a multiple of three bytes.
fn large_card() -> impl Iterator<Item = Vec<u8>> {
    let head = br#"{"name":"A","tags":[                    "#.to_vec();
    let tags = (0..15).map(|_| format!("\"{}\",", "x".repeat(MIB - 3)).into_bytes());
    let tail = b"\"end\"]}   ".to_vec();
    let parts = std::iter::once(head).chain(tags).chain([tail]);
    parts.map(|mut part| {
        part.resize(part.len().next_multiple_of(3), b' ');
        part
    })
}

#[test]
fn hostile_files_stay_within_their_memory() {
    let blanks = |count: usize| (0..count).map(|_| vec![b' '; MIB]);
    check("a bomb in a picture", &picture(blanks(60)), any_card);
    check("a bomb in an archive", &archive(blanks(60)), any_card);
    let encoded = large_card().map(|part| STANDARD.encode(part).into_bytes());
    check("a large card, compressed in a picture", &picture(encoded), any_card);
    check("a large card in an archive", &archive(large_card()), any_card);
    check("open brackets", &vec![b'['; 4 * MIB], any_card);
    check("empty lists", format!("[{}[]]", "[],".repeat(2 * MIB)).as_bytes(), any_card);
    let lone = format!(r#"{{"name":"{}"}}"#, r"\ud800".repeat(150_000));
    check("lone surrogates", lone.as_bytes(), any_card);
    let keys: String = (0..90_000).map(|key| format!("\"k{key}\":0,")).collect();
    let keys = format!("{{{keys}\"prompts\":[]}}");
    let fields: String = (0..45_000).map(|key| format!(",\"k{key}\":0")).collect();
    let twice = format!(r#"{{"spec":"x","data":{{"name":"A"{fields}}}{fields}}}"#);
    check("many fields at the root and under data", twice.as_bytes(), any_card);
    let personas: String = (0..90_000).map(|key| format!(",\"{key}.png\":\"x\"")).collect();
    let personas = format!(r#"{{"personas":{{{}}}}}"#, &personas[1..]);
    check("many personas", personas.as_bytes(), |file| drop(persona::read(file)));
    check("many keys", keys.as_bytes(), |file| drop(preset::read(file)));
    malformed_files();
}

/// The collection's odd and damaged files, through every reader.
fn malformed_files() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    let more = std::env::var("SKALD_CORPUS").ok();
    for folder in std::iter::once(folder.to_owned()).chain(more) {
        for entry in std::fs::read_dir(&folder).expect("is a folder") {
            let path = entry.expect("can be listed").path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let file = std::fs::read(&path).expect("can be read");
            check(name, &file, any_card);
            check(name, &file, |file| drop(preset::read(file)));
            check(name, &file, |file| drop(persona::read(file)));
        }
    }
}

//! Nothing that comes over the wire exhausts memory: bombs, giants and endless streams end in a refusal, and soon.

use std::io::{Cursor, Write as _};

use flate2::{
    Compression,
    write::{GzEncoder, ZlibEncoder},
};
use futures::stream;
use http::Version;
use tests::{
    cards,
    clients::plain,
    prelude::*,
    process::{Home, Process},
    script,
};
use tonic::body::Body;
use tower::ServiceExt as _;
use wire::common::v1::UploadHeader;
use zip::{ZipWriter, write::SimpleFileOptions};

use common::Reason;
use loader::import_character_request::Part;

const MIB: usize = 1024 * 1024;
/// What a process may have held at its worst: an upload, its card, and what inflates within the limits.
const PEAK_KIB_MAX: u64 = 320 * 1024;

/// A process of its own, whose memory is nobody else's.
async fn process() -> (Home, Process) {
    let home = Home::new(env!("CARGO_BIN_EXE_skald-under-test"), script::ECHO);
    let process = home.start().await;
    (home, process)
}

async fn nothing_is_stored_and_memory_is_bounded(process: &Process) {
    let request = loader::ListCharactersRequest::default();
    let listed =
        process.plain_clients().characters.list_characters(request).await.expect("it serves");
    assert!(listed.into_inner().characters.is_empty());
    let peak = process.peak_kib();
    assert!(peak < PEAK_KIB_MAX, "{peak} KiB were held");
}

/// A picture with these chunks.
fn picture(chunks: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let header = (b"IHDR", vec![0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0]);
    let end = (b"IEND", Vec::new());
    for (kind, data) in [&header].into_iter().chain(chunks).chain([&end]) {
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(*kind);
        checksum.update(data);
        png.extend(u32::try_from(data.len()).expect("short").to_be_bytes());
        png.extend(*kind);
        png.extend(data);
        png.extend(checksum.finalize().to_be_bytes());
    }
    png
}

/// A compressed text chunk that inflates to this many bytes.
fn bomb(kind: &'static [u8; 4], bytes: usize) -> (&'static [u8; 4], Vec<u8>) {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&vec![b'A'; bytes]).expect("memory does not fail");
    let deflated = encoder.finish().expect("memory does not fail");
    let flags: &[u8] = if kind == b"iTXt" { b"\0\x01\0\0\0" } else { b"\0\0" };
    (kind, [&b"chara"[..], flags, &deflated].concat())
}

fn archive(name: &str, bytes: usize) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file(name, SimpleFileOptions::default()).expect("memory does not fail");
    writer.write_all(&vec![b' '; bytes]).expect("memory does not fail");
    writer.finish().expect("memory does not fail").into_inner()
}

#[tokio::test]
async fn a_picture_or_an_archive_that_inflates_without_end_is_refused() {
    let (_home, process) = process().await;
    let clients = process.plain_clients();
    let bombs = [
        ("one-zTXt", "c.png", picture(&[bomb(b"zTXt", 48 * MIB)])),
        ("one-iTXt", "c.png", picture(&[bomb(b"iTXt", 48 * MIB)])),
        ("many-zTXt", "c.png", picture(&vec![bomb(b"zTXt", 12 * MIB); 60])),
        ("archive", "c.charx", archive("card.json", 48 * MIB)),
    ];
    for (name, file, bytes) in bombs {
        assert!(bytes.len() < 2 * MIB, "{name} is small until it is opened");
        let refused = clients.import_character(name, file, &bytes).await.refused();
        let told = reason(&refused);
        let expected = [
            (Code::InvalidArgument, Reason::FileUnusable),
            (Code::ResourceExhausted, Reason::LimitExceeded),
        ];
        assert!(expected.contains(&told), "{name}: {refused:?}");
    }
    nothing_is_stored_and_memory_is_bounded(&process).await;
}

#[tokio::test]
async fn an_upload_without_end_is_refused_once_it_is_too_large() {
    let (_home, process) = process().await;
    let header = UploadHeader { request_id: "endless".to_owned(), ..Default::default() };
    let chunks = (0..).map(|_| Part::Chunk(vec![b' '; 256 * 1024]));
    let parts = std::iter::once(Part::Header(header)).chain(chunks);
    let parts = parts.map(|part| loader::ImportCharacterRequest { part: Some(part) });
    let upload = process.plain_clients().characters.import_character(stream::iter(parts)).await;
    let refused = upload.map(|_| ()).refused();
    assert_eq!(reason(&refused), (Code::ResourceExhausted, Reason::LimitExceeded));
    nothing_is_stored_and_memory_is_bounded(&process).await;
}

#[tokio::test]
async fn a_message_over_the_limit_is_refused_alone_and_in_a_stream() {
    let (_home, process) = process().await;
    let clients = process.plain_clients();
    let huge = "x".repeat(5 * MIB);
    let said = clients.say("a-session", "turn-1", &huge).await.refused();
    assert_eq!(reason(&said), (Code::ResourceExhausted, Reason::LimitExceeded));
    let part = Some(Part::Chunk(vec![b' '; 5 * MIB]));
    let header = Some(Part::Header(UploadHeader::default()));
    let parts = [header, part].map(|part| loader::ImportCharacterRequest { part });
    let upload = clients.characters.clone().import_character(stream::iter(parts)).await;
    let refused = upload.map(|_| ()).refused();
    assert_eq!(reason(&refused), (Code::ResourceExhausted, Reason::LimitExceeded));
    nothing_is_stored_and_memory_is_bounded(&process).await;
}

/// The status of a call whose one message says that it is encoded so.
async fn encoded(process: &Process, encoding: &str, message: &[u8]) -> Status {
    let mut body = vec![1];
    body.extend(u32::try_from(message.len()).expect("short").to_be_bytes());
    body.extend(message);
    let request = http::Request::post("/skald.loader.v1.CharacterService/ListCharacters")
        .version(Version::HTTP_2)
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("grpc-encoding", encoding)
        .body(Body::new(http_body_util::Full::from(body)))
        .expect("a request");
    let response = plain(&process.url).oneshot(request).await.expect("an answer");
    Status::from_header_map(response.headers()).expect("a refusal")
}

#[tokio::test]
async fn a_compressed_message_is_refused_unopened() {
    let (_home, process) = process().await;
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..32 {
        gzip.write_all(&vec![0; MIB]).expect("memory does not fail");
        zlib.write_all(&vec![0; MIB]).expect("memory does not fail");
    }
    let (gzip, zlib) = (gzip.finish().expect("written"), zlib.finish().expect("written"));
    for (encoding, message) in [("gzip", &gzip), ("deflate", &zlib)] {
        let status = encoded(&process, encoding, message).await;
        assert_eq!(status.code(), Code::Unimplemented, "{status:?}");
        assert!(status.message().contains(encoding), "{status:?}");
    }
    let status = encoded(&process, "identity", &gzip).await;
    assert_eq!(reason(&status), (Code::InvalidArgument, Reason::FieldInvalid));
    nothing_is_stored_and_memory_is_bounded(&process).await;
}

#[tokio::test]
async fn many_files_at_once_are_held_no_longer_than_they_are_read() {
    let (_home, process) = process().await;
    let clients = process.plain_clients();
    let card = cards::v2().to_string();
    let picture = picture(&[bomb(b"zTXt", 24 * MIB)]);
    let uploads = (0..12).map(|n| {
        let (clients, picture) = (&clients, &picture);
        async move { clients.import_character(&format!("bomb-{n}"), "c.png", picture).await }
    });
    for upload in futures::future::join_all(uploads).await {
        upload.refused();
    }
    let peak = process.peak_kib();
    assert!(peak < 2 * PEAK_KIB_MAX, "{peak} KiB were held");
    clients.import_character("good", "c.json", card.as_bytes()).await.expect("and it goes on");
}

//! Cards in PNG pictures (reference D, E32, E33; bugs B25, B26).

use std::io::Write;

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::{Compression, write::ZlibEncoder};
use loader_core::{
    character::CardSpec,
    format::card::{self, Container, ImportedCard},
};

use crate::{fixture, repairs};

/// A picture with the given chunks between its header and its end.
fn picture(chunks: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let header = (b"IHDR", vec![0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0]);
    let end = (b"IEND", Vec::new());
    for (kind, data) in [&header].into_iter().chain(chunks).chain([&end]) {
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(*kind);
        checksum.update(data);
        png.extend((data.len() as u32).to_be_bytes());
        png.extend(*kind);
        png.extend(data);
        png.extend(checksum.finalize().to_be_bytes());
    }
    png
}

fn card_named(name: &str) -> String {
    format!(r#"{{"spec":"chara_card_v2","spec_version":"2.0","data":{{"name":"{name}"}}}}"#)
}

fn text(keyword: &str, body: &[u8]) -> (&'static [u8; 4], Vec<u8>) {
    (b"tEXt", [keyword.as_bytes(), b"\0", body].concat())
}

fn encoded(keyword: &str, name: &str) -> (&'static [u8; 4], Vec<u8>) {
    text(keyword, STANDARD.encode(card_named(name)).as_bytes())
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory does not fail");
    encoder.finish().expect("memory does not fail")
}

fn compressed(keyword: &str, body: &[u8]) -> (&'static [u8; 4], Vec<u8>) {
    (b"zTXt", [keyword.as_bytes(), b"\0\0", &deflated(body)].concat())
}

fn international(keyword: &str, body: &[u8], compressed: bool) -> (&'static [u8; 4], Vec<u8>) {
    let body = if compressed { deflated(body) } else { body.to_vec() };
    let flags = [0, u8::from(compressed), 0];
    (b"iTXt", [keyword.as_bytes(), &flags, b"en\0\0", &body].concat())
}

fn read(png: &[u8]) -> ImportedCard {
    card::read(png, None).expect("is a card")
}

#[track_caller]
fn check(png: &[u8], name: &str, expected_repairs: &[&str]) {
    let imported = read(png);
    let codes: Vec<_> = repairs(&imported.report).into_iter().map(|(code, _)| code).collect();
    assert_eq!((imported.character.name.as_str(), &codes[..]), (name, expected_repairs));
}

#[track_caller]
fn refused(png: &[u8], expected: &str) {
    let error = card::read(png, None).expect_err("should be refused").to_string();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn every_kind_of_text_chunk_is_read_e33() {
    let body = STANDARD.encode(card_named("A"));
    check(&picture(&[encoded("chara", "A")]), "A", &[]);
    check(&picture(&[compressed("chara", body.as_bytes())]), "A", &[]);
    check(&picture(&[international("chara", body.as_bytes(), false)]), "A", &[]);
    check(&picture(&[international("chara", body.as_bytes(), true)]), "A", &[]);
}

#[test]
fn keywords_have_no_case_and_stand_anywhere_before_the_end_e32() {
    check(&picture(&[encoded("Chara", "A")]), "A", &[]);
    check(&picture(&[text("Comment", b"x"), (b"IDAT", vec![0]), encoded("chara", "A")]), "A", &[]);
}

#[test]
fn ccv3_alone_is_read_and_wins_over_chara_wherever_it_stands_b25() {
    check(&picture(&[encoded("chara", "old"), encoded("ccv3", "new")]), "new", &[]);
    check(&picture(&[encoded("ccv3", "new"), encoded("chara", "old")]), "new", &[]);
    check(&picture(&[encoded("ccv3", "only")]), "only", &[]);
}

#[test]
fn an_undecodable_ccv3_falls_back_and_is_diagnosed() {
    let garbage = [text("ccv3", b"%%%"), encoded("chara", "A")];
    check(&picture(&garbage), "A", &["CARD_CHUNK_UNREADABLE"]);
    let empty = [text("ccv3", b""), encoded("chara", "A")];
    check(&picture(&empty), "A", &["CARD_CHUNK_UNREADABLE"]);
    let no_card = [text("ccv3", STANDARD.encode("{}").as_bytes()), encoded("chara", "A")];
    check(&picture(&no_card), "A", &["CARD_CHUNK_UNREADABLE"]);
}

#[test]
fn a_further_chunk_of_the_same_kind_is_passed_over() {
    check(&picture(&[encoded("chara", "A"), encoded("chara", "B")]), "A", &["FURTHER_CARD_CHUNK"]);
}

#[test]
fn plain_json_in_a_chunk_is_read() {
    check(&picture(&[text("chara", card_named("A").as_bytes())]), "A", &["PLAIN_CARD_CHUNK"]);
}

#[test]
fn every_script_survives_base64_b26() {
    check(&picture(&[encoded("chara", "测试🐉 ñ")]), "测试🐉 ñ", &[]);
}

#[test]
fn damaged_pictures_are_refused_with_the_place() {
    let good = picture(&[encoded("chara", "A")]);
    refused(&good[..good.len() - 12], "the picture is cut off before its IEND chunk");
    refused(&good[..60], "tEXt at byte 33: the picture is cut off");
    let mut flipped = good.clone();
    flipped[50] ^= 1;
    refused(&flipped, "tEXt chunk at byte 33: its checksum does not match");
    refused(&picture(&[]), "file: the picture holds no card");
    refused(&picture(&[text("chara", b"")]), r#"tEXt chunk "chara" at byte 33: is empty"#);
    refused(&picture(&[(b"zTXt", b"chara\0\x07x".to_vec())]), "unknown compression method 7");
    refused(&picture(&[(b"zTXt", b"chara\0\0xx".to_vec())]), "cannot be inflated");
    refused(&picture(&[(b"iTXt", b"chara\0".to_vec())]), "is cut off");
}

#[test]
fn a_card_behind_the_end_is_not_read() {
    refused(&fixture("fuzz_png_chara_after_iend.png"), "no chara or ccv3 text before its end");
}

#[test]
fn an_inflated_bomb_is_stopped() {
    let bomb = vec![b'A'; 24 << 20];
    let chunk = compressed("chara", &bomb);
    refused(&picture(&vec![chunk; 3]), "more bytes once inflated");
}

#[test]
fn many_bombs_share_one_budget() {
    let chunk = compressed("chara", &vec![b' '; 12 << 20]);
    let start = std::time::Instant::now();
    refused(&picture(&vec![chunk; 500]), "is empty");
    assert!(start.elapsed().as_secs() < 10, "each bomb was inflated whole");
}

#[test]
fn odd_pictures_of_the_collection_are_read() {
    for name in ["base64url_nopad", "chara_after_idat", "itxt_compressed", "keyword_uppercase"] {
        let imported = read(&fixture(&format!("fuzz_png_{name}.png")));
        assert!(!imported.character.name.is_empty(), "{name}");
    }
    let both = read(&fixture("card_png_ccv3_over_chara_min.png"));
    assert_eq!(both.character.spec, CardSpec::V3);
}

#[test]
fn a_card_goes_back_into_its_picture() {
    let before =
        [(b"gAMA", vec![1]), encoded("ccv3", "x"), (b"IDAT", vec![7]), encoded("CHARA", "y")];
    let original = [picture(&before), b"trailing".to_vec()].concat();
    let document = card_named("edited");
    let edited = card::embed(Container::Png, &original, document.as_bytes(), CardSpec::V2)
        .expect("is a picture");
    let chunks = [(b"gAMA", vec![1]), (b"IDAT", vec![7]), encoded("chara", "edited")];
    assert_eq!(edited, [picture(&chunks), b"trailing".to_vec()].concat());
    let both = card::embed(Container::Png, &original, document.as_bytes(), CardSpec::V3);
    assert_eq!(read(&both.expect("is a picture")).document, document.as_bytes());
}

//! Cards in CHARX archives (reference D; bugs B33, B34, B35).

use std::io::{Cursor, Write};

use loader_core::{
    character::CardSpec,
    format::card::{self, Container},
};
use zip::{CompressionMethod, ZipArchive, ZipWriter, write::SimpleFileOptions};

use crate::{fixture, repairs};

const CARD: &str = r#"{"spec":"chara_card_v3","spec_version":"3.0","data":{"name":"A"}}"#;

fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, body) in members {
        writer.start_file(*name, options).expect("memory does not fail");
        writer.write_all(body).expect("memory does not fail");
    }
    writer.finish().expect("memory does not fail").into_inner()
}

fn members(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut zip = ZipArchive::new(Cursor::new(archive)).expect("is an archive");
    let read = |index| {
        let mut member = zip.by_index(index).expect("is a member");
        let name = member.name().expect("has a name").into_owned();
        let mut body = Vec::new();
        std::io::Read::read_to_end(&mut member, &mut body).expect("unpacks");
        (name, body)
    };
    let count = ZipArchive::new(Cursor::new(archive)).expect("is an archive").len();
    (0..count).map(read).collect()
}

#[track_caller]
fn refused(bytes: &[u8], expected: &str) {
    assert_eq!(card::read(bytes, None).expect_err("should be refused").to_string(), expected);
}

#[test]
fn a_card_is_read_from_the_root_of_the_archive() {
    let imported =
        card::read(&archive(&[("card.json", CARD.as_bytes()), ("assets/a.png", b"x")]), None);
    let imported = imported.expect("is a card");
    assert_eq!(
        (imported.container, imported.document),
        (Container::Charx, CARD.as_bytes().to_vec())
    );
    assert_eq!(repairs(&imported.report), []);
}

#[test]
fn zip_signatures_inside_a_stored_asset_do_no_harm_b33() {
    let asset = b"..PK\x07\x08..PK\x01\x02..PK\x03\x04..PK\x05\x06..".as_slice();
    let bytes = archive(&[("assets/a.bin", asset), ("card.json", CARD.as_bytes())]);
    assert!(card::read(&bytes, None).is_ok_and(|imported| imported.character.name == "A"));
}

#[test]
fn any_prefix_is_stepped_over_b34() {
    let jpeg =
        [b"\xFF\xD8\xFF\xE0picture\xFF\xD9", &archive(&[("card.json", CARD.as_bytes())])[..]];
    let imported = card::read(&jpeg.concat(), None).expect("is a card");
    assert_eq!(repairs(&imported.report), [("ARCHIVE_PREFIX", "")]);
    let fixture = card::read(&fixture("fuzz_charx_jpeg_prefix.charx"), None).expect("is a card");
    assert_eq!(repairs(&fixture.report)[0].0, "ARCHIVE_PREFIX");
}

#[test]
fn a_picture_with_no_archive_behind_it_is_refused_b34() {
    refused(
        b"\xFF\xD8\xFF\xE0picture\xFF\xD9",
        "file: is no PNG picture, no JSON and no CHARX archive",
    );
}

#[test]
fn a_missing_and_a_misplaced_card_have_their_own_words_b35() {
    refused(&archive(&[("other.json", b"{}")]), "archive: holds no card.json");
    refused(
        &archive(&[("mycard/card.json", CARD.as_bytes()), ("mycard/assets/a.png", b"")]),
        "mycard/card.json: card.json has to stand at the root of the archive",
    );
}

#[test]
fn errors_inside_the_card_name_the_member() {
    refused(
        &archive(&[("card.json", b"{}")]),
        "card.json: root: has no spec, name or char_name: it is no character card",
    );
}

#[test]
fn an_archive_bomb_is_stopped() {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file("card.json", SimpleFileOptions::default()).expect("memory does not fail");
    writer.write_all(&vec![b' '; 17 << 20]).expect("memory does not fail");
    let bomb = writer.finish().expect("memory does not fail").into_inner();
    refused(&bomb, "card.json: a document that unpacks to more, at most 16777216 are allowed");
}

#[test]
fn a_damaged_archive_is_refused() {
    let mut bytes = archive(&[("card.json", CARD.as_bytes())]);
    bytes[45] ^= 0xFF;
    assert!(card::read(&bytes, None).is_err());
    let whole = archive(&[("card.json", CARD.as_bytes())]);
    refused(&whole[..60], "archive: is damaged or cut off");
}

#[test]
fn an_edited_card_keeps_every_other_member_and_the_prefix() {
    let asset = b"..PK\x07\x08..".as_slice();
    let inner = archive(&[("a/x.bin", asset), ("card.json", CARD.as_bytes()), ("b.txt", b"b")]);
    let original = [b"\xFF\xD8prefix", &inner[..]].concat();
    let document = CARD.replace('A', "B");
    let edited = card::embed(Container::Charx, &original, document.as_bytes(), CardSpec::V3)
        .expect("is an archive");
    assert!(edited.starts_with(b"\xFF\xD8prefix"));
    let expected = [("a/x.bin", asset), ("b.txt", b"b"), ("card.json", document.as_bytes())];
    let expected: Vec<_> = expected.iter().map(|(n, b)| (n.to_string(), b.to_vec())).collect();
    assert_eq!(members(&edited), expected);
    assert!(card::read(&edited, None).is_ok_and(|imported| imported.character.name == "B"));
}

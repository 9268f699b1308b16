//! The JSON of cards, whatever its age and however sloppy (reference D, E30, E34–E37).

use loader_core::{
    character::{CardSpec, Character},
    format::card::{self, Container},
};
use prompt::Role;

use crate::{codes, fixture, repairs};

fn read(json: &str) -> card::ImportedCard {
    card::read(json.as_bytes(), Some("from file.json")).expect("is a card")
}

#[track_caller]
fn refused(json: &str, expected: &str) {
    let error = card::read(json.as_bytes(), None).expect_err("should be refused");
    assert_eq!(error.to_string(), expected);
}

#[track_caller]
fn check(json: &str, expected_repairs: &[(&str, &str)], proof: impl Fn(&Character) -> bool) {
    let imported = read(json);
    assert_eq!(repairs(&imported.report), expected_repairs);
    assert!(proof(&imported.character), "{:?}", imported.character);
}

/// Each case writes what stands inside a V2 card's `data`.
#[track_caller]
fn check_data(data: &str, expected_repairs: &[(&str, &str)], proof: impl Fn(&Character) -> bool) {
    let json = format!(r#"{{"spec":"chara_card_v2","spec_version":"2.0","data":{{{data}}}}}"#);
    check(&json, expected_repairs, proof);
}

#[test]
fn a_v1_card_is_flat() {
    check(
        r#"{"name":"A","description":"d","personality":"p","scenario":"s","first_mes":"f","mes_example":"m"}"#,
        &[],
        |c| {
            (c.spec, c.name.as_str(), c.first_message.as_str(), c.message_example.as_str())
                == (CardSpec::V1, "A", "f", "m")
        },
    );
}

#[test]
fn pygmalions_keys_are_understood() {
    check(
        r#"{"char_name":"A","char_persona":"d","world_scenario":"s","char_greeting":"f","example_dialogue":"m"}"#,
        &[("OLD_KEY", "")],
        |c| {
            (c.name.as_str(), c.description.as_str(), c.scenario.as_str(), c.first_message.as_str())
                == ("A", "d", "s", "f")
        },
    );
}

#[test]
fn a_full_v2_card_needs_no_repair() {
    let imported = card::read(&fixture("card_json_v2_full.json"), None).expect("is a card");
    assert_eq!(imported.character.spec, CardSpec::V2);
    assert!(codes(&imported.report).contains(&"FORMAT_RECOGNISED"));
    assert_eq!(imported.document, fixture("card_json_v2_full.json"));
}

#[test]
fn a_full_v3_card_keeps_nickname_and_group_greetings() {
    let imported = card::read(&fixture("card_json_v3_full.json"), None).expect("is a card");
    assert_eq!(imported.character.spec, CardSpec::V3);
    assert!(imported.character.nickname.is_some());
    assert!(!imported.character.group_only_greetings.is_empty());
}

#[test]
fn a_missing_spec_is_repaired_where_data_is_a_card() {
    let json = r#"{"data":{"name":"A","description":"d"}}"#;
    check(json, &[("SPEC_UNKNOWN", "spec")], |c| (c.spec, c.name.as_str()) == (CardSpec::V2, "A"));
}

#[test]
fn an_unknown_newer_spec_is_read_as_v3() {
    let json = r#"{"spec":"chara_card_v4","spec_version":"4.1","data":{"name":"A"}}"#;
    check(json, &[("SPEC_UNKNOWN", "spec")], |c| c.spec == CardSpec::V3);
}

#[test]
fn a_spec_without_data_reads_the_root() {
    let json = r#"{"spec":"chara_card_v2","name":"A","system_prompt":"sys"}"#;
    check(json, &[("FIELD_AT_ROOT", "data")], |c| c.system_prompt == "sys");
}

#[test]
fn a_field_that_data_lacks_is_read_from_the_root() {
    let json = r#"{"spec":"chara_card_v2","description":"old","name":"B","system_prompt":"s","data":{"name":"A","system_prompt":"s"}}"#;
    let expected = [("ROOT_COPY_DIFFERS", "name"), ("FIELD_AT_ROOT", "description")];
    check(json, &expected, |c| (c.name.as_str(), c.description.as_str()) == ("A", "old"));
}

#[test]
fn a_missing_name_comes_from_the_file_e30() {
    check_data(r#""description":"d""#, &[("NAME_FROM_FILE", "data.name")], |c| {
        c.name == "from file"
    });
    check_data(r#""name":"A\u0000\u001b[31m""#, &[("NAME_CLEANED", "data.name")], |c| {
        c.name == "A\u{fffd}\u{fffd}[31m"
    });
    check_data(r#""name":"  ""#, &[("NAME_FROM_FILE", "data.name")], |c| c.name == "from file");
}

#[test]
fn without_name_and_file_name_a_card_is_refused() {
    let bytes = fixture("card_json_bad_missing_name.json");
    let error = card::read(&bytes, None).expect_err("should be refused");
    assert_eq!(error.to_string(), "data.name: is missing, and there is no file name to take");
}

#[test]
fn exporter_slips_are_repaired_b28_e34_e35() {
    check_data(
        r#""name":"A","alternate_greetings":"1687194031049","character_book":null"#,
        &[("VALUE_COERCED", "data.alternate_greetings")],
        |c| c.alternate_greetings == ["1687194031049"] && c.book.is_none(),
    );
}

#[test]
fn an_empty_depth_has_the_default_e36() {
    check_data(
        r#""name":"A","extensions":{"depth_prompt":{"prompt":"x","depth":"","role":"model"}}"#,
        &[
            ("VALUE_COERCED", "data.extensions.depth_prompt.depth"),
            ("VALUE_COERCED", "data.extensions.depth_prompt.role"),
        ],
        |c| c.depth_prompt.as_ref().is_some_and(|d| (d.depth, d.role) == (4, Role::Assistant)),
    );
}

#[test]
fn a_number_in_a_text_counts() {
    check_data(
        r#""name":"A","extensions":{"depth_prompt":{"prompt":"x","depth":"2"}}"#,
        &[("VALUE_COERCED", "data.extensions.depth_prompt.depth")],
        |c| c.depth_prompt.as_ref().is_some_and(|d| (d.depth, d.role) == (2, Role::System)),
    );
}

#[test]
fn nulls_and_numbers_do_not_break_texts_e37() {
    check_data(r#""name":7,"description":null"#, &[("VALUE_COERCED", "data.name")], |c| {
        (c.name.as_str(), c.description.as_str()) == ("7", "")
    });
}

#[test]
fn an_object_is_no_text() {
    check_data(r#""name":"A","scenario":{}"#, &[("VALUE_UNUSABLE", "data.scenario")], |c| {
        c.scenario.is_empty()
    });
}

#[test]
fn tags_in_one_text_are_split() {
    let path = [("VALUE_COERCED", "data.tags")];
    check_data(r#""name":"A","tags":"elf, mage""#, &path, |c| c.tags == ["elf", "mage"]);
}

#[test]
fn unknown_fields_and_extensions_are_named() {
    check_data(
        r#""name":"A","x":1,"creator_notes":"n","extensions":{"world":"W","chub":{"id":1},"fav":true}"#,
        &[
            ("CREATOR_NOTES_NOT_SENT", "data.creator_notes"),
            ("WORLD_LINK_NOT_HONOURED", "data.extensions.world"),
            ("EXTENSION_NOT_HONOURED", "data.extensions.chub"),
            ("UNKNOWN_FIELD", "data.x"),
        ],
        |c| c.world_name.as_deref() == Some("W"),
    );
}

#[test]
fn the_book_is_under_data_b31() {
    check_data(r#""name":"A","character_book":{"entries":[{"keys":["k"]}]}"#, &[], |c| {
        c.book.as_ref().is_some_and(|book| book["entries"].as_array().map(Vec::len) == Some(1))
    });
}

#[test]
fn a_book_of_49_entries_never_arrives_empty_b21() {
    let entries = vec![r#"{"keys":["k"],"content":"c","enabled":true}"#; 49].join(",");
    check_data(&format!(r#""name":"A","character_book":{{"entries":[{entries}]}}"#), &[], |c| {
        c.book.as_ref().is_some_and(|book| book["entries"].as_array().map(Vec::len) == Some(49))
    });
}

#[test]
fn a_book_that_cannot_run_is_kept_and_said() {
    let entries = vec!["{}"; 10_001].join(",");
    let path = [("EMBEDDED_WORLD_BOOK_INVALID", "data.character_book.entries")];
    check_data(&format!(r#""name":"A","character_book":{{"entries":[{entries}]}}"#), &path, |c| {
        c.book.is_some()
    });
    check_data(r#""name":"A","character_book":{"entries":"x"}"#, &path, |c| c.book.is_some());
}

#[test]
fn other_files_are_refused_by_name() {
    refused("[]", "root: a card is a JSON object");
    refused(r#"{"entries":{}}"#, "root: is a world book, not a card: import it as a world");
    refused(
        r#"{"spec":"lorebook_v3","data":{"entries":[]}}"#,
        "root: is a world book, not a card: import it as a world",
    );
    refused(r#"{"prompts":[]}"#, "root: is a preset, not a card: import it as a preset");
    refused("{}", "root: has no spec, name or char_name: it is no character card");
    refused("hello", "file: is no PNG picture, no JSON and no CHARX archive");
}

#[test]
fn names_survive_every_script_b26() {
    check_data(r#""name":"测试🐉 ñ""#, &[], |c| c.name == "测试🐉 ñ");
}

#[test]
fn json_is_kept_byte_for_byte() {
    let json = "{\n  \"spec\":\"chara_card_v2\", \"data\":{\"name\":\"A\",\"z\":1.10,\"a\":1e2}\n}";
    let imported = read(json);
    assert_eq!(
        (imported.container, imported.document),
        (Container::Json, json.as_bytes().to_vec())
    );
}

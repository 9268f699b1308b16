//! Files as people's programs write them.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use lorebook_core::{
    EntryBody, EntryRole, Position, SelectiveLogic,
    import::{Code, Format, ImportError, Imported, import},
};
use serde_json::{Value, json};

#[track_caller]
fn read(file: &Value) -> Imported {
    import(file.to_string().as_bytes()).expect("a lorebook")
}

#[track_caller]
fn native(entry: Value) -> EntryBody {
    read(&json!({ "entries": { "0": entry } })).rows.remove(0).body
}

#[track_caller]
fn card(entry: Value) -> EntryBody {
    read(&json!({ "entries": [entry], "extensions": {} })).rows.remove(0).body
}

#[track_caller]
fn found(imported: &Imported, code: Code, place: &str) -> u64 {
    let all = &imported.report.findings;
    let there = all.iter().filter(|f| f.code == code && f.places.iter().any(|one| one == place));
    there.map(|finding| finding.count()).sum()
}

#[track_caller]
fn refused(file: Value) -> String {
    import(file.to_string().as_bytes()).expect_err("no lorebook").to_string()
}

#[test]
fn the_form_is_told_by_its_shape() {
    let is = |file: Value, expected: Format| assert_eq!(read(&file).format, expected);
    is(json!({ "entries": {} }), Format::WorldInfo);
    is(json!({ "entries": [{ "key": ["a"] }] }), Format::WorldInfo);
    is(json!({ "entries": {}, "folders": {} }), Format::KoboldAi);
    is(json!({ "entries": [] }), Format::CharacterBook);
    is(json!({ "entries": [{ "keys": ["a"] }] }), Format::CharacterBook);
    is(json!({ "spec": "lorebook_v3", "data": { "entries": [] } }), Format::LorebookV3);
    is(
        json!({ "spec": "chara_card_v2", "data": { "character_book": { "entries": [] } } }),
        Format::CharacterBook,
    );
    is(json!({ "lorebookVersion": 4, "entries": [] }), Format::NovelAi);
    is(json!({ "kind": "memory", "entries": [] }), Format::Agnai);
    is(json!({ "type": "risu", "data": [] }), Format::RisuAi);
}

#[test]
fn what_is_no_lorebook_is_refused_with_its_place() {
    assert_eq!(import(b"{}"), Err(ImportError::Unrecognised));
    assert_eq!(refused(json!([])), "$ is a list, not an object");
    assert_eq!(refused(json!({ "entries": 7 })), "$.entries is a number, not an object or a list");
    assert_eq!(refused(json!({ "spec": "lorebook_v3" })), "$.data is absent, not an object");
    assert!(import(b"{").is_err());
}

#[test]
fn absent_fields_of_an_entry_are_those_of_a_new_one_and_reported() {
    let imported = read(&json!({ "entries": { "3": {} } }));
    assert_eq!(imported.rows[0].body, EntryBody::default());
    assert_eq!(imported.rows[0].uid, 3);
    let [absent] = &imported.report.findings[..] else { panic!("{:?}", imported.report) };
    assert_eq!(
        (absent.code.as_str(), absent.places.as_slice()),
        ("FIELD_DEFAULTED", ["$.entries.3".to_owned()].as_slice())
    );
    assert!(absent.fields.contains(&("position".to_owned(), 1)));
    assert_eq!(absent.count(), 41);
}

#[test]
fn each_field_and_fate_is_one_finding_with_its_count_and_first_places() {
    let entry =
        |uid: u32| json!({ "uid": uid, "depth": format!("{uid}"), "order": "x", "mine": uid });
    let entries: Vec<Value> = (0..9).map(entry).collect();
    let imported = read(&json!({ "entries": entries, "name": "N" }));
    let mut codes: Vec<(&str, u64)> =
        imported.report.findings.iter().map(|f| (f.code.as_str(), f.count())).collect();
    codes.sort_unstable();
    assert_eq!(
        codes,
        [
            ("FIELD_DEFAULTED", 39 * 9),
            ("UNKNOWN_FIELD", 9),
            ("VALUE_COERCED", 9),
            ("VALUE_UNUSABLE", 9)
        ]
    );
    let coerced =
        imported.report.findings.iter().find(|f| f.code == Code::ValueCoerced).expect("told");
    assert_eq!(coerced.places, ["$.entries[0].depth", "$.entries[1].depth", "$.entries[2].depth"]);
    assert_eq!(
        (coerced.detail.as_str(), coerced.fields.as_slice()),
        ("\"0\" taken as 0", [("depth".to_owned(), 9)].as_slice())
    );
}

#[test]
fn a_filter_keeps_what_it_knows_and_names_the_rest() {
    let filter = json!({ "isExclude": "perhaps", "names": ["a", 7], "since": 1 });
    let imported = read(&json!({ "entries": { "0": { "characterFilter": filter } } }));
    let said =
        imported.report.findings.iter().find(|f| f.code == Code::ValueCoerced).expect("told");
    assert!(
        said.detail.contains("since left out") && said.detail.contains("isExclude"),
        "{said:?}"
    );
    let kept = imported.rows[0].body.character_filter.clone().expect("a filter");
    assert_eq!((kept.names, kept.is_exclude), (vec!["a".to_owned(), "7".to_owned()], false));
}

#[test]
fn numbers_and_flags_are_read_leniently() {
    assert_eq!(native(json!({ "depth": "7", "order": "12.5", "sticky": "3" })).depth, 7);
    assert_eq!(native(json!({ "depth": "" })).depth, 4);
    assert_eq!(native(json!({ "depth": -2 })).depth, 0);
    assert_eq!(native(json!({ "order": 99.5 })).order, 99.5);
    assert!(native(json!({ "constant": 1 })).constant);
    assert!(!native(json!({ "constant": "false" })).constant);
    assert_eq!(native(json!({ "sticky": 0 })).sticky, Some(0));
}

#[test]
fn disable_is_compared_as_sillytavern_compares_it() {
    let enabled = |value: Value| native(json!({ "disable": value })).enabled;
    assert!(!enabled(json!(true)) && !enabled(json!(1)) && !enabled(json!("1")));
    assert!(enabled(json!(false)) && enabled(json!("true")) && enabled(json!(null)));
}

#[test]
fn a_null_scan_depth_is_the_scans_own_and_never_zero() {
    assert_eq!(native(json!({ "scanDepth": null })).scan_depth, None);
    assert_eq!(native(json!({ "scanDepth": 0 })).scan_depth, Some(0));
    assert_eq!(card(json!({ "keys": [], "extensions": {} })).scan_depth, None);
}

#[test]
fn delay_until_recursion_is_a_level_and_true_is_one() {
    let level =
        |value: Value| native(json!({ "delayUntilRecursion": value })).delay_until_recursion;
    assert_eq!((level(json!(true)), level(json!(false)), level(json!(3))), (1, 0, 3));
}

#[test]
fn both_spellings_of_flags_are_read_wherever_they_stand() {
    let extensions =
        json!({ "exclude_recursion": true, "prevent_recursion": true, "delay_until_recursion": 2 });
    for body in [
        card(json!({ "keys": ["a"], "content": "b", "extensions": extensions })),
        card(
            json!({ "keys": ["a"], "excludeRecursion": true, "preventRecursion": true, "delayUntilRecursion": 2 }),
        ),
        native(
            json!({ "excludeRecursion": true, "preventRecursion": true, "delayUntilRecursion": 2 }),
        ),
        native(
            json!({ "exclude_recursion": true, "prevent_recursion": true, "delay_until_recursion": 2 }),
        ),
        native(json!({ "extensions": extensions })),
    ] {
        assert!(body.exclude_recursion && body.prevent_recursion, "{body:?}");
        assert_eq!(body.delay_until_recursion, 2);
    }
}

#[test]
fn positions_logics_and_roles_keep_numbers_that_nobody_defined() {
    for number in 0..8 {
        assert_eq!(native(json!({ "position": number })).position.number(), number);
    }
    let imported =
        read(&json!({ "entries": { "0": { "position": 9, "selectiveLogic": 7, "role": 5 } } }));
    let body = &imported.rows[0].body;
    assert_eq!(
        (body.position, body.selective_logic),
        (Position::Unknown(9), SelectiveLogic::Unknown(7))
    );
    assert_eq!(body.role, EntryRole::System);
    assert_eq!(found(&imported, Code::ValueUnknown, "$.entries.0.position"), 1);
    assert_eq!(found(&imported, Code::ValueUnknown, "$.entries.0.role"), 1);
    assert_eq!(native(json!({ "role": null, "selectiveLogic": null })).role, EntryRole::System);
}

#[test]
fn names_of_positions_and_logics_are_understood() {
    let body = native(json!({ "position": "ANTop", "selectiveLogic": "AND_ALL" }));
    assert_eq!((body.position, body.selective_logic), (Position::AnTop, SelectiveLogic::AndAll));
}

#[test]
fn a_text_of_keys_is_split_and_odd_items_are_left_out() {
    assert_eq!(native(json!({ "key": "/a[,]/, b" })).keys, ["/a[,]/", "b"]);
    assert_eq!(native(json!({ "key": ["a", 7, null, {}] })).keys, ["a", "7"]);
    assert_eq!(native(json!({ "key": {} })).keys, Vec::<String>::new());
}

#[test]
fn entries_come_in_javascripts_order() {
    let file = r#"{"entries":{"b":{"uid":9},"10":{"uid":10},"2":{"uid":2},"01":{"uid":1}}}"#;
    let imported = import(file.as_bytes()).expect("a lorebook");
    assert_eq!(imported.rows.iter().map(|row| row.uid).collect::<Vec<_>>(), [2, 10, 9, 1]);
}

#[test]
fn a_number_that_is_taken_costs_no_entry() {
    let imported = read(
        &json!({ "entries": [{ "id": 0, "keys": [] }, { "id": 0, "keys": [] }, { "keys": [] }] }),
    );
    assert_eq!(imported.rows.iter().map(|row| row.uid).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(found(&imported, Code::NumberMade, "$.entries[1].uid"), 2);
}

#[test]
fn a_uid_that_is_no_number_is_replaced() {
    let imported =
        read(&json!({ "entries": [{ "uid": "map", "key": ["m"] }, { "uid": "0", "key": [] }] }));
    assert_eq!(imported.rows.iter().map(|row| row.uid).collect::<Vec<_>>(), [1, 0]);
}

#[test]
fn a_cards_book_has_the_defaults_of_its_conversion() {
    let body = card(json!({ "keys": ["a"], "content": "b" }));
    let mut expected =
        EntryBody { keys: vec!["a".into()], content: "b".into(), ..EntryBody::default() };
    expected.position = Position::AfterChar;
    expected.selective = false;
    expected.display_index = Some(0);
    assert_eq!(body, expected);
}

#[test]
fn a_cards_position_is_its_extension_or_its_word() {
    let position = |entry: Value| card(entry).position;
    assert_eq!(position(json!({ "keys": [], "position": "before_char" })), Position::BeforeChar);
    assert_eq!(position(json!({ "keys": [], "position": "after_char" })), Position::AfterChar);
    assert_eq!(position(json!({ "keys": [], "position": "nowhere" })), Position::AfterChar);
    let both = json!({ "keys": [], "position": "after_char", "extensions": { "position": 4 } });
    assert_eq!(position(both), Position::AtDepth);
}

#[test]
fn what_the_engine_drops_from_a_card_is_read_or_kept() {
    let body = card(json!({
        "keys": [], "name": "Title", "priority": 3, "case_sensitive": true, "use_regex": false,
        "extensions": { "case_sensitive": null, "mine": { "a": 1 } },
    }));
    assert_eq!((body.comment.as_str(), body.case_sensitive), ("Title", Some(true)));
    assert_eq!((&body.extra["priority"], &body.extra["use_regex"]), (&json!(3), &json!(false)));
    assert_eq!(body.extensions["mine"], json!({ "a": 1 }));
}

#[test]
fn a_disabled_entry_of_a_card_stays_off() {
    assert!(!card(json!({ "keys": [], "enabled": false })).enabled);
    assert!(card(json!({ "keys": [] })).enabled);
}

#[test]
fn the_head_of_a_book_is_kept() {
    let imported = read(&json!({
        "name": "N", "description": "D", "scanDepth": 3, "token_budget": 9, "recursiveScanning": true,
        "extensions": { "x": 1 }, "mine": [1], "entries": [],
    }));
    let settings = imported.settings;
    assert_eq!((imported.name.as_deref(), settings.description.as_str()), (Some("N"), "D"));
    assert_eq!((settings.scan_depth, settings.token_budget), (Some(3), Some(9)));
    assert_eq!(settings.recursive_scanning, Some(true));
    assert_eq!((&settings.extensions["x"], &settings.extra["mine"]), (&json!(1), &json!([1])));
}

#[test]
fn novelai_agnai_and_risuai_books_are_read() {
    let novel = read(&json!({ "lorebookVersion": 4, "entries": [{
        "text": "T", "displayName": "D", "keys": ["k"], "enabled": false, "forceActivation": true,
        "contextConfig": { "budgetPriority": 400 }, "searchRange": 1000,
    }]}));
    let body = &novel.rows[0].body;
    assert_eq!((body.content.as_str(), body.comment.as_str(), body.order), ("T", "D", 400.0));
    assert!(body.constant && !body.enabled);
    assert_eq!(body.extra["searchRange"], 1000);

    let agnai = read(&json!({ "kind": "memory", "name": "M", "entries": [{
        "name": "E", "entry": "T", "keywords": ["k"], "weight": 2, "priority": 5, "enabled": true,
    }]}));
    let body = &agnai.rows[0].body;
    assert_eq!((body.content.as_str(), body.order, body.enabled), ("T", 2.0, true));
    assert_eq!(agnai.name.as_deref(), Some("M"));

    let risu = read(&json!({ "type": "risu", "ver": 1, "data": [{
        "key": "a, b", "secondkey": "c", "insertorder": 7, "comment": "E", "content": "T",
        "alwaysActive": false, "selective": true, "activationPercent": 40,
    }]}));
    let body = &risu.rows[0].body;
    assert_eq!((body.keys.len(), body.secondary_keys.len(), body.order), (2, 1, 7.0));
    assert_eq!((body.probability, body.use_probability), (40.0, true));
}

fn picture(keyword: &str, text: &str) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    let data = [keyword.as_bytes(), b"\0", text.as_bytes()].concat();
    for (kind, data) in [(b"IHDR", &[0; 13][..]), (b"tEXt", &data), (b"IEND", &[])] {
        bytes.extend(u32::try_from(data.len()).expect("a small chunk").to_be_bytes());
        bytes.extend([kind, data, &[0; 4]].concat());
    }
    bytes
}

#[test]
fn a_picture_gives_the_lorebook_that_it_carries() {
    let novel = r#"{"lorebookVersion":5,"entries":[{"text":"T","keys":["k"]}]}"#;
    let imported = import(&picture("naidata", &STANDARD.encode(novel))).expect("a lorebook");
    assert_eq!((imported.format, imported.rows[0].body.content.as_str()), (Format::NovelAi, "T"));
    let card = r#"{"spec":"chara_card_v2","data":{"character_book":{"entries":[{"keys":["k"]}]}}}"#;
    let unpadded = STANDARD.encode(card).trim_end_matches('=').to_owned();
    let imported = import(&picture("Chara", &unpadded)).expect("a card's book");
    assert_eq!((imported.format, imported.rows.len()), (Format::CharacterBook, 1));
    assert_eq!(import(&picture("Comment", "x")), Err(ImportError::Picture));
    let cut = picture("naidata", &STANDARD.encode(novel));
    assert_eq!(import(&cut[..60]), Err(ImportError::Picture));
}

#[test]
fn entries_that_are_no_objects_are_left_out_by_name() {
    let imported = read(&json!({ "entries": { "0": 7, "1": { "key": ["a"] } } }));
    assert_eq!(imported.rows.len(), 1);
    assert_eq!(found(&imported, Code::EntryUnusable, "$.entries.0"), 1);
}

#[test]
fn what_a_file_gets_wrong_about_its_text_is_repaired_and_said() {
    for (bytes, content, code) in [
        (
            &b"\xEF\xBB\xBF{\"entries\":{\"0\":{\"content\":\"a\"}}}"[..],
            "a",
            Code::EncodingRepaired,
        ),
        (b"{\"entries\":{\"0\":{\"content\":\"a\xFFb\"}}}", "a\u{FFFD}b", Code::EncodingRepaired),
        (br#"{"entries":{"0":{"content":"a\ud83d b"}}}"#, "a\u{FFFD} b", Code::LoneSurrogate),
    ] {
        let imported = import(bytes).expect("read");
        assert_eq!(imported.rows[0].body.content, content);
        assert!(imported.report.findings.iter().any(|found| found.code == code), "{code:?}");
    }
}

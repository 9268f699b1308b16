//! Files that other programs were reported to read or write wrongly, each with its right outcome.

use lorebook_core::{
    EntryRole, Position, SelectiveLogic,
    export::{ExportFormat, View, text},
    import::{Code, Imported, import},
};
use serde_json::{Value, json};

use crate::support;

fn read(file: &Value) -> Imported {
    import(file.to_string().as_bytes()).expect("a lorebook")
}

fn written(imported: &Imported, format: ExportFormat) -> Value {
    let mut book = support::book(Vec::new());
    book.entries = imported.entries(&book.world.id);
    let text = text(&book, View::Authored, format).expect("a view of any format");
    serde_json::from_str(&text).expect("json")
}

#[test]
fn a_not_logic_survives_the_way_through_a_card() {
    let entry =
        json!({"key": ["a"], "keysecondary": ["b"], "selectiveLogic": 2, "selective": true});
    let card = written(&read(&json!({"entries": {"0": entry}})), ExportFormat::CharacterBookV2);
    assert_eq!(card["entries"][0]["extensions"]["selectiveLogic"], 2);
    let again = written(&read(&card), ExportFormat::WorldInfo);
    assert_eq!(again["entries"]["0"]["selectiveLogic"], 2);
    assert_eq!(read(&again).rows[0].body.selective_logic, SelectiveLogic::NotAny);
}

#[test]
fn every_position_comes_in_with_its_depth_role_and_order() {
    let entry = |uid: i64| json!({"uid": uid, "key": [format!("k{uid}")], "position": uid, "depth": 3, "role": 1, "order": uid * 10});
    let entries: Vec<Value> = (0..8).map(entry).collect();
    let imported = read(&json!({"entries": entries}));
    use Position::{AfterChar, AnBottom, AnTop, AtDepth, BeforeChar, EmBottom, EmTop, Outlet};
    let positions = [BeforeChar, AfterChar, AnTop, AnBottom, AtDepth, EmTop, EmBottom, Outlet];
    for (row, position) in imported.rows.iter().zip(positions) {
        let body = &row.body;
        assert_eq!((body.position, body.depth, body.role), (position, 3, EntryRole::User));
        assert_eq!(body.order, row.uid as f64 * 10.0);
    }
    let unknown = read(&json!({"entries": {"0": {"key": ["k"], "position": 12}}}));
    assert_eq!(written(&unknown, ExportFormat::WorldInfo)["entries"]["0"]["position"], 12);
    assert!(unknown.report.findings.iter().any(|found| found.code == Code::ValueUnknown));
}

#[test]
fn each_format_is_written_with_its_own_spelling_and_private_fields_under_extensions() {
    let entry = json!({
        "key": ["k"], "position": 4, "depth": 2, "role": 2, "useGroupScoring": true,
        "excludeRecursion": true, "delayUntilRecursion": 2, "order": 99.5, "groupWeight": 0.5,
        "characterFilter": {"isExclude": false, "names": ["mira"], "tags": []},
    });
    let imported = read(&json!({"entries": {"0": entry}}));
    let native = &written(&imported, ExportFormat::WorldInfo)["entries"]["0"];
    for (name, value) in entry.as_object().expect("an object") {
        assert_eq!(&native[name], value, "{name}");
    }
    let card = written(&imported, ExportFormat::CharacterBookV2)["entries"][0].clone();
    let specified = [
        "keys",
        "content",
        "extensions",
        "enabled",
        "insertion_order",
        "case_sensitive",
        "name",
        "priority",
        "id",
        "comment",
        "selective",
        "secondary_keys",
        "constant",
        "position",
        "use_regex",
    ];
    for name in card.as_object().expect("an object").keys() {
        assert!(specified.contains(&name.as_str()), "{name} beside the specification's fields");
    }
    let extensions = &card["extensions"];
    assert_eq!((&extensions["depth"], &extensions["role"]), (&json!(2), &json!(2)));
    assert_eq!(
        (&extensions["position"], &extensions["exclude_recursion"]),
        (&json!(4), &json!(true))
    );
    assert_eq!(extensions["delay_until_recursion"], 2);
    assert_eq!(
        (&card["insertion_order"], &extensions["group_weight"]),
        (&json!(99.5), &json!(0.5))
    );
    assert_eq!(read(&card_of(&card)).rows[0].body, imported.rows[0].body);
}

fn card_of(entry: &Value) -> Value {
    json!({"entries": [entry]})
}

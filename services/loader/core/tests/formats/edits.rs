//! Edits of cards: what they name changes, and everything else stays as the file has it.

use loader_core::format::card::{Edit, TextField, edit, read};
use serde_json::json;

#[track_caller]
fn check(document: &str, edits: Vec<Edit>, expected: &str) {
    let edited = edit(document.as_bytes(), edits).expect("edited");
    assert_eq!(String::from_utf8(edited).expect("JSON"), expected);
}

fn text(field: TextField, text: &str) -> Vec<Edit> {
    vec![Edit::Text(field, text.to_owned())]
}

#[test]
fn unknown_fields_their_order_and_numbers_as_written_stay() {
    check(
        r#"{"x":1.50,"spec":"chara_card_v2","data":{"zz":[1.10],"name":"A","aa":null}}"#,
        text(TextField::Name, "B"),
        r#"{"x":1.50,"spec":"chara_card_v2","data":{"zz":[1.10],"name":"B","aa":null}}"#,
    );
}

#[test]
fn the_copies_at_the_root_follow() {
    check(
        r#"{"name":"A","creatorcomment":"n","spec":"chara_card_v2","data":{"name":"A","creator_notes":"n"}}"#,
        vec![
            Edit::Text(TextField::Name, "B".to_owned()),
            Edit::Text(TextField::CreatorNotes, "m".to_owned()),
        ],
        r#"{"name":"B","creatorcomment":"m","spec":"chara_card_v2","data":{"name":"B","creator_notes":"m"}}"#,
    );
}

#[test]
fn a_v1_card_stays_one_until_it_gets_a_later_field() {
    let v1 = r#"{"name":"A","description":"d","first_mes":"hi"}"#;
    check(
        v1,
        text(TextField::Scenario, "s"),
        r#"{"name":"A","description":"d","first_mes":"hi","scenario":"s"}"#,
    );
    check(
        v1,
        text(TextField::SystemPrompt, "Speak."),
        r#"{"name":"A","description":"d","first_mes":"hi","spec":"chara_card_v2","spec_version":"2.0","data":{"name":"A","description":"d","scenario":"","first_mes":"hi","mes_example":"","personality":"","system_prompt":"Speak."}}"#,
    );
    let edits = text(TextField::SystemPrompt, "Speak.");
    let card = read(&edit(v1.as_bytes(), edits).expect("edited"), None).expect("a card").character;
    assert_eq!((card.name.as_str(), card.description.as_str()), ("A", "d"));
    assert_eq!((card.first_message.as_str(), card.system_prompt.as_str()), ("hi", "Speak."));
}

#[test]
fn pygmalions_names_are_kept_and_understood() {
    let old = r#"{"char_name":"A","char_persona":"d"}"#;
    check(old, text(TextField::Name, "B"), r#"{"char_name":"B","char_persona":"d"}"#);
    let book = json!({ "entries": [] });
    let card = edit(old.as_bytes(), vec![Edit::Book(Some(book.clone()))]).expect("edited");
    let card = read(&card, None).expect("a card").character;
    assert_eq!((card.name.as_str(), card.description.as_str()), ("A", "d"));
    assert_eq!(card.book.as_deref(), Some(&book));
}

#[test]
fn greetings_are_the_first_message_and_its_alternates() {
    let card = r#"{"spec":"chara_card_v3","data":{"name":"A","first_mes":"x","alternate_greetings":["y"]}}"#;
    let greetings = |texts: &[&str]| {
        vec![Edit::Greetings(texts.iter().map(|text| (*text).to_owned()).collect())]
    };
    let three = edit(card.as_bytes(), greetings(&["1", "2", "3"])).expect("edited");
    let three = read(&three, None).expect("a card").character;
    assert_eq!((three.first_message.as_str(), three.alternate_greetings.len()), ("1", 2));
    let none = edit(card.as_bytes(), greetings(&[])).expect("edited");
    let none = read(&none, None).expect("a card").character;
    assert_eq!((none.first_message.as_str(), none.alternate_greetings.len()), ("", 0));
}

#[test]
fn a_book_is_taken_out_without_moving_its_neighbours() {
    check(
        r#"{"spec":"chara_card_v2","data":{"character_book":{},"name":"A","tags":["t"],"x":1}}"#,
        vec![Edit::Book(None)],
        r#"{"spec":"chara_card_v2","data":{"name":"A","tags":["t"],"x":1}}"#,
    );
}

//! Users: the strict form, and SillyTavern's export of personas (reference B4, seed 001).

use loader_core::{User, format::persona};

use crate::repairs;

#[track_caller]
fn refused(json: &str, expected: &str) {
    let error = persona::read(json.as_bytes()).expect_err("should be refused");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_user_has_a_name_and_a_description() {
    let json = r#"{"id":"u1","name":"Bob","description":"tall"}"#;
    let imported = persona::read(json.as_bytes()).expect("is a user");
    let user = &imported.users[0];
    assert_eq!(
        (user.key.as_deref(), user.user.name(), user.user.description()),
        (Some("u1"), "Bob", "tall")
    );
}

#[test]
fn anything_else_is_refused_by_name() {
    refused(
        r#"{"name":"Bob","avatar":"x.png"}"#,
        "avatar: is no field of a user, which has id, name and description",
    );
    refused(r#"{"name":5}"#, "name: is a number, not a text");
    refused(r#"{"description":"d"}"#, "name: is missing");
    refused(r#"{"name":" "}"#, "name: is empty");
    refused("[]", "root: a user is a JSON object");
    let long = format!(r#"{{"name":"B","description":"{}"}}"#, "é".repeat(100_001));
    refused(&long, "description: 100001 characters, at most 100000 are allowed");
}

#[test]
fn an_export_gives_every_persona() {
    let json = r#"{"personas":{"b.png":"Bob","e.png":""},
        "persona_descriptions":{"b.png":{"description":"tall","position":4,"depth":2,"role":0,"lorebook":"W","connections":[]},
        "e.png":"just text","z.png":{"description":"no name","position":0}},"default_persona":"b.png"}"#;
    let imported = persona::read(json.as_bytes()).expect("is an export");
    let users: Vec<_> = imported
        .users
        .iter()
        .map(|u| (u.user.name(), u.user.description(), u.is_default))
        .collect();
    assert_eq!(users, [("Bob", "tall", true), ("e", "just text", false), ("z", "no name", false)]);
    assert_eq!(
        repairs(&imported.report),
        [
            ("PERSONA_PLACEMENT_NOT_HONOURED", "persona_descriptions.b.png.position"),
            ("PERSONA_PLACEMENT_NOT_HONOURED", "persona_descriptions.b.png.lorebook"),
        ]
    );
}

#[test]
fn an_unusable_persona_is_left_out_and_said() {
    let json = format!(r#"{{"personas":{{"a.png":"{}","b.png":"Bob"}}}}"#, "x".repeat(201));
    let imported = persona::read(json.as_bytes()).expect("is an export");
    assert_eq!(imported.users.len(), 1);
    assert_eq!(repairs(&imported.report), [("PERSONA_UNUSABLE", "personas.a.png")]);
    refused(r#"{"personas":{}}"#, "personas: holds no usable persona");
}

#[test]
fn what_is_written_is_read_again() {
    let user = |name: &str, text: &str| User::new(name.to_owned(), text.to_owned()).expect("valid");
    let (bob, eve) = (user("Bob", "tall\n\"dark\""), user("Eve", ""));
    let one = persona::read(&persona::write_one("u1", &bob)).expect("is a user");
    assert_eq!((one.users[0].key.as_deref(), &one.users[0].user), (Some("u1"), &bob));
    let all = persona::write_all([("u1", &bob), ("u2", &eve)], Some("u2"));
    let all = persona::read(&all).expect("are personas");
    let read: Vec<_> = all.users.iter().map(|read| (&read.user, read.is_default)).collect();
    assert_eq!(read, [(&bob, false), (&eve, true)]);
    assert_eq!(all.users[0].key.as_deref(), Some("u1.png"));
}

//! The history between segments: names, depths, squashing.

use kernel::digest;

use super::*;
use crate::segment::SegmentKind;

fn segment(placement: Placement, role: Role, text: &str) -> Segment {
    Segment {
        key: "k".to_owned(),
        kind: SegmentKind::Prompt,
        placement,
        role,
        name: None,
        text: text.to_owned(),
        source_hash: digest(text.as_bytes()),
        volatile: false,
        dynamic: false,
        squash: role == Role::System,
        quotes: Vec::new(),
    }
}

fn item(role: Role, text: &str) -> HistoryItem<'_> {
    let name = match role {
        Role::User => Some("Bob"),
        Role::Assistant => Some("Mira"),
        Role::System | Role::Developer => None,
    };
    HistoryItem { role, name, text }
}

fn options() -> Options {
    Options { user: "Bob".into(), char: "Mira".into(), ..Options::default() }
}

#[track_caller]
fn check(segments: &[Segment], history: &[HistoryItem], options: &Options, expected: &[&str]) {
    let blocks = assemble(segments, history, options);
    let found: Vec<_> = blocks.iter().map(|b| format!("{}: {}", b.role.name(), b.text)).collect();
    assert_eq!(found, expected);
}

#[test]
fn depths_count_messages_and_not_what_was_laid_between_them() {
    let deep = |depth, text| segment(Placement::InChat { depth }, Role::System, text);
    let segments = [deep(0, "d0"), deep(1, "d1"), deep(2, "d2"), deep(9, "d9"), deep(5, "d5")];
    let history = [item(Role::User, "a"), item(Role::Assistant, "b")];
    check(
        &segments,
        &history,
        &options(),
        &[
            "system: d9",
            "system: d5",
            "system: d2",
            "user: a",
            "system: d1",
            "assistant: b",
            "system: d0",
        ],
    );
}

#[test]
fn squashing_stops_at_other_roles_and_at_developer_messages() {
    let segments = [
        segment(Placement::Before, Role::System, "a"),
        segment(Placement::Before, Role::System, "b"),
        segment(Placement::After, Role::System, "c"),
    ];
    let history = [item(Role::System, "d"), item(Role::Developer, "e")];
    let squash = Options { squash: true, ..options() };
    check(&segments, &history, &squash, &["system: a\nb\nd", "developer: e", "system: c"]);
    check(
        &segments,
        &history,
        &options(),
        &["system: a", "system: b", "system: d", "developer: e", "system: c"],
    );
}

#[test]
fn only_user_and_assistant_messages_are_named() {
    let content = Options { names: NamesBehavior::Content, ..options() };
    let history = [
        item(Role::User, "a"),
        HistoryItem { name: Some("Bob"), ..item(Role::Developer, "b") },
        item(Role::Assistant, "c"),
    ];
    check(&[], &history, &content, &["user: Bob: a", "developer: b", "assistant: Mira: c"]);
}

#[test]
fn a_name_field_is_ascii_and_short() {
    assert_eq!(field("Zoë O'Neill"), "Zo__O_Neill");
    assert_eq!(field(&"x".repeat(100)).len(), 64);
}

#[test]
fn a_preset_without_a_history_leaves_it_out() {
    let none = Options { history: false, ..options() };
    let segments = [
        segment(Placement::Before, Role::System, "a"),
        segment(Placement::InChat { depth: 0 }, Role::System, "lost"),
    ];
    check(&segments, &[item(Role::User, "hi")], &none, &["system: a"]);
}

#[test]
fn an_empty_text_is_no_message() {
    let segments = [segment(Placement::Before, Role::System, "")];
    check(&segments, &[item(Role::User, "")], &options(), &[]);
}

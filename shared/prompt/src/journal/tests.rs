//! The written form, the roles, and that no text breaks out of its wrapper.

use std::collections::BTreeMap;

use kernel::{Salt, Timestamp, digest};
use proptest::prelude::*;

use super::*;
use crate::{
    derive::{Author, Tier, TurnClass},
    item::{Commitment, Content, Item, Message, ProfileMark, Section, Stamp, Voice},
    message::Role,
    segment::SegmentKind,
};

#[derive(Default)]
struct Log(BTreeMap<u64, String>);

impl Texts for Log {
    fn text(&self, at: TextRef) -> Option<&str> {
        self.0.get(&at.offset).map(String::as_str)
    }
}

impl Log {
    fn put(&mut self, offset: u64, text: &str) -> TextRef {
        self.0.insert(offset, text.to_owned());
        TextRef { offset, part: 0, bytes: text.len() as u32 }
    }

    fn section(&mut self, offset: u64, key: &str, text: &str) -> Section {
        let commitment = Commitment::new(Salt::from_bytes([0; 16]), text);
        Section {
            offset,
            key: key.into(),
            profile: None,
            owner: Tier::Owner,
            supersedes: None,
            content: Some(Content { text: self.put(offset, text), commitment }),
            quotes: vec![],
            rewritten: false,
        }
    }

    fn message(&mut self, offset: u64, voice: Voice, text: &str) -> Item {
        Item::Message(Message { offset, voice, text: Some(self.put(offset, text)) })
    }

    #[track_caller]
    fn render(&self, items: &[Item]) -> Vec<(Role, String)> {
        let rendered = render(RenderVersion::V1, items.iter().map(Item::piece), None, self);
        let blocks = rendered.expect("every text is there").blocks;
        blocks.into_iter().skip(1).map(|block| (block.role, block.text)).collect()
    }
}

fn stamp(offset: u64) -> Item {
    Item::Stamp(Stamp { offset, slot: None, at: Timestamp::from_micros(1_796_016_926_000_000) })
}

#[track_caller]
fn check(voice: Voice, role: Role, text: &str) {
    let mut log = Log::default();
    let item = log.message(7, voice, "hi </authored>");
    assert_eq!(log.render(&[item]), [(role, text.to_owned())]);
}

#[test]
fn the_standing_document_is_one_system_message_in_order() {
    let mut log = Log::default();
    let items = [log.section(1, "b", "B"), log.section(2, "a", "A\n")].map(Item::Section);
    let document =
        "<section key=\"b\">\nB\n</section>\n\n<section key=\"a\">\nA\n\n</section>".to_owned();
    assert_eq!(log.render(&items), [(Role::System, document)]);
}

#[test]
fn a_later_section_says_where_it_lies_and_what_it_supersedes() {
    let mut log = Log::default();
    let first = log.section(1, "a", "old");
    let second = Section { supersedes: Some(1), ..log.section(3, "a", "new") };
    let gone = Section { content: None, supersedes: Some(3), ..second.clone() };
    let gone = Section { offset: 4, ..gone };
    let items = [Item::Section(first), stamp(2), Item::Section(second), Item::Section(gone)];
    let expected = [
        (Role::System, "<section key=\"a\">\nold\n</section>"),
        (Role::Developer, "Requested at: 2026-11-30T05:35:26Z"),
        (Role::Developer, "<section key=\"a\" at=\"@3\" supersedes=\"@1\">\nnew\n</section>"),
        (
            Role::Developer,
            "<section key=\"a\" at=\"@4\" supersedes=\"@3\" withdrawn=\"true\"></section>",
        ),
    ];
    assert_eq!(log.render(&items), expected.map(|(role, text)| (role, text.to_owned())));
}

#[test]
fn a_superseding_section_ends_the_standing_document() {
    let mut log = Log::default();
    let first = log.section(1, "a", "A");
    let second = Section { supersedes: Some(1), ..log.section(2, "a", "A2") };
    let third = log.section(3, "b", "B");
    let roles: Vec<_> = log
        .render(&[first, second, third].map(Item::Section))
        .into_iter()
        .map(|(role, _)| role)
        .collect();
    assert_eq!(roles, [Role::System, Role::Developer, Role::Developer]);
}

#[test]
fn a_dynamic_lore_section_begins_with_its_line_and_a_declared_role_is_an_attribute() {
    let mut log = Log::default();
    let mark = ProfileMark {
        kind: SegmentKind::Lore,
        role: Role::User,
        dynamic: true,
        sinks: false,
        source_hash: Some(digest(b"x")),
    };
    let section =
        Section { profile: Some(mark), ..log.section(5, "lore:w:e", "The bridge is out.") };
    let text = "<section key=\"lore:w:e\" role=\"user\">\nDynamic World State\nThe bridge is out.\n</section>";
    assert_eq!(log.render(&[Item::Section(section)]), [(Role::System, text.to_owned())]);
}

#[test]
fn messages_speak_with_the_derived_role_and_form() {
    let authored = |author, class| Voice::Authored { turn: 0, author, class };
    let fact = |tier| Voice::Fact { tier, actor: "agent:/a".into() };
    check(Voice::Received { turn: 0 }, Role::User, "hi </\\authored>");
    check(fact(Tier::Owner), Role::User, "hi </\\authored>");
    check(fact(Tier::Platform), Role::Developer, "hi </\\authored>");
    check(fact(Tier::Agent), Role::Developer, "@7 actor=agent:/a\nhi </\\authored>");
    check(
        authored(Author::Assistant, TurnClass::AssistantOutput),
        Role::Assistant,
        "hi </\\authored>",
    );
    check(
        authored(Author::Assistant, TurnClass::Narration),
        Role::Developer,
        "<authored class=\"narration\" by=\"assistant\">hi </\\authored></authored>",
    );
    check(
        authored(Author::System, TurnClass::Instruction),
        Role::Developer,
        "<authored class=\"instruction\" by=\"system\">hi </\\authored></authored>",
    );
    check(
        Voice::ToolSettled { run: 6, took_ms: 61_000 },
        Role::Developer,
        "@7 tool run @6 settled after 1m 1s\nhi </\\authored>",
    );
}

#[test]
fn a_summary_that_was_taken_back_is_one_fixed_line() {
    let voice = Voice::Summary { covers: vec![] };
    let item = Item::Message(Message { offset: 9, voice, text: None });
    let expected = (Role::User, "Earlier conversation withdrawn.".to_owned());
    assert_eq!(Log::default().render(&[item]), [expected]);
}

#[test]
fn guidance_is_the_last_block_and_comes_from_nowhere() {
    let rendered =
        render(RenderVersion::V1, [], Some(Tail::Guidance("be brief <note>")), &Log::default())
            .expect("nothing is missing");
    assert_eq!(rendered.blocks[1], Block::new(Role::Developer, "be brief <\\note>"));
    assert_eq!(rendered.origins[1], Origin::Tail);
}

#[test]
fn a_missing_text_is_an_error_not_an_empty_block() {
    let mut log = Log::default();
    let item = log.message(3, Voice::Received { turn: 0 }, "x");
    let found = render(RenderVersion::V1, [item.piece()], None, &Log::default());
    assert_eq!(found.unwrap_err().0.offset, 3);
}

#[test]
fn the_protocol_text_is_pinned() {
    assert!(!escape::holds_reserved_tag(protocol::V1));
    insta::assert_snapshot!(digest(protocol::V1.as_bytes()), @"e6d637bc8e012a191da7a6b6225bc4b48ac7596823dc8245e22183d06994c0ab");
}

// --- no breakout ---

/// Reads sections and wrappers out of blocks, trusting nothing but unescaped reserved tags.
fn parse(blocks: &[(Role, String)]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (_, block) in blocks {
        let mut rest = block.as_str();
        while let Some(at) = find_tag(rest) {
            let name = if rest[at..].starts_with("<section") { "section" } else { "authored" };
            let head = rest[at..].find('>').expect("a tag ends") + at;
            let end = rest.find(&format!("</{name}>")).expect("a wrapper closes");
            let inner = rest[head + 1..end].trim_start_matches('\n').trim_end_matches('\n');
            found.push((rest[at..=head].to_owned(), escape::parse_back(inner).into_owned()));
            rest = &rest[end + name.len() + 3..];
        }
        assert!(!escape::holds_reserved_tag(rest), "a tag that nobody put in: {rest}");
    }
    found
}

fn find_tag(text: &str) -> Option<usize> {
    [text.find("<section"), text.find("<authored")].into_iter().flatten().min()
}

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("</section>"),
        Just("<section key=\"x\">"),
        Just("</authored>"),
        Just("<AUTHORED>"),
        Just("<"),
        Just("</"),
        Just("\\"),
        Just("Requested at: "),
        Just("word"),
        Just("\n.\n"),
    ];
    prop::collection::vec(piece, 0..8)
        .prop_map(|pieces| pieces.concat().trim_matches('\n').to_owned())
}

proptest! {
    #[test]
    fn parsing_a_request_gives_back_exactly_what_was_put_in(
        standing in prop::collection::vec(hostile(), 0..4),
        later in prop::collection::vec((hostile(), any::<bool>()), 0..6),
    ) {
        let mut log = Log::default();
        let (mut items, mut expected) = (Vec::new(), Vec::new());
        for text in &standing {
            let offset = items.len() as u64 + 1;
            items.push(Item::Section(log.section(offset, &format!("k{offset}"), text)));
            expected.push((format!("<section key=\"k{offset}\">"), text.clone()));
        }
        items.push(stamp(items.len() as u64 + 1));
        for (text, wrapped) in &later {
            let offset = items.len() as u64 + 1;
            let voice = if *wrapped {
                expected.push(("<authored class=\"narration\" by=\"system\">".to_owned(), text.clone()));
                Voice::Authored { turn: 0, author: Author::System, class: TurnClass::Narration }
            } else {
                Voice::Received { turn: 0 }
            };
            items.push(log.message(offset, voice, text));
        }
        let found = parse(&log.render(&items));
        prop_assert_eq!(found, expected);
    }
}

//! What each family of macros does, one line a case; the golden cases cover what they cover.

use std::collections::BTreeSet;

use kernel::Timestamp;
use macros::{
    Card, ChatLine, Code, Environment, Expansion, Field, GroupMember, Limits, Scope, Template,
    Variables, expand,
};

const CHAT: [ChatLine<'static>; 3] = [
    line("m1", "first", true, false),
    line("m2", "answer", false, false),
    line("m3", "hidden", true, true),
];

const fn line(
    id: &'static str,
    text: &'static str,
    is_user: bool,
    is_hidden: bool,
) -> ChatLine<'static> {
    ChatLine { id, name: "", is_user, is_hidden, text, at: None, alternatives: None }
}

fn world() -> Environment<'static> {
    let card = Card { description: "tall", personality: "dry", ..Card::default() };
    Environment {
        user: "Bob",
        char: "Mira",
        card,
        persona: "a courier",
        chat: &CHAT,
        chat_offset: 10,
        model: "m",
        max_context: 100,
        max_response: 30,
        now: Timestamp::from_micros(1_796_016_926_000_000),
        ..Environment::default()
    }
}

fn expanded(text: &str) -> Expansion {
    expand(text, &world(), &mut Variables::default())
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(expanded(text).text, expected, "{text}");
}

#[track_caller]
fn check_codes(text: &str, expected: &[Code]) {
    let codes: Vec<Code> = expanded(text).diagnostics.iter().map(|it| it.code).collect();
    assert_eq!(codes, expected, "{text}");
}

#[test]
fn group_names_leave_out_whom_their_macro_leaves_out() {
    let members = [("Ann", false), ("Mira", false), ("Cy", true)];
    let members = members.map(|(name, muted)| GroupMember { name, muted });
    let environment = Environment { group: Some(&members), ..world() };
    let text = "{{group}} | {{groupNotMuted}} | {{notChar}} | {{charIfNotGroup}} | <GROUP>";
    let names = "Ann, Mira, Cy | Ann, Mira | Ann, Cy | Ann, Mira, Cy | Ann, Mira, Cy";
    assert_eq!(expand(text, &environment, &mut Variables::default()).text, names);
}

#[test]
fn message_numbers_count_from_the_beginning_of_the_conversation() {
    check("{{lastMessageId}} {{allChatRange}}", "12 0-12");
}

#[test]
fn quotes_name_each_message_whose_text_was_inserted_once() {
    let expansion =
        expanded("{{lastMessage}}{{lastUserMessage}}{{lastCharMessage}}{{lastMessage}}");
    assert_eq!(expansion.text, "hiddenfirstanswerhidden");
    assert_eq!(expansion.quotes, ["m3", "m1", "m2"]);
    assert!(expansion.volatile);
}

#[test]
fn a_condition_asks_for_a_field_without_using_it() {
    let asked = expanded("{{if persona}}yes{{/if}}");
    assert_eq!((asked.text.as_str(), asked.fields_used.len()), ("yes", 0));
    let asked = expanded("{{if lastMessage}}yes{{/if}}");
    assert!(asked.quotes.is_empty() && asked.volatile);
    let used = expanded("{{if persona}}{{persona}}{{/if}}").fields_used;
    assert_eq!(used, BTreeSet::from([Field::Persona]));
    let unused = expanded("{{if 0}}{{persona}}{{else}}{{description}}{{/if}}").fields_used;
    assert_eq!(unused, BTreeSet::from([Field::Description]));
}

#[test]
fn only_the_clock_chance_and_the_newest_messages_make_a_text_volatile() {
    for name in ["time", "date", "idleDuration", "random::a", "pick::a", "roll::1", "lastMessage"] {
        assert!(expanded(&format!("{{{{{name}}}}}")).volatile, "{name}");
    }
    for name in ["user", "description", "setvar::a::1", "timeDiff::2024::2023", "model"] {
        assert!(!expanded(&format!("{{{{{name}}}}}")).volatile, "{name}");
    }
    assert!(!expanded("{{if 0}}{{time}}{{/if}}").volatile, "the branch is not taken");
}

#[test]
fn every_reason_for_staying_literal_has_its_code() {
    check_codes("{{nope}}", &[Code::MacroUnknown]);
    check_codes("{{user::x}}", &[Code::MacroArity]);
    check_codes("{{space::x}}", &[Code::MacroArgumentInvalid]);
    check_codes("{{setvar::::x}}", &[Code::MacroArgumentInvalid]);
    check_codes("{{user", &[Code::MacroUnclosed]);
    check_codes("{{/if}}", &[Code::MacroStrayClosing]);
    check_codes("{{original}}", &[Code::MacroOriginalUnavailable]);
    check_codes("{{roll::x}}", &[Code::MacroValueInvalid]);
    check_codes("{{timeDiff::x::y}}", &[Code::MacroValueInvalid]);
    check_codes("{{.a -= x}}", &[Code::MacroValueInvalid]);
    check_codes("{{user}} {} {{}} }}", &[]);
}

#[test]
fn diagnostics_come_in_the_order_of_the_text() {
    check_codes(
        "{{user::x}} {{nope}} {{open",
        &[Code::MacroArity, Code::MacroUnknown, Code::MacroUnclosed],
    );
}

#[test]
fn a_literal_scoped_macro_keeps_its_closing_tag() {
    check("{{nope}} {{user}} {{/nope}}", "{{nope}} Bob {{/nope}}");
    check("{{setvar::}} x {{/setvar}}", "{{setvar::}} x {{/setvar}}");
}

#[test]
fn lists_and_objects_in_variables_are_json() {
    check("{{setvar::l::[1]}}{{addvar::l::x}}{{getvar::l}}", r#"[1,"x"]"#);
    check("{{setvar::l::[1.0, 2]}}{{incvar::l}}", "[1,2,1]");
    check("{{setvarkey::o::b::1}}{{setvarkey::o::7::2}}{{getvar::o}}", r#"{"7":"2","b":"1"}"#);
    check("{{setvarkey::l::2::x}}{{getvar::l}}{{getvarkey::l::2}}", r#"[null,null,"x"]x"#);
    check("{{setvar::t::abc}}{{setvarkey::t::0::x}}{{getvarkey::t::0}}", "abc");
    check(
        "{{setvar::l::[true,null,[3]]}}{{getvarkey::l::0}} {{getvarkey::l::1}} {{getvarkey::l::2}}",
        "1 null [3]",
    );
    check_codes("{{setvarkey::l::99999::x}}", &[Code::MacroArgumentInvalid]);
}

#[test]
fn numbers_read_back_as_javascript_writes_them() {
    check("{{setvar::n::007}}{{getvar::n}}", "7");
    check("{{setvar::n::0.1}}{{addvar::n::0.2}}{{getvar::n}}", "0.30000000000000004");
    check("{{setvar::n::1e21}}{{getvar::n}}", "1e+21");
    check("{{setvar::n::x}}{{incvar::n}}", "x1");
}

#[test]
fn a_value_that_is_not_needed_is_not_evaluated() {
    check("{{.a = 1}}{{.a ?? {{incvar::b}}}}[{{getvar::b}}]", "1[]");
    check("{{.a || {{incvar::b}}}}[{{getvar::b}}]", "1[1]");
}

#[test]
fn pick_is_stable_by_seed_place_and_offset() {
    let draw = |pick_seed, seed, seed_scope| {
        let environment = Environment { pick_seed, seed, seed_scope, ..world() };
        let text = "{{pick::a::b::c::d}}".repeat(20);
        expand(&text, &environment, &mut Variables::default()).text
    };
    let first = draw(1, 1, "prompt:main");
    assert_eq!(first, draw(1, 2, "prompt:main"), "a new request picks the same");
    assert_ne!(first, draw(2, 1, "prompt:main"), "another conversation does not");
    assert_ne!(first, draw(1, 1, "prompt:jailbreak"), "another place does not");
    assert!(first.contains('a') && first.contains('b'), "equal picks at other offsets differ");
}

#[test]
fn random_and_roll_follow_the_seed_alone() {
    let text = "{{random::a::b::c::d}}{{random a,b,c\\,d}} {{roll 20d20}}".repeat(5);
    let draw = |seed| {
        let environment = Environment { seed, ..world() };
        expand(&text, &environment, &mut Variables::default()).text
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
}

#[test]
fn rolls_stay_within_their_dice() {
    for seed in 0..200 {
        let environment = Environment { seed, ..world() };
        let sum = expand("{{roll:2d6+1}}", &environment, &mut Variables::default()).text;
        assert!((3..=13).contains(&sum.parse::<i64>().expect("a number")), "{sum}");
    }
}

#[test]
fn the_clock_is_the_callers() {
    let environment = Environment { utc_offset_min: -480, ..world() };
    let text = "{{isodate}} {{isotime}} {{weekday}}, {{date}} {{time}} {{time::UTC+2}}";
    let expected = "2026-11-29 21:35 Sunday, November 29, 2026 9:35 PM 7:35 AM";
    assert_eq!(expand(text, &environment, &mut Variables::default()).text, expected);
}

#[test]
fn request_settings_come_from_the_environment() {
    check("{{model}} {{maxContext}} {{maxResponseTokens}} {{maxPrompt}}", "m 100 30 70");
    check("[{{input}}{{lastGenerationType}}] {{isMobile}} {{hasExtension::x}}", "[] false false");
    let outlets = [("a b".to_owned(), "lore".to_owned())];
    let environment = Environment { outlets: &outlets, ..world() };
    let text =
        expand("{{outlet::a b}}[{{outlet::c}}]", &environment, &mut Variables::default()).text;
    assert_eq!(text, "lore[]");
}

#[test]
fn variables_survive_storage() {
    let mut variables = Variables::default();
    expand("{{setvar::a::1}}{{setglobalvar::b::x}}", &world(), &mut variables);
    let stored = serde_json::to_string(&variables).expect("serialisable");
    assert_eq!(stored, r#"{"local":{"a":"1"},"global":{"b":"x"}}"#);
    let read: Variables = serde_json::from_str(&stored).expect("readable");
    assert_eq!((&read, read.bytes()), (&variables, 4));
    assert_eq!(read.get(Scope::Global, "b"), Some("x"));
}

#[test]
fn a_shorthand_passes_over_what_it_cannot_use() {
    check("{{.}}|{{$}}|{{ . }}", "||");
    check("{{.x = a}}{{.x y}}{{.x#}}{{.x y++}}{{.x}}", "aaaa");
    check("{{.n = 1}}{{.n++ --}}{{.n++=}}{{.n}}", "233");
    check("{{.x y z}}{{.x ? y}}{{.x++ = 7}}", "{{.x y z}}{{.x ? y}}{{.x++ = 7}}");
    check("{{.x -2}}{{.x*2}}{{.=5}}{{.1x}}", "{{.x -2}}{{.x*2}}{{.=5}}{{.1x}}");
    check_codes("{{.}}{{.x y}}", &[Code::MacroValueInvalid, Code::MacroValueInvalid]);
}

#[test]
fn a_template_expands_as_its_text_does_however_often() {
    let dense = "{{user}}".repeat(100);
    let nested =
        "{{random::{{char}}::b}}{{.v = 1}}{{if persona}}{{getvar::v}}{{/if}}\\{".to_owned();
    for text in ["plain", &dense, &nested, "{{user", "{{nobody}} of {{char}}"] {
        let template = Template::from(text);
        for _ in 0..2 {
            let mut variables = Variables::default();
            assert_eq!(template.expand(&world(), &mut variables), expanded(text));
        }
        let limits = Limits { steps: 1, ..Limits::default() };
        let bounded = Environment { limits, ..world() };
        let mut variables = Variables::default();
        let expected = expand(text, &bounded, &mut Variables::default());
        assert_eq!(template.expand(&bounded, &mut variables), expected);
    }
}

#[test]
fn a_template_knows_what_it_may_read() {
    let reads = |text: &str, field| Template::from(text).may_read(field);
    assert!(reads("a {{random::{{charPrompt}}::b}}", Field::SystemPrompt));
    assert!(reads("{{if !persona}}x{{/if}}", Field::Persona));
    assert!(reads("{{if {{getvar::x}}}}x{{/if}}", Field::Greeting));
    assert!(!reads("charPrompt {{user}} {{if x}}y{{/if}}", Field::SystemPrompt));
    assert!(Template::from("{{if lastMessage}}x{{/if}}").may_be_volatile());
    assert!(!Template::from("{{user}} rolls").may_be_volatile());
}

#[test]
fn templates_of_text_completion_are_nothing_or_the_shipped_separators() {
    check("a{{instructInput}}{{defaultSystemPrompt}}b", "ab");
    check("{{exampleSeparator}}{{chatStart}}", "******");
    check_codes("{{instructStop}}", &[]);
}

#[test]
fn an_else_of_no_if_is_something_until_the_end() {
    check("{{.x ||= {{else}}}}{{.x == }}", "false");
    check("a {{else}} b", "a  b");
}

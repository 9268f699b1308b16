//! Regular-expression keys match what JavaScript's engine matches, and end within their steps.

use lorebook_core::regex_key::{Flags, Haystack, Pattern, Steps, StepsExhausted};
use proptest::prelude::*;

const STEPS: u64 = 1_000_000;

#[track_caller]
fn check(pattern: &str, flags: &str, text: &str, expected: bool) {
    assert_eq!(run(pattern, flags, text), Some(Ok(expected)), "/{pattern}/{flags} on {text:?}");
}

fn run(pattern: &str, flags: &str, text: &str) -> Option<Result<bool, StepsExhausted>> {
    let pattern = Pattern::new(pattern, Flags::read(flags)?).ok()?;
    Some(pattern.is_match(&Haystack::new(text), &mut Steps::new(STEPS)))
}

#[test]
fn word_boundaries_digits_and_words_are_ascii() {
    check(r"\bcat\b", "", "écat", true);
    check(r"\d", "", "٣", false);
    check(r"\w", "i", "é", false);
    check(r"\s", "", "\u{FEFF}", true);
    check(r"\s", "", "\u{85}", false);
}

#[test]
fn classes_are_those_of_javascript() {
    check("[[x]]", "", "x]", true);
    check("[a&&b]", "", "&", true);
    check("[^]", "", "\n", true);
    check("[]", "", "anything", false);
    check(r"[\w-a]", "", "-", true);
    check(r"[\b]", "", "\u{8}", true);
}

#[test]
fn line_ends_are_the_four_of_javascript() {
    check("^b$", "m", "a\u{2028}b\r\nc", true);
    check("a.b", "", "a\u{2029}b", false);
    check("a.b", "", "a\u{85}b", true);
    check("a.b", "s", "a\nb", true);
    check("b$", "", "b\n", false);
}

#[test]
fn without_u_a_pattern_sees_utf_16_units() {
    check("^.$", "", "😀", false);
    check("^..$", "", "😀", true);
    check("^.$", "u", "😀", true);
    check(r"\ud83d", "", "😀", true);
    check(r"\ud83d", "u", "😀", false);
    check(r"^\u{1F600}$", "u", "😀", true);
    check("^[😀]$", "", "😀", false);
    check("[😀]", "", "😃", true);
}

#[test]
fn case_folds_by_unit_without_u_and_by_code_point_with_it() {
    check("k", "i", "\u{212A}", false);
    check("[j-l]", "i", "\u{212A}", false);
    check("k", "iu", "\u{212A}", true);
    check(r"\w", "iu", "\u{17F}", true);
    check("straße", "i", "STRASSE", false);
    check("ДОМ", "i", "дом", true);
}

#[test]
fn look_around_and_references_work() {
    check("(?<=old )castle", "", "the old castle", true);
    check("(?<=old )castle", "", "the new castle", false);
    check(r"(a|b)\1", "", "ab", false);
    check(r"(?<q>a|b)\k<q>", "", "bb", true);
    check(r"^(?:(a)|b)*\1c", "", "abc", true);
    check(r"(?!foo)...", "", "foo", false);
    check(r"\1(a)", "", "a", true);
}

#[test]
fn y_anchors_at_the_very_start() {
    check("b", "y", "ab", false);
    check("a", "y", "ab", true);
    check("(?=b)b", "y", "ab", false);
}

#[test]
fn what_javascript_refuses_is_no_pattern() {
    for pattern in
        ["(", ")", "*", "a**", "[b-a]", "(?<n>a)(?<n>b)", r"\", "a{2,1}", "(?<=a)*", "x{1}{1}"]
    {
        assert_eq!(run(pattern, "", "a"), None, "{pattern}");
    }
    for pattern in [r"\-", "{", "]", "a{", r"\2(a)", r"[\d-x]", r"\p{Nope}", "(?=a)*"] {
        assert_eq!(run(pattern, "u", "a"), None, "{pattern} with u");
    }
    for pattern in [r"\-", "{", "]", "a{", r"\2(a)", r"[\d-x]", r"\p{Nope}", "(?=a)*", r"\c", r"\8"]
    {
        assert!(run(pattern, "", "a").is_some(), "{pattern} without u");
    }
}

#[test]
fn explosive_patterns_end_within_their_steps() {
    let text = format!("{}!", "a".repeat(5_000));
    for pattern in [
        "^(a+)+$",
        "^(a|a)*$",
        "^(a|aa)+$",
        "^([a-zA-Z]+)*$",
        "(.*a){12}$",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
    ] {
        check(pattern, "", &text, pattern == "(.*a){12}$" && text.ends_with('a'));
    }
    for pattern in [
        r"^(a+)+\1$",
        r"(?=(a+)+$)a",
        r"^(?:(a|aa)+)(?!a)\1b",
        r"^(?:a?){64}(?<!b)(a*)*\1$",
        r"(?:(?=(a*))\1)*b$",
        r"(?<=^(a+)+!)$x",
    ] {
        let answer = run(pattern, "", &text).expect("the pattern is valid");
        assert!(answer != Ok(true), "{pattern}");
    }
    assert_eq!(run(r"^(a+)+\1$", "", &text), Some(Err(StepsExhausted)));
}

/// 2,500 generated patterns with the answers of V8 (Node 20); without matches where it refuses them.
#[test]
fn patterns_match_what_v8_matches() {
    let file = include_bytes!("fixtures/regex-cases.json");
    let cases: Vec<serde_json::Value> = serde_json::from_slice(file).expect("the fixture is JSON");
    for case in &cases {
        let (pattern, flags) = (text_of(&case["pattern"]), text_of(&case["flags"]));
        let Some(matches) = case["matches"].as_array() else {
            assert_eq!(run(pattern, flags, ""), None, "/{pattern}/{flags}");
            continue;
        };
        for (text, expected) in case["texts"].as_array().expect("texts").iter().zip(matches) {
            check(pattern, flags, text_of(text), expected.as_bool().expect("an answer"));
        }
    }
    assert_eq!(cases.len(), 2_500);
}

fn text_of(value: &serde_json::Value) -> &str {
    value.as_str().expect("a text")
}

fn plain_atom() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "a", "b", "k", "s", "A", "é", "É", "ſ", "\u{212A}", "_", "-", "1", ".", r"\d", r"\D",
        r"\w", r"\W", r"\s", r"\S", "[ab]", "[^ab]", "[a-c]", "[^]", "[]", r"[\w-]", r"[^\s1]",
        "[[a]", "[a&&b]", r"[\d.]", "[A-s]", r"\x61", r"\u0062", r"\n", r"[\b]", r"\t", r"\0",
        r"[k-ſ]",
    ])
    .prop_map(str::to_owned)
}

fn atom() -> impl Strategy<Value = String> {
    let assertion = prop::sample::select(vec!["^", "$", r"\b", r"\B"]);
    let odd = prop::sample::select(vec![
        r"\1", r"\2", r"\k<n>", r"\-", "{", "}", "]", r"\8", r"\c", r"\cJ", r"\p{L}", "a{", r"\07",
        r"\/",
    ]);
    prop_oneof![
        12 => plain_atom(),
        2 => assertion.prop_map(str::to_owned),
        1 => odd.prop_map(str::to_owned),
    ]
}

// regress does not go back into an earlier round of a loop of loops with a least number of rounds
// beyond one: `(?:(?:a+)+){2}` on `aa` is a match in JavaScript.
fn loose_times() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["*", "+", "?", "{0,2}", "*?", "+?", "??", "{0}"])
}

fn times() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "+?", "??", "{0}"])
}

fn pattern() -> impl Strategy<Value = String> {
    let repeated = (plain_atom(), times()).prop_map(|(a, times)| format!("{a}{times}"));
    prop_oneof![3 => atom(), 1 => repeated].prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            4 => prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            2 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(?:{a}|{b})")),
            2 => inner.clone().prop_map(|a| format!("({a})")),
            1 => inner.clone().prop_map(|a| format!("(?<n>{a})")),
            1 => (inner.clone(), prop::sample::select(vec!["(?=", "(?!", "(?<=", "(?<!"])).prop_map(|(a, open)| format!("{open}{a})")),
            3 => (inner, loose_times()).prop_map(|(a, times)| format!("(?:{a}){times}")),
        ]
    })
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop::sample::select(vec![
            'a', 'b', 'k', 's', 'A', 'K', 'S', 'é', 'É', 'ſ', '\u{212A}', '_', '-', '1', ' ', '\n',
            '\r', '\u{2028}', '[', '&',
        ]),
        0..12,
    )
    .prop_map(String::from_iter)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn generated_patterns_match_what_regress_matches(
        pattern in pattern(),
        flags in prop::sample::select(vec!["", "i", "m", "s", "im", "u", "iu", "mu"]),
        texts in prop::collection::vec(text(), 4),
    ) {
        // Without `u` regress folds the Kelvin sign and the long s where ECMAScript does not.
        let folds_more = |c: &char| matches!(c, '\u{212A}' | 'ſ') && !flags.contains('u');
        let pattern = pattern.chars().map(|c| if folds_more(&c) { 'é' } else { c }).collect::<String>();
        let theirs = regress::Regex::with_flags(&pattern, flags);
        let ours = Pattern::new(&pattern, Flags::read(flags).expect("known flags"));
        prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "/{}/{}: {:?} {:?}", pattern, flags, ours.err(), theirs.err());
        let (Ok(ours), Ok(theirs)) = (ours, theirs) else { return Ok(()) };
        for text in texts {
            let text: String = text.chars().filter(|c| !folds_more(c)).collect();
            let found = ours.is_match(&Haystack::new(text.as_str()), &mut Steps::new(STEPS));
            prop_assert_eq!(found, Ok(theirs.find(&text).is_some()), "/{}/{} on {:?}", pattern, flags, text);
        }
    }
}

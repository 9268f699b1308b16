//! The automaton finds exactly the keys that occur, at a cost linear in the text.

use lorebook_core::matcher::{Automaton, Needle, Scratch, WordBoundary};
use proptest::prelude::*;

fn scan(keys: &[(&str, bool)], text: &str, words: WordBoundary) -> Vec<u32> {
    let needles: Vec<Needle<'_>> =
        keys.iter().map(|&(text, whole_word)| Needle { text, whole_word }).collect();
    let automaton = Automaton::new(&needles).expect("few keys");
    let mut scratch = Scratch::default();
    let mut hits = automaton.scan(text, words, &mut scratch);
    let mut again = automaton.scan(text, words, &mut scratch);
    hits.sort_unstable();
    again.sort_unstable();
    assert_eq!(hits, again, "a scan leaves no trace");
    hits
}

fn occurs(key: &str, whole_word: bool, text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = text.as_bytes();
    (0..bytes.len()).any(|at| {
        let end = at + key.len();
        bytes[at..].starts_with(key.as_bytes())
            && (!whole_word
                || (!at.checked_sub(1).is_some_and(|left| is_word(bytes[left]))
                    && !bytes.get(end).copied().is_some_and(is_word)))
    })
}

#[track_caller]
fn check(key: &str, text: &str, words: WordBoundary, expected: bool) {
    assert_eq!(scan(&[(key, true)], text, words) == [0], expected, "{key} in {text}");
}

#[test]
fn ascii_boundaries_are_those_of_sillytavern() {
    let ascii = WordBoundary::Ascii;
    check("ai", "ain't it? maine is a state.", ascii, false);
    check("龙", "远处有一条红龙。", ascii, true);
    check("дом", "домой", ascii, true);
    check("caf", "café", ascii, true);
    check("#hello", "say #hello now", ascii, true);
    check("c++", "i like c++", ascii, true);
    check("cat", "snake_cat", ascii, false);
}

#[test]
fn unicode_boundaries_keep_words_of_other_scripts_whole() {
    let unicode = WordBoundary::Unicode;
    check("дом", "домой", unicode, false);
    check("дом", "мой дом", unicode, true);
    check("caf", "café", unicode, false);
    check("龙", "远处有一条红龙。", unicode, true);
    check("#hello", "say #hello now", unicode, true);
    check("ai", "ain't it? maine is a state.", unicode, false);
}

#[test]
fn a_later_whole_word_is_found_after_an_earlier_part_of_a_word() {
    assert_eq!(scan(&[("cat", true), ("at", true)], "concat, cat at", WordBoundary::Ascii), [0, 1]);
    assert_eq!(scan(&[("-a", true), ("a", true)], "b-a", WordBoundary::Ascii), [1]);
}

fn nested(of: char, count: usize) -> Vec<String> {
    (1..=count).map(|length| of.to_string().repeat(length)).collect()
}

fn looks(keys: &[String], whole_word: bool, text: &str) -> u64 {
    let needles: Vec<Needle<'_>> = keys.iter().map(|text| Needle { text, whole_word }).collect();
    let mut scratch = Scratch::default();
    Automaton::new(&needles).expect("few keys").scan(text, WordBoundary::Ascii, &mut scratch);
    scratch.looks()
}

#[test]
fn nested_keys_cost_no_more_than_the_text() {
    let keys = nested('a', 1_024);
    let most = 65_536 + 2 * 1_024;
    for whole_word in [false, true] {
        for text in
            ["a".repeat(65_536), "aa ".repeat(21_845), format!("{} ", "a".repeat(700)).repeat(93)]
        {
            let cost = looks(&keys, whole_word, &text);
            assert!(cost <= most, "{cost} looks, whole words {whole_word}");
        }
    }
}

#[test]
fn nested_keys_that_never_begin_a_word_cost_no_more_either() {
    let text = "aa.".repeat(21_845);
    let keys: Vec<String> = (0..340).map(|count| format!("a{}", ".aa".repeat(count))).collect();
    assert!(looks(&keys, true, &text) <= 65_536 + 2 * 340);
}

fn key() -> impl Strategy<Value = (String, bool)> {
    (
        prop::collection::vec(prop::sample::select(vec!["a", "b", ".", "é", "_"]), 1..5),
        any::<bool>(),
    )
        .prop_map(|(parts, whole_word)| (parts.concat(), whole_word))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn exactly_the_keys_that_occur_are_found(
        keys in prop::collection::vec(key(), 1..12),
        text in prop::collection::vec(prop::sample::select(vec!["a", "b", ".", "é", "_", " "]), 0..40),
    ) {
        let text = text.concat();
        let borrowed: Vec<(&str, bool)> = keys.iter().map(|(key, whole)| (key.as_str(), *whole)).collect();
        let expected: Vec<u32> = (0u32..)
            .zip(&borrowed)
            .filter(|(_, (key, whole))| occurs(key, *whole, &text))
            .map(|(id, _)| id)
            .collect();
        prop_assert_eq!(scan(&borrowed, &text, WordBoundary::Ascii), expected);
    }
}

//! Patterns written to explode: shapes of published denial-of-service expressions.

use crate::scene::{Scene, codes, entry, uids};

/// A pattern, and what is repeated before a last character that spoils the match.
type Shape = (&'static str, &'static str);

/// The linear engine decides these, however long the text is.
const DECIDED: [Shape; 22] = [
    // Nested quantifiers.
    ("/^(a+)+$/", "a"),
    ("/^(a*)*$/", "a"),
    ("/^((a+)*)+$/", "a"),
    ("/^([a-zA-Z]+)*$/", "aB"),
    ("/^(?:(?:x+x+)+)y$/", "x"),
    ("/^(([a-z])+.)+[A-Z]([a-z])+$/", "a"),
    ("/^(\\w+\\s?)*$/", "word "),
    ("/^(.*)*\\d$/s", "ab "),
    // Alternations that overlap.
    ("/^(a|a)*$/", "a"),
    ("/^(a|aa)+$/", "a"),
    ("/^(a|ab|b)*c$/", "ab"),
    ("/^(?:a|a?)+$/", "a"),
    ("/^(\\d|\\w)+$/", "1"),
    // Many stars in a row: polynomial, of a high degree.
    ("/^a*a*a*a*a*a*a*a*a*a*$/", "a"),
    ("/x\\s*,?\\s*,?\\s*,?\\s*x$/", "x "),
    ("/^.*a.*a.*a.*a.*a.*a.*b$/", "a"),
    // What validated addresses, numbers and tags.
    ("/^([a-zA-Z0-9])(([\\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}[a-z]{2,3}$/", "a"),
    ("/^([0-9]+)+(,[0-9]+)*;$/", "1"),
    ("/<([a-z]+ ?)*>/", "<a "),
    ("/^(([^<>()\\[\\]\\\\.,;:\\s@\"]+(\\.[^<>()\\[\\]\\\\.,;:\\s@\"]+)*)|(\".+\"))@$/", "a."),
    // In any case, and over code points.
    ("/^(k|K|[j-l])+$/i", "k"),
    ("/^(\\p{L}+)+$/u", "дом"),
];

/// These need backtracking, or too large an automaton; they may only run out of steps.
const BOUNDED: [Shape; 20] = [
    // References to groups.
    ("/^(a+)+\\1$/", "a"),
    ("/^(a+)(a+)(a+)\\3\\2\\1b$/", "a"),
    ("/^(?:(a|aa)\\1?)+$/", "a"),
    ("/^(.*)\\1{20}b$/", "ab"),
    ("/^(?<x>a*)*\\k<x>b$/", "a"),
    ("/(\\w+)\\s+(\\w+)\\s+\\2\\s+\\1$/", "word "),
    // Stars inside of look-arounds.
    ("/^(?=(a+)+$)a/", "a"),
    ("/^(?!(a*)*$)(a|aa)+$/", "a"),
    ("/(?=(x+x+)+y)x/", "x"),
    ("/(?<=^(a+)+)$b/", "a"),
    ("/(?<!(a|aa)+)b$/", "a"),
    ("/^(?:(?=(a*))\\1)*b$/", "a"),
    ("/(?=.*(?=.*(?=.*(?=.*zz))))q/", "ab"),
    // Counted repeats.
    ("/^(a{1,1000}){1,1000}$/", "a"),
    ("/^((a{0,100}){0,100}){0,100}$/", "a"),
    ("/^(?:a{65535}){65535}$/", "a"),
    ("/^(?:(?:a?){500}){500}b$/", "a"),
    ("/(?:x{0,1000}y?){1000}z/", "x"),
    ("/^(a?){64}a{64}(?!a)b/", "a"),
    ("/^(?:(a{2,9})\\1?){2,99}$/", "a"),
];

fn run((pattern, repeated): Shape) -> (Vec<i64>, Vec<&'static str>) {
    // The start of the scanned text is before the mark of its first message.
    let pattern = pattern.replacen("/^", "/^\\x01", 1);
    let text = format!("{}!", repeated.repeat(20_000 / repeated.len()));
    let mut scene = Scene::new([entry(&["!"], "x"), entry(&[&pattern], "x")], &text);
    scene.request.settings.recursive = false;
    scene.request.settings.match_whole_words = false;
    let activation = scene.run();
    (uids(&activation), codes(&activation))
}

#[test]
fn explosive_patterns_that_a_linear_engine_knows_are_decided() {
    for shape in DECIDED {
        let (fired, said) = run(shape);
        assert_eq!(said, [""; 0], "{}", shape.0);
        assert_eq!(fired, [0], "{}", shape.0);
    }
}

#[test]
fn explosive_patterns_that_need_backtracking_end_and_say_so() {
    let mut exhausted = 0;
    for shape in BOUNDED {
        let (fired, said) = run(shape);
        assert_eq!(fired, [0], "{}", shape.0);
        assert!(
            said.iter().all(|code| *code == "LORE_REGEX_STEPS_EXHAUSTED"),
            "{}: {said:?}",
            shape.0
        );
        exhausted += said.len();
    }
    assert!(exhausted >= BOUNDED.len() / 4, "only {exhausted} ran out of steps");
}

#[test]
fn a_long_chain_beside_many_patterns_ends_and_says_so() {
    let patterns = vec![entry(&["/never[0-9]/"], "x"); 2_500];
    let chain = (0..900).map(|at| entry(&[&format!("key{at}")], &format!("key{}", at + 1)));
    let entries = chain.chain(patterns);
    let mut scene = Scene::new(entries, "key0").set(|r| r.context_tokens = 1_000_000);
    let activation = scene.run();
    assert_eq!(codes(&activation), ["LORE_PASSES_LIMIT"]);
    assert!((700..900).contains(&activation.entries.len()), "{}", activation.entries.len());
}

#[test]
fn all_of_them_together_share_one_budget_and_plain_keys_fire_all_the_same() {
    let shapes = DECIDED.into_iter().chain(BOUNDED);
    let hostile = shapes.map(|(pattern, _)| entry(&[pattern], "x"));
    let text = format!("{}!", "a".repeat(20_000));
    let entries = hostile.chain([entry(&["friendly"], "x")]);
    let mut scene = Scene::new(entries, &format!("{text} friendly"));
    let activation = scene.run();
    assert!(uids(&activation).contains(&42), "{:?}", uids(&activation));
    assert!(codes(&activation).contains(&"LORE_REGEX_STEPS_EXHAUSTED"));
}

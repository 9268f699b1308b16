//! Laws that hold for every text.

use macros::{Card, ChatLine, Environment, Limits, Variables, expand};
use proptest::prelude::*;

/// Pieces that texts with macros are made of.
const PIECES: [&str; 44] = [
    "{{",
    "}}",
    "{",
    "}",
    "::",
    ":",
    " ",
    "\n",
    "user",
    "{{user}}",
    "{{char}}",
    "if",
    "{{if ",
    "{{else}}",
    "{{/if}}",
    "{{#if 1}}",
    "/",
    "#",
    "!",
    ".",
    "$",
    "a",
    "{{.a",
    "++",
    " = ",
    "||=",
    "??",
    "{{setvar::a::",
    "{{getvar::a}}",
    "{{addvar::a::",
    "{{reverse::",
    "{{reverse}}",
    "{{/reverse}}",
    "{{trim}}",
    "{{//",
    "{{random::",
    "{{roll:2d6}}",
    "{{description}}",
    "<USER>",
    "\\{",
    "\\}",
    "龙",
    "[1,2]",
    "{{description",
];

fn pieces() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&PIECES[..]), 0..40).prop_map(|all| all.concat())
}

fn world() -> Environment<'static> {
    const CHAT: [ChatLine<'static>; 1] = [ChatLine {
        id: "m1",
        name: "Bob",
        is_user: true,
        is_hidden: false,
        text: "{{user}}",
        at: None,
        alternatives: None,
    }];
    let card = Card { description: "{{char}} <USER>", ..Card::default() };
    let limits = Limits { steps: 200, depth: 8, output_bytes: 2_000, variable_bytes: 500 };
    Environment { user: "Bob", char: "Mira", card, chat: &CHAT, limits, ..Environment::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text_ends_within_its_bounds_and_the_same_way_again(text in pieces()) {
        let limits = world().limits;
        let (mut first, mut second) = (Variables::default(), Variables::default());
        let expansion = expand(&text, &world(), &mut first);
        prop_assert!(expansion.text.len() <= limits.output_bytes.max(text.len()));
        prop_assert!(first.bytes() <= limits.variable_bytes);
        prop_assert_eq!(expansion, expand(&text, &world(), &mut second));
        prop_assert_eq!(first, second);
    }

    #[test]
    fn arbitrary_characters_never_panic(text in ".{0,200}") {
        expand(&text, &world(), &mut Variables::default());
    }

    #[test]
    fn a_text_without_macros_markers_and_escapes_is_unchanged(text in "[^<\\\\]{0,100}") {
        let text = text.replace("{{", "{(");
        let expansion = expand(&text, &world(), &mut Variables::default());
        prop_assert_eq!(expansion.text, text);
        prop_assert!(!expansion.volatile && expansion.diagnostics.is_empty());
    }

    #[test]
    fn a_value_is_inserted_as_it_is(value in pieces(), around in "[a-z ]{0,10}") {
        // What the last pass looks for.
        let value = value.replace('\\', "").replace("trim", "");
        let card = Card { description: &value, ..Card::default() };
        let environment = Environment { card, limits: Limits::default(), ..world() };
        let text = format!("{around}{{{{description}}}}{around}");
        let expansion = expand(&text, &environment, &mut Variables::default());
        prop_assert_eq!(expansion.text, format!("{around}{value}{around}"));
    }

    #[test]
    fn diagnostics_point_into_the_text(text in pieces()) {
        let expansion = expand(&text, &world(), &mut Variables::default());
        for diagnostic in expansion.diagnostics {
            prop_assert!(text[diagnostic.offset..].starts_with(&diagnostic.macro_text));
        }
    }
}

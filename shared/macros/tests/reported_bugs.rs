//! Bugs that people reported against SillyTavern's and others' macros, each shown to come out right.

use std::collections::BTreeSet;

use macros::{Card, ChatLine, Code, Environment, Expansion, Scope, Variables, expand};

fn world() -> Environment<'static> {
    Environment { user: "Bob", char: "Mira", ..Environment::default() }
}

fn expanded(text: &str) -> Expansion {
    expand(text, &world(), &mut Variables::default())
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(expanded(text).text, expected);
}

/// B38, reference E47.
#[test]
fn nested_random_gives_one_whole_branch_and_no_braces() {
    let text = "{{random::None::{{random::Alice::Bob}} appears.::The world ends.}}";
    let drawn: BTreeSet<String> = (0..200)
        .map(|seed| expand(text, &Environment { seed, ..world() }, &mut Variables::default()).text)
        .collect();
    let allowed = ["Alice appears.", "Bob appears.", "None", "The world ends."];
    assert_eq!(drawn, allowed.map(str::to_owned).into());
}

/// B39: the caller expands the greeting in use, and gives a preview a copy of the variables.
#[test]
fn only_the_greeting_in_use_sets_variables_and_a_preview_sets_none() {
    let greetings = ["{{setvar::route::A}}Hello", "{{setvar::route::B}}Hello"];
    let alternates = [greetings[1].to_owned()];
    let card =
        Card { first_message: greetings[0], alternate_greetings: &alternates, ..Card::default() };
    let environment = Environment { card, ..world() };
    let mut variables = Variables::default();
    expand(greetings[1], &environment, &mut variables.clone());
    assert!(variables.is_empty(), "a preview commits nothing");
    expand("{{greeting}}", &environment, &mut variables);
    assert!(variables.is_empty(), "an inserted greeting is not evaluated");
    expand(greetings[1], &environment, &mut variables);
    assert_eq!(expand("{{getvar::route}}", &environment, &mut variables).text, "B");
}

/// B40.
#[test]
fn variables_flow_from_prompt_to_prompt_even_when_one_renders_empty() {
    let mut variables = Variables::default();
    let prompts = ["{{setvar::t::}}", "{{addvar::t::one }}", "{{addvar::t::two}}", "{{getvar::t}}"];
    let rendered = prompts.map(|prompt| expand(prompt, &world(), &mut variables).text);
    assert_eq!(rendered, ["", "", "", "onetwo"]);
    assert_eq!(variables.get(Scope::Local, "t"), Some("onetwo"));
}

/// B40: a macro does not reach from one text into the next.
#[test]
fn a_macro_opened_in_one_prompt_and_closed_in_another_stays_literal() {
    let mut variables = Variables::default();
    let rendered =
        ["{{setvar::a::", "x}}"].map(|prompt| expand(prompt, &world(), &mut variables).text);
    assert_eq!(rendered, ["{{setvar::a::", "x}}"]);
    assert!(variables.is_empty());
}

/// Reference E39.
#[test]
fn original_outside_of_an_override_stays_literal_with_a_diagnostic() {
    let expansion = expanded("a {{original}}");
    assert_eq!(expansion.text, "a {{original}}");
    assert_eq!(expansion.diagnostics[0].code, Code::MacroOriginalUnavailable);
    assert_eq!(
        (expansion.diagnostics[0].offset, &*expansion.diagnostics[0].macro_text),
        (2, "{{original}}")
    );
}

/// Reference B3.3: only the first occurrence, and a text with `$` is inserted as it is.
#[test]
fn original_is_given_once_and_as_it_is() {
    let environment = Environment { original: Some("costs $1 $& {{user}}"), ..world() };
    let expansion = expand("[{{original}}][{{original}}]", &environment, &mut Variables::default());
    assert_eq!(expansion.text, "[costs $1 $& {{user}}][]");
    assert!(expansion.original_used);
}

/// Reference E41.
#[test]
fn a_pipe_in_an_argument_is_text() {
    check("{{setvar::a::x|y}}{{getvar::a}}", "x|y");
    check("{{.a = x|y}}{{.a}}", "x|y");
}

/// Reference E42: white space that macros make is trimmed in shorthand values and branches, as in
/// SillyTavern, and kept in arguments.
#[test]
fn made_white_space_is_trimmed_where_sillytavern_trims_it() {
    check("{{.a = {{newline}}x{{space}}}}[{{.a}}]", "[x]");
    check("{{setvar::a::{{newline}}x}}[{{getvar::a}}]", "[\nx]");
    check("[{{if 1}}{{newline}}x{{/if}}]", "[x]");
    check("[{{#if 1}}{{newline}}x{{/if}}]", "[\nx]");
}

/// Reference E43: escapes go after evaluation, so what they protect is not evaluated in this pass.
#[test]
fn escaped_braces_are_not_evaluated() {
    check(r"\{\{user\}\}", "{{user}}");
    check(r"\{{user}}", r"\Bob");
}

/// Reference E44.
#[test]
fn a_plain_word_in_a_condition_is_true_and_a_variable_needs_its_dot() {
    check("{{setvar::flag::0}}{{if flag}}a{{else}}b{{/if}}", "a");
    check("{{setvar::flag::0}}{{if .flag}}a{{else}}b{{/if}}", "b");
    check("{{if $unset}}a{{else}}b{{/if}}", "b");
}

/// Reference E45.
#[test]
fn inserted_values_are_not_scanned_again() {
    let card = Card { description: "{{char}} {{setvar::a::1}} <USER>", ..Card::default() };
    let chat = [ChatLine { id: "m1", text: "{{user}}", is_user: true, ..ChatLine::default() }];
    let environment = Environment { card, chat: &chat, ..world() };
    let mut variables = Variables::default();
    let expansion = expand("{{description}} {{lastMessage}}", &environment, &mut variables);
    assert_eq!(expansion.text, "{{char}} {{setvar::a::1}} <USER> {{user}}");
    assert!(variables.is_empty());
}

/// Reference E40: what a caller needs to see that an override is blank.
#[test]
fn a_noop_or_a_space_leaves_nothing_but_white_space() {
    check("{{noop}}", "");
    assert!(expanded("{{space}}").text.trim().is_empty());
}

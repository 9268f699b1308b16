//! Every limit ends in a diagnostic, and hostile texts end in bounded time and space.

use macros::{Card, Code, DIAGNOSTICS_MAX, Environment, Expansion, Limits, Variables, expand};

fn limited(text: &str, limits: Limits) -> Expansion {
    let environment = Environment { user: "Bob", limits, ..Environment::default() };
    expand(text, &environment, &mut Variables::default())
}

fn codes(expansion: &Expansion) -> Vec<Code> {
    expansion.diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

#[test]
fn beyond_the_steps_macros_stay_literal_and_one_diagnostic_says_so() {
    let expansion =
        limited("{{user}}{{user}}{{user}}{{user}}", Limits { steps: 2, ..Limits::default() });
    assert_eq!(expansion.text, "BobBob{{user}}{{user}}");
    assert_eq!(codes(&expansion), [Code::MacroStepLimit]);
}

#[test]
fn beyond_the_depth_macros_stay_literal() {
    let limits = Limits { depth: 2, ..Limits::default() };
    let expansion = limited("{{reverse::{{reverse::{{user}}}}}}{{user}}", limits);
    assert_eq!(expansion.text, "{{user}}Bob");
    assert_eq!(codes(&expansion), [Code::MacroDepthLimit]);
    let scopes = limited("{{if 1}}{{if 1}}{{if 1}}x{{/if}}{{/if}}{{/if}}", limits);
    assert_eq!(scopes.text, "{{if 1}}x{{/if}}");
    assert_eq!(codes(&scopes), [Code::MacroDepthLimit]);
}

#[test]
fn beyond_the_bytes_macros_stay_literal() {
    let limits = Limits { output_bytes: 40, ..Limits::default() };
    let expansion = limited("{{user}}{{space::99}}{{user}}", limits);
    assert_eq!(expansion.text, "Bob{{space::99}}Bob");
    assert_eq!(codes(&expansion), [Code::MacroOutputLimit]);
}

#[test]
fn full_variables_refuse_a_write_and_keep_what_they_have() {
    let limits = Limits { variable_bytes: 4, ..Limits::default() };
    let expansion = limited("{{setvar::a::123}}{{setvar::b::4}}{{getvar::a}}", limits);
    assert_eq!(expansion.text, "{{setvar::b::4}}123");
    assert_eq!(codes(&expansion), [Code::MacroVariableLimit]);
}

#[test]
fn doubling_a_variable_ends_at_the_limit() {
    let doubling = "{{setvar::a::{{getvar::a}}{{getvar::a}}}}".repeat(100);
    let limits = Limits { variable_bytes: 1_000, ..Limits::default() };
    let expansion = limited(&format!("{{{{setvar::a::xxxx}}}}{doubling}"), limits);
    assert!(codes(&expansion).contains(&Code::MacroVariableLimit));
}

#[test]
fn large_fields_cannot_be_multiplied_beyond_the_limit() {
    let large = "x".repeat(1 << 20);
    let card = Card { description: &large, mes_examples: &large, ..Card::default() };
    let environment = Environment { card, ..Environment::default() };
    let text = "{{description}}{{mesExamples}}".repeat(1_000);
    let expansion = expand(&text, &environment, &mut Variables::default());
    assert!(expansion.text.len() <= Limits::default().output_bytes);
}

#[test]
fn diagnostics_are_bounded_and_the_rest_is_counted() {
    let expansion = limited(&"{{nope}}".repeat(1_000), Limits::default());
    assert_eq!(expansion.diagnostics.len(), DIAGNOSTICS_MAX);
    assert_eq!(expansion.diagnostics.len() + expansion.diagnostics_omitted, 1_000);
}

#[test]
fn scopes_nested_beyond_the_depth_leave_the_inner_ones_literal() {
    let text = "{{if 1}}".repeat(200) + &"{{/if}}".repeat(200);
    let depth = Limits::default().depth;
    let expansion = limited(&text, Limits::default());
    assert_eq!(expansion.text.matches("{{if 1}}").count(), 200 - depth);
    assert_eq!(codes(&expansion), [Code::MacroDepthLimit]);
}

#[test]
fn hostile_texts_end_within_their_bounds() {
    const SIZE: usize = 1 << 18;
    let patterns = [
        "{{",
        "}}",
        "{{a ",
        "{{if 1}}",
        "{{if 1}}{{else}}",
        "{{/if}}",
        "{{user}}",
        "{{a::",
        "::",
        "{{random::",
        "{{.a = ",
        "{{.a++}}",
        "{{!",
        "{{//",
        "<USER>",
        "<",
        "{",
        "\\{",
        "{{trim}}\n",
        "{{if !",
        "{{reverse::{{",
        "{{nope}}{{/nope}}",
        "{{addvar::l::x}}",
        "{{time_UTC+",
        "{{roll:9999d9}}",
        "{{reverse}}{{user}}{{trim}}{{/reverse}}",
        "{{pick::a::b}}",
        "{{a\u{feff}",
    ];
    for pattern in patterns {
        let text = pattern.repeat(SIZE / pattern.len());
        let expansion = limited(&text, Limits::default());
        assert!(expansion.text.len() <= Limits::default().output_bytes, "{pattern}");
        let listed = limited(&format!("{{{{random::{text}}}}}"), Limits::default());
        assert!(listed.text.len() <= Limits::default().output_bytes, "{pattern}");
    }
}

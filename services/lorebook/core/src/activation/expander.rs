//! Where lore meets the macro engine.

use macros::{Environment, Expansion, Template, Variables};

/// Expands the macros of keys and contents.
pub trait Expander {
    /// Expands a text; `place` names where it stands, so that chance differs from place to place.
    fn expand(&mut self, text: &str, place: &str) -> Expansion;
    /// The same for a text that comes again and again, so that its macros are parsed once.
    fn expand_template(&mut self, text: &Template, place: &str) -> Expansion;
}

/// The macro engine over one environment; writes to the variables happen in activation order.
#[derive(Debug)]
pub struct MacroExpander<'a> {
    pub environment: Environment<'a>,
    pub variables: &'a mut Variables,
}

/// Whether a text may expand to another one. Texts without macros are expanded once and for all.
pub fn may_hold_macros(text: &str) -> bool {
    let bytes = text.as_bytes();
    (0..bytes.len()).any(|at| match bytes[at] {
        b'{' => bytes.get(at + 1) == Some(&b'{'),
        b'\\' => matches!(bytes.get(at + 1), Some(b'{' | b'}')),
        b'<' => is_old_marker(&bytes[at + 1..]),
        _ => false,
    })
}

// `<USER>` and its like, from before the braces.
fn is_old_marker(rest: &[u8]) -> bool {
    ["user>", "bot>", "char>", "group>", "charifnotgroup>"].iter().any(|marker| {
        rest.get(..marker.len()).is_some_and(|found| found.eq_ignore_ascii_case(marker.as_bytes()))
    })
}

// === impl MacroExpander ===

impl Expander for MacroExpander<'_> {
    fn expand(&mut self, text: &str, place: &str) -> Expansion {
        let environment = Environment { seed_scope: place, ..self.environment };
        macros::expand(text, &environment, self.variables)
    }

    fn expand_template(&mut self, text: &Template, place: &str) -> Expansion {
        let environment = Environment { seed_scope: place, ..self.environment };
        text.expand(&environment, self.variables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_and_look_behinds_hold_no_macros() {
        assert!(!may_hold_macros("/(?<=old )castle/"));
        assert!(!may_hold_macros("{a} <b>"));
    }

    #[test]
    fn braces_old_markers_and_escaped_braces_do() {
        assert!(may_hold_macros("the {{user}}"));
        assert!(may_hold_macros("<Bot> speaks"));
        assert!(may_hold_macros(r"\{"));
    }
}

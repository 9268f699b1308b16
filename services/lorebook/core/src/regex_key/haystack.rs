//! A text prepared for many patterns.

use std::borrow::Cow;

use super::charset;

/// A text, as code points and as UTF-16 units.
#[derive(Debug)]
pub struct Haystack<'t> {
    text: &'t str,
    units: Cow<'t, str>,
    other_line_ends: bool,
}

// === impl Haystack ===

impl<'t> Haystack<'t> {
    pub fn new(text: &'t str) -> Self {
        let other_line_ends = text.contains(['\r', '\u{2028}', '\u{2029}']);
        Self { text, units: charset::units(text), other_line_ends }
    }

    /// The text as a pattern sees it.
    pub fn seen(&self, by_code_point: bool) -> &str {
        if by_code_point { self.text } else { &self.units }
    }

    /// Whether both views are the same text.
    pub fn is_uniform(&self) -> bool {
        matches!(self.units, Cow::Borrowed(_))
    }

    /// Whether lines end with anything but `\n`.
    pub fn has_other_line_ends(&self) -> bool {
        self.other_line_ends
    }
}

//! A text prepared for many patterns.

use std::borrow::Cow;

use super::charset;

/// A text, as code points and as UTF-16 units.
#[derive(Debug)]
pub struct Haystack {
    text: String,
    /// The text as UTF-16 units, where that is another one.
    units: Option<String>,
    other_line_ends: bool,
}

// === impl Haystack ===

impl Haystack {
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let other_line_ends = text.contains(['\r', '\u{2028}', '\u{2029}']);
        let units = match charset::units(&text) {
            Cow::Borrowed(_) => None,
            Cow::Owned(units) => Some(units),
        };
        Self { text, units, other_line_ends }
    }

    /// The text as a pattern sees it.
    pub fn seen(&self, by_code_point: bool) -> &str {
        if by_code_point { &self.text } else { self.units.as_ref().unwrap_or(&self.text) }
    }

    /// Whether lines end with anything but `\n`.
    pub fn has_other_line_ends(&self) -> bool {
        self.other_line_ends
    }
}

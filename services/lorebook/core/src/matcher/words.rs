//! Where a whole word may begin and end.

use std::cell::OnceCell;

use unicode_segmentation::UnicodeSegmentation as _;

/// What counts as the border of a whole word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum WordBoundary {
    /// SillyTavern's: an edge of the text or anything but an ASCII letter, digit or `_`. A neighbour
    /// in a script without spaces never hides a key, one with an accent does not either.
    #[default]
    Ascii,
    /// The word boundaries of Unicode (UAX 29): `дом` is no word of `домой`.
    Unicode,
}

/// The borders of one text.
#[derive(Debug)]
pub struct Borders<'t> {
    text: &'t str,
    kind: WordBoundary,
    /// Offsets of Unicode boundaries, ascending; found when first asked for.
    unicode: OnceCell<Vec<usize>>,
}

// === impl Borders ===

impl<'t> Borders<'t> {
    pub fn new(text: &'t str, kind: WordBoundary) -> Self {
        Self { text, kind, unicode: OnceCell::new() }
    }

    pub fn kind(&self) -> WordBoundary {
        self.kind
    }

    /// Whether a word may end at this offset.
    #[inline]
    pub fn may_end(&self, at: usize) -> bool {
        match self.kind {
            WordBoundary::Ascii => !self.text.as_bytes().get(at).copied().is_some_and(is_word),
            WordBoundary::Unicode => self.is_unicode(at),
        }
    }

    /// Whether a word may start at this offset.
    #[inline]
    pub fn may_start(&self, at: usize) -> bool {
        match self.kind {
            WordBoundary::Ascii => at == 0 || !is_word(self.text.as_bytes()[at - 1]),
            WordBoundary::Unicode => self.is_unicode(at),
        }
    }

    fn is_unicode(&self, at: usize) -> bool {
        let find = || self.text.split_word_bound_indices().map(|(at, _)| at).collect();
        at == self.text.len() || self.unicode.get_or_init(find).binary_search(&at).is_ok()
    }
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

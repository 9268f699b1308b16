//! Values that verbs are made of: one that exists is valid.

use std::{fmt, sync::Arc};

use kernel::limits::{self, KEY_CHARS_MAX};

/// A text of at most 1 MiB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text(String);

/// Why a text is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidText {
    #[error("is empty")]
    Empty,
    #[error("is {0} bytes long, at most {max} are allowed", max = limits::TURN_BYTES_MAX)]
    TooLong(usize),
}

/// A caller's name for a section: 1 to 200 characters without quotes, angle brackets, backslashes or
/// control characters, and not `*`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Arc<str>);

/// Why a text is not a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidKey {
    #[error("is empty")]
    Empty,
    #[error("is {0} characters long, at most {KEY_CHARS_MAX} are allowed")]
    TooLong(usize),
    #[error("has the character {0:?} at position {1}, which a key may not hold")]
    Character(char, usize),
    #[error("is `*`, which names everything")]
    Everything,
}

// === impl Text ===

impl Text {
    /// Accepts a text that says something.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidText> {
        let text = text.into();
        if text.is_empty() { Err(InvalidText::Empty) } else { Self::or_empty(text) }
    }

    /// Accepts an empty text too: a section may be there and say nothing, a reply may be empty.
    pub fn or_empty(text: impl Into<String>) -> Result<Self, InvalidText> {
        let text = text.into();
        if text.len() > limits::TURN_BYTES_MAX {
            return Err(InvalidText::TooLong(text.len()));
        }
        Ok(Self(text))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

// === impl Key ===

impl Key {
    pub fn new(text: &str) -> Result<Self, InvalidKey> {
        let length = text.chars().count();
        let forbidden = |c: char| matches!(c, '"' | '<' | '>' | '\\') || c.is_control();
        match text.chars().enumerate().find(|&(_, c)| forbidden(c)) {
            _ if length == 0 => Err(InvalidKey::Empty),
            _ if length > KEY_CHARS_MAX => Err(InvalidKey::TooLong(length)),
            Some((at, c)) => Err(InvalidKey::Character(c, at)),
            None if text == "*" => Err(InvalidKey::Everything),
            None => Ok(Self(text.into())),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn to_arc(&self) -> Arc<str> {
        self.0.clone()
    }

    /// Whether the loader alone uses this name.
    pub fn is_reserved(&self) -> bool {
        let (space, _) = self.0.split_once(':').unwrap_or((&self.0, ""));
        RESERVED.contains(&space)
    }
}

/// Namespaces of the profile's keys: alone, or in front of a colon.
const RESERVED: [&str; 10] = [
    "prompt",
    "character",
    "user",
    "lore",
    "rp",
    "profile",
    "note",
    "example",
    "greeting",
    "control",
];

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(key: &str, expected: Result<bool, InvalidKey>) {
        assert_eq!(Key::new(key).map(|key| key.is_reserved()), expected);
    }

    #[test]
    fn an_ordinary_key_is_the_callers() {
        check("AGENTS.md", Ok(false));
        check("my rules:1", Ok(false));
        check("promptly", Ok(false));
    }

    #[test]
    fn the_loaders_namespaces_are_known() {
        check("prompt:main", Ok(true));
        check("profile", Ok(true));
        check("rp:policy", Ok(true));
    }

    #[test]
    fn a_key_keeps_to_its_attribute() {
        check("a\"b", Err(InvalidKey::Character('"', 1)));
        check("a\nb", Err(InvalidKey::Character('\n', 1)));
        check("", Err(InvalidKey::Empty));
        check("*", Err(InvalidKey::Everything));
        check(&"k".repeat(201), Err(InvalidKey::TooLong(201)));
    }

    #[test]
    fn a_text_is_bounded() {
        assert_eq!(Text::new(""), Err(InvalidText::Empty));
        assert!(Text::or_empty("").is_ok());
        let long = "a".repeat(limits::TURN_BYTES_MAX + 1);
        assert_eq!(Text::new(long), Err(InvalidText::TooLong(limits::TURN_BYTES_MAX + 1)));
    }
}

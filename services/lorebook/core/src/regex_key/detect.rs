//! Tells a regular-expression key from plain text (reference A6).

/// A key of the form `/pattern/flags`, not yet parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delimited {
    pub pattern: String,
    pub flags: Flags,
}

/// The flags that change what a key matches. `g` does not, and is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    pub ignore_case: bool,
    pub multiline: bool,
    pub dot_all: bool,
    pub unicode: bool,
    pub sticky: bool,
}

/// Splits a trimmed key; None means that its characters are plain text, slashes included.
///
/// The pattern ends at the first `/` behind which only flags follow. Another slash without a
/// backslash before it makes the key plain, and so does a flag given twice.
pub fn delimited(key: &str) -> Option<Delimited> {
    let rest = key.strip_prefix('/')?;
    let (end, _) = rest
        .match_indices('/')
        .find(|&(at, _)| at > 0 && rest[at + 1..].chars().all(|flag| "gimsuy".contains(flag)))?;
    let pattern = &rest[..end];
    if has_bare_slash(pattern) {
        return None;
    }
    let flags = Flags::read(&rest[end + 1..])?;
    Some(Delimited { pattern: pattern.replacen("\\/", "/", 1), flags })
}

fn has_bare_slash(pattern: &str) -> bool {
    let bytes = pattern.as_bytes();
    (0..bytes.len()).any(|at| bytes[at] == b'/' && (at == 0 || bytes[at - 1] != b'\\'))
}

// === impl Flags ===

impl Flags {
    /// None for an unknown flag and for one given twice. `v` is unknown: SillyTavern takes such a
    /// key for plain text.
    pub fn read(text: &str) -> Option<Self> {
        let mut flags = Self::default();
        for (at, flag) in text.char_indices() {
            if text[..at].contains(flag) {
                return None;
            }
            match flag {
                'g' => {}
                'i' => flags.ignore_case = true,
                'm' => flags.multiline = true,
                's' => flags.dot_all = true,
                'u' => flags.unicode = true,
                'y' => flags.sticky = true,
                _ => return None,
            }
        }
        Some(flags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(key: &str, expected: Option<&str>) {
        assert_eq!(delimited(key).map(|found| found.pattern).as_deref(), expected);
    }

    #[test]
    fn slashes_with_flags_make_a_pattern() {
        check("/a+/gi", Some("a+"));
        check("/(?:^|[^а-я])Кент(?:а|ой)/gi", Some("(?:^|[^а-я])Кент(?:а|ой)"));
    }

    #[test]
    fn paths_and_bands_are_plain_text() {
        check("/home/user", None);
        check("AC/DC", None);
        check("/a/b/i", None);
        check("//", None);
        check("//x/", None);
    }

    #[test]
    fn the_first_escaped_slash_loses_its_backslash() {
        check(r"/a\/b\/c/", Some(r"a/b\/c"));
    }

    #[test]
    fn unknown_and_repeated_flags_make_it_plain() {
        check("/a/v", None);
        check("/a/d", None);
        check("/a/ii", None);
    }

    #[test]
    fn a_comma_belongs_to_the_pattern() {
        check("/Test[,;]/", Some("Test[,;]"));
    }
}

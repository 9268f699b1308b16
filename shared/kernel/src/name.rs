//! Names that files give: as lists, prompts and logs can show them. The files keep theirs.

/// The heading of lore that a model proposed and a person accepted (seed 004).
pub const DYNAMIC_HEADING: &str = "Dynamic World State";

/// The name without control characters, each of which becomes U+FFFD; nothing if it has none.
pub fn cleaned(name: &str) -> Option<String> {
    let clean = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    name.contains(char::is_control).then(|| name.chars().map(clean).collect())
}

/// The name as lists show it: one line, of this many characters at the most; empty if it says nothing.
pub fn shown(name: &str, chars_max: usize) -> String {
    let name = name.trim();
    let name = cleaned(name).unwrap_or_else(|| name.to_owned());
    name.chars().take(chars_max).collect()
}

/// What a file's name says of its content: its last segment without its ending.
pub fn stem(file_name: &str) -> Option<&str> {
    let name = file_name.rsplit(['/', '\\']).next().unwrap_or(file_name);
    let stem = match name.rsplit_once('.') {
        Some((stem, extension)) if extension.len() <= 5 && !extension.contains(' ') => stem,
        _ => name,
    };
    Some(stem.trim()).filter(|stem| !stem.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_name_is_one_bounded_line() {
        assert_eq!(shown("  Mira\n\u{1b}[31m ", 99), "Mira\u{fffd}\u{fffd}[31m");
        assert_eq!(shown("Мира Ли", 4), "Мира");
        assert_eq!((shown(" \t ", 9), cleaned("Mira")), (String::new(), None));
    }

    #[test]
    fn a_file_is_named_by_its_last_segment() {
        for (file_name, expected) in [
            ("../../etc/passwd", Some("passwd")),
            ("C:\\cards\\Mira.png", Some("Mira")),
            ("Dr. Who.v2.json", Some("Dr. Who.v2")),
            ("Dr. Who", Some("Dr. Who")),
            (" .json", None),
            ("a/", None),
            ("", None),
        ] {
            assert_eq!(stem(file_name), expected);
        }
    }
}

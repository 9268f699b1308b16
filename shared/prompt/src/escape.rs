//! No untrusted text leaves the wrapper that it is rendered in (20-ledger, rule 5.9).
//!
//! A reserved tag is `<` or `</`, then `section`, `authored`, `note` or `st-` in any ASCII case. Inside an
//! untrusted text one backslash is put behind the `<` or `</` of everything that looks like one, also
//! when backslashes are there already: taking one away again gives the text back, so two different
//! texts never render the same.

use std::borrow::Cow;

/// The beginnings of the tags that only Skald writes.
const RESERVED: [&str; 4] = ["section", "authored", "note", "st-"];

/// The tags that the ledger writes around what a loader has wrapped.
const OUTER: [&str; 3] = ["section", "authored", "note"];

/// Makes an untrusted text safe between two reserved tags. Linear in the text.
pub fn text(untrusted: &str) -> Cow<'_, str> {
    rewrite(untrusted, &RESERVED, |slashes| slashes + 1)
}

/// Keeps a text that is wrapped (`st-…`) and escaped already inside the section around it: it is not
/// changed, unless something in it was left unescaped.
pub fn wrapped(trusted: &str) -> Cow<'_, str> {
    rewrite(trusted, &OUTER, |slashes| slashes.max(1))
}

/// Gives back what [`text`] was given.
pub fn parse_back(escaped: &str) -> Cow<'_, str> {
    rewrite(escaped, &RESERVED, |slashes| slashes.saturating_sub(1))
}

/// Makes an untrusted text safe between the quotes of an attribute; it stays on one line.
pub fn attribute(untrusted: &str) -> Cow<'_, str> {
    let special = |c: char| matches!(c, '&' | '"' | '<' | '>') || c.is_control();
    // Looked at byte by byte to the end, which the compiler does many at a time.
    let plain = |byte: u8| byte.is_ascii() && !special(char::from(byte));
    if untrusted.bytes().fold(true, |all, byte| all & plain(byte)) || !untrusted.contains(special) {
        return Cow::Borrowed(untrusted);
    }
    let mut out = String::with_capacity(untrusted.len() + 16);
    for c in untrusted.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            c if c.is_control() => out.push_str(&format!("&#{};", u32::from(c))),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Whether the text holds something that a reader could take for a reserved tag.
pub fn holds_reserved_tag(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if starts_with_one_of(rest.strip_prefix('/').unwrap_or(rest), &RESERVED) {
            return true;
        }
    }
    false
}

/// Copies the text with another count of backslashes at each look-alike of the names.
fn rewrite<'a>(text: &'a str, names: &[&str], count: impl Fn(usize) -> usize) -> Cow<'a, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut from = 0;
    while let Some(at) = text[from..].find('<') {
        let mut tag = from + at + 1;
        if text[tag..].starts_with('/') {
            tag += 1;
        }
        let slashes = text[tag..].bytes().take_while(|&b| b == b'\\').count();
        from = tag + slashes;
        if starts_with_one_of(&text[from..], names) && count(slashes) != slashes {
            out.push_str(&text[copied..tag]);
            out.extend(std::iter::repeat_n('\\', count(slashes)));
            copied = from;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// ASCII case does not matter.
fn starts_with_one_of(text: &str, names: &[&str]) -> bool {
    let text = text.as_bytes();
    names.iter().any(|name| {
        text.len() >= name.len() && text[..name.len()].eq_ignore_ascii_case(name.as_bytes())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(untrusted: &str, escaped: &str) {
        assert_eq!(text(untrusted), escaped);
        assert_eq!(parse_back(escaped), untrusted);
    }

    #[test]
    fn an_ordinary_text_is_not_copied() {
        assert!(matches!(text("a < b, <b>bold</b>, <sect"), Cow::Borrowed(_)));
    }

    #[test]
    fn opening_and_closing_tags_get_one_backslash() {
        check("</section><section key=\"x\">", "</\\section><\\section key=\"x\">");
    }

    #[test]
    fn any_case_and_every_reserved_name_counts() {
        check("<SeCtIoN", "<\\SeCtIoN");
        check("</Authored>", "</\\Authored>");
        check("<note>", "<\\note>");
        check("<ST-world-info>", "<\\ST-world-info>");
    }

    #[test]
    fn a_backslashed_tag_gets_another_one() {
        check("<\\section>", "<\\\\section>");
        check("</\\\\section>", "</\\\\\\section>");
    }

    #[test]
    fn a_bracket_right_before_a_tag_hides_nothing() {
        check("<<section>", "<<\\section>");
        check("</</section>", "</</\\section>");
    }

    #[test]
    fn what_a_loader_wrapped_stays_and_what_it_forgot_is_escaped() {
        let good = "<st-prompt id=\"x\">\nsay <\\section> and <\\\\note>\n</st-prompt>";
        assert!(matches!(wrapped(good), Cow::Borrowed(_)));
        assert_eq!(wrapped("</section><NOTE>"), "</\\section><\\NOTE>");
    }

    #[test]
    fn an_attribute_keeps_to_its_quotes_and_its_line() {
        assert_eq!(attribute("lore:w1:e1"), "lore:w1:e1");
        assert_eq!(attribute("a\"><b\n&"), "a&quot;&gt;&lt;b&#10;&amp;");
    }

    proptest! {
        #[test]
        fn escaping_is_undone_exactly(raw in r"([<>/\\]|section|SECTION|authored|note|st-|x| ){0,24}") {
            let escaped = text(&raw);
            prop_assert!(!holds_reserved_tag(&escaped));
            prop_assert_eq!(parse_back(&escaped), raw.as_str());
        }

        #[test]
        fn any_text_at_all_is_undone_exactly(raw in ".{0,64}") {
            let escaped = text(&raw);
            prop_assert_eq!(parse_back(&escaped), raw.as_str());
        }
    }
}

//! Splits keys that a person typed into one line: at commas, but not inside a `/pattern/flags`.

/// `/Test[,;]/, foo` is two keys. A slash opens a pattern only where a key begins, and only if another
/// unescaped slash, outside a character class, closes it before a comma or the end.
pub fn split(text: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let end = pattern_end(rest).unwrap_or_else(|| rest.find(',').unwrap_or(rest.len()));
        let key = rest[..end].trim_end();
        if !key.is_empty() {
            keys.push(key.to_owned());
        }
        match rest[end..].strip_prefix(',') {
            Some(next) => rest = next,
            None => return keys,
        }
    }
}

/// Where a pattern that begins `text` ends: at the comma after its flags, or at the end of the text.
fn pattern_end(text: &str) -> Option<usize> {
    let body = text.strip_prefix('/')?;
    let (mut escaped, mut class) = (false, false);
    for (at, c) in body.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => class = true,
            ']' => class = false,
            '/' if !class => {
                let flags = &body[at + 1..];
                let end = flags.find(',').unwrap_or(flags.len());
                let plain = flags[..end].trim().chars().all(|c| c.is_ascii_lowercase());
                return plain.then_some(1 + at + 1 + end);
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(super::split(text), expected);
    }

    #[test]
    fn commas_part_keys() {
        check("wolf, old castle ,, elf", &["wolf", "old castle", "elf"]);
    }

    #[test]
    fn a_comma_inside_a_pattern_stays() {
        check("/Test[,;]/, foo", &["/Test[,;]/", "foo"]);
        check(r"a, /b\/{1,2}/gi , c", &["a", r"/b\/{1,2}/gi", "c"]);
    }

    #[test]
    fn a_slash_inside_a_class_does_not_close() {
        check("/[/,]x/i, y", &["/[/,]x/i", "y"]);
    }

    #[test]
    fn a_lone_slash_is_text() {
        check("/home, AC/DC", &["/home", "AC/DC"]);
        check("/home/User, x", &["/home/User", "x"]);
    }

    #[test]
    fn nothing_gives_no_keys() {
        check(" , ", &[]);
        check("", &[]);
    }
}

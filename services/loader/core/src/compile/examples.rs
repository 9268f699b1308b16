//! Dialogue examples, cut into blocks and messages (reference B3.7).

const START: &str = "<START>";

/// One message of an example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExampleLine {
    pub is_user: bool,
    pub text: String,
}

/// The blocks behind each `<START>` in any case, trimmed; an empty one is a block too. A text that does not
/// begin with exactly `<START>` begins with a block of its own.
pub(super) fn blocks(examples: &str) -> Vec<String> {
    if examples.is_empty() || examples == START {
        return Vec::new();
    }
    let behind = examples.strip_prefix(START).unwrap_or(examples);
    let lower = behind.to_ascii_lowercase();
    let mut blocks = Vec::new();
    let mut from = 0;
    for (at, found) in lower.match_indices("<start>") {
        blocks.push(behind[from..at].trim().to_owned());
        from = at + found.len();
    }
    blocks.push(behind[from..].trim().to_owned());
    blocks
}

/// The messages of a block: a new one begins where the other of the two speaks. Lines before the first
/// speaker belong to it; without any speaker there is no message.
pub(super) fn lines(block: &str, user: &str, char: &str) -> Vec<ExampleLine> {
    let (user, char) = (format!("{user}:"), format!("{char}:"));
    let mut messages = Vec::new();
    let mut speaker = None;
    let mut collected: Vec<&str> = Vec::new();
    let block = block.replace('\r', "");
    for line in block.split('\n') {
        let speaks = match line {
            line if line.starts_with(&user) => Some(true),
            line if line.starts_with(&char) => Some(false),
            _ => None,
        };
        if let Some(is_user) = speaks {
            if let Some(was_user) = speaker.filter(|&was| was != is_user) {
                messages.push(message(was_user, &collected, &user, &char));
                collected.clear();
            }
            speaker = Some(is_user);
        }
        collected.push(line);
    }
    if let Some(is_user) = speaker {
        messages.push(message(is_user, &collected, &user, &char));
    }
    messages
}

fn message(is_user: bool, lines: &[&str], user: &str, char: &str) -> ExampleLine {
    let prefix = if is_user { user } else { char };
    let text = lines.join("\n").replacen(prefix, "", 1).trim().to_owned();
    ExampleLine { is_user, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(block: &str, expected: &[(bool, &str)]) {
        let found = lines(block, "Bob", "Mira");
        let found: Vec<_> = found.iter().map(|line| (line.is_user, line.text.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_block_is_cut_where_the_other_one_speaks() {
        check("Bob: hello\nMira: well met", &[(true, "hello"), (false, "well met")]);
        check("Mira: a\nb\nBob: c", &[(false, "a\nb"), (true, "c")]);
    }

    #[test]
    fn a_speaker_that_goes_on_keeps_the_second_prefix() {
        check("Mira: a\nMira: b", &[(false, "a\nMira: b")]);
    }

    #[test]
    fn lines_before_the_first_speaker_join_it() {
        check("scene\nBob: hi", &[(true, "scene\n hi")]);
    }

    #[test]
    fn a_block_without_a_speaker_has_no_message() {
        check("just a description", &[]);
    }

    #[test]
    fn blocks_are_cut_at_start_in_any_case() {
        assert_eq!(blocks("<START>\na\n<start>b"), ["a", "b"]);
        assert_eq!(blocks("<start>a"), ["", "a"]);
        assert_eq!(blocks("a<START>"), ["a", ""]);
        assert_eq!(blocks("a"), ["a"]);
        assert_eq!(blocks("<START>"), Vec::<String>::new());
        assert_eq!(blocks(""), Vec::<String>::new());
    }
}

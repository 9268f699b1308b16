//! Decorators: lines at the start of a content that change how the entry fires (reference A4).
//!
//! SillyTavern knows `@@activate` and `@@dont_activate` and drops the others. An extension of ours
//! honours six more of the V3 specification: `@@depth N`, `@@role R`, `@@position P`,
//! `@@scan_depth N`, `@@additional_keys A,B` and `@@exclude_keys A,B`, where the value can be read.

use crate::{
    keys_text,
    vocabulary::{EntryRole, Position},
};

/// What the decorators of an entry ask for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decorators {
    pub activate: bool,
    pub dont_activate: bool,
    pub depth: Option<u32>,
    pub role: Option<EntryRole>,
    pub position: Option<Position>,
    pub scan_depth: Option<u32>,
    /// One of them must match beside the primary keys.
    pub additional_keys: Vec<String>,
    /// None of them may match.
    pub exclude_keys: Vec<String>,
    /// Lines that had no effect.
    pub ignored: Vec<String>,
}

/// Takes the decorators off a content. A content of nothing else stays as it is. Without
/// `extensions` only SillyTavern's two are known.
pub fn strip(content: &str, extensions: bool) -> (Decorators, &str) {
    let mut decorators = Decorators::default();
    let mut rest = content;
    let mut is_after_unknown = false;
    while rest.starts_with("@@") {
        let Some((line, after)) = rest.split_once('\n') else {
            decorators.read_line(rest, is_after_unknown, extensions);
            return (decorators, content);
        };
        is_after_unknown = decorators.read_line(line, is_after_unknown, extensions);
        rest = after;
    }
    (decorators, rest)
}

// === impl Decorators ===

impl Decorators {
    // `@@@x` stands in for the line before it if that is unknown. Answers whether this line is.
    fn read_line(&mut self, line: &str, is_after_unknown: bool, extensions: bool) -> bool {
        let fallback = line.strip_prefix("@@@");
        if fallback.is_some() && !is_after_unknown {
            return false;
        }
        let text = fallback.or_else(|| line.strip_prefix("@@")).unwrap_or(line);
        let (name, value) = text.split_once(' ').unwrap_or((text, ""));
        let has_effect = match text {
            "activate" => {
                self.activate = true;
                true
            }
            "dont_activate" => {
                self.dont_activate = true;
                true
            }
            _ => extensions && self.read_value(name, value.trim()).is_some(),
        };
        if !has_effect {
            self.ignored.push(line.to_owned());
        }
        // SillyTavern knows its two by their beginning, whether or not they have an effect.
        let is_known = text.starts_with("activate") || text.starts_with("dont_activate");
        !has_effect && !is_known
    }

    fn read_value(&mut self, name: &str, value: &str) -> Option<()> {
        match name {
            "depth" => {
                self.depth = Some(value.parse().ok()?);
                self.position.get_or_insert(Position::AtDepth);
            }
            "scan_depth" => self.scan_depth = Some(value.parse().ok()?),
            "role" => {
                self.role = Some(match value {
                    "system" => EntryRole::System,
                    "user" => EntryRole::User,
                    "assistant" => EntryRole::Assistant,
                    _ => return None,
                });
            }
            "position" => {
                self.position = Some(match value {
                    "before_desc" | "before_char" => Position::BeforeChar,
                    "after_desc" | "after_char" => Position::AfterChar,
                    _ => return None,
                });
            }
            "additional_keys" => self.additional_keys.extend(keys(value)?),
            "exclude_keys" => self.exclude_keys.extend(keys(value)?),
            _ => return None,
        }
        Some(())
    }
}

// Keys as a person typed them; None if there are none.
fn keys(value: &str) -> Option<Vec<String>> {
    Some(keys_text::split(value)).filter(|keys| !keys.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content: &str, expected: Decorators, rest: &str) {
        let (mut decorators, stripped) = strip(content, true);
        decorators.ignored.clear();
        assert_eq!((decorators, stripped), (expected, rest));
    }

    fn activate() -> Decorators {
        Decorators { activate: true, ..Decorators::default() }
    }

    #[test]
    fn known_lines_are_taken_off_and_obeyed() {
        check("@@activate\ntext", activate(), "text");
        check(
            "@@activate\n@@dont_activate\nx",
            Decorators { dont_activate: true, ..activate() },
            "x",
        );
    }

    #[test]
    fn only_the_very_start_counts() {
        check(" @@activate\ntext", Decorators::default(), " @@activate\ntext");
        check("text\n@@activate", Decorators::default(), "text\n@@activate");
    }

    #[test]
    fn a_known_name_with_more_behind_it_has_no_effect() {
        check("@@activate \ntext", Decorators::default(), "text");
        check("@@activate_only_after 3\ntext", Decorators::default(), "text");
    }

    #[test]
    fn a_fallback_counts_after_an_unknown_line_only() {
        check("@@unheard_of\n@@@activate\ntext", activate(), "text");
        check("@@@activate\ntext", Decorators::default(), "text");
        check("@@activate x\n@@@activate\ntext", Decorators::default(), "text");
    }

    #[test]
    fn a_content_of_decorators_alone_stays() {
        check("@@activate", activate(), "@@activate");
        check("@@activate\n", activate(), "");
    }

    #[test]
    fn six_more_of_the_specification_are_honoured() {
        check(
            "@@depth 2\n@@role assistant\n@@scan_depth 5\n@@additional_keys a, /b,c/\n@@exclude_keys d\ntext",
            Decorators {
                depth: Some(2),
                role: Some(EntryRole::Assistant),
                position: Some(Position::AtDepth),
                scan_depth: Some(5),
                additional_keys: vec!["a".into(), "/b,c/".into()],
                exclude_keys: vec!["d".into()],
                ..Decorators::default()
            },
            "text",
        );
        let position = Some(Position::AfterChar);
        check("@@position after_desc\nx", Decorators { position, ..Decorators::default() }, "x");
    }

    #[test]
    fn what_has_no_effect_is_named_and_never_reaches_the_text() {
        let lines =
            "@@depth -1\n@@role narrator\n@@additional_keys ,\n@@is_greeting 2\n@@activate now";
        let content = format!("{lines}\ntext");
        let (decorators, rest) = strip(&content, true);
        assert_eq!((decorators.ignored.join("\n").as_str(), rest), (lines, "text"));
        assert_eq!(Decorators { ignored: Vec::new(), ..decorators }, Decorators::default());
    }

    #[test]
    fn sillytavern_knows_two() {
        let (decorators, rest) = strip("@@depth 2\n@@@activate\ntext", false);
        assert_eq!((decorators.activate, decorators.depth, rest), (true, None, "text"));
        let (decorators, _) = strip("@@depth 2\n@@@activate\ntext", true);
        assert_eq!((decorators.activate, decorators.depth), (false, Some(2)));
    }
}

//! Decorators: lines at the start of a content that change how the entry fires (reference A4).
//!
//! SillyTavern knows `@@activate` and `@@dont_activate` and drops the others. An extension of ours
//! honours five more of the V3 specification: `@@depth N`, `@@role R`, `@@position P`,
//! `@@scan_depth N` and `@@additional_keys A,B`, where the value can be read.

use crate::vocabulary::{EntryRole, Position};

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
    /// Lines that had no effect.
    pub ignored: Vec<String>,
}

/// Takes the decorators off a content. A content of nothing else stays as it is.
pub fn strip(content: &str) -> (Decorators, &str) {
    let mut decorators = Decorators::default();
    let mut rest = content;
    let mut is_after_unknown = false;
    while rest.starts_with("@@") {
        let Some((line, after)) = rest.split_once('\n') else {
            decorators.read_line(rest, is_after_unknown);
            return (decorators, content);
        };
        is_after_unknown = decorators.read_line(line, is_after_unknown);
        rest = after;
    }
    (decorators, rest)
}

// === impl Decorators ===

impl Decorators {
    // `@@@x` stands in for the line before it if that is unknown. Answers whether this line is.
    fn read_line(&mut self, line: &str, is_after_unknown: bool) -> bool {
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
            _ => self.read_value(name, value.trim()).is_some(),
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
            "additional_keys" => {
                let keys = value.split(',').map(str::trim).filter(|key| !key.is_empty());
                self.additional_keys.extend(keys.map(str::to_owned));
                (!value.is_empty()).then_some(())?;
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content: &str, expected: Decorators, rest: &str) {
        let (mut decorators, stripped) = strip(content);
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
    fn the_five_of_the_specification_are_honoured() {
        check(
            "@@depth 2\n@@role assistant\n@@scan_depth 5\n@@additional_keys a, b\ntext",
            Decorators {
                depth: Some(2),
                role: Some(EntryRole::Assistant),
                position: Some(Position::AtDepth),
                scan_depth: Some(5),
                additional_keys: vec!["a".into(), "b".into()],
                ..Decorators::default()
            },
            "text",
        );
        let position = Some(Position::AfterChar);
        check("@@position after_desc\nx", Decorators { position, ..Decorators::default() }, "x");
    }
}

//! Groups of a pattern: captures, look-arounds, names and flags set for a part.

use kernel::limits::REGEX_DEPTH_MAX;

use super::{Node, Parsed, Parser};

/// What a pattern declares, known before it is parsed: `\2` means different things with and without a group 2.
#[derive(Debug, Default)]
pub struct Declared {
    pub groups: usize,
    /// Name and number, in order.
    pub names: Vec<(String, usize)>,
}

/// Counts the capture groups outside classes.
pub fn scan(chars: &[char]) -> Declared {
    let mut declared = Declared::default();
    let mut in_class = false;
    let mut at = 0;
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 1,
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class => scan_group(chars, at, &mut declared),
            _ => {}
        }
        at += 1;
    }
    declared
}

fn scan_group(chars: &[char], at: usize, declared: &mut Declared) {
    if chars.get(at + 1) != Some(&'?') {
        declared.groups += 1;
        return;
    }
    let is_name = chars.get(at + 2) == Some(&'<') && !matches!(chars.get(at + 3), Some('=' | '!'));
    if is_name {
        declared.groups += 1;
        let name: String = chars[at + 3..].iter().take_while(|&&c| c != '>').collect();
        declared.names.push((name, declared.groups));
    }
}

// === impl Parser ===

impl Parser {
    /// A parenthesis and what is in it, and whether a quantifier may follow.
    pub(super) fn group(&mut self) -> Parsed<(Node, bool)> {
        self.depth += 1;
        if self.depth > REGEX_DEPTH_MAX {
            return Err(self.invalid("too deeply nested"));
        }
        let outer = self.flags;
        let result = self.group_by_kind();
        self.flags = outer;
        self.depth -= 1;
        result
    }

    fn group_by_kind(&mut self) -> Parsed<(Node, bool)> {
        // Annex B lets a quantifier follow a look-ahead; `u` takes that back.
        let lenient = !self.flags.unicode;
        for (opening, ahead, negated) in [
            ("(?=", true, false),
            ("(?!", true, true),
            ("(?<=", false, false),
            ("(?<!", false, true),
        ] {
            if self.eat(opening) {
                let node = Box::new(self.body()?);
                return Ok((Node::Look { ahead, negated, node }, ahead && lenient));
            }
        }
        if self.eat("(?:") {
            return Ok((self.body()?, true));
        }
        if self.eat("(?<") {
            let name = self.name()?;
            if self.names.contains(&name) {
                return Err(self.invalid("duplicate group name"));
            }
            self.names.push(name);
        } else if self.looking_at("(?") {
            self.modifiers()?;
            return Ok((self.body()?, true));
        } else {
            self.at += 1;
        }
        self.opened += 1;
        let index = self.opened;
        Ok((Node::Capture { index, node: Box::new(self.body()?) }, true))
    }

    fn body(&mut self) -> Parsed<Node> {
        let node = self.disjunction()?;
        if self.eat(")") { Ok(node) } else { Err(self.invalid("unterminated group")) }
    }

    /// `name>`, of a group or of a reference to one.
    pub(super) fn name(&mut self) -> Parsed<String> {
        let mut name = String::new();
        while let Some(c) = self.peek() {
            self.at += 1;
            if c == '>' {
                break;
            }
            let allowed = c.is_alphabetic()
                || c == '$'
                || c == '_'
                || (!name.is_empty() && (c.is_alphanumeric() || "\u{200C}\u{200D}".contains(c)));
            if !allowed {
                return Err(self.invalid("invalid group name"));
            }
            name.push(c);
        }
        let closed = self.chars[self.at - 1] == '>';
        if name.is_empty() || !closed { Err(self.invalid("invalid group name")) } else { Ok(name) }
    }

    // `(?ims-ims:`
    fn modifiers(&mut self) -> Parsed<()> {
        self.at += 2;
        let (mut on, mut seen) = (true, String::new());
        while let Some(c) = self.peek() {
            self.at += 1;
            match c {
                ':' if seen != "-" => return Ok(()),
                _ if seen.contains(c) => break,
                '-' => on = false,
                'i' => self.flags.ignore_case = on,
                'm' => self.flags.multiline = on,
                's' => self.flags.dot_all = on,
                _ => break,
            }
            seen.push(c);
        }
        Err(self.invalid("invalid group"))
    }
}

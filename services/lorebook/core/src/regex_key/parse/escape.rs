//! What follows a backslash, in and outside of classes.

use super::{CharSet, Node, Parsed, Parser, charset};

/// An escape that stands for characters.
pub enum Escaped {
    /// A unit or code point.
    Char(u32),
    /// A set such as `\d`.
    Set(CharSet),
}

// === impl Parser ===

impl Parser {
    /// An escape outside of a class.
    pub(super) fn atom_escape(&mut self) -> Parsed<Node> {
        if let Some(reference) = self.back_reference()? {
            return Ok(reference);
        }
        Ok(match self.escape(false)? {
            Escaped::Set(set) => Node::Set(set),
            Escaped::Char(code) => match self.character(code) {
                Some(c) => Node::Set(self.folded(charset::single(c))),
                None => Node::Set(CharSet::empty()),
            },
        })
    }

    /// The character that a unit or code point is in the texts that are matched; a lone half of a
    /// pair occurs in none of them under `u`.
    pub(super) fn character(&self, code: u32) -> Option<char> {
        if self.flags.unicode { char::from_u32(code) } else { Some(charset::unit(code)) }
    }

    fn back_reference(&mut self) -> Parsed<Option<Node>> {
        let from = self.at;
        let ignore_case = self.flags.ignore_case;
        if self.looking_at("\\k") && (self.flags.unicode || !self.declared.names.is_empty()) {
            self.at += 2;
            if !self.eat("<") {
                return Err(self.invalid("invalid named reference"));
            }
            let name = self.name()?;
            let groups: Vec<usize> =
                self.declared.names.iter().filter(|(n, _)| *n == name).map(|(_, at)| *at).collect();
            return match groups.is_empty() {
                true => Err(self.invalid("no group of that name")),
                false => Ok(Some(Node::BackReference { groups, ignore_case })),
            };
        }
        if !matches!(self.chars.get(self.at + 1), Some('1'..='9')) {
            return Ok(None);
        }
        self.at += 1;
        let group = self.decimal();
        if group <= self.declared.groups {
            return Ok(Some(Node::BackReference { groups: vec![group], ignore_case }));
        }
        if self.flags.unicode {
            return Err(self.invalid("no group of that number"));
        }
        self.at = from;
        Ok(None)
    }

    fn decimal(&mut self) -> usize {
        let from = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        self.chars[from..self.at].iter().collect::<String>().parse().unwrap_or(usize::MAX)
    }

    /// An escape, the backslash included, that is no reference.
    pub(super) fn escape(&mut self, in_class: bool) -> Parsed<Escaped> {
        self.at += 1;
        let Some(c) = self.peek() else { return Err(self.invalid("\\ at the end")) };
        if let Some(set) = self.set_escape(c)? {
            return Ok(Escaped::Set(set));
        }
        self.at += 1;
        Ok(Escaped::Char(match c {
            't' => 0x9,
            'n' => 0xA,
            'v' => 0xB,
            'f' => 0xC,
            'r' => 0xD,
            'b' if in_class => 0x8,
            '-' if in_class && self.flags.unicode => '-' as u32,
            'c' => self.control(in_class)?,
            'x' => self.hex(c, 2)?,
            'u' => self.unicode_escape()?,
            '0'..='9' => self.octal(c)?,
            _ => self.identity(c)?,
        }))
    }

    fn set_escape(&mut self, c: char) -> Parsed<Option<CharSet>> {
        let set = match c.to_ascii_lowercase() {
            'd' => charset::digits(),
            'w' => charset::words(self.is_wide()),
            's' => charset::spaces(),
            'p' if self.flags.unicode => self.property()?,
            _ => return Ok(None),
        };
        if c.eq_ignore_ascii_case(&'p') {
            // The name has been read with it.
        } else {
            self.at += 1;
        }
        let set = if c.is_ascii_uppercase() { charset::negated(set) } else { set };
        Ok(Some(self.folded(set)))
    }

    // `p{Name}` or `p{Name=Value}`
    fn property(&mut self) -> Parsed<CharSet> {
        self.at += 1;
        if !self.eat("{") {
            return Err(self.invalid("invalid property name"));
        }
        let from = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_alphanumeric() || c == '_' || c == '=') {
            self.at += 1;
        }
        let name: String = self.chars[from..self.at].iter().collect();
        if !self.eat("}") || name.is_empty() {
            return Err(self.invalid("invalid property name"));
        }
        match regex_syntax::parse(&format!("\\p{{{name}}}")).map(|hir| hir.into_kind()) {
            Ok(regex_syntax::hir::HirKind::Class(regex_syntax::hir::Class::Unicode(set))) => {
                Ok(set)
            }
            _ => Err(self.invalid("invalid property name")),
        }
    }

    fn control(&mut self, in_class: bool) -> Parsed<u32> {
        match self.peek() {
            Some(c) if c.is_ascii_alphabetic() => {
                self.at += 1;
                Ok(c as u32 % 32)
            }
            Some(c) if in_class && !self.flags.unicode && (c.is_ascii_digit() || c == '_') => {
                self.at += 1;
                Ok(c as u32 % 32)
            }
            _ if self.flags.unicode => Err(self.invalid("invalid control escape")),
            _ => {
                // The backslash is itself; `c` is read again as an ordinary character.
                self.at -= 1;
                Ok('\\' as u32)
            }
        }
    }

    fn digits_of(&self, radix: u32, at: usize, count: usize) -> Option<u32> {
        let digits = self.chars.get(at..at + count)?;
        digits.iter().try_fold(0, |value, c| Some(value * radix + c.to_digit(radix)?))
    }

    fn hex(&mut self, letter: char, count: usize) -> Parsed<u32> {
        match self.digits_of(16, self.at, count) {
            Some(code) => {
                self.at += count;
                Ok(code)
            }
            None if self.flags.unicode => Err(self.invalid("invalid escape")),
            None => Ok(letter as u32),
        }
    }

    fn unicode_escape(&mut self) -> Parsed<u32> {
        if !self.flags.unicode {
            return self.hex('u', 4);
        }
        if self.eat("{") {
            let from = self.at;
            while self.peek().is_some_and(|c| c.is_ascii_hexdigit()) {
                self.at += 1;
            }
            let digits: String = self.chars[from..self.at].iter().collect();
            let code = u32::from_str_radix(digits.trim_start_matches('0'), 16)
                .or(if digits.is_empty() { Err(()) } else { Ok(0) });
            return match code {
                Ok(code) if code <= 0x10_FFFF && self.eat("}") && digits.len() <= 64 => Ok(code),
                _ => Err(self.invalid("invalid escape")),
            };
        }
        let first = self.hex('u', 4)?;
        let is_low = |code: &u32| (0xDC00..=0xDFFF).contains(code);
        if (0xD800..=0xDBFF).contains(&first)
            && self.looking_at("\\u")
            && let Some(second) = self.digits_of(16, self.at + 2, 4).filter(is_low)
        {
            self.at += 6;
            return Ok(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00));
        }
        Ok(first)
    }

    // `\0`, and without `u` octal numbers up to 377 and the digits 8 and 9 as themselves.
    fn octal(&mut self, first: char) -> Parsed<u32> {
        if self.flags.unicode {
            let alone = first == '0' && !self.peek().is_some_and(|c| c.is_ascii_digit());
            return if alone { Ok(0) } else { Err(self.invalid("invalid escape")) };
        }
        let Some(mut value) = first.to_digit(8) else { return Ok(first as u32) };
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(8)) {
            if value * 8 + digit > 0o377 {
                break;
            }
            value = value * 8 + digit;
            self.at += 1;
        }
        Ok(value)
    }

    fn identity(&mut self, c: char) -> Parsed<u32> {
        let allowed = match self.flags.unicode {
            true => "^$\\.*+?()[]{}|/".contains(c),
            false => c != 'k' || self.declared.names.is_empty(),
        };
        if !allowed {
            return Err(self.invalid("invalid escape"));
        }
        Ok(self.code(c))
    }

    /// The unit or code point that a character of the pattern is.
    pub(super) fn code(&self, c: char) -> u32 {
        if self.flags.unicode { c as u32 } else { charset::code(c) }
    }
}

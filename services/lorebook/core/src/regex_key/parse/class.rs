//! Character classes: `[a-z\d]` and `[^…]`.

use super::{CharSet, Parsed, Parser, charset, escape::Escaped};

enum Item {
    Char(u32),
    Set(CharSet),
}

// === impl Parser ===

impl Parser {
    pub(super) fn class(&mut self) -> Parsed<CharSet> {
        self.at += 1;
        let negated = self.eat("^");
        let mut set = CharSet::empty();
        while !self.eat("]") {
            let first = self.class_item()?;
            if !self.looking_at("-") || self.looking_at("-]") {
                set.union(&self.set_of(first));
                continue;
            }
            self.at += 1;
            let last = self.class_item()?;
            set.union(&self.class_range(first, last)?);
        }
        let set = self.folded(set);
        Ok(if negated { charset::negated(set) } else { set })
    }

    fn class_item(&mut self) -> Parsed<Item> {
        match self.peek() {
            None => Err(self.invalid("unterminated class")),
            Some('\\') => Ok(match self.escape(true)? {
                Escaped::Char(code) => Item::Char(code),
                Escaped::Set(set) => Item::Set(set),
            }),
            Some(c) => {
                self.at += 1;
                Ok(Item::Char(self.code(c)))
            }
        }
    }

    fn class_range(&self, first: Item, last: Item) -> Parsed<CharSet> {
        let (Item::Char(low), Item::Char(high)) = (&first, &last) else {
            if self.flags.unicode {
                return Err(self.invalid("a set cannot bound a range"));
            }
            let mut set = self.set_of(first);
            set.union(&self.set_of(last));
            set.union(&charset::single('-'));
            return Ok(set);
        };
        if low > high {
            return Err(self.invalid("range out of order in a class"));
        }
        if !self.flags.unicode {
            return Ok(charset::unit_range(*low, *high));
        }
        // No text holds lone halves, so a range loses nothing without them.
        let low = char::from_u32(*low).unwrap_or('\u{E000}');
        let high = char::from_u32(*high).unwrap_or('\u{D7FF}');
        Ok(if low <= high { charset::range(low, high) } else { CharSet::empty() })
    }

    fn set_of(&self, item: Item) -> CharSet {
        match item {
            Item::Set(set) => set,
            Item::Char(code) => self.character(code).map_or_else(CharSet::empty, charset::single),
        }
    }
}

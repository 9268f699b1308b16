//! Sets of characters as ECMAScript sees them: UTF-16 units or code points, and their case folding.
//!
//! Without `u` a pattern sees UTF-16 units. A half of a surrogate pair is no `char`, so the 2,048
//! halves live at `HALVES_FIRST..=char::MAX` instead, in patterns (`unit`) and in texts (`units`)
//! alike; no text that went through `units` holds any other character beyond U+FFFF.

use std::{borrow::Cow, collections::BTreeMap, sync::LazyLock};

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

pub type CharSet = ClassUnicode;

const HALVES_FIRST: u32 = 0x10_F800;
const SURROGATES: std::ops::RangeInclusive<u32> = 0xD800..=0xDFFF;

/// The characters that end a line in ECMAScript.
pub const LINE_ENDS: [char; 4] = ['\n', '\r', '\u{2028}', '\u{2029}'];

/// Characters that fold together without `u`: every member of a class of two or more, and its class.
static UNIT_CASES: LazyLock<BTreeMap<char, Vec<char>>> = LazyLock::new(unit_cases);

/// The character that stands for a UTF-16 unit.
pub fn unit(unit: u32) -> char {
    let stands_for = if SURROGATES.contains(&unit) { HALVES_FIRST + unit - 0xD800 } else { unit };
    char::from_u32(stands_for).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The unit that a character of a text of units stands for.
pub fn code(c: char) -> u32 {
    if c as u32 >= HALVES_FIRST { c as u32 - HALVES_FIRST + 0xD800 } else { c as u32 }
}

/// The text as a pattern without `u` sees it.
pub fn units(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte < 0xF0) {
        return Cow::Borrowed(text);
    }
    let mut mapped = String::with_capacity(text.len() + text.len() / 2);
    mapped.extend(text.encode_utf16().map(|half| unit(u32::from(half))));
    Cow::Owned(mapped)
}

pub fn single(c: char) -> CharSet {
    range(c, c)
}

pub fn range(first: char, last: char) -> CharSet {
    CharSet::new([ClassUnicodeRange::new(first, last)])
}

/// All units from `first` to `last`.
pub fn unit_range(first: u32, last: u32) -> CharSet {
    let mut set = CharSet::empty();
    for (low, high) in [(0, 0xD7FF), (0xD800, 0xDFFF), (0xE000, 0xFFFF)] {
        let (low, high) = (first.max(low), last.min(high));
        if low <= high {
            set.union(&range(unit(low), unit(high)));
        }
    }
    set
}

pub fn of(chars: &[char]) -> CharSet {
    CharSet::new(chars.iter().map(|&c| ClassUnicodeRange::new(c, c)))
}

pub fn negated(mut set: CharSet) -> CharSet {
    set.negate();
    set
}

pub fn digits() -> CharSet {
    range('0', '9')
}

/// ASCII letters, digits and `_`; with both `i` and `u` also the two that fold to `s` and `k`.
pub fn words(wide: bool) -> CharSet {
    let mut set = CharSet::new(
        [('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')].map(|(a, z)| ClassUnicodeRange::new(a, z)),
    );
    if wide {
        set.union(&of(&['\u{17F}', '\u{212A}']));
    }
    set
}

pub fn spaces() -> CharSet {
    let mut set = of(&[
        '\t', '\n', '\u{B}', '\u{C}', '\r', ' ', '\u{A0}', '\u{1680}', '\u{2028}', '\u{2029}',
        '\u{202F}', '\u{205F}', '\u{3000}', '\u{FEFF}',
    ]);
    set.union(&range('\u{2000}', '\u{200A}'));
    set
}

/// White space of JavaScript: what `trim` takes off and `\s` matches.
pub fn is_space(c: char) -> bool {
    c != '\u{85}' && (c.is_whitespace() || c == '\u{FEFF}')
}

/// Adds to a set everything that equals one of its members when case is ignored.
pub fn closed_over_case(mut set: CharSet, by_code_point: bool) -> CharSet {
    if by_code_point {
        set.case_fold_simple();
        return set;
    }
    let more: Vec<char> = set
        .ranges()
        .iter()
        .flat_map(|range| UNIT_CASES.range(range.start()..=range.end()))
        .flat_map(|(_, class)| class.iter().copied())
        .collect();
    set.union(&of(&more));
    set
}

/// Whether two characters are equal when case is ignored.
pub fn equal_ignoring_case(a: char, b: char, by_code_point: bool) -> bool {
    if a == b || a.eq_ignore_ascii_case(&b) {
        return true;
    }
    if a.is_ascii() && b.is_ascii() {
        return false;
    }
    if by_code_point {
        return contains(&closed_over_case(single(a), true), b);
    }
    UNIT_CASES.get(&a).is_some_and(|class| class.contains(&b))
}

pub fn contains(set: &CharSet, c: char) -> bool {
    let ranges = set.ranges();
    let at = ranges.partition_point(|range| range.end() < c);
    ranges.get(at).is_some_and(|range| range.start() <= c)
}

/// The one member of a set that has exactly one.
pub fn only_member(set: &CharSet) -> Option<char> {
    match set.ranges() {
        [range] if range.start() == range.end() => Some(range.start()),
        _ => None,
    }
}

// Two units are equal when their upper-case forms are; a form longer than one unit does not count,
// nor one that would turn a character beyond ASCII into an ASCII one.
fn unit_cases() -> BTreeMap<char, Vec<char>> {
    let mut classes: BTreeMap<char, Vec<char>> = BTreeMap::new();
    for c in
        ('\0'..='\u{FFFF}').filter(|c| c.is_alphabetic() || c.to_uppercase().next() != Some(*c))
    {
        classes.entry(upper_unit(c)).or_default().push(c);
    }
    classes.retain(|_, class| class.len() > 1);
    classes
        .into_values()
        .flat_map(|class| class.clone().into_iter().map(move |c| (c, class.clone())))
        .collect()
}

fn upper_unit(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(one), None) if one <= '\u{FFFF}' && (c.is_ascii() || !one.is_ascii()) => one,
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_becomes_two_characters_and_plain_text_is_borrowed() {
        assert!(matches!(units("домой"), Cow::Borrowed(_)));
        assert_eq!(units("😀").chars().count(), 2);
    }

    #[test]
    fn without_u_the_kelvin_sign_is_no_k_and_with_u_it_is() {
        assert!(!equal_ignoring_case('k', '\u{212A}', false));
        assert!(equal_ignoring_case('k', '\u{212A}', true));
        assert!(equal_ignoring_case('Д', 'д', false));
        assert!(contains(&closed_over_case(single('µ'), false), '\u{3BC}'));
    }

    #[test]
    fn next_line_is_no_space_and_the_byte_order_mark_is_one() {
        assert!(!is_space('\u{85}'));
        assert!(is_space('\u{FEFF}'));
        for c in '\0'..='\u{FFFF}' {
            assert_eq!(is_space(c), contains(&spaces(), c), "{c:?}");
        }
    }
}

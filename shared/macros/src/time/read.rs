//! Dates as people write them, to milliseconds since 1970: the ISO forms, and a few plain ones.

use jiff::civil::{Date, DateTime, ISOWeekDate, Weekday};

use crate::text::trim;

/// Reads a date, with or without a time and an offset; without one, the clock is `offset_min` away
/// from UTC. `None` if it is no date.
pub(super) fn read_millis(text: &str, offset_min: i64) -> Option<i64> {
    let text = trim(text);
    let (date, rest) = read_date(text)?;
    let (day_millis, rest) = read_clock(rest)?;
    let offset_min = read_offset(rest.trim_start(), offset_min)?;
    let midnight = DateTime::from_parts(date, jiff::civil::Time::midnight());
    let midnight = jiff::tz::TimeZone::UTC.to_timestamp(midnight).ok()?;
    Some(midnight.as_millisecond() + day_millis - offset_min * 60_000)
}

fn read_date(text: &str) -> Option<(Date, &str)> {
    read_ordinal(text)
        .or_else(|| read_week(text))
        .or_else(|| read_dashed(text))
        .or_else(|| read_compact(text))
        .or_else(|| read_month_first(text))
        .or_else(|| read_named(text))
}

/// `2024`, `2024-03`, `2024-03-05`.
fn read_dashed(text: &str) -> Option<(Date, &str)> {
    let (year, rest) = number(text, 4, 4)?;
    if rest.is_empty() {
        return Some((Date::new(year.try_into().ok()?, 1, 1).ok()?, rest));
    }
    let (month, rest) = number(rest.strip_prefix('-')?, 1, 2)?;
    let day = rest.strip_prefix('-').and_then(|rest| number(rest, 1, 2));
    let (day, rest) = day.unwrap_or((1, rest));
    Some((date(year, month, day)?, rest))
}

/// `20240305`.
fn read_compact(text: &str) -> Option<(Date, &str)> {
    let (digits, rest) = number(text, 8, 8)?;
    Some((date(digits / 10_000, digits / 100 % 100, digits % 100)?, rest))
}

/// `2024-065`: the day of the year.
fn read_ordinal(text: &str) -> Option<(Date, &str)> {
    let (year, rest) = number(text, 4, 4)?;
    let (day, rest) = number(rest.strip_prefix('-')?, 3, 3)?;
    let first = date(year, 1, 1)?;
    let found = first.with().day_of_year(day.try_into().ok()?).build().ok()?;
    Some((found, rest))
}

/// `2024-W10`, `2024-W10-2`: the ISO week and its day.
fn read_week(text: &str) -> Option<(Date, &str)> {
    let (year, rest) = number(text, 4, 4)?;
    let (week, rest) = number(rest.strip_prefix("-W")?, 2, 2)?;
    let day = rest.strip_prefix('-').and_then(|rest| number(rest, 1, 1));
    let (day, rest) = day.unwrap_or((1, rest));
    let weekday = Weekday::from_monday_one_offset(day.try_into().ok()?).ok()?;
    let found = ISOWeekDate::new(year.try_into().ok()?, week.try_into().ok()?, weekday).ok()?;
    Some((found.date(), rest))
}

/// `2024/3/5`, and `3/5/2024`, `3-5-2024`, `3.5.2024` with the month first.
fn read_month_first(text: &str) -> Option<(Date, &str)> {
    let (first, rest) = number(text, 1, 4)?;
    let separator = rest.chars().next().filter(|it| matches!(it, '/' | '-' | '.'))?;
    let (second, rest) = number(rest.strip_prefix(separator)?, 1, 2)?;
    let (third, rest) = number(rest.strip_prefix(separator)?, 1, 4)?;
    let found = if first > 31 { date(first, second, third) } else { date(third, first, second) };
    Some((found?, rest))
}

/// `March 5, 2024`, `5 Mar 2024`, with or without a weekday before.
fn read_named(text: &str) -> Option<(Date, &str)> {
    let mut rest = text;
    let (mut month, mut day, mut year) = (None, None, None);
    while year.is_none() {
        rest = rest.trim_start_matches([' ', ',', '.']);
        if let Some((digits, after)) = number(rest, 1, 4) {
            let place = if day.is_none() { &mut day } else { &mut year };
            *place = Some(digits);
            rest = after.trim_start_matches(|c: char| c.is_ascii_lowercase());
        } else {
            let word = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            let (name, after) = rest.split_at(word);
            month = month.or(month_named(name));
            if name.is_empty() || (month.is_none() && !is_weekday(name)) {
                return None;
            }
            rest = after;
        }
    }
    Some((date(year?, month?, day?)?, rest))
}

/// `T10:30`, ` 10:30:15.250`, ` 10:30 PM`, or nothing: milliseconds of the day.
fn read_clock(text: &str) -> Option<(i64, &str)> {
    let rest = text.trim_start_matches([' ', ',', 'T', 't']);
    if rest.is_empty() {
        return Some((0, rest));
    }
    let (hour, minute, second, rest) = read_digits_of_clock(rest)?;
    let (millis, rest) = read_fraction(rest);
    let (hour, rest) = read_half_day(hour, rest)?;
    let is_clock =
        (hour < 24 && minute < 60 && second < 60) || (hour == 24 && minute + second == 0);
    is_clock.then_some(((hour * 60 + minute) * 60_000 + second * 1_000 + millis, rest))
}

/// `10`, `10:30`, `10:30:15`, `1030`, `103015`.
fn read_digits_of_clock(text: &str) -> Option<(i64, i64, i64, &str)> {
    if let Some((digits, rest)) = number(text, 6, 6) {
        return Some((digits / 10_000, digits / 100 % 100, digits % 100, rest));
    }
    if let Some((digits, rest)) = number(text, 4, 4) {
        return Some((digits / 100, digits % 100, 0, rest));
    }
    let after_colon = |text| match str::strip_prefix(text, ':') {
        Some(rest) => number(rest, 2, 2),
        None => Some((0, text)),
    };
    let (hour, rest) = number(text, 1, 2)?;
    let (minute, rest) = after_colon(rest)?;
    let (second, rest) = after_colon(rest)?;
    Some((hour, minute, second, rest))
}

fn read_fraction(text: &str) -> (i64, &str) {
    let Some(rest) = text.strip_prefix(['.', ',']) else { return (0, text) };
    let length = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = rest.split_at(length);
    let millis = format!("{digits:0<3}")[..3].parse().unwrap_or(0);
    (millis, rest)
}

fn read_half_day(hour: i64, text: &str) -> Option<(i64, &str)> {
    let rest = text.trim_start();
    let is_afternoon = match rest.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("am") => false,
        Some("pm") => true,
        _ => return Some((hour, text)),
    };
    let hour = (1..=12).contains(&hour).then_some(hour % 12)?;
    Some((hour + if is_afternoon { 12 } else { 0 }, &rest[2..]))
}

/// `Z`, `+02:00`, `-0330`, `UTC`, or nothing: minutes.
fn read_offset(text: &str, local_min: i64) -> Option<i64> {
    match text {
        "" => return Some(local_min),
        "Z" | "z" | "UTC" | "GMT" => return Some(0),
        _ => {}
    }
    let text = text.strip_prefix("GMT").or(text.strip_prefix("UTC")).unwrap_or(text);
    let is_west = text.starts_with('-');
    let digits = text.strip_prefix(['+', '-'])?;
    let distance = if let Some((digits, "")) = number(digits, 4, 4) {
        digits / 100 * 60 + digits % 100
    } else {
        let (hours, rest) = number(digits, 2, 2)?;
        let minutes = match rest.strip_prefix(':') {
            Some(rest) => number(rest, 2, 2).filter(|(_, rest)| rest.is_empty())?.0,
            None if rest.is_empty() => 0,
            None => return None,
        };
        hours * 60 + minutes
    };
    Some(if is_west { -distance } else { distance })
}

fn date(year: i64, month: i64, day: i64) -> Option<Date> {
    Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).ok()
}

/// The digits at the beginning, if their number is within bounds.
fn number(text: &str, least: usize, most: usize) -> Option<(i64, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    if length < least || length > most {
        return None;
    }
    Some((text[..length].parse().ok()?, &text[length..]))
}

fn month_named(name: &str) -> Option<i64> {
    const NAMES: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let name = name.to_ascii_lowercase();
    (1..).zip(NAMES).find(|(_, short)| name.starts_with(short)).map(|(month, _)| month)
}

fn is_weekday(name: &str) -> bool {
    const NAMES: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
    NAMES.iter().any(|short| name.to_ascii_lowercase().starts_with(short))
}

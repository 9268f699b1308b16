//! Dates by pattern: the English tokens of moment.js (`YYYY-MM-DD`, `dddd`, `LT`, `[text]`, …).

use jiff::civil::Weekday;

use super::Local;

/// Tokens, longer ones before their beginnings.
const TOKENS: [&str; 81] = [
    "Hmmss",
    "hmmss",
    "Hmm",
    "hmm",
    "Mo",
    "MMMM",
    "MMM",
    "MM",
    "M",
    "Do",
    "DDDo",
    "DDDD",
    "DDD",
    "DD",
    "D",
    "dddd",
    "ddd",
    "dd",
    "do",
    "d",
    "wo",
    "ww",
    "w",
    "Wo",
    "WW",
    "W",
    "Qo",
    "Q",
    "NNNNN",
    "NNNN",
    "NNN",
    "NN",
    "N",
    "YYYYYY",
    "YYYYY",
    "YYYY",
    "YY",
    "yyyy",
    "yyy",
    "yy",
    "yo",
    "y",
    "ggggg",
    "gggg",
    "gg",
    "GGGGG",
    "GGGG",
    "GG",
    "e",
    "E",
    "a",
    "A",
    "hh",
    "h",
    "HH",
    "H",
    "kk",
    "k",
    "mm",
    "m",
    "ss",
    "s",
    "SSSSSSSSS",
    "SSSSSSSS",
    "SSSSSSS",
    "SSSSSS",
    "SSSSS",
    "SSSS",
    "SSS",
    "SS",
    "S",
    "x",
    "X",
    "zz",
    "z",
    "ZZ",
    "Z",
    "Y",
    "LTS",
    "LT",
    "L",
];

/// Patterns that stand for others.
const LONG_FORMS: [(&str, &str); 10] = [
    ("LTS", "h:mm:ss A"),
    ("LT", "h:mm A"),
    ("LLLL", "dddd, MMMM D, YYYY h:mm A"),
    ("LLL", "MMMM D, YYYY h:mm A"),
    ("LL", "MMMM D, YYYY"),
    ("L", "MM/DD/YYYY"),
    ("llll", "ddd, MMM D, YYYY h:mm A"),
    ("lll", "MMM D, YYYY h:mm A"),
    ("ll", "MMM D, YYYY"),
    ("l", "M/D/YYYY"),
];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Renders `local` by a pattern; `None` when the result would exceed `room` bytes.
pub(super) fn format(local: Local, pattern: &str, room: usize) -> Option<String> {
    let mut result = String::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        if result.len() > room {
            return None;
        }
        let taken = if let Some(quoted) = quoted(rest) {
            result.push_str(&rest[1..quoted - 1]);
            quoted
        } else if first == '\\' {
            escaped(rest, &mut result)
        } else if let Some((token, form)) = long_form(rest) {
            result.push_str(&format(local, form, usize::MAX)?);
            token.len()
        } else if let Some(token) = TOKENS.iter().find(|token| rest.starts_with(**token)) {
            result.push_str(&field(local, token));
            token.len()
        } else {
            result.push(first);
            first.len_utf8()
        };
        rest = &rest[taken..];
    }
    (result.len() <= room).then_some(result)
}

/// Bytes of a `[…]` at the beginning.
fn quoted(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('[')?;
    let end = inner.find(['[', ']'])?;
    inner[end..].starts_with(']').then_some(end + 2)
}

/// A backslash goes, and the token after it stays as written.
fn escaped(text: &str, result: &mut String) -> usize {
    let after = &text[1..];
    let long = LONG_FORMS.iter().map(|(token, _)| *token);
    let token = long.chain(TOKENS).find(|token| after.starts_with(token)).unwrap_or_default();
    result.push_str(token);
    1 + token.len()
}

fn long_form(text: &str) -> Option<(&'static str, &'static str)> {
    LONG_FORMS.iter().copied().find(|(token, _)| text.starts_with(token))
}

fn field(local: Local, token: &str) -> String {
    let civil = local.civil;
    let (hour, minute, second) = (civil.hour(), civil.minute(), civil.second());
    let hour_of_12 = if hour % 12 == 0 { 12 } else { hour % 12 };
    let hour_of_24 = if hour == 0 { 24 } else { hour };
    match token {
        "H" => hour.to_string(),
        "HH" => format!("{hour:02}"),
        "h" => hour_of_12.to_string(),
        "hh" => format!("{hour_of_12:02}"),
        "k" => hour_of_24.to_string(),
        "kk" => format!("{hour_of_24:02}"),
        "Hmm" => format!("{hour}{minute:02}"),
        "hmm" => format!("{hour_of_12}{minute:02}"),
        "Hmmss" => format!("{hour}{minute:02}{second:02}"),
        "hmmss" => format!("{hour_of_12}{minute:02}{second:02}"),
        "m" => minute.to_string(),
        "mm" => format!("{minute:02}"),
        "s" => second.to_string(),
        "ss" => format!("{second:02}"),
        "a" => if hour < 12 { "am" } else { "pm" }.to_owned(),
        "A" => if hour < 12 { "AM" } else { "PM" }.to_owned(),
        "x" => local.millis.to_string(),
        "X" => local.millis.div_euclid(1_000).to_string(),
        "Z" => offset(local.offset_min, ":"),
        "ZZ" => offset(local.offset_min, ""),
        "z" => if local.offset_min == 0 { "UTC" } else { "" }.to_owned(),
        "zz" => if local.offset_min == 0 { "Coordinated Universal Time" } else { "" }.to_owned(),
        _ if token.starts_with('S') => fraction(civil.millisecond(), token.len()),
        _ => date_field(local, token),
    }
}

fn date_field(local: Local, token: &str) -> String {
    let date = local.civil.date();
    let (month, day) = (i64::from(date.month()), i64::from(date.day()));
    let day_of_year = i64::from(date.day_of_year());
    let year = i64::from(date.year());
    let weekday = i64::from(date.weekday().to_sunday_zero_offset());
    let month_name = MONTHS.get(usize::from(date.month().unsigned_abs()) - 1).unwrap_or(&"");
    let day_name = weekday_name(date.weekday());
    match token {
        "M" => month.to_string(),
        "Mo" => ordinal(month),
        "MM" => format!("{month:02}"),
        "MMM" => month_name[..3].to_owned(),
        "MMMM" => (*month_name).to_owned(),
        "Q" => quarter(month).to_string(),
        "Qo" => ordinal(quarter(month)),
        "D" => day.to_string(),
        "Do" => ordinal(day),
        "DD" => format!("{day:02}"),
        "DDD" => day_of_year.to_string(),
        "DDDo" => ordinal(day_of_year),
        "DDDD" => format!("{day_of_year:03}"),
        "d" | "e" => weekday.to_string(),
        "do" => ordinal(weekday),
        "dd" => day_name[..2].to_owned(),
        "ddd" => day_name[..3].to_owned(),
        "dddd" => day_name.to_owned(),
        "E" => date.weekday().to_monday_one_offset().to_string(),
        "Y" => {
            if year > 9_999 {
                format!("+{year}")
            } else {
                format!("{year:04}")
            }
        }
        "YY" => format!("{:02}", year.rem_euclid(100)),
        "YYYY" => format!("{year:04}"),
        "YYYYY" => format!("{year:05}"),
        "YYYYYY" => format!("{year:+07}"),
        "y" => year.to_string(),
        "yy" => format!("{year:02}"),
        "yyy" => format!("{year:03}"),
        "yyyy" => format!("{year:04}"),
        "yo" => ordinal(year),
        "N" | "NN" | "NNN" => if year > 0 { "AD" } else { "BC" }.to_owned(),
        "NNNN" => if year > 0 { "Anno Domini" } else { "Before Christ" }.to_owned(),
        "NNNNN" => if year > 0 { "AD" } else { "BC" }.to_owned(),
        _ => week_field(local, token),
    }
}

/// Weeks: `w` and `g` begin on Sunday and hold 1 January, `W` and `G` are the ISO ones.
fn week_field(local: Local, token: &str) -> String {
    let date = local.civil.date();
    let iso = date.iso_week_date();
    let (iso_week, iso_year) = (i64::from(iso.week()), i64::from(iso.year()));
    let (week, week_year) = local_week(date);
    match token {
        "w" => week.to_string(),
        "wo" => ordinal(week),
        "ww" => format!("{week:02}"),
        "W" => iso_week.to_string(),
        "Wo" => ordinal(iso_week),
        "WW" => format!("{iso_week:02}"),
        "gg" => format!("{:02}", week_year.rem_euclid(100)),
        "gggg" => format!("{week_year:04}"),
        "ggggg" => format!("{week_year:05}"),
        "GG" => format!("{:02}", iso_year.rem_euclid(100)),
        "GGGG" => format!("{iso_year:04}"),
        "GGGGG" => format!("{iso_year:05}"),
        other => other.to_owned(),
    }
}

fn local_week(date: jiff::civil::Date) -> (i64, i64) {
    let year = i64::from(date.year());
    let day = i64::from(date.day_of_year()) - 1;
    let weekday = i64::from(date.weekday().to_sunday_zero_offset());
    let first_weekday = (weekday - day).rem_euclid(7);
    let days_in_year = i64::from(date.days_in_year());
    let next_first_weekday = (first_weekday + days_in_year).rem_euclid(7);
    if day + next_first_weekday >= days_in_year {
        return (1, year + 1);
    }
    ((day + first_weekday) / 7 + 1, year)
}

fn weekday_name(weekday: Weekday) -> &'static str {
    let place = usize::from(weekday.to_sunday_zero_offset().unsigned_abs());
    WEEKDAYS.get(place).copied().unwrap_or_default()
}

fn quarter(month: i64) -> i64 {
    (month + 2) / 3
}

fn ordinal(number: i64) -> String {
    let ending = match (number % 100 / 10, number % 10) {
        (1, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

fn offset(minutes: i64, separator: &str) -> String {
    let sign = if minutes < 0 { '-' } else { '+' };
    let minutes = minutes.unsigned_abs();
    format!("{sign}{:02}{separator}{:02}", minutes / 60, minutes % 60)
}

/// The first digits of the second's fraction; milliseconds are all there is.
fn fraction(millis: i16, digits: usize) -> String {
    let all = format!("{millis:03}000000");
    all[..digits.min(all.len())].to_owned()
}

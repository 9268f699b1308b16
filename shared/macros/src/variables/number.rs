//! Numbers as JavaScript reads and writes them.

use crate::text::trim;

/// A text's number: white space around it is fine, nothing is 0; `None` where JavaScript has NaN.
pub(crate) fn read_number(text: &str) -> Option<f64> {
    let text = trim(text);
    if text.is_empty() {
        return Some(0.0);
    }
    let prefix = text.get(..2).map(str::to_ascii_lowercase);
    match prefix.as_deref() {
        Some("0x") => return read_digits(&text[2..], 16),
        Some("0o") => return read_digits(&text[2..], 8),
        Some("0b") => return read_digits(&text[2..], 2),
        _ => {}
    }
    match text {
        "Infinity" | "+Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ if is_decimal(text) => text.parse().ok(),
        _ => None,
    }
}

/// The shortest digits that read back the same, with JavaScript's bounds for exponents.
pub(crate) fn write_number(number: f64) -> String {
    if !number.is_finite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if number == 0.0 {
        return "0".to_owned();
    }
    let shortest = format!("{number:e}");
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-6..21).contains(&exponent) { number.to_string() } else { scientific(mantissa, exponent) }
}

fn scientific(mantissa: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{}", exponent.unsigned_abs())
}

fn read_digits(digits: &str, radix: u32) -> Option<f64> {
    if digits.is_empty() {
        return None;
    }
    digits.chars().try_fold(0.0, |sum, digit| {
        Some(sum * f64::from(radix) + f64::from(digit.to_digit(radix)?))
    })
}

/// Digits with an optional sign, point and exponent.
fn is_decimal(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let exponent_is_good = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && are_digits(digits)
    });
    exponent_is_good
        && are_digits(whole)
        && are_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, written: Option<&str>) {
        assert_eq!(read_number(text).map(write_number).as_deref(), written, "{text:?}");
    }

    #[test]
    fn numbers_read_and_write_as_in_javascript() {
        check("007", Some("7"));
        check(" 1.50 ", Some("1.5"));
        check("", Some("0"));
        check("-0", Some("0"));
        check(".5", Some("0.5"));
        check("5.", Some("5"));
        check(".", None);
        check("1e3", Some("1000"));
        check("1e21", Some("1e+21"));
        check("123456789012345680000", Some("123456789012345680000"));
        check("0.000001", Some("0.000001"));
        check("0.00000012", Some("1.2e-7"));
        check("0x1F", Some("31"));
        check("0b12", None);
        check("-0x1", None);
        check("Infinity", Some("Infinity"));
        check("infinity", None);
        check("NaN", None);
        check("1_000", None);
        check("1e999", Some("Infinity"));
        check("0.1", Some("0.1"));
    }
}

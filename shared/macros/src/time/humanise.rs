//! Spans of time in words: `a few seconds`, `in 3 days`, `2 years ago`.

/// A span's size in words. Milliseconds; the sign does not matter.
pub(super) fn humanise(millis: i64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "words are coarser than a double")]
    let millis = millis.unsigned_abs() as f64;
    let seconds = (millis / 1e3).round();
    let minutes = (millis / 6e4).round();
    let hours = (millis / 3.6e6).round();
    let days = (millis / 8.64e7).round();
    // A month is a twelfth of the Gregorian calendar's mean year.
    let exact_months = millis / 8.64e7 * 4800.0 / 146_097.0;
    let months = exact_months.round();
    let years = (exact_months / 12.0).round();
    match () {
        () if seconds <= 44.0 => "a few seconds".to_owned(),
        () if minutes <= 1.0 => "a minute".to_owned(),
        () if minutes < 45.0 => format!("{minutes} minutes"),
        () if hours <= 1.0 => "an hour".to_owned(),
        () if hours < 22.0 => format!("{hours} hours"),
        () if days <= 1.0 => "a day".to_owned(),
        () if days < 26.0 => format!("{days} days"),
        () if months <= 1.0 => "a month".to_owned(),
        () if months < 11.0 => format!("{months} months"),
        () if years <= 1.0 => "a year".to_owned(),
        () => format!("{years} years"),
    }
}

/// With its direction: positive spans lie ahead.
pub(super) fn humanise_signed(millis: i64) -> String {
    let size = humanise(millis);
    if millis > 0 { format!("in {size}") } else { format!("{size} ago") }
}

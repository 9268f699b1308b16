//! Clock, calendar and spans of time, in English and in the caller's time zone.

mod format;
mod humanise;
mod read;

use std::borrow::Cow;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use kernel::Timestamp;

use crate::expand::{Evaluator, Value};
use crate::expansion::Code;
use crate::parse::Macro;
use crate::table::Id;

/// A moment as a clock at some distance from UTC shows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Local {
    pub civil: DateTime,
    pub offset_min: i64,
    pub millis: i64,
}

pub(crate) fn evaluate<'e>(
    evaluator: &mut Evaluator<'_, 'e>,
    id: Id,
    arguments: &[&str],
    one: &Macro,
) -> Result<Value<'e>, Code> {
    let environment = evaluator.environment;
    let argument = |place: usize| arguments.get(place).copied().unwrap_or_default();
    let here = i64::from(environment.utc_offset_min);
    let now = |offset_min: i64, pattern: &str| {
        let room = evaluator.bytes_left();
        format::format(Local::at(environment.now, offset_min), pattern, room)
            .map(Cow::Owned)
            .ok_or(Code::MacroOutputLimit)
    };
    match id {
        Id::Time => now(named_offset(argument(0)).unwrap_or(here), "LT"),
        Id::Date => now(here, "LL"),
        Id::Weekday => now(here, "dddd"),
        Id::IsoTime => now(here, "HH:mm"),
        Id::IsoDate => now(here, "YYYY-MM-DD"),
        // Without a pattern, the ISO form with its offset.
        Id::DateTimeFormat if argument(0).is_empty() => now(here, "YYYY-MM-DDTHH:mm:ssZ"),
        Id::DateTimeFormat => now(here, argument(0)),
        Id::IdleDuration => Ok(idle_duration(evaluator)),
        _ => Ok(difference(evaluator, argument(0), argument(1), one)),
    }
}

/// `UTC+2` in minutes. Numbers below 16 are hours, others minutes.
fn named_offset(text: &str) -> Option<i64> {
    let number = text.strip_prefix("UTC").filter(|rest| rest.starts_with(['+', '-']))?;
    if !number[1..].bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: i64 = number.parse().ok()?;
    Some(if number.abs() < 16 { number * 60 } else { number })
}

/// Since the last message of the user's before the newest message.
fn idle_duration<'e>(evaluator: &Evaluator<'_, 'e>) -> Value<'e> {
    let environment = evaluator.environment;
    let visible = environment.chat.iter().rev().filter(|line| !line.is_hidden);
    let asked = visible.skip(1).find(|line| line.is_user).and_then(|line| line.at);
    let Some(asked) = asked else { return Cow::Borrowed("just now") };
    Cow::Owned(humanise::humanise(environment.now.millis().saturating_sub(asked.millis())))
}

fn difference<'e>(
    evaluator: &mut Evaluator<'_, 'e>,
    left: &str,
    right: &str,
    one: &Macro,
) -> Value<'e> {
    let offset_min = i64::from(evaluator.environment.utc_offset_min);
    let read = |text: &str| read::read_millis(text, offset_min);
    let (Some(left), Some(right)) = (read(left), read(right)) else {
        evaluator.diagnose(Code::MacroValueInvalid, one);
        return Cow::Borrowed("Invalid date");
    };
    Cow::Owned(humanise::humanise_signed(left.saturating_sub(right)))
}

// === impl Local ===

impl Local {
    /// Moments beyond the calendar's end are taken as its end.
    fn at(now: Timestamp, offset_min: i64) -> Self {
        let shifted = now.micros().saturating_add(offset_min.saturating_mul(60_000_000));
        let end = if shifted < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX };
        let moment = jiff::Timestamp::from_microsecond(shifted).unwrap_or(end);
        let civil = TimeZone::UTC.to_datetime(moment);
        Self { civil, offset_min, millis: now.millis() }
    }
}

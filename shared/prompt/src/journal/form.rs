//! The written form of one item, version 1: tags, attributes, stamps and the lines that name an actor.

use std::{borrow::Cow, fmt::Write as _};

use kernel::name::DYNAMIC_HEADING;

use crate::{
    escape,
    item::{Message, Section, Stamp, Voice},
    message::Role,
};

/// Stands for a summary whose source was taken back.
const WITHDRAWN_LINE: &str = "Earlier conversation withdrawn.";

/// One section tag. `placed` shows where it lies; the standing document does not need it.
pub(crate) fn section(
    out: &mut String,
    section: &Section,
    placed: bool,
    text: Option<Cow<'_, str>>,
) {
    let _ = write!(out, "<section key=\"{}\"", escape::attribute(&section.key));
    if placed {
        let _ = write!(out, " at=\"@{}\"", section.offset);
    }
    if let Some(earlier) = section.supersedes {
        let _ = write!(out, " supersedes=\"@{earlier}\"");
    }
    let Some(text) = text else {
        out.push_str(" withdrawn=\"true\"></section>");
        return;
    };
    let profile = section.profile.as_ref();
    if let Some(profile) = profile.filter(|profile| profile.role != Role::System) {
        let _ = write!(out, " role=\"{}\"", profile.role.name());
    }
    let dynamic = profile.is_some_and(|profile| profile.dynamic);
    out.push_str(">\n");
    if dynamic {
        let _ = writeln!(out, "{DYNAMIC_HEADING}");
    }
    let _ = write!(out, "{text}\n</section>");
}

/// A message as its voice speaks.
pub(crate) fn message(message: &Message, text: Option<Cow<'_, str>>) -> String {
    match (message.voice.wrapper(), text) {
        (Some((class, author)), Some(text)) => {
            let (class, by) = (class.name(), author.name());
            format!("<authored class=\"{class}\" by=\"{by}\">{text}</authored>")
        }
        (_, text) => bare_message(message, text),
    }
}

/// A message without wrapper; what agents and tools add still begins with the line that names them.
pub(crate) fn bare_message(message: &Message, text: Option<Cow<'_, str>>) -> String {
    let Some(text) = text else { return WITHDRAWN_LINE.to_owned() };
    let offset = message.offset;
    match &message.voice {
        Voice::Fact { tier, actor } if tier.names_its_actor() => {
            format!("@{offset} actor={}\n{text}", escape::attribute(actor))
        }
        Voice::ToolRequested { name } => {
            format!("@{offset} tool={} requested\n{text}", escape::attribute(name))
        }
        Voice::ToolSettled { run, took_ms } => {
            format!("@{offset} tool run @{run} settled after {}\n{text}", duration(*took_ms))
        }
        _ => text.into_owned(),
    }
}

/// The line of one request.
pub(crate) fn stamp(stamp: &Stamp) -> String {
    format!("Requested at: {}", stamp.at.to_rfc3339_seconds())
}

/// Whole seconds, rounded before minutes are split: 179.7 s is 3m (seeds-notes 3.6).
fn duration(took_ms: i64) -> String {
    let seconds = (took_ms.max(0) + 500) / 1_000;
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, 0) => format!("{minutes}m"),
        (minutes, seconds) => format!("{minutes}m {seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(took_ms: i64, expected: &str) {
        assert_eq!(duration(took_ms), expected);
    }

    #[test]
    fn a_duration_is_rounded_before_its_minutes_are_split() {
        check(0, "0s");
        check(1_499, "1s");
        check(59_600, "1m");
        check(179_700, "3m");
        check(3_661_000, "61m 1s");
        check(-5, "0s");
    }
}

//! Refusals as `google.rpc.Status`: one small constructor for each kind, fixing code, reason and details together.
//!
//! Every status has an `ErrorInfo` with the domain `skald`; the other details as they fit (60-platform's table).
//! A server maps its errors in one match with these and nothing else.

use std::{collections::HashMap, error::Error, fmt, time::Duration};

use kernel::{
    Clock as _, SystemClock,
    limits::{REFUSAL_LIST_BYTES_MAX, REFUSAL_TEXT_BYTES_MAX},
};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};
use wire::common::v1::Reason;

use crate::database::{Failure, failure};

/// The domain of every reason.
pub const DOMAIN: &str = "skald";

/// A status in the making, for the refusals that carry more than the constructors below.
#[derive(Debug, Clone)]
#[must_use]
pub struct Refusal {
    code: Code,
    message: String,
    details: ErrorDetails,
    /// What is listed already, in bytes, and how many more would not fit.
    listed: usize,
    omitted: usize,
}

/// INVALID_ARGUMENT: `field` is malformed, and `why` goes on after its name: "is empty".
pub fn invalid(field: impl Into<String>, why: impl fmt::Display) -> Status {
    let (field, why) = (field.into(), why.to_string());
    Refusal::new(Reason::FieldInvalid, format!("{field} {why}")).field(field, why).into()
}

/// NOT_FOUND: absent or not the caller's; the two are the same status, byte for byte.
pub fn not_found(kind: &str, id: &str) -> Status {
    Refusal::new(Reason::NotFound, format!("{kind} {id} not found")).resource(kind, id, "").into()
}

/// FAILED_PRECONDITION: a rule refused. `subject` is what it is about.
pub fn precondition(reason: Reason, subject: &str, why: impl Into<String>) -> Status {
    let why = why.into();
    Refusal::new(reason, why.clone()).precondition(reason, subject, why).into()
}

/// ABORTED: a revision moved; read again, decide again.
pub fn aborted(reason: Reason, kind: &str, id: &str, why: impl Into<String>) -> Status {
    let why = why.into();
    Refusal::new(reason, why.clone()).resource(kind, id, why).into()
}

/// ALREADY_EXISTS: the same id came with different content.
pub fn already_exists(reason: Reason, kind: &str, id: &str, why: impl Into<String>) -> Status {
    let why = why.into();
    Refusal::new(reason, why.clone()).resource(kind, id, why).into()
}

/// RESOURCE_EXHAUSTED: `field` has `value` characters, bytes or whatever `unit` names, where the limit is `limit`.
pub fn over(field: &str, value: usize, unit: &str, limit: usize) -> Status {
    let why = format!("{field} has {value} {unit}, at most {limit} are allowed");
    limit_told(field, why, limit as u64).fact("value", value.to_string()).into()
}

/// RESOURCE_EXHAUSTED in words of its own, which name the place, what was found there, and the limit.
pub fn limit_told(field: &str, why: impl Into<String>, limit: u64) -> Refusal {
    let why = why.into();
    let refusal = Refusal::new(Reason::LimitExceeded, why.clone()).quota(field, why);
    refusal.fact("limit", limit.to_string())
}

/// RESOURCE_EXHAUSTED: too much is waiting; nothing happened.
pub fn overloaded(why: impl Into<String>, retry_after: Duration) -> Status {
    Refusal::new(Reason::Overloaded, why).retry_after(retry_after).into()
}

/// UNAVAILABLE: the store is away; nothing happened.
pub fn store_unavailable(error: &dyn Error) -> Status {
    tracing::warn!(error = chain(error), "the store is unavailable");
    Refusal::new(Reason::StoreUnavailable, "the store is unavailable").retry_after(RETRY).into()
}

/// A statement that failed: UNAVAILABLE where the store is away or busy, DATA_LOSS where it is damaged, else INTERNAL.
/// Conflicts and taken keys are a store's own to decide; here they are mistakes.
pub fn store(error: &sqlx::Error) -> Status {
    match failure(error) {
        Failure::Unavailable => store_unavailable(error),
        Failure::Corrupt => data_loss("store", "database", error.to_string()),
        Failure::Conflict | Failure::Taken | Failure::Bug => internal(error),
    }
}

/// UNAVAILABLE: another service is away; nothing happened.
pub fn peer_unavailable(why: impl Into<String>) -> Status {
    Refusal::new(Reason::PeerUnavailable, why).retry_after(RETRY).into()
}

/// UNAVAILABLE: the answer was cut off; the retry with the same request id tells what happened.
pub fn interrupted(why: impl Into<String>) -> Status {
    Refusal::new(Reason::Interrupted, why).retry_after(RETRY).into()
}

/// PERMISSION_DENIED: the resource is the caller's, a scope is missing. Never for hidden features.
pub fn scope_missing(scope: kernel::Scope) -> Status {
    let why = format!("the token lacks the scope {}", scope.name());
    Refusal::new(Reason::ScopeMissing, why).into()
}

/// UNAUTHENTICATED: no token, or not one of this server's.
pub fn unauthenticated(why: impl Into<String>) -> Status {
    Refusal::new(Reason::TokenInvalid, why).into()
}

/// DEADLINE_EXCEEDED: the retry with the same request id tells what happened.
pub fn deadline_exceeded() -> Status {
    Refusal::new(Reason::Deadline, "the deadline passed").into()
}

/// DATA_LOSS: stored bytes are not what was written; `place` is the first bad one.
pub fn data_loss(kind: &str, id: &str, place: impl Into<String>) -> Status {
    let place = place.into();
    tracing::error!(kind, id, place, "stored bytes do not match their hash");
    let message = format!("{kind} {id}: stored bytes do not match their hash: {place}");
    Refusal::new(Reason::ChainBroken, message).resource(kind, id, place).into()
}

/// INTERNAL: a bug. Logged here, once, under the id that the status names; the cause stays in the log.
pub fn internal(error: &dyn Error) -> Status {
    let id = SystemClock.fresh();
    tracing::error!(%id, error = chain(error), "internal error");
    Refusal::new(Reason::Internal, format!("internal error {id}")).into()
}

/// The reason that a status names, where it is one of ours.
pub fn reason(status: &Status) -> Option<Reason> {
    let details = status.get_error_details();
    let info = details.error_info().filter(|info| info.domain == DOMAIN)?;
    Reason::from_str_name(&format!("REASON_{}", info.reason))
}

/// What a client waits before it asks again, where nothing better is known.
const RETRY: Duration = Duration::from_secs(1);

/// A message as terminals, logs and headers can take it: control characters are escaped, and the middle of a long one,
/// which often repeats what was given, is left out.
fn plain(message: &str) -> String {
    let escaped = message.chars().map(|c| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    });
    let escaped: String = escaped.collect();
    if escaped.len() <= REFUSAL_TEXT_BYTES_MAX {
        return escaped;
    }
    let half = REFUSAL_TEXT_BYTES_MAX / 2 - '…'.len_utf8();
    let head = &escaped[..escaped.floor_char_boundary(half)];
    let tail = &escaped[escaped.ceil_char_boundary(escaped.len() - half)..];
    format!("{head}…{tail}")
}

/// An error and its sources in one line, for the log.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        // Some errors have told their cause already.
        if !text.ends_with(&words) {
            text = format!("{text}: {words}");
        }
        source = cause.source();
    }
    text
}

/// The code that goes with a reason: the headings of `Reason` in common.proto.
fn code(reason: Reason) -> Code {
    match reason as i32 {
        1..=9 => Code::InvalidArgument,
        10 => Code::Unauthenticated,
        11..=19 => Code::PermissionDenied,
        20..=29 => Code::NotFound,
        30..=39 => Code::AlreadyExists,
        40..=69 => Code::FailedPrecondition,
        70..=79 => Code::Aborted,
        80..=89 => Code::ResourceExhausted,
        90 | 91 | 95 => Code::Unavailable,
        92 => Code::DeadlineExceeded,
        93 => Code::DataLoss,
        _ => Code::Internal,
    }
}

// === impl Refusal ===

impl Refusal {
    /// The reason decides the code.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        let name = reason.as_str_name();
        let name = name.strip_prefix("REASON_").unwrap_or(name);
        let details = ErrorDetails::with_error_info(name, DOMAIN, HashMap::new());
        Self { code: code(reason), message: message.into(), details, listed: 0, omitted: 0 }
    }

    /// A field and what is wrong with it; once for each.
    pub fn field(mut self, field: impl Into<String>, why: impl Into<String>) -> Self {
        let (field, why) = (plain(&field.into()), plain(&why.into()));
        if self.has_room(field.len() + why.len()) {
            self.details.add_bad_request_violation(field, why);
        }
        self
    }

    /// A rule that refused, and what it is about; once for each.
    pub fn precondition(mut self, rule: Reason, subject: &str, why: impl Into<String>) -> Self {
        let name = rule.as_str_name();
        let name = name.strip_prefix("REASON_").unwrap_or(name);
        let (subject, why) = (plain(subject), plain(&why.into()));
        if self.has_room(name.len() + subject.len() + why.len()) {
            self.details.add_precondition_failure_violation(name, subject, why);
        }
        self
    }

    pub fn resource(mut self, kind: &str, id: &str, why: impl Into<String>) -> Self {
        self.details.set_resource_info(kind, plain(id), "", plain(&why.into()));
        self
    }

    pub fn quota(mut self, subject: &str, why: impl Into<String>) -> Self {
        self.details.add_quota_failure_violation(plain(subject), plain(&why.into()));
        self
    }

    pub fn retry_after(mut self, delay: Duration) -> Self {
        self.details.set_retry_info(Some(delay));
        self
    }

    /// A figure or name behind the message, for programs.
    pub fn fact(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Some(info) = self.details.error_info() {
            let (reason, mut facts) = (info.reason.clone(), info.metadata.clone());
            facts.insert(name.into(), value.into());
            self.details.set_error_info(reason, DOMAIN, facts);
        }
        self
    }

    fn has_room(&mut self, bytes: usize) -> bool {
        let has_room = self.listed + bytes <= REFUSAL_LIST_BYTES_MAX;
        match has_room {
            true => self.listed += bytes,
            false => self.omitted += 1,
        }
        has_room
    }
}

impl From<Refusal> for Status {
    fn from(mut refusal: Refusal) -> Status {
        if refusal.omitted > 0 {
            let omitted = refusal.omitted.to_string();
            refusal = refusal.fact("omitted", omitted);
        }
        Status::with_error_details(refusal.code, plain(&refusal.message), refusal.details)
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;
    use prost_types::{FileDescriptorProto, FileDescriptorSet};

    use super::*;

    fn common() -> FileDescriptorProto {
        let set = FileDescriptorSet::decode(wire::DESCRIPTORS).expect("a descriptor set");
        let name = "skald/common/v1/common.proto";
        set.file.into_iter().find(|file| file.name() == name).expect("the file of reasons")
    }

    /// The code that the comment above a reason begins with; one comment may head several.
    fn documented(file: &FileDescriptorProto, at: usize) -> Option<String> {
        let reasons = file.enum_type.iter().position(|found| found.name() == "Reason")?;
        let path = [5, i32::try_from(reasons).ok()?, 2, i32::try_from(at).ok()?];
        let places = &file.source_code_info.as_ref()?.location;
        let comment = places.iter().find(|place| place.path == path)?.leading_comments();
        comment.trim().split(':').next().filter(|head| !head.is_empty()).map(str::to_owned)
    }

    fn upper_snake(code: Code) -> String {
        let mut name = String::new();
        for letter in format!("{code:?}").chars() {
            if letter.is_uppercase() && !name.is_empty() {
                name.push('_');
            }
            name.push(letter.to_ascii_uppercase());
        }
        name
    }

    #[test]
    fn every_reason_has_the_code_that_its_documentation_names() {
        let file = common();
        let values = &file.enum_type.iter().find(|found| found.name() == "Reason");
        let mut head = None;
        for (at, value) in values.expect("reasons").value.iter().enumerate().skip(1) {
            head = documented(&file, at).or(head);
            let reason = Reason::try_from(value.number()).expect("generated from the same file");
            assert_eq!(Some(upper_snake(code(reason))), head, "{}", value.name());
        }
    }

    #[test]
    fn a_malformed_field_is_named() {
        let status = invalid("page_size", "is negative");
        assert_eq!(
            (status.code(), status.message()),
            (Code::InvalidArgument, "page_size is negative")
        );
        let details = status.get_error_details();
        let violation = &details.bad_request().expect("a bad request").field_violations[0];
        assert_eq!(
            (violation.field.as_str(), violation.description.as_str()),
            ("page_size", "is negative")
        );
        assert_eq!(reason(&status), Some(Reason::FieldInvalid));
    }

    #[test]
    fn no_message_carries_a_control_character() {
        let status = invalid("name\u{1b}[31m", "is\nforged");
        assert_eq!(status.message(), "name\\u{1b}[31m is\\nforged");
        let details = status.get_error_details();
        let violation = &details.bad_request().expect("a bad request").field_violations[0];
        let told = (violation.field.as_str(), violation.description.as_str());
        assert_eq!(told, ("name\\u{1b}[31m", "is\\nforged"));
    }

    #[test]
    fn what_was_given_is_told_as_far_as_headers_go() {
        let given = "龙".repeat(1_000_000);
        let status = invalid("role", format!("is {given:?}, not user"));
        let told = status.message();
        assert!(told.len() <= REFUSAL_TEXT_BYTES_MAX, "{} bytes", told.len());
        assert!(told.starts_with("role is \"龙") && told.ends_with("龙\", not user"), "{told}");

        let rows = (0..10_000).fold(Refusal::new(Reason::UndoConflict, given), |refusal, row| {
            refusal.precondition(Reason::UndoConflict, &format!("entry/{row}"), "was edited")
        });
        let status = Status::from(rows);
        let details = status.get_error_details();
        let listed = details.precondition_failure().expect("a failure").violations.len();
        let omitted = &details.error_info().expect("an info").metadata["omitted"];
        assert_eq!(listed + omitted.parse::<usize>().expect("a number"), 10_000);
        assert!(listed > 50, "{listed} rows are listed");
        assert!(status.details().len() < 8 * 1_024, "{} bytes", status.details().len());
    }

    #[test]
    fn a_reason_is_told_without_its_prefix_and_with_our_domain() {
        let status = precondition(Reason::ProviderNotConfigured, "session/a", "no provider");
        let details = status.get_error_details();
        let info = details.error_info().expect("an error info");
        assert_eq!(
            (info.reason.as_str(), info.domain.as_str()),
            ("PROVIDER_NOT_CONFIGURED", "skald")
        );
        let violation = &details.precondition_failure().expect("a failure").violations[0];
        assert_eq!(violation.r#type, "PROVIDER_NOT_CONFIGURED");
    }

    #[test]
    fn absent_and_foreign_resources_are_the_same_status() {
        let (absent, foreign) = (not_found("session", "a"), not_found("session", "a"));
        assert_eq!(absent.details(), foreign.details());
        assert_eq!(absent.message(), foreign.message());
    }

    #[test]
    fn an_internal_error_keeps_its_cause_to_itself() {
        let cause = std::io::Error::other("password is 123");
        let status = internal(&cause);
        assert!(!status.message().contains("password"), "{}", status.message());
        assert_eq!(status.code(), Code::Internal);
    }

    #[test]
    fn facts_are_told_beside_the_reason() {
        let refusal = Refusal::new(Reason::HeadMoved, "the head moved").fact("head", "7");
        let status = Status::from(refusal);
        assert_eq!(status.code(), Code::Aborted);
        let details = status.get_error_details();
        assert_eq!(details.error_info().expect("an info").metadata["head"], "7");
    }
}

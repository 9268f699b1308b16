//! Errors become statuses, in one place.

use host::status::{
    Refusal, aborted, data_loss, internal, invalid, limit_told, not_found, over, precondition,
    store,
};
use kernel::{
    SessionId, TemplateId,
    limits::{
        IMPORT_BYTES_MAX, MESSAGE_BYTES_MAX, USER_DESCRIPTION_CHARS_MAX, USER_NAME_CHARS_MAX,
    },
};
use loader_core::{
    compile::CompileError,
    diagnostic::Diagnostic,
    format::{FormatError, LimitExceeded, Unusable},
    selection::Part,
    user::InvalidUser,
};
use tonic::Status;
use wire::common::v1::Reason;

use crate::{
    error::Error,
    store::{StoreError, WriteError},
};

/// Sessions that a refusal names.
const NAMED_MAX: usize = 20;

pub fn status(error: Error) -> Status {
    match error {
        Error::Store(error) => store_status(error),
        Error::Write(error) => write_status(error),
        Error::Format(error) => format_status(error),
        // Only an edit finds out here: its user is made of what is given and what is there.
        Error::User(error) => user_status("user.", error),
        Error::NotFound { kind, id } => not_found(kind, &id),
        Error::CardForm { asked, container } => {
            let (asked, container) = (asked.name(), container.name());
            invalid("format", format!("is {asked}, but the card came as {container}"))
        }
        Error::TemplateRunning(sessions) => running(Reason::TemplateAgentRunning, &sessions),
        Error::TemplateDangling { template, dangling } => template_dangling(&template, &dangling),
        Error::WorldImmutable(ref world) => {
            let subject = format!("world/{world}");
            precondition(Reason::WorldImmutable, &subject, error.to_string())
        }
        Error::ExportTooLarge { bytes } => over("file", bytes, "bytes", IMPORT_BYTES_MAX),
        Error::Compile(CompileError::ProfileTooLarge { bytes, max }) => {
            let message = CompileError::ProfileTooLarge { bytes, max }.to_string();
            let refusal = Refusal::new(Reason::TavernProfileTooLarge, message);
            let refusal = refusal.fact("actual_bytes", bytes.to_string());
            refusal.fact("max_bytes", max.to_string()).into()
        }
        Error::ScanTooLarge { bytes } => {
            over("messages", bytes, "bytes with the card's texts", MESSAGE_BYTES_MAX)
        }
        Error::Peer(status) => *status,
        Error::PeerAnswer(_) | Error::Task(_) => internal(&error),
    }
}

fn store_status(error: StoreError) -> Status {
    match error {
        StoreError::Unavailable(error) => store(&error),
        StoreError::Inconsistent { table, problem } => data_loss("table", table, problem),
        StoreError::Damaged { kind, id, problem } => data_loss(kind, &id, problem),
    }
}

fn write_status(error: WriteError) -> Status {
    match error {
        WriteError::Store(error) => store_status(error),
        WriteError::RequestIdReused(error) => error.into(),
        WriteError::NotFound { kind, id } => not_found(kind, &id),
        WriteError::EtagMismatch { kind, id } => {
            aborted(Reason::EtagMismatch, kind, &id, "the etag is not the present one")
        }
        WriteError::Full { what, max } => over("owner", max + 1, what, max),
        WriteError::Running { part, sessions } => running(part_running(part), &sessions),
    }
}

/// `within` is where the user lies in its request: nothing, or its field with a dot.
pub fn user_status(within: &str, error: InvalidUser) -> Status {
    let (name, description) = (format!("{within}name"), format!("{within}description"));
    match error {
        InvalidUser::NameEmpty => invalid(name, "is empty"),
        InvalidUser::NameControl => invalid(name, "has a control character"),
        InvalidUser::NameTooLong(chars) => over(&name, chars, "characters", USER_NAME_CHARS_MAX),
        InvalidUser::DescriptionTooLong(chars) => {
            over(&description, chars, "characters", USER_DESCRIPTION_CHARS_MAX)
        }
    }
}

fn format_status(error: FormatError) -> Status {
    match error {
        FormatError::Limit(error) => {
            let message = error.to_string();
            let LimitExceeded { place, limit, .. } = error;
            limit_told(&place, message, limit as u64).into()
        }
        FormatError::Unusable(error) => {
            let message = error.to_string();
            let Unusable { place, reason } = error;
            Refusal::new(Reason::FileUnusable, message).field(place, reason).into()
        }
    }
}

fn template_dangling(template: &TemplateId, dangling: &[Diagnostic]) -> Status {
    const REASON: Reason = Reason::TemplateDangling;
    let gone = |said: &Diagnostic| format!("{} {}", said.code.name(), said.place);
    let all: Vec<_> = dangling.iter().map(gone).collect();
    let message = format!("template {template} names what is gone: {}", all.join(", "));
    let name = |refusal: Refusal, said: &Diagnostic| {
        refusal.precondition(REASON, &said.place, said.code.name())
    };
    dangling.iter().fold(Refusal::new(REASON, message), name).into()
}

const fn part_running(part: Part) -> Reason {
    match part {
        Part::Preset => Reason::PresetAgentRunning,
        Part::Character => Reason::CharacterAgentRunning,
        Part::User => Reason::UserAgentRunning,
        Part::Worlds => Reason::WorldBookAgentRunning,
    }
}

fn running(reason: Reason, sessions: &[SessionId]) -> Status {
    let named: Vec<&str> = sessions.iter().take(NAMED_MAX).map(SessionId::as_str).collect();
    let message = format!("{} sessions are running: {}", sessions.len(), named.join(", "));
    let refusal = Refusal::new(reason, message);
    let name = |refusal: Refusal, session: &&str| {
        refusal.precondition(reason, &format!("session/{session}"), "a generation is running")
    };
    named.iter().fold(refusal, name).into()
}

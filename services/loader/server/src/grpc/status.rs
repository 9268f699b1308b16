//! Errors become statuses, in one place.

use host::status::{
    Refusal, aborted, data_loss, internal, invalid, limit_told, not_found, over, store,
};
use kernel::{
    SessionId,
    limits::{IMPORT_BYTES_MAX, MESSAGE_BYTES_MAX},
};
use loader_core::{
    compile::CompileError,
    format::{FormatError, LimitExceeded, Unusable},
    selection::Part,
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
        Error::NotFound { kind, id } => not_found(kind, &id),
        Error::CardForm { asked, container } => {
            let (asked, container) = (asked.name(), container.name());
            invalid("format", format!("is {asked}, but the card came as {container}"))
        }
        Error::ExportTooLarge { bytes } => {
            limit_exceeded("file", bytes as u64, IMPORT_BYTES_MAX as u64)
        }
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
        WriteError::Full { what, max } => limit_exceeded(what, max as u64 + 1, max as u64),
        WriteError::Running { part, sessions } => running(part, &sessions),
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

fn running(part: Part, sessions: &[SessionId]) -> Status {
    let reason = match part {
        Part::Preset => Reason::PresetAgentRunning,
        Part::Character => Reason::CharacterAgentRunning,
        Part::User => Reason::UserAgentRunning,
        Part::Worlds => Reason::WorldBookAgentRunning,
    };
    let named: Vec<&str> = sessions.iter().take(NAMED_MAX).map(SessionId::as_str).collect();
    let message = format!("{} sessions are running: {}", sessions.len(), named.join(", "));
    let refusal = Refusal::new(reason, message);
    let name = |refusal: Refusal, session: &&str| {
        refusal.precondition(reason, &format!("session/{session}"), "a generation is running")
    };
    named.iter().fold(refusal, name).into()
}

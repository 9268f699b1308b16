//! Errors become statuses: here, last, in one match.

use std::time::Duration;

use host::status::{
    aborted, chain, data_loss, internal, interrupted, invalid, limit_told, not_found, overloaded,
    precondition, scope_missing, store_unavailable,
};
use kernel::Scope;
use ledger_core::Rejection;
use tonic::{Code, Status};
use wire::common::v1::Reason;

use crate::{error::Error, store::StoreError};

/// What a writer waits before it asks again.
const RETRY: Duration = Duration::from_millis(250);

pub(crate) fn status(error: Error) -> Status {
    status_of("turn", error)
}

/// As [`status`], for a request that names the turn it writes otherwise.
pub(super) fn status_of(turn: &str, error: Error) -> Status {
    match error {
        Error::Invalid { field, why } => invalid(field, why),
        Error::NotFound { kind, id } => not_found(kind, &id),
        Error::RequestIdReused(reused) => reused.into(),
        Error::ProviderNotConfigured(name) => precondition(
            Reason::ProviderNotConfigured,
            &name,
            if name.is_empty() {
                "the session names no model provider".to_owned()
            } else {
                format!("no model provider named {name:?} is configured")
            },
        ),
        Error::HeadMoved { expected, found } => aborted(
            Reason::HeadMoved,
            "session",
            "",
            format!("the head is {found}, not {expected}: read again, decide again"),
        ),
        Error::Rejected(rejection) => rejected(turn, rejection),
        Error::LeaseLost => {
            precondition(Reason::LeaseLost, "lease", "the lease is held by a newer attempt")
        }
        Error::GenerationInProgress => in_progress(""),
        Error::Peer(status) => peer(status),
        Error::Interrupted => interrupted(error.to_string()),
        Error::Overloaded => overloaded("too many writes are waiting", RETRY),
        Error::Damaged { session, damage } => {
            data_loss("session", session.as_str(), damage.to_string())
        }
        Error::Unreadable { session, fault } => {
            data_loss("session", session.as_str(), chain(&fault))
        }
        Error::Inconsistent { session, fault } => {
            data_loss("session", session.as_str(), fault.to_string())
        }
        Error::Store(StoreError::Contended) => overloaded("too many writers of one session", RETRY),
        Error::Store(error @ StoreError::Unavailable(_)) => store(error),
        Error::Store(StoreError::Damaged { ref session, .. }) => {
            data_loss("session", session.as_str(), error.to_string())
        }
        Error::Store(StoreError::Inconsistent { table, problem }) => {
            data_loss("table", table, problem)
        }
        Error::Internal(_) => internal(&error),
    }
}

/// A store that is away is told from a mistake of ours.
fn store(error: StoreError) -> Status {
    use host::database::{Failure, failure};
    let StoreError::Unavailable(cause) = &error else { return internal(&error) };
    match failure(cause) {
        Failure::Unavailable | Failure::Conflict => store_unavailable(&error),
        Failure::Corrupt => data_loss("store", "ledger", cause.to_string()),
        Failure::Taken | Failure::Bug => internal(&error),
    }
}

/// A peer's refusal is the caller's; a peer that is away, or that failed, is not.
fn peer(status: Status) -> Status {
    match status.code() {
        Code::Unavailable => host::status::peer_unavailable("the loader is unavailable"),
        Code::Unimplemented | Code::Unauthenticated | Code::Unknown => internal(&status),
        _ => status,
    }
}

fn in_progress(generation: &str) -> Status {
    let why = "a generation of this session is running";
    precondition(Reason::GenerationInProgress, generation, why)
}

/// `turn` is the field of the request that holds the turn to write.
fn rejected(turn: &str, rejection: Rejection) -> Status {
    let why = rejection.to_string();
    let within = |field: &str| format!("{turn}.{field}");
    match rejection {
        Rejection::SessionAbsent => not_found("session", ""),
        Rejection::TurnUnknown(seq) => not_found("turn", &seq.to_string()),
        Rejection::AlternativeUnknown => not_found("alternative", ""),
        Rejection::AuthorNotInjectable => {
            host::status::Refusal::new(Reason::AuthorNotInjectable, why.clone())
                .field(within("author"), why)
                .into()
        }
        Rejection::ScopeMissing(name) => match Scope::from_name(name) {
            Some(scope) => scope_missing(scope),
            None => internal(&Rejection::ScopeMissing(name)),
        },
        Rejection::TierMayNotKey(_) => invalid("key", why),
        Rejection::KeyReserved(key) => precondition(Reason::KeyReserved, &key, why),
        Rejection::ClassNotAllowed { .. } => invalid(within("turn_class"), why),
        Rejection::VisibleToNobody | Rejection::MemoryUnseen => invalid(within("visibility"), why),
        Rejection::ImportIneligible => invalid(within("effects"), why),
        Rejection::ClaimedInFuture { latest, .. } => {
            invalid(within("claimed_time"), format!("lies after {latest}"))
        }
        Rejection::GenerationInProgress(generation) => in_progress(generation.as_str()),
        Rejection::GenerationClosed(generation) => {
            precondition(Reason::LeaseLost, generation.as_str(), why)
        }
        Rejection::FenceOutdated { .. } => precondition(Reason::LeaseLost, "generation", why),
        Rejection::AssistantFirstUnsupported => {
            precondition(Reason::AssistantFirstUnsupported, turn, why)
        }
        Rejection::KeyOwned { key, .. } => precondition(Reason::KeyOwned, &key, why),
        Rejection::RevisionMoved { .. } | Rejection::TurnRetracted(_) => {
            precondition(Reason::TurnRevisionMoved, "turn", why)
        }
        Rejection::Limit { name, max, .. } => limit_told(name, why, max as u64).into(),
        // Rules of verbs that no RPC of this surface reaches.
        rejection @ (Rejection::KeyUnknown(_)
        | Rejection::MessageUnknown(_)
        | Rejection::MessageOwned { .. }
        | Rejection::NotTailSlot
        | Rejection::NoReply(_)
        | Rejection::AlternativeSelected
        | Rejection::TurnInSummary(_)
        | Rejection::SummaryUnknown(_)
        | Rejection::ToolRunNotOpen(_)
        | Rejection::ForkPointInvalid(_)) => internal(&rejection),
        // Answered where they arise, by the saga that creates and by the window that trims; and bugs.
        rejection @ (Rejection::SessionExists
        | Rejection::RangeEmpty(_)
        | Rejection::Inconsistent(_)) => internal(&rejection),
    }
}

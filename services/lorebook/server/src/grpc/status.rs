//! Errors become statuses, in one place.

use host::status::{
    Refusal, aborted, already_exists, data_loss, internal, invalid, limit_told, not_found, over,
    overloaded, precondition, store,
};
use kernel::limits;
use lorebook_core::{
    change::{self, RevertRefused},
    edit::EditRefused,
    import::{ImportError, StructureError},
};
use std::time::Duration;
use tonic::Status;
use wire::common::v1::Reason;

use crate::{
    error::Error,
    store::{ApplyError, CreateError, EditError, ResetError, RevertError, StoreError, UpdateError},
};

/// Rows that a refusal names.
const NAMED_MAX: usize = 50;
const RETRY_AFTER: Duration = Duration::from_millis(200);

pub fn status(error: Error) -> Status {
    match error {
        Error::NotFound { kind, id } => not_found(kind, &id),
        Error::Limit { field, value, limit } => over(&field, value, "bytes", limit),
        Error::Import(error) => unusable(error),
        Error::Create(id, error) => create(id.as_str(), error),
        Error::Update(id, error) => update(id.as_str(), error),
        Error::Edit(id, error) => edit(id.as_str(), error),
        Error::Export(error) => invalid("view", error.to_string()),
        Error::Apply(id, error) => apply(id.as_str(), error),
        Error::Revert(id, error) => revert(id.as_str(), error),
        Error::Reset(id, error) => reset(id.as_str(), error),
        Error::Store(error) => stored(error),
        Error::Task(error) => internal(&error),
    }
}

fn unusable(error: ImportError) -> Status {
    let message = error.to_string();
    match error {
        ImportError::Structure(StructureError::Syntax { message: why }) => {
            Refusal::new(Reason::FileUnusable, message).field("file", why).into()
        }
        ImportError::Structure(broken) => {
            let (place, limit) = (broken.path().unwrap_or("file"), broken.limit());
            limit_told(place, message, limit.unwrap_or_default() as u64).into()
        }
        ImportError::Shape { path, .. } => {
            Refusal::new(Reason::FileUnusable, message.clone()).field(path, message).into()
        }
        ImportError::Unrecognised | ImportError::Picture => {
            Refusal::new(Reason::FileUnusable, message.clone()).field("$", message).into()
        }
    }
}

fn create(world: &str, error: CreateError) -> Status {
    match error {
        CreateError::Deleted => not_found("world", world),
        CreateError::Store(error) => stored(error),
    }
}

fn update(world: &str, error: UpdateError) -> Status {
    match error {
        UpdateError::NotFound => not_found("world", world),
        UpdateError::Immutable => {
            let subject = format!("world/{world}");
            precondition(Reason::WorldImmutable, &subject, error.to_string())
        }
        UpdateError::EtagMismatch { live, .. } => {
            let why = format!("world {world} changed: its etag is {live}");
            aborted(Reason::EtagMismatch, "world", world, why)
        }
        UpdateError::Store(error) => stored(error),
    }
}

fn edit(world: &str, error: EditError) -> Status {
    let message = error.to_string();
    match error {
        EditError::NotFound => not_found("world", world),
        EditError::Refused(EditRefused::Embedded) => {
            precondition(Reason::WorldImmutable, &format!("world/{world}"), message)
        }
        EditError::Refused(EditRefused::Unknown(id)) => not_found("entry", id.as_str()),
        EditError::Refused(EditRefused::EtagMismatch { id, .. }) => {
            aborted(Reason::EtagMismatch, "entry", id.as_str(), message)
        }
        EditError::Refused(EditRefused::TooLarge { bytes, .. }) => {
            let refusal = limit_told("entry", message, limits::ENTRY_BYTES_MAX as u64);
            refusal.fact("value", bytes.to_string()).into()
        }
        EditError::Refused(EditRefused::WorldFull) => world_full(message),
        EditError::Store(error) => stored(error),
    }
}

fn world_full(message: String) -> Status {
    limit_told("entries", message, limits::BOOK_ENTRIES_MAX as u64).into()
}

fn apply(change: &str, error: ApplyError) -> Status {
    let message = error.to_string();
    match error {
        ApplyError::NotFound => not_found("change", change),
        ApplyError::IdReused => already_exists(Reason::ChangeIdReused, "change", change, message),
        ApplyError::Closed => {
            precondition(Reason::ChangeClosed, &format!("change/{change}"), message)
        }
        ApplyError::Stale { base, live } => Refusal::new(Reason::StaleRevision, message)
            .fact("base_revision", base.to_string())
            .fact("live_revision", live.to_string())
            .into(),
        ApplyError::Refused(refusal) => refused(refusal),
        ApplyError::Store(error) => stored(error),
    }
}

fn refused(refusal: change::Refusal) -> Status {
    use change::Refusal as Refused;
    let message = refusal.to_string();
    match refusal {
        Refused::Embedded => precondition(Reason::WorldImmutable, "world", message),
        Refused::Empty => invalid("operations", "is empty"),
        Refused::TooMany { count } => {
            over("operations", count, "operations", limits::CHANGE_OPERATIONS_MAX)
        }
        Refused::WorldFull => world_full(message),
        Refused::Operations(rejected) => {
            let name = |refusal: Refusal, one: &change::Rejected| {
                let subject = format!("operations[{}]", one.index);
                let why = format!("{}: {}", one.reason.code(), one.reason);
                refusal.precondition(Reason::OperationsInvalid, &subject, why)
            };
            let refusal = Refusal::new(Reason::OperationsInvalid, message);
            rejected.iter().fold(refusal, name).into()
        }
    }
}

fn revert(id: &str, error: RevertError) -> Status {
    let message = error.to_string();
    match error {
        RevertError::NotFound => not_found("change", id),
        RevertError::Refused(RevertRefused::AlreadyReverted | RevertRefused::NothingToRevert) => {
            precondition(Reason::NotRevertible, &format!("change/{id}"), message)
        }
        RevertError::Refused(RevertRefused::Conflict(rows)) => {
            let name = |refusal: Refusal, row: &change::Conflict| {
                let subject = format!("entry/{}", row.entry);
                let fields = row.fields.join(", ");
                let why = if fields.is_empty() {
                    row.why.to_owned()
                } else {
                    format!("{}: {fields}", row.why)
                };
                refusal.precondition(Reason::UndoConflict, &subject, why)
            };
            let refusal = Refusal::new(Reason::UndoConflict, message);
            rows.iter().take(NAMED_MAX).fold(refusal, name).into()
        }
        RevertError::Store(error) => stored(error),
    }
}

fn reset(world: &str, error: ResetError) -> Status {
    match error {
        ResetError::NotFound => not_found("world", world),
        ResetError::Nothing(error) => {
            precondition(Reason::NotRevertible, &format!("world/{world}"), error.to_string())
        }
        ResetError::Store(error) => stored(error),
    }
}

fn stored(error: StoreError) -> Status {
    match error {
        StoreError::Reused(error) => error.into(),
        StoreError::Database(error) => store(&error),
        StoreError::Raced => overloaded("other writes were first, again and again", RETRY_AFTER),
        StoreError::Unreadable { kind, id, source } => data_loss(kind, &id, source.to_string()),
    }
}

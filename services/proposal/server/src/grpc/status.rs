//! Every error becomes a status here, in one match.

use host::{
    database::Failure,
    status::{self, Refusal},
};
use kernel::limits;
use proposal_core::Stage;
use tonic::Status;
use wire::common::v1::Reason;

use crate::{error::Error, store::StoreError};

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        let why = error.to_string();
        match error {
            Error::ChangesetNotFound(id) => status::not_found("changeset", id.as_str()),
            Error::EvaluationNotFound(session, turn_seq) => {
                status::not_found("evaluation", &format!("{session}/{turn_seq}"))
            }
            Error::WrongStage(id, Stage::Applying) => {
                status::precondition(Reason::ApplyInProgress, id.as_str(), why)
            }
            Error::WrongStage(id, found) => {
                let refusal = Refusal::new(Reason::ChangesetState, why.clone());
                let refusal = refusal.precondition(Reason::ChangesetState, id.as_str(), why);
                refusal.fact("state", found.name()).into()
            }
            Error::EtagMismatch(id, _) => {
                status::aborted(Reason::EtagMismatch, "changeset", id.as_str(), why)
            }
            Error::NoOperations => status::invalid("operations", "is empty"),
            Error::TooManyOperations(over) => status::invalid("operations", over.to_string()),
            Error::OverCap { index, over } => {
                status::invalid(format!("operations[{index}]"), over.to_string())
            }
            Error::SummaryTooLong { chars } => {
                let limit = limits::CHANGE_NOTE_CHARS_MAX;
                status::invalid(
                    "summary",
                    format!("has {chars} characters, at most {limit} are allowed"),
                )
            }
            Error::OperationsInvalid(id, problems) => {
                let refusal = Refusal::new(Reason::OperationsInvalid, why);
                let told = problems.into_iter().fold(refusal, |refusal, (index, problem)| {
                    let subject = format!("changeset {id} operations[{index}]");
                    refusal.precondition(Reason::OperationsInvalid, &subject, problem)
                });
                told.into()
            }
            Error::StaleRevision { world, base, now } => {
                let refusal = Refusal::new(Reason::StaleRevision, why.clone());
                let refusal = refusal.resource("world", world.as_str(), why);
                let refusal = refusal.fact("base_revision", base.to_string());
                let now = now.map_or_else(String::new, |now| now.to_string());
                refusal.fact("content_revision", now).into()
            }
            Error::Reused(reused) => reused.into(),
            Error::Store(error) => of_store(&error),
            Error::Lorebook(status) => *status,
            Error::Contended(_) => status::overloaded(why, std::time::Duration::from_secs(1)),
        }
    }
}

fn of_store(error: &StoreError) -> Status {
    match error.failure() {
        Failure::Unavailable | Failure::Conflict => status::store_unavailable(error),
        Failure::Corrupt => status::data_loss("database", "proposal", error.to_string()),
        Failure::Taken | Failure::Bug => status::internal(error),
    }
}

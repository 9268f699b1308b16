//! Every error becomes a status here, in one match.

use host::{
    database::Failure,
    status::{self, Refusal},
};
use kernel::{ChangesetId, limits};
use proposal_core::{Stage, operation::OverCap};
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
            Error::WrongStage(id, found) => wrong_state(&id, found.name(), why),
            Error::Reverted(id) => wrong_state(&id, "REVERTED", why),
            Error::HistoryGone(id) => status::precondition(Reason::NotRevertible, id.as_str(), why),
            Error::EtagMismatch(id, _) => {
                status::aborted(Reason::EtagMismatch, "changeset", id.as_str(), why)
            }
            Error::NoOperations => status::invalid("operations", "is empty"),
            Error::TooManyOperations(cap) => over_cap("", cap),
            Error::OverCap { index, over } => over_cap(&format!("operations[{index}]."), over),
            Error::SummaryTooLong { chars } => {
                status::over("summary", chars, "characters", limits::CHANGE_NOTE_CHARS_MAX)
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
        }
    }
}

fn over_cap(within: &str, cap: OverCap) -> Status {
    let (name, found, unit, most) = match cap {
        OverCap::Operations { count } => {
            ("operations", count, "operations", limits::CHANGE_OPERATIONS_MAX)
        }
        OverCap::Name { chars } => ("name", chars, "characters", limits::CHANGE_NAME_CHARS_MAX),
        OverCap::Content { bytes } => ("content", bytes, "bytes", limits::CHANGE_CONTENT_BYTES_MAX),
        OverCap::Keywords { count } => ("keywords", count, "keywords", limits::CHANGE_KEYWORDS_MAX),
        OverCap::Keyword { at, chars } => {
            let field = format!("{within}keywords[{at}]");
            return status::over(&field, chars, "characters", limits::CHANGE_KEYWORD_CHARS_MAX);
        }
        OverCap::Rationale { chars } => {
            ("rationale", chars, "characters", limits::CHANGE_NOTE_CHARS_MAX)
        }
    };
    status::over(&format!("{within}{name}"), found, unit, most)
}

/// A decision that came too late, with the state that it found.
fn wrong_state(id: &ChangesetId, found: &str, why: String) -> Status {
    let refusal = Refusal::new(Reason::ChangesetState, why.clone());
    let refusal = refusal.precondition(Reason::ChangesetState, id.as_str(), why);
    refusal.fact("state", found).into()
}

fn of_store(error: &StoreError) -> Status {
    match error.failure() {
        Failure::Unavailable | Failure::Conflict => status::store_unavailable(error),
        Failure::Corrupt => status::data_loss("database", "proposal", status::chain(error)),
        Failure::Taken | Failure::Bug => status::internal(error),
    }
}

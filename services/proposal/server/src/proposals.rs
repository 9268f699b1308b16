//! Reading changesets and deciding on them: load, decide in memory, store the next version.

mod apply;
mod decide;
mod read;

use std::sync::Arc;

use host::{
    caller::Caller,
    idempotency::{Answer, Scope, decide as decide_answer},
};
use kernel::{ChangesetId, Clock, Digest, RequestId};
use proposal_core::{Changeset, Operation};
use wire::common::v1::Omission;

use crate::{error::Error, lore::Lore, store::Store};

/// The full names of the methods that answer a request id.
pub(crate) mod method {
    pub const UPDATE: &str = "skald.proposal.v1.ChangesetService/UpdateChangeset";
    pub const APPLY: &str = "skald.proposal.v1.ChangesetService/ApplyChangeset";
    pub const REJECT: &str = "skald.proposal.v1.ChangesetService/RejectChangeset";
    pub const UNDO: &str = "skald.proposal.v1.ChangesetService/UndoChangeset";
}

pub(crate) struct Proposals {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    lore: Lore,
}

/// One attempt of one caller at one decision.
pub(crate) struct Call<'a> {
    pub caller: &'a Caller,
    pub scope: Scope,
    /// The hash of the request without its id.
    pub request: Digest,
}

/// What a decision answers, now or again.
pub(crate) struct Answered<T> {
    pub value: T,
    pub replayed: bool,
}

/// What a person writes over a proposal.
#[derive(Debug, Clone)]
pub(crate) struct Edit {
    pub operations: Vec<Operation>,
    pub summary: Option<String>,
}

/// A changeset next to the world as it stands.
pub(crate) struct Shown {
    pub changeset: Changeset,
    /// Why a pending one can no longer be applied.
    pub stale: Option<String>,
    /// An applied one that the world's History has taken back.
    pub reverted: bool,
    /// Beside the changeset's operations, in their order; empty where nothing is known.
    pub operations: Vec<ShownOperation>,
}

/// What an operation is about, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ShownOperation {
    pub current_name: String,
    pub current_content: String,
    pub diff: String,
    pub problem: String,
    /// What lorebook had no room for.
    pub left_out: Vec<Omission>,
}

/// Times that a decision is made anew because another one came first.
const ATTEMPTS_MAX: usize = 8;

// === impl Proposals ===

impl Proposals {
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, lore: Lore) -> Self {
        Self { store, clock, lore }
    }

    /// For a call that named none.
    pub fn fresh_request_id(&self) -> RequestId {
        RequestId::from(self.clock.fresh())
    }

    async fn load(&self, caller: &Caller, id: &ChangesetId) -> Result<Changeset, Error> {
        let found = self.store.changeset(&caller.principal.owner, id).await?;
        found.ok_or_else(|| Error::ChangesetNotFound(id.clone()))
    }

    /// The reference of the answer that this call was given before.
    async fn answered(&self, call: &Call<'_>) -> Result<Option<String>, Error> {
        let stored = self.store.answer(&call.scope).await?;
        let reference = decide_answer(stored, &call.scope, &call.request)?;
        Ok(reference.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }
}

// === impl Call ===

impl Call<'_> {
    fn answer(&self, reference: &str) -> Answer {
        Answer { request: self.request, reference: reference.as_bytes().to_vec() }
    }
}

/// The etag of a changeset is its version.
fn check_etag(changeset: &Changeset, given: &str) -> Result<(), Error> {
    let present = changeset.version.to_string();
    match given.is_empty() || given == present {
        true => Ok(()),
        false => Err(Error::EtagMismatch(changeset.id.clone(), present)),
    }
}

//! Reading changesets and deciding on them: load, decide in memory, store the next version.

mod apply;
mod decide;
mod read;

use std::sync::Arc;

use futures::future::BoxFuture;
use host::{
    caller::Caller,
    idempotency::{Answer, Scope, decide as decide_answer},
};
use kernel::{ChangesetId, Clock, Digest, RequestId};
use proposal_core::{Application, Changeset, Judged, Operation, Stage};

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
    /// The changeset's operations beside what they meet, or met; empty where that is not known.
    pub operations: Vec<Judged>,
}

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

    /// The version that a call has made of a changeset, and whether it had been made before.
    ///
    /// `attempt` loads, decides and stores; it gives nothing when another decision was stored meanwhile, and is
    /// made again: somebody got on with each round, so the rounds are no more than the decisions. A refusal is
    /// told unless a twin of the call was answered: what the twin did is then the very reason for it.
    async fn decided<'a>(
        &'a self,
        call: &'a Call<'a>,
        id: &'a ChangesetId,
        attempt: impl Fn() -> BoxFuture<'a, Result<Option<Changeset>, Error>> + Send,
    ) -> Result<Answered<Changeset>, Error> {
        let mut refusal = None;
        loop {
            if self.answered(call).await?.is_some() {
                let value = self.load(call.caller, id).await?;
                return Ok(Answered { value, replayed: true });
            }
            if let Some(refusal) = refusal {
                return Err(self.as_seen(call.caller, refusal).await?);
            }
            match attempt().await {
                Ok(Some(value)) => return Ok(Answered { value, replayed: false }),
                Ok(None) => {}
                Err(error) => refusal = Some(error),
            }
        }
    }

    /// The refusal in the words of what the person sees: an applied changeset may have been taken back.
    async fn as_seen(&self, caller: &Caller, error: Error) -> Result<Error, Error> {
        let Error::WrongStage(id, Stage::Applied) = &error else { return Ok(error) };
        let found = self.load(caller, id).await?;
        match self.is_reverted(caller, &found).await? {
            true => Ok(Error::Reverted(id.clone())),
            false => Ok(error),
        }
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
    /// Whether this call, or a twin of it, began the application.
    fn has_begun(&self, application: &Application) -> bool {
        application.request_id == *self.scope.request_id() && application.request == self.request
    }

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

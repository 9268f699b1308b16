//! Decide and append: the one way in which events come to be.
//!
//! Writers of this process line up; a race that is lost to another process is loaded and decided again. A
//! request id that was answered meanwhile is left to the caller, who looks the answer up.

use std::time::Duration;

use host::caller::Caller;
use kernel::{Owner, RequestId, SessionId, limits};
use ledger_core::{Actor, Decision, Envelope, Lease, State, Verb, decide};
use tokio::time::Instant;

use super::{Ledger, actor_of, load::Loaded};
use crate::{
    attempt::{Attempt, Entry},
    error::{Error, Result},
    store::{
        Append, AppendError, GenerationLease, GenerationWrite, JobLease, NewJob, RequestRow,
        StoreError,
    },
};

pub(super) const RACES_WITHIN: Duration = Duration::from_millis(limits::APPEND_RACES_MS);

/// Who writes, as the ledger sees it.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    pub owner: Owner,
    pub actor: Actor,
    pub scopes: std::collections::BTreeSet<kernel::Scope>,
    pub request_id: Option<RequestId>,
    /// The head that the caller expects, if it does.
    pub expected_head: Option<u64>,
}

/// What lands in the same transaction as the events.
#[derive(Debug, Default)]
pub(super) struct Beside {
    pub request: Option<RequestRow>,
    pub texts: Vec<(kernel::Digest, String)>,
    pub jobs: Vec<NewJob>,
    pub answer: Option<Entry>,
    pub finished: Option<JobLease>,
}

// === impl Writer ===

impl Writer {
    pub(super) fn of(caller: &Caller, request_id: Option<RequestId>) -> Self {
        Self {
            owner: caller.principal.owner.clone(),
            actor: actor_of(caller),
            scopes: caller.principal.scopes.clone(),
            request_id,
            expected_head: None,
        }
    }
}

// === impl Ledger ===

impl Ledger {
    /// Decides a verb on the session as it stands and appends what it decided.
    pub(super) async fn write<V: Verb + Clone>(
        &self,
        writer: &Writer,
        session: &SessionId,
        verb: V,
        beside: impl Fn(&Decision<V::Outcome>) -> Result<Beside>,
    ) -> std::result::Result<Decision<V::Outcome>, WriteError> {
        let _line = self.inner.lines.stand(&writer.owner.tenant, session).await;
        let until = Instant::now() + RACES_WITHIN;
        loop {
            let Loaded { state, row } = self.load(&writer.owner, session).await?;
            if let Some(expected) = writer.expected_head.filter(|expected| *expected != row.head) {
                return Err(Error::HeadMoved { expected, found: row.head }.into());
            }
            let envelope = self.envelope(writer, session, &state).await?;
            let decision = decide(&state, &envelope, verb.clone()).map_err(Error::from)?;
            let beside = beside(&decision)?;
            match self.append(&writer.owner, session, &state, &decision, beside).await {
                Ok(()) => return Ok(decision),
                Err(AppendError::HeadMoved) if Instant::now() < until => {}
                Err(AppendError::Answered) => return Err(WriteError::Answered),
                Err(other) => return Err(Error::from(other).into()),
            }
        }
    }

    /// The stored answer to an attempt that did not write, or why it did not. A twin of the attempt may
    /// have come first, and what it wrote is then the very reason for the refusal.
    pub(super) async fn or_answered(
        &self,
        attempt: &Attempt,
        error: WriteError,
    ) -> Result<Vec<u8>> {
        let error = match error {
            WriteError::Answered => Error::Store(StoreError::Contended),
            WriteError::Failed(error) => error,
        };
        self.answered(attempt).await?.ok_or(error)
    }

    /// Appends what was decided on `before`, and keeps the state that it leads to.
    pub(super) async fn append<T>(
        &self,
        owner: &Owner,
        session: &SessionId,
        before: &State,
        decision: &Decision<T>,
        beside: Beside,
    ) -> std::result::Result<(), AppendError> {
        let queues = !beside.jobs.is_empty();
        let settles = beside.finished.is_some();
        let append = Append {
            generation: generation_write(before, &decision.state),
            request: beside.request,
            texts: beside.texts,
            jobs: beside.jobs,
            answer: beside.answer,
            finished: beside.finished,
            ..Append::to(owner, session).with(decision.events.iter().cloned(), &decision.state)
        };
        let is_empty = append.events.is_empty() && append.answer.is_none() && !settles;
        if !is_empty {
            self.store().append(append).await?;
        }
        self.inner.states.put(owner, session, decision.state.clone().into());
        if queues {
            self.inner.board.queued.notify_waiters();
        }
        if settles {
            self.inner.board.settled.notify_waiters();
        }
        Ok(())
    }

    pub(super) async fn envelope(
        &self,
        writer: &Writer,
        session: &SessionId,
        state: &State,
    ) -> Result<Envelope> {
        Ok(Envelope {
            now: self.now(),
            actor: writer.actor.clone(),
            scopes: writer.scopes.clone(),
            request_id: writer.request_id.clone(),
            entropy: self.entropy(),
            lease: self.lease_of(&writer.owner, session, state).await?,
        })
    }

    /// Whether the owner of the session's open generation is alive.
    pub(super) async fn lease_of(
        &self,
        owner: &Owner,
        session: &SessionId,
        state: &State,
    ) -> Result<Lease> {
        if state.generation().is_none() {
            return Ok(Lease::Alive);
        }
        let row = self.store().running(owner, session).await?;
        Ok(if row.is_some_and(|row| row.dead) { Lease::Expired } else { Lease::Alive })
    }
}

/// Why a write did not happen.
#[derive(Debug)]
pub(super) enum WriteError {
    /// The request id has an answer by now: look it up.
    Answered,
    Failed(Error),
}

impl From<Error> for WriteError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// What the step from one state to the next does to the generation's row.
fn generation_write(before: &State, after: &State) -> GenerationWrite {
    let lease = |generation: &ledger_core::state::Generation| GenerationLease {
        generation: generation.id.clone(),
        reply_seq: generation.slot.unwrap_or(0),
        fence: generation.fence,
        lease_ms: limits::GENERATION_LEASE_MS,
    };
    match (before.generation(), after.generation()) {
        (None, None) => GenerationWrite::Untouched,
        (None, Some(new)) => GenerationWrite::Open(lease(new)),
        (Some(old), None) => {
            GenerationWrite::Close { generation: old.id.clone(), fence: old.fence }
        }
        (Some(old), Some(new)) if old.id != new.id => GenerationWrite::Replace {
            generation: old.id.clone(),
            fence: old.fence,
            lease: lease(new),
        },
        (Some(old), Some(new)) if old.fence != new.fence => {
            GenerationWrite::TakeOver { lease: lease(new), seen_fence: old.fence }
        }
        (Some(_), Some(_)) => GenerationWrite::Untouched,
    }
}

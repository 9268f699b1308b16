//! A reply from its first compile to its last frame: one task, whoever listens.
//!
//! Durable commits of a turn: the message with the generation's start (made by the caller of this),
//! the loader's lease, segments with the stamp, the completion with its queued evaluation, the lease's
//! release; the evaluation adds its lease, its staging and its completion.

mod compile;
mod evaluation;
mod request;
mod speak;
mod tokens;

use std::{future::Future, sync::Arc, time::Duration};

use host::{caller::Caller, status::chain};
use kernel::{Owner, SessionId, limits};
use ledger_core::{
    Decision, Verb,
    decide::{Fail, Started},
    event::Failure,
};
use tokio::time::Instant;
use tonic::Code;
use wire::{ledger::v1 as pb, mesh::v1 as mesh_pb};

use super::{
    Ledger,
    append::{Beside, WriteError, Writer},
    frames::Frame,
    turns,
};
use crate::{
    board::Run,
    error::{Error, Result},
    grpc::status,
};

/// One attempt at a reply.
pub(super) struct Reply {
    pub ledger: Ledger,
    pub caller: Caller,
    pub session: SessionId,
    pub started: Started,
    pub sampling: Option<pb::Sampling>,
    pub run: Arc<Run>,
    /// The generation ends here, whatever its provider and the store do.
    pub deadline: Instant,
}

/// The first wait for a store that is away, and the longest; each is twice the one before.
const STORE_WAIT: Duration = Duration::from_millis(100);
const STORE_WAIT_MAX: Duration = Duration::from_secs(2);

/// Why an attempt left no reply.
pub(super) struct Stopped {
    failure: Failure,
    detail: String,
    partial: String,
}

/// Takes the run off the board however its task ends.
struct OffBoard<'a>(&'a Reply);

impl Drop for OffBoard<'_> {
    fn drop(&mut self) {
        let Reply { ledger, caller, started, run, .. } = self.0;
        ledger.inner.board.end(caller.tenant(), &started.generation, run);
    }
}

// === impl Reply ===

impl Reply {
    /// Produces the reply and shows every frame of it.
    pub(super) async fn run(self) {
        let _off = OffBoard(&self);
        if let Err(error) = self.show_started().await {
            tracing::error!(%error, "a generation could not show its start");
        }
        let completed = tokio::select! {
            biased;
            // What the end of the process cuts off is no failure of the turn.
            () = self.ledger.inner.shutdown.aborted() => return self.hand_on().await,
            completed = self.produce() => completed,
            // Another attempt holds the lease: what this one would write is refused anyway.
            () = self.lost() => return,
        };
        self.release().await;
        if let Some(completed) = completed {
            self.await_evaluation(completed).await;
        }
    }

    /// The reply, once it is in the ledger; nothing once its failure is.
    async fn produce(&self) -> Option<speak::Spoken> {
        let spoken = tokio::time::timeout_at(self.deadline, self.speak()).await;
        let spoken = spoken.unwrap_or_else(|_| {
            Err(Stopped::of(Failure::Provider, "the generation's deadline passed"))
        });
        match spoken {
            Ok(completed) => Some(completed),
            Err(stopped) => {
                self.fail(stopped).await;
                None
            }
        }
    }

    /// Gives the lease up, so that a retry takes the slot over at once.
    async fn hand_on(&self) {
        let Started { generation, fence, .. } = &self.started;
        if let Err(error) = self.ledger.store().renew(self.owner(), generation, *fence, 0).await {
            tracing::warn!(%error, "a lease was not given up; it will expire");
        }
    }

    async fn show_started(&self) -> Result<()> {
        let owner = self.owner();
        let message = match &self.started.message {
            Some((seq, _)) => {
                let turn = || self.ledger.turn(owner, &self.session, *seq);
                Some(Box::new(self.patiently(turn).await?))
            }
            None => None,
        };
        let generation = self.started.generation.clone();
        self.run.show(Frame::Started { generation, message, reply_seq: self.started.slot });
        Ok(())
    }

    /// Keeps the lease; returns only when it is lost.
    async fn lost(&self) {
        let every = Duration::from_millis(limits::GENERATION_LEASE_MS.unsigned_abs() / 3);
        let mut ticks = tokio::time::interval(every);
        ticks.tick().await;
        loop {
            ticks.tick().await;
            let Started { generation, fence, .. } = &self.started;
            let lease_ms = limits::GENERATION_LEASE_MS;
            let store = self.ledger.store();
            match store.renew(self.owner(), generation, *fence, lease_ms).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => tracing::warn!(%error, "a lease was not renewed"),
            }
        }
    }

    /// Closes the generation with what went wrong; the message stays.
    async fn fail(&self, stopped: Stopped) {
        let Started { generation, fence, slot, .. } = &self.started;
        let verb = Fail {
            generation: generation.clone(),
            fence: *fence,
            reason: stopped.failure,
            detail: Some(stopped.detail.clone()).filter(|detail| !detail.is_empty()),
            partial: ledger_core::command::Text::new(stopped.partial).ok(),
        };
        match self.keep(verb, |_| Ok(Beside::default())).await {
            Ok(_) => {}
            // Closed or taken over meanwhile; its followers read what became of it.
            Err(Error::Rejected(_) | Error::LeaseLost) => return,
            Err(error) => {
                tracing::error!(error = chain(&error), "a failed generation could not be closed");
                return;
            }
        }
        match self.patiently(|| self.ledger.turn(self.owner(), &self.session, *slot)).await {
            Ok(turn) => self.run.show(Frame::Ended {
                aborted: false,
                reason: turns::failure_name(stopped.failure).to_owned(),
                message: stopped.detail,
                turn: Box::new(turn),
            }),
            Err(error) => tracing::error!(error = chain(&error), "a failed turn could not be read"),
        }
    }

    /// Writes what this attempt came to.
    async fn keep<V: Verb + Clone>(
        &self,
        verb: V,
        beside: impl Fn(&Decision<V::Outcome>) -> Result<Beside>,
    ) -> Result<Decision<V::Outcome>> {
        let writer = Writer::of(&self.caller, None);
        let write = || async {
            let written = self.ledger.write(&writer, &self.session, verb.clone(), &beside).await;
            written.map_err(|error| match error {
                WriteError::Failed(error) => error,
                WriteError::Answered => Error::Internal("a reply has no request id".into()),
            })
        };
        self.patiently(write).await
    }

    /// Waits for a store that is away or busy, as long as the generation may last.
    async fn patiently<T, F: Future<Output = Result<T>>>(&self, what: impl Fn() -> F) -> Result<T> {
        let mut wait = STORE_WAIT;
        loop {
            match what().await {
                Err(error) if error.passes() && Instant::now() + wait < self.deadline => {
                    tracing::warn!(error = chain(&error), "a generation waits for the store");
                }
                ended => return ended,
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(STORE_WAIT_MAX);
        }
    }

    /// Tells the loader that the generation is over; a lease that is not released expires.
    async fn release(&self) {
        let link = self.ledger.inner.loader.acting_for(&self.background());
        let mut client = mesh_pb::compile_service_client::CompileServiceClient::new(link);
        let request = mesh_pb::ReleaseLeaseRequest {
            session_id: self.session.to_string(),
            generation_id: self.started.generation.to_string(),
        };
        if let Err(status) = client.release_lease(request).await {
            tracing::warn!(code = ?status.code(), "a lease was not released");
        }
    }

    fn owner(&self) -> &Owner {
        &self.caller.principal.owner
    }

    /// The caller without its deadline: the reply outlives the call that asked for it.
    fn background(&self) -> Caller {
        let mut caller = self.caller.clone();
        caller.passage.deadline = None;
        caller
    }
}

// === impl Stopped ===

impl Stopped {
    fn of(failure: Failure, detail: impl Into<String>) -> Self {
        Self { failure, detail: detail.into(), partial: String::new() }
    }
}

impl From<Error> for Stopped {
    /// What a caller would be told as a status is told in the frame, a bug's id in the log included.
    fn from(error: Error) -> Self {
        let status = status(error);
        let failure = match status.code() {
            Code::DataLoss => Failure::Damaged,
            Code::Unavailable | Code::ResourceExhausted => Failure::Store,
            _ => Failure::Internal,
        };
        Self::of(failure, status.message())
    }
}

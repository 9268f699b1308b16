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

use std::sync::Arc;
use std::time::Duration;

use host::caller::Caller;
use kernel::{Owner, SessionId, limits};
use ledger_core::{
    decide::{Fail, Started},
    event::Failure,
};
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
};

/// One attempt at a reply.
pub(super) struct Reply {
    pub ledger: Ledger,
    pub caller: Caller,
    pub session: SessionId,
    pub started: Started,
    pub sampling: Option<pb::Sampling>,
    pub run: Arc<Run>,
}

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
        let Reply { ledger, caller, started, .. } = self.0;
        ledger.inner.board.end(caller.tenant(), &started.generation);
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
        let deadline = Duration::from_millis(limits::GENERATION_DEADLINE_MS.unsigned_abs());
        let spoken = tokio::select! {
            biased;
            // What the end of the process cuts off is no failure of the turn.
            () = self.ledger.inner.shutdown.aborted() => return self.hand_on().await,
            spoken = tokio::time::timeout(deadline, self.speak()) => spoken.unwrap_or_else(|_| {
                Err(Stopped::of(Failure::Provider, "the generation's deadline passed"))
            }),
            // Another attempt holds the lease: what this one would write is refused anyway.
            () = self.lost() => return,
        };
        match spoken {
            Ok(completed) => {
                self.release().await;
                self.await_evaluation(completed).await;
            }
            Err(stopped) => {
                self.fail(stopped).await;
                self.release().await;
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
                let turn = self.ledger.turn(owner, &self.session, *seq).await?;
                Some(Box::new(turn))
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
        let writer = Writer::of(&self.caller, None);
        let none = |_: &_| Ok(Beside::default());
        match self.ledger.write(&writer, &self.session, verb, none).await {
            Ok(_) => {}
            // Closed or taken over meanwhile; its followers read what became of it.
            Err(WriteError::Failed(Error::Rejected(_) | Error::LeaseLost)) => return,
            Err(WriteError::Answered) => return,
            Err(WriteError::Failed(error)) => {
                tracing::error!(%error, "a failed generation could not be closed");
                return;
            }
        }
        match self.ledger.turn(self.owner(), &self.session, *slot).await {
            Ok(turn) => self.run.show(Frame::Ended {
                aborted: false,
                reason: turns::failure_name(stopped.failure).to_owned(),
                message: stopped.detail,
                turn: Box::new(turn),
            }),
            Err(error) => tracing::error!(%error, "a failed turn could not be read"),
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
    fn from(error: Error) -> Self {
        tracing::error!(%error, "a generation failed");
        Self::of(Failure::Internal, "the ledger could not go on; the log has the cause")
    }
}

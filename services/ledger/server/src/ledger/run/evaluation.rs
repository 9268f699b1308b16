//! The last frames: what the evaluation of the turn proposed, or that it is still pending.

use std::time::Duration;

use super::{Reply, speak::Spoken};
use crate::ledger::frames::{Evaluation, Frame};

// === impl Reply ===

impl Reply {
    /// Waits for the evaluation as long as the session says, then shows what it proposed and ends.
    pub(super) async fn await_evaluation(&self, spoken: Spoken) {
        let Some(job) = &spoken.job else {
            self.run.show(Frame::Done(Evaluation::NotAsked));
            return;
        };
        let patience = Duration::from_millis(spoken.wait_ms.unsigned_abs());
        let evaluation = tokio::select! {
            settled = tokio::time::timeout(patience, self.ledger.settled(self.owner(), job)) => {
                settled.unwrap_or(Evaluation::Pending)
            }
            () = self.ledger.inner.shutdown.stopping() => Evaluation::Pending,
        };
        let (owner, slot) = (self.owner(), self.started.slot);
        let alternative = &spoken.completed.alternative;
        match self.ledger.proposed(owner, &self.session, slot, alternative, spoken.offset).await {
            Ok(proposed) => proposed.into_iter().for_each(|p| self.run.show(Frame::Proposed(p))),
            Err(error) => tracing::warn!(%error, "proposals could not be read"),
        }
        self.run.show(Frame::Done(evaluation));
    }
}

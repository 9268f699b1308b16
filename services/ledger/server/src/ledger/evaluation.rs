//! What became of the evaluation of a reply: how it stands, and the changesets that it proposed.

use std::time::Duration;

use kernel::{AlternativeId, JobId, Owner, SessionId};
use ledger_core::{Body, Kind, event::TurnCompleted};

use super::{
    Ledger,
    frames::{Evaluation, Proposed},
    load,
};
use crate::{error::Result, store::JobState};

/// How often a job of another process is asked after.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The job that evaluates a reply.
pub(super) fn job_of(alternative: &AlternativeId) -> JobId {
    JobId::derived(&[alternative.as_str(), "evaluate", "1"])
}

// === impl Ledger ===

impl Ledger {
    /// How the evaluation of a finished reply stands; waits for a running one as the session says.
    pub(super) async fn evaluation(
        &self,
        owner: &Owner,
        session: &SessionId,
        body: &TurnCompleted,
        offset: u64,
    ) -> Result<Evaluation> {
        let job = job_of(&body.alternative);
        if self.store().job(owner, &job).await? == JobState::Finished {
            let record = self.record_before(owner, session, offset).await?;
            let asked = record.is_some_and(|record| record.worlds.iter().any(|w| w.dynamic))
                && !body.text.trim().is_empty();
            return Ok(if asked { Evaluation::Finished } else { Evaluation::NotAsked });
        }
        let state = self.load(owner, session).await?.state;
        let patience = Duration::from_millis(state.settings().proposal.wait_ms.unsigned_abs());
        let settled = tokio::time::timeout(patience, self.settled(owner, &job));
        Ok(settled.await.unwrap_or(Evaluation::Pending))
    }

    /// Returns once the job has ended.
    pub(super) async fn settled(&self, owner: &Owner, job: &JobId) -> Evaluation {
        let bell = &self.inner.board.settled;
        loop {
            let rung = bell.notified();
            tokio::pin!(rung);
            rung.as_mut().enable();
            match self.store().job(owner, job).await {
                Ok(JobState::Finished) => return Evaluation::Finished,
                Ok(JobState::Parked { .. }) => return Evaluation::Failed,
                Ok(JobState::Waiting) => {}
                Err(error) => tracing::warn!(%error, "an evaluation could not be asked after"),
            }
            let _ = tokio::time::timeout(LOOK_EVERY, rung).await;
        }
    }

    /// The changesets that were proposed for a reply.
    pub(super) async fn proposed(
        &self,
        owner: &Owner,
        session: &SessionId,
        seq: u64,
        alternative: &AlternativeId,
        after: u64,
    ) -> Result<Vec<Proposed>> {
        let kind = Kind::WorldChangeProposed;
        let mut found = Vec::new();
        for record in self.store().events_of(owner, session, kind, after).await? {
            let Body::WorldChangeProposed(body) = load::open(session, record)?.body else {
                continue;
            };
            if body.seq == seq && body.alternative == *alternative {
                found.extend(body.changesets.into_iter().map(|changeset| Proposed {
                    changeset: changeset.changeset.to_string(),
                    world: changeset.world.to_string(),
                    world_name: changeset.world_name,
                    summary: changeset.summary,
                    operations: changeset.operations,
                }));
            }
        }
        Ok(found)
    }
}

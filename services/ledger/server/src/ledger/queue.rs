//! The work queue: finished turns wait here until somebody leases them.

use std::{collections::BTreeSet, time::Duration};

use host::{caller::Caller, status::chain};
use kernel::{AlternativeId, EvaluationId, Owner, Scope, SessionId, TurnId, limits};
use ledger_core::{
    Rejection, decide::ProposeWorldChange, event::ProposedChangeset, settings::ModelChoice,
};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{
    Ledger,
    append::{Beside, WriteError, Writer},
    record::WorldRecord,
};
use crate::{
    error::{Error, Result},
    store::{Append, JobLease, JobRow},
};

/// How often the queue is looked at for work of other processes.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// The first retry of a failed job; each later one waits twice as long.
const BACKOFF_MS: i64 = 1_000;

/// What a job asks for; stored as JSON, with references and never texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvaluateTurn {
    pub seq: u64,
    pub turn: TurnId,
    pub alternative: AlternativeId,
    pub attempt: u32,
    pub revision: u64,
    /// The user's message that the reply answers.
    pub own: Option<u64>,
    pub worlds: Vec<WorldRecord>,
    pub user: String,
    pub character: String,
    pub model: Option<ModelChoice>,
    pub scopes: BTreeSet<Scope>,
}

/// A leased job with the texts it is about.
#[derive(Debug, Clone)]
pub struct Leased {
    pub owner: Owner,
    pub session: SessionId,
    pub title: String,
    pub lease: JobLease,
    pub attempt: u32,
    pub work: EvaluateTurn,
    pub user_text: String,
    pub reply_text: String,
}

/// How a job ended.
#[derive(Debug, Clone)]
pub enum Finish {
    Staged {
        evaluation: Option<EvaluationId>,
        changesets: Vec<ProposedChangeset>,
    },
    /// For good, or until it is tried again.
    Failed {
        why: String,
        retry: bool,
    },
    /// Not done: its worker ends.
    HandedBack,
}

// === impl EvaluateTurn ===

impl EvaluateTurn {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        serde_json::from_slice(bytes).map_err(|error| {
            Error::Store(crate::store::StoreError::Inconsistent {
                table: "jobs",
                problem: error.to_string(),
            })
        })
    }
}

// === impl Ledger ===

impl Ledger {
    /// Leases up to `limit` jobs, waiting up to `wait` for the first.
    pub async fn lease_work(
        &self,
        worker: &str,
        limit: u32,
        wait: Duration,
    ) -> Result<Vec<Leased>> {
        let deadline = Instant::now() + wait;
        loop {
            let queued = self.inner.board.queued.notified();
            tokio::pin!(queued);
            queued.as_mut().enable();
            let leased = self.lease_ready(worker, limit).await?;
            let left = deadline.saturating_duration_since(Instant::now());
            if !leased.is_empty() || left.is_zero() || self.inner.shutdown.is_stopping() {
                return Ok(leased);
            }
            tokio::select! {
                _ = tokio::time::timeout(left.min(LOOK_EVERY), queued) => {}
                () = self.inner.shutdown.stopping() => return Ok(Vec::new()),
            }
        }
    }

    /// Leases what is ready. The jobs of a worker who has left meanwhile are ready again at once.
    async fn lease_ready(&self, worker: &str, limit: u32) -> Result<Vec<Leased>> {
        let (ledger, worker) = (self.clone(), worker.to_owned());
        let lease = async move {
            let rows = ledger.store().lease_jobs(&worker, limit, limits::JOB_LEASE_MS).await?;
            let mut leased = Vec::new();
            for row in rows {
                match ledger.leased(row.clone()).await {
                    Ok(job) => leased.extend(job),
                    // The others are no worse for it.
                    Err(error) => ledger.put_back(&row, &chain(&error), true).await?,
                }
            }
            Ok(leased)
        };
        let ledger = self.clone();
        self.whole(lease, |unheard| async move { ledger.give_back(unheard).await }).await
    }

    async fn give_back(&self, unheard: Vec<Leased>) {
        let why = "the worker that leased it was gone before it knew";
        for Leased { owner, lease, .. } in unheard {
            if let Err(error) = self.store().release_job(&owner, &lease, why, Some(0)).await {
                tracing::warn!(%error, "a job was not given back; its lease will expire");
            }
        }
    }

    /// Reads the texts of a job; one whose session or turn is gone is finished silently.
    async fn leased(&self, row: JobRow) -> Result<Option<Leased>> {
        let work = EvaluateTurn::from_bytes(&row.work)?;
        let loaded = match self.load(&row.owner, &row.session).await {
            Ok(loaded) => loaded,
            Err(Error::NotFound { .. }) => {
                self.drop_job(&row.owner, &row.session, row.lease).await?;
                return Ok(None);
            }
            Err(other) => return Err(other),
        };
        let state = &loaded.state;
        let reply = state.turn(work.seq).and_then(|turn| {
            let slot = turn.slot()?;
            let at = slot.find(&work.alternative)?;
            Some(slot.alternatives.get(at)?.text)
        });
        let Some(reply) = reply else {
            self.drop_job(&row.owner, &row.session, row.lease).await?;
            return Ok(None);
        };
        let user = work.own.and_then(|seq| state.turn(seq)?.text());
        let places = [Some(reply), user].into_iter().flatten();
        let texts = self.texts(&row.owner, &row.session, places).await?;
        Ok(Some(Leased {
            user_text: texts.or_empty(user).to_owned(),
            reply_text: texts.or_empty(Some(reply)).to_owned(),
            title: loaded.row.title,
            owner: row.owner,
            session: row.session,
            lease: row.lease,
            attempt: row.attempt,
            work,
        }))
    }

    /// Ends a leased job of the caller's, with what it brought.
    pub async fn complete_work(
        &self,
        caller: &Caller,
        lease: JobLease,
        finish: Finish,
    ) -> Result<()> {
        let owner = &caller.principal.owner;
        let row = self.store().leased(owner, &lease).await?.ok_or(Error::LeaseLost)?;
        let work = EvaluateTurn::from_bytes(&row.work)?;
        match finish {
            Finish::HandedBack => self.release(&row, "", Some(0)).await,
            Finish::Failed { why, retry } => self.put_back(&row, &why, retry).await,
            Finish::Staged { changesets, .. } if changesets.is_empty() => {
                self.drop_job(owner, &row.session, lease).await
            }
            Finish::Staged { evaluation, changesets } => {
                let evaluation = evaluation.ok_or_else(|| {
                    Error::invalid("evaluation_id", "is required with changesets")
                })?;
                let verb = ProposeWorldChange {
                    seq: work.seq,
                    alternative: work.alternative,
                    revision: work.revision,
                    evaluation,
                    changesets,
                };
                let finished = lease.clone();
                let beside =
                    |_: &_| Ok(Beside { finished: Some(finished.clone()), ..Beside::default() });
                let writer = Writer::of(caller, None);
                match self.write(&writer, &row.session, verb, beside).await {
                    Ok(_) => Ok(()),
                    Err(WriteError::Failed(Error::Rejected(
                        moved @ (Rejection::RevisionMoved { .. } | Rejection::TurnRetracted(_)),
                    ))) => {
                        self.drop_job(owner, &row.session, lease).await?;
                        Err(moved.into())
                    }
                    Err(WriteError::Failed(error)) => Err(error),
                    Err(WriteError::Answered) => Err(Error::LeaseLost),
                }
            }
        }
    }

    async fn put_back(&self, row: &JobRow, why: &str, retry: bool) -> Result<()> {
        let again = retry && row.attempt < limits::JOB_ATTEMPTS_MAX;
        let delay = BACKOFF_MS << row.attempt.min(10);
        self.release(row, why, again.then_some(delay)).await
    }

    /// Ready again after a delay in milliseconds; parked without one.
    async fn release(&self, row: &JobRow, why: &str, delay_ms: Option<i64>) -> Result<()> {
        let released = self.store().release_job(&row.owner, &row.lease, why, delay_ms).await?;
        self.inner.board.queued.notify_waiters();
        self.inner.board.settled.notify_waiters();
        if released { Ok(()) } else { Err(Error::LeaseLost) }
    }

    async fn drop_job(&self, owner: &Owner, session: &SessionId, lease: JobLease) -> Result<()> {
        let append = Append { finished: Some(lease), ..Append::to(owner, session) };
        self.store().append(append).await?;
        self.inner.board.settled.notify_waiters();
        Ok(())
    }
}

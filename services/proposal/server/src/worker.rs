//! Leases work from the ledger, does it, and says so; at least once, so each piece finds what it has done before.

use std::{sync::Arc, time::Duration};

use host::{caller::Caller, link::Peer, shutdown::Shutdown, status};
use kernel::{SessionId, limits::JOBS_LEASED_MAX};
use proposal_core::{Changeset, Evaluation, Outcome};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::Status;
use wire::{
    common::v1::Reason,
    mesh::v1::{
        CompleteWorkRequest, Job, LeaseWorkRequest, StagedChangeset, job::Work,
        work_service_client::WorkServiceClient,
    },
};

use crate::{error::Error, grpc::from_proto, judge::Judge};

/// How long one lease call waits for work.
const WAIT_MS: u32 = 20_000;
/// Pause after a ledger that could not be asked; doubles up to the longest.
const PAUSE: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// How long an ending process waits for the ledger to take a job back.
const HAND_BACK_WITHIN: Duration = Duration::from_secs(2);

pub(crate) struct Worker {
    ledger: Peer,
    judge: Judge,
}

/// How a job ends.
#[derive(Default)]
struct Done {
    evaluation: Option<Evaluation>,
    staged: Vec<Changeset>,
    failure: String,
    retry: bool,
    hand_back: bool,
}

// === impl Worker ===

impl Worker {
    pub fn new(ledger: Peer, judge: Judge) -> Self {
        Self { ledger, judge }
    }

    /// Keeps up to `judges` jobs in hand until `shutdown` begins; one that the end interrupts is handed back.
    pub async fn run(self: Arc<Self>, judges: usize, shutdown: Shutdown) {
        let free = Arc::new(Semaphore::new(judges));
        let mut pause = PAUSE;
        loop {
            let leased = tokio::select! {
                () = shutdown.stopping() => return,
                leased = self.lease(&free) => leased,
            };
            match leased {
                Ok(leased) => {
                    pause = PAUSE;
                    for (job, permit) in leased {
                        shutdown.spawn(self.clone().take(job, permit, shutdown.clone()));
                    }
                }
                Err(status) => {
                    tracing::warn!(code = ?status.code(), "the ledger could not be asked for work");
                    tokio::select! {
                        () = shutdown.stopping() => return,
                        () = tokio::time::sleep(pause) => {}
                    }
                    pause = (pause * 2).min(PAUSE_MAX);
                }
            }
        }
    }

    /// Waits for a free judge, then for work; no more jobs than judges are free.
    async fn lease(
        &self,
        free: &Arc<Semaphore>,
    ) -> Result<Vec<(Job, OwnedSemaphorePermit)>, Status> {
        let Ok(first) = free.clone().acquire_owned().await else { return Ok(Vec::new()) };
        let more = std::iter::from_fn(|| free.clone().try_acquire_owned().ok());
        let permits: Vec<_> =
            std::iter::once(first).chain(more).take(JOBS_LEASED_MAX as usize).collect();
        let request = LeaseWorkRequest {
            max_jobs: u32::try_from(permits.len()).unwrap_or(1),
            wait_ms: WAIT_MS,
            worker: "proposal".to_owned(),
        };
        let mut client = WorkServiceClient::new(self.ledger.itself());
        let jobs = client.lease_work(request).await?.into_inner().jobs;
        Ok(jobs.into_iter().zip(permits).collect())
    }

    async fn take(self: Arc<Self>, job: Job, permit: OwnedSemaphorePermit, shutdown: Shutdown) {
        tokio::select! {
            () = shutdown.stopping() => self.hand_back(&job).await,
            ended = self.end(&job) => if let Err(status) = ended {
                tracing::warn!(job = job.job_id, code = ?status.code(), "a job could not be ended");
            }
        }
        drop(permit);
    }

    /// Another process can lease the job at once, and need not wait for this one's lease to run out. Whatever of
    /// it was stored already is found there.
    async fn hand_back(&self, job: &Job) {
        let Some(caller) = caller(job) else { return };
        let done = Done { hand_back: true, ..Done::default() };
        let told = tokio::time::timeout(HAND_BACK_WITHIN, self.complete(&caller, job, done)).await;
        match told {
            Ok(Ok(())) => tracing::info!(job = job.job_id, "a job was handed back"),
            Ok(Err(status)) if status::reason(&status) == Some(Reason::LeaseLost) => {}
            Ok(Err(status)) => {
                tracing::warn!(job = job.job_id, code = ?status.code(), "a job was not handed back");
            }
            Err(_) => tracing::warn!(job = job.job_id, "a job was not handed back in time"),
        }
    }

    async fn end(&self, job: &Job) -> Result<(), Status> {
        let Some(caller) = caller(job) else {
            // Nobody could end it; the ledger parks what is leased too often.
            tracing::error!(job = job.job_id, "a job names no principal");
            return Ok(());
        };
        let done = match self.work(&caller, job).await {
            Ok(done) => done,
            Err(error) => {
                tracing::warn!(job = job.job_id, attempt = job.attempt, %error, "a job failed");
                Done { retry: error.may_pass(), failure: error.to_string(), ..Done::default() }
            }
        };
        let evaluation = done.evaluation.clone();
        match self.complete(&caller, job, done).await {
            Ok(()) => Ok(()),
            Err(status) => self.refused(&caller, evaluation, status).await,
        }
    }

    async fn work(&self, caller: &Caller, job: &Job) -> Result<Done, Error> {
        let (owner, now) = (&caller.principal.owner, self.judge.clock().now());
        match &job.work {
            Some(Work::EvaluateTurn(turn)) => match self.judge.evaluate(caller, turn).await? {
                Ok((evaluation, staged)) => {
                    let (id, outcome) = (&evaluation.id, evaluation.outcome.name());
                    tracing::info!(evaluation = %id, outcome, staged = staged.len(), "a turn was judged");
                    // The ledger tells the waiting reader that the judging itself failed.
                    let failure = match evaluation.outcome {
                        Outcome::Failed => evaluation.reason.clone(),
                        _ => String::new(),
                    };
                    Ok(Done { evaluation: Some(evaluation), staged, failure, ..Done::default() })
                }
                Err(malformed) => Ok(Done::failed(&malformed.to_string())),
            },
            Some(Work::SourceChanged(source)) => match SessionId::new(&source.session_id) {
                Ok(session) => {
                    let store = self.judge.store();
                    store.source_changed(owner, &session, source.turn_seq, now).await?;
                    Ok(Done::default())
                }
                Err(_) => Ok(Done::failed("the session id is malformed")),
            },
            Some(Work::SessionDeleted(source)) => match SessionId::new(&source.session_id) {
                Ok(session) => {
                    self.judge.store().source_deleted(owner, &session, now).await?;
                    Ok(Done::default())
                }
                Err(_) => Ok(Done::failed("the session id is malformed")),
            },
            None => Ok(Done::failed("this build does not know the work")),
        }
    }

    async fn complete(&self, caller: &Caller, job: &Job, done: Done) -> Result<(), Status> {
        let request = CompleteWorkRequest {
            job_id: job.job_id.clone(),
            fence: job.fence,
            evaluation_id: done.evaluation.map_or(String::new(), |found| found.id.to_string()),
            changesets: done.staged.iter().map(staged).collect(),
            failure: done.failure,
            retry: done.retry,
            hand_back: done.hand_back,
        };
        let mut client = WorkServiceClient::new(self.ledger.acting_for(caller));
        client.complete_work(request).await.map(drop)
    }

    /// The ledger does not take the result: what became of the job is its to say.
    async fn refused(
        &self,
        caller: &Caller,
        evaluation: Option<Evaluation>,
        status: Status,
    ) -> Result<(), Status> {
        match (status::reason(&status), evaluation) {
            (Some(Reason::TurnRevisionMoved), Some(evaluation)) => {
                let (owner, now) = (&caller.principal.owner, self.judge.clock().now());
                let moved = self.judge.store().turn_moved(owner, &evaluation.id, now).await;
                moved.map_err(|error| Error::from(error).into())
            }
            // Another lease of the job is newer, or the job is gone.
            (Some(Reason::LeaseLost | Reason::NotFound), _) => Ok(()),
            _ => Err(status),
        }
    }
}

/// Whose work a job is.
fn caller(job: &Job) -> Option<Caller> {
    let principal = from_proto::principal(job.principal.as_ref()?).ok()?;
    Some(Caller::of_job(principal))
}

fn staged(changeset: &Changeset) -> StagedChangeset {
    StagedChangeset {
        changeset_id: changeset.id.to_string(),
        world_id: changeset.world.to_string(),
        world_name: changeset.world_name.clone(),
        summary: changeset.summary.clone(),
        operation_count: u32::try_from(changeset.operations.len()).unwrap_or(u32::MAX),
    }
}

// === impl Done ===

impl Done {
    /// For good: no attempt can do it.
    fn failed(why: &str) -> Self {
        Self { failure: why.to_owned(), ..Self::default() }
    }
}

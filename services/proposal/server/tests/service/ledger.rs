//! A work queue that hands out what a test puts into it and reports what it gets back.

use std::sync::Mutex;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tonic::{Request, Response, Status};
use wire::mesh::v1::{
    self as pb,
    work_service_server::{WorkService, WorkServiceServer},
};

pub struct Queue {
    pub jobs: UnboundedSender<pb::Job>,
    /// Rings when a job was handed out.
    pub leased: UnboundedReceiver<()>,
    pub completed: UnboundedReceiver<pb::CompleteWorkRequest>,
}

struct Stub {
    jobs: tokio::sync::Mutex<UnboundedReceiver<pb::Job>>,
    leased: UnboundedSender<()>,
    completed: UnboundedSender<pb::CompleteWorkRequest>,
    answers: Mutex<Vec<Status>>,
}

/// `answers`: what completing is refused with, the last one first; then it is accepted.
pub fn start(answers: Vec<Status>) -> (Queue, WorkServiceServer<impl WorkService>) {
    let (jobs, waiting) = unbounded_channel();
    let (handed_out, leased) = unbounded_channel();
    let (done, completed) = unbounded_channel();
    let stub = Stub {
        jobs: tokio::sync::Mutex::new(waiting),
        leased: handed_out,
        completed: done,
        answers: Mutex::new(answers),
    };
    (Queue { jobs, leased, completed }, WorkServiceServer::new(stub))
}

#[tonic::async_trait]
impl WorkService for Stub {
    async fn lease_work(
        &self,
        _: Request<pb::LeaseWorkRequest>,
    ) -> Result<Response<pb::LeaseWorkResponse>, Status> {
        let job = self.jobs.lock().await.recv().await;
        match job {
            Some(job) => {
                self.leased.send(()).expect("a test that listens");
                Ok(Response::new(pb::LeaseWorkResponse { jobs: vec![job] }))
            }
            None => std::future::pending().await,
        }
    }

    async fn complete_work(
        &self,
        request: Request<pb::CompleteWorkRequest>,
    ) -> Result<Response<pb::CompleteWorkResponse>, Status> {
        let answer = self.answers.lock().expect("unpoisoned").pop();
        self.completed.send(request.into_inner()).expect("a test that listens");
        answer.map_or(Ok(Response::new(pb::CompleteWorkResponse {})), Err)
    }
}

/// A job of the local user: turn 2 of `s1` was answered, with these worlds in effect.
pub fn evaluate(worlds: &[&str], user: &str, attempt: u32) -> pb::Job {
    let world = |id: &&str| pb::WorldAtRevision {
        world_id: (*id).to_owned(),
        name: (*id).to_owned(),
        content_revision: 1,
    };
    let turn = pb::EvaluateTurn {
        session_id: "s1".into(),
        turn_seq: 2,
        turn_id: "t2".into(),
        alternative_id: "a1".into(),
        attempt,
        turn_revision: 1,
        user_text: user.into(),
        reply_text: "So it is.".into(),
        worlds: worlds.iter().map(world).collect(),
        labels: [("session".to_owned(), "First".to_owned())].into(),
        model: Some(wire::ledger::v1::Model {
            provider: "scripted".into(),
            name: "any".into(),
            ..Default::default()
        }),
    };
    job(pb::job::Work::EvaluateTurn(turn))
}

pub fn job(work: pb::job::Work) -> pb::Job {
    let (tenant, subject) = ("local".to_owned(), "local".to_owned());
    pb::Job {
        job_id: "j1".into(),
        fence: 1,
        attempt: 1,
        principal: Some(pb::Caller { tenant, subject, scopes: Vec::new() }),
        work: Some(work),
    }
}

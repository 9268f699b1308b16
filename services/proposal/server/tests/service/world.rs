//! One proposal service between its stubs, and the calls that tests make on it.

use std::{path::Path, sync::Arc, time::Duration};

use host::{
    auth::{AuthMode, Authenticator, mesh::MeshToken},
    database::{DataFolder, Place},
    door::Door,
    gate::Services,
    link::{Link, Peer, local},
    shutdown::Shutdown,
    status,
};
use kernel::{ManualClock, Timestamp};
use model::{Registry, Scripted};
use tonic::{Code, Status, service::Routes};
use wire::{
    common::v1::Reason,
    lorebook::v1::{
        self as lore, history_service_server::HistoryServiceServer,
        world_service_server::WorldServiceServer,
    },
    mesh::v1::{self as mesh, lore_service_server::LoreServiceServer},
    proposal::v1::{
        self as pb, changeset_service_client::ChangesetServiceClient,
        evaluation_service_client::EvaluationServiceClient,
    },
};

use crate::{
    ledger::{self, Queue, evaluate},
    lorebook::Lorebook,
};

/// What the judge says, by what the user said.
const SCRIPT: &str = r#"
    [[tool]]
    name = "propose_world_changes"
    when = "the king is dead"
    arguments = '''{"operations": [
        {"rationale": "He died.", "op": "revise", "target_entry_id": 1, "name": "The king",
         "content": "The king is dead."},
        {"rationale": "News.", "op": "create", "name": "Mourning", "content": "All mourn.",
         "target_world": "w1"}
    ], "summary": "The king died."}'''

    [[tool]]
    name = "propose_world_changes"
    when = "both worlds"
    arguments = '''{"operations": [
        {"rationale": "a", "op": "create", "name": "A", "content": "a", "target_world": "w2"},
        {"rationale": "b", "op": "create", "name": "B", "content": "b", "target_world": "w1"},
        {"rationale": "c", "op": "create", "name": "C", "content": "bad", "target_world": "w1"},
        {"rationale": "d", "op": "conquer"}
    ], "summary": "Both."}'''

    [[tool]]
    name = "propose_world_changes"
    when = "a long tale"
    finish = "length"
    arguments = '''{"operations": [
        {"rationale": "a", "op": "create", "name": "A", "content": "a", "target_world": "w1"}
    ], "summary": "As far as it came."}'''

    [[tool]]
    name = "propose_world_changes"
    when = "nonsense"
    arguments = '{"operations": "all of them"}'

    [[tool]]
    name = "propose_world_changes"
    when = "nothing"
    arguments = '{"operations": [], "summary": ""}'
"#;

pub struct World {
    pub lorebook: Lorebook,
    pub queue: Queue,
    pub clock: Arc<ManualClock>,
    pub folder: tempfile::TempDir,
    shutdown: Shutdown,
    door: Door,
}

/// A service with the worlds `w1` and `w2`.
pub async fn start() -> World {
    start_with(Vec::new()).await
}

/// As [`start`]; the ledger refuses completed work with these, the last one first.
pub async fn start_with(refusals: Vec<Status>) -> World {
    start_judged_by(SCRIPT, refusals).await
}

/// As [`start_with`], with another judge.
pub async fn start_judged_by(script: &'static str, refusals: Vec<Status>) -> World {
    let lorebook = Lorebook::default();
    lorebook.add("w1");
    lorebook.add("w2");
    let clock = Arc::new(ManualClock::at(Timestamp::from_micros(1_000_000)));
    let folder = tempfile::tempdir().expect("a folder");
    let (queue, shutdown, door) = serve(folder.path(), &lorebook, &clock, script, refusals).await;
    World { lorebook, queue, clock, folder, shutdown, door }
}

async fn serve(
    folder: &Path,
    lorebook: &Lorebook,
    clock: &Arc<ManualClock>,
    script: &str,
    refusals: Vec<Status>,
) -> (Queue, Shutdown, Door) {
    let token = MeshToken::random().expect("random");
    let (queue, work) = ledger::start(refusals);
    let lore = Routes::new(LoreServiceServer::new(lorebook.clone()))
        .add_service(WorldServiceServer::new(lorebook.clone()))
        .add_service(HistoryServiceServer::new(lorebook.clone()));
    let script = Scripted::parse(script).expect("a script");
    let links = proposal::Links {
        ledger: Peer::new(local(work), token.clone()),
        lorebook: Peer::new(local(lore), token.clone()),
        models: Registry::default().with("scripted", Arc::new(script)),
    };
    let place = Place::Folder(DataFolder::open(folder).expect("a data folder"));
    let config = proposal::Config { place, judges: 1 };
    let server = proposal::build(config, clock.clone(), links).await.expect("built");
    let shutdown = Shutdown::new();
    let auth = Authenticator::open(&AuthMode::None, &token).expect("no tokens");
    let door = Door::new(server.mount(Services::new()), auth, shutdown.clone());
    server.run(&shutdown);
    (queue, shutdown, door)
}

// === impl World ===

impl World {
    /// The same data under a new process; whatever was under way is lost.
    pub async fn restart(self) -> World {
        let World { lorebook, clock, folder, shutdown, door, queue } = self;
        shutdown.begin();
        shutdown.tasks_ended().await;
        drop((door, queue));
        let (queue, shutdown, door) = loop {
            // The old pools let go of the folder a moment after they are dropped.
            match DataFolder::open(folder.path()) {
                Ok(free) => {
                    drop(free);
                    break serve(folder.path(), &lorebook, &clock, SCRIPT, Vec::new()).await;
                }
                Err(_) => tokio::task::yield_now().await,
            }
        };
        World { lorebook, queue, clock, folder, shutdown, door }
    }

    fn link(&self) -> Link {
        local(self.door.clone())
    }

    fn changesets(&self) -> ChangesetServiceClient<Link> {
        ChangesetServiceClient::new(self.link())
    }

    /// Has a turn judged and gives what the ledger was told.
    pub async fn judged(&mut self, worlds: &[&str], user: &str) -> mesh::CompleteWorkRequest {
        self.done(evaluate(worlds, user, 1)).await
    }

    pub async fn done(&mut self, job: mesh::Job) -> mesh::CompleteWorkRequest {
        self.queue.jobs.send(job).expect("a queue");
        let done = tokio::time::timeout(Duration::from_secs(20), self.queue.completed.recv());
        done.await.expect("in time").expect("completed")
    }

    /// Has the king's death judged in `w1` and gives the changeset's id.
    pub async fn staged(&mut self) -> String {
        let done = self.judged(&["w1"], "Hark, the king is dead!").await;
        done.changesets[0].changeset_id.clone()
    }

    pub async fn get(&self, id: &str) -> pb::Changeset {
        let request = pb::GetChangesetRequest { changeset_id: id.into() };
        let answer = self.changesets().get_changeset(request).await.expect("found");
        answer.into_inner().changeset.expect("a changeset")
    }

    pub async fn list(&self, request: pb::ListChangesetsRequest) -> pb::ListChangesetsResponse {
        self.changesets().list_changesets(request).await.expect("listed").into_inner()
    }

    pub async fn evaluation(&self) -> Result<pb::Evaluation, Status> {
        let request = pb::GetEvaluationRequest { session_id: "s1".into(), turn_seq: 2 };
        let mut client = EvaluationServiceClient::new(self.link());
        let answer = client.get_evaluation(request).await?;
        Ok(answer.into_inner().evaluation.expect("an evaluation"))
    }

    pub async fn apply(
        &self,
        request: pb::ApplyChangesetRequest,
    ) -> Result<(pb::ApplyChangesetResponse, bool), Status> {
        let answer = self.changesets().apply_changeset(request).await?;
        Ok(with_replay(answer))
    }

    pub async fn reject(&self, id: &str, request_id: &str) -> Result<pb::Changeset, Status> {
        let (changeset_id, request_id) = (id.to_owned(), request_id.to_owned());
        let request = pb::RejectChangesetRequest { changeset_id, request_id };
        let answer = self.changesets().reject_changeset(request).await?;
        Ok(answer.into_inner().changeset.expect("a changeset"))
    }

    pub async fn update(
        &self,
        request: pb::UpdateChangesetRequest,
    ) -> Result<pb::Changeset, Status> {
        let answer = self.changesets().update_changeset(request).await?;
        Ok(answer.into_inner().changeset.expect("a changeset"))
    }

    pub async fn undo(&self, id: &str, request_id: &str) -> Result<lore::Change, Status> {
        let (changeset_id, request_id) = (id.to_owned(), request_id.to_owned());
        let request = pb::UndoChangesetRequest { changeset_id, request_id };
        let answer = self.changesets().undo_changeset(request).await?;
        Ok(answer.into_inner().change.expect("a change"))
    }

    /// Begins the end of the process and waits until its tasks have ended.
    pub async fn stop(&self) {
        self.shutdown.begin();
        self.shutdown.tasks_ended().await;
    }

    /// Waits until the changeset is in a state.
    pub async fn becomes(&self, id: &str, state: pb::ChangesetState) {
        let waiting = async {
            while self.get(id).await.state() != state {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("in time");
    }
}

/// An answer, and whether it says that it was given before.
fn with_replay<T>(answer: tonic::Response<T>) -> (T, bool) {
    let replayed = answer.metadata().get("skald-replayed").is_some();
    (answer.into_inner(), replayed)
}

pub fn apply(id: &str, request_id: &str) -> pb::ApplyChangesetRequest {
    pb::ApplyChangesetRequest {
        changeset_id: id.into(),
        request_id: request_id.into(),
        ..Default::default()
    }
}

pub fn create(name: &str, content: &str) -> lore::Operation {
    lore::Operation {
        kind: lore::OperationKind::Create.into(),
        name: Some(name.into()),
        content: Some(content.into()),
        ..Default::default()
    }
}

#[track_caller]
pub fn refused<T>(answer: Result<T, Status>, code: Code, reason: Reason) -> Status {
    let status = answer.err().expect("a refusal");
    assert_eq!((status.code(), status::reason(&status)), (code, Some(reason)), "{status:?}");
    status
}

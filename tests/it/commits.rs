//! How many durable commits a turn costs, counted in the write-ahead logs: 3 before the first delta, 5, 8.

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use model::{Abilities, ChatModel, Error, EventStream, Request, Scripted, Tool, ToolCall};
use skald::demo::samples;
use tests::{prelude::*, sqlite};

use common::ProfileMode;

const BEFORE_FIRST_DELTA_MAX: usize = 3;
const TURN_MAX: usize = 5;
const TURN_AND_EVALUATION_MAX: usize = 8;

/// A scripted model that counts the commits at the moment when it is asked for a reply.
#[derive(Clone)]
struct Counting {
    model: Arc<Scripted>,
    data: Arc<Mutex<Option<std::path::PathBuf>>>,
    when_asked: Arc<Mutex<Vec<usize>>>,
}

#[tonic::async_trait]
impl ChatModel for Counting {
    fn abilities(&self) -> &Abilities {
        self.model.abilities()
    }

    async fn stream(&self, request: Request) -> Result<EventStream, Error> {
        let data = self.data.lock().expect("nobody panicked").clone().expect("told where");
        self.when_asked.lock().expect("nobody panicked").push(sqlite::commits(&data));
        self.model.stream(request).await
    }

    async fn call_tool(&self, request: Request, tool: &Tool) -> Result<ToolCall, Error> {
        self.model.call_tool(request, tool).await
    }
}

/// Waits until nothing has been committed for a while, and counts.
async fn settled(data: &Path) -> usize {
    const LOOKS: usize = 25;
    let mut quiet = (0, sqlite::commits(data));
    eventually("the commits to end", move || {
        let now = sqlite::commits(data);
        quiet = if now == quiet.1 { (quiet.0 + 1, now) } else { (0, now) };
        let settled = (quiet.0 >= LOOKS).then_some(now);
        async move { settled }
    })
    .await
}

/// Commits before the first delta, and of the whole turn with all that follows it.
async fn counted(opted_in: bool) -> (usize, usize) {
    let model = Counting {
        model: Arc::new(Scripted::parse(samples::SCRIPT).expect("a script")),
        data: Arc::default(),
        when_asked: Arc::default(),
    };
    let world = Plan::new().model(model.clone()).near().await;
    *model.data.lock().expect("nobody panicked") = Some(world.data().to_owned());
    let clients = world.clients();
    let session = if opted_in {
        let cast = clients.cast().await.expect("imported");
        clients.opened(&cast, ProfileMode::Journal).await.expect("opened")
    } else {
        Stage::new().set(&clients).await.expect("set").session
    };
    let before = settled(world.data()).await;
    let told = clients.say(&session, "turn-1", job::FIRST).await.expect("a turn");
    let expected = if opted_in { 1 } else { 0 };
    assert_eq!(told.proposed().len(), expected);
    let after = settled(world.data()).await;
    let asked = model.when_asked.lock().expect("nobody panicked")[0];
    (asked - before, after - before)
}

#[tokio::test]
async fn a_turn_costs_few_durable_commits() {
    let (before_delta, turn) = counted(false).await;
    let (_, with_evaluation) = counted(true).await;
    println!("{before_delta} before the first delta, {turn} a turn, {with_evaluation} evaluated");
    assert!(before_delta > 0, "commits are counted");
    assert!(before_delta <= BEFORE_FIRST_DELTA_MAX, "{before_delta} before the first delta");
    assert!(turn <= TURN_MAX, "{turn} for a turn");
    assert!(with_evaluation <= TURN_AND_EVALUATION_MAX, "{with_evaluation} with its evaluation");
}

#[tokio::test]
async fn an_idle_house_commits_nothing() {
    let world = World::near().await;
    let clients = world.clients();
    let cast = clients.cast().await.expect("imported");
    let session = clients.opened(&cast, ProfileMode::Journal).await.expect("opened");
    clients.say(&session, "turn-1", job::FIRST).await.expect("a turn");
    let before = settled(world.data()).await;
    let idle = tokio::time::interval(Duration::from_millis(500));
    tokio::pin!(idle);
    for _ in 0..4 {
        idle.tick().await;
    }
    assert_eq!(sqlite::commits(world.data()), before);
}

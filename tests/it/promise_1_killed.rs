//! The process is killed after each thing that its client sees of the main job, started again, and asked
//! again with the same request ids: the end is the same as without the kill.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use skald::demo::samples;
use tests::{
    prelude::*,
    process::{Home, Process},
};

use common::ProfileMode;
use lorebook::WorldView;
use proposal::ChangesetFilter;

const SKALD: &str = env!("CARGO_BIN_EXE_skald-under-test");

/// What the model says takes a while, so that kills land in the middle of it.
fn script() -> String {
    format!("latency_ms = 10\n{}", samples::SCRIPT.replace("chunk_chars = 16", "chunk_chars = 60"))
}

/// How many kills are tried at the same time.
const AT_ONCE: usize = 3;
/// The main job must show its client at least this many things.
const POINTS_MIN: usize = 20;

/// A client that remembers what it has sent, and the process that it talks to.
struct Client {
    clients: Clients,
    process: Process,
    /// What was seen since the start of the job.
    seen: usize,
    /// The process is killed when this many things were seen; 0 = never.
    kill_at: usize,
}

/// What a client must remember to repeat a call: ids that it got, and the edit that it sent.
#[derive(Default)]
struct Memory {
    session: String,
    world: String,
    edit: Option<proposal::UpdateChangesetRequest>,
}

/// The process was killed; or a call failed for another reason, which no test expects.
enum Stopped {
    Killed,
    Failed(Status),
}

/// Where everything stands at the end, without ids and times.
#[derive(Debug, PartialEq)]
struct Ending {
    turns: Vec<String>,
    lore: Vec<String>,
    history: Vec<String>,
    changesets: Vec<String>,
    events: BTreeMap<String, usize>,
}

// === impl Client ===

impl Client {
    async fn of(home: &Home, kill_at: usize) -> Self {
        let process = home.start().await;
        Self { clients: process.clients(), process, seen: 0, kill_at }
    }

    /// The client saw one more thing.
    fn saw(&mut self) -> Result<(), Stopped> {
        self.seen += 1;
        if self.seen == self.kill_at {
            self.process.kill_now();
            return Err(Stopped::Killed);
        }
        Ok(())
    }

    /// Passes on what a call answered, once it was seen.
    fn see<T>(&mut self, answer: Result<T, Status>) -> Result<T, Stopped> {
        let answer = answer?;
        self.saw()?;
        Ok(answer)
    }

    async fn main_job(&mut self, memory: &mut Memory) -> Result<(), Stopped> {
        let cast = self.cast().await?;
        memory.world = cast.world.world_id.clone();
        let opened = self.clients.open(&cast, ProfileMode::Journal).await;
        memory.session = self.see(opened)?.session.unwrap_or_default().session_id;

        let first = self.turn(&memory.session, "turn-1", job::FIRST).await?;
        let changeset = first.proposed()[0].changeset_id.clone();
        if memory.edit.is_none() {
            let read = self.clients.changeset(&changeset).await;
            memory.edit = Some(job::edit_of(&self.see(read)?));
        }
        let edit = memory.edit.clone().unwrap_or_default();
        let edited = self.clients.changesets.clone().update_changeset(edit).await;
        self.see(edited)?;
        let applied = self.clients.apply(&changeset).await;
        self.see(applied)?;
        self.turn(&memory.session, "turn-2", job::SECOND).await?;
        let undone = self.clients.undo(&changeset).await;
        self.see(undone)?;
        self.turn(&memory.session, "turn-3", job::THIRD).await?;
        Ok(())
    }

    async fn cast(&mut self) -> Result<Cast, Stopped> {
        let preset = self.clients.import_preset("preset", "p.json", samples::PRESET).await;
        let preset_id = self.see(preset)?.preset.unwrap_or_default().preset_id;
        let card = self.clients.import_character("card", "c.png", samples::CARD).await;
        let character_id = self.see(card)?.character.unwrap_or_default().character_id;
        let character = self.clients.character(&character_id).await;
        let character = self.see(character)?;
        let world = self.clients.import_world("world", "w.json", samples::WORLD).await;
        let world = self.see(world)?.world.unwrap_or_default();
        let user = self.clients.user().await;
        let user_id = self.see(user)?.user_id;
        let opted_in = self.clients.opt_in(&world).await;
        let world = self.see(opted_in)?;
        Ok(Cast { preset_id, character, user_id, world })
    }

    async fn turn(
        &mut self,
        session: &str,
        request_id: &str,
        content: &str,
    ) -> Result<Told, Stopped> {
        let mut frames = self.clients.begin(session, request_id, content).await?;
        let mut told = Told::default();
        while let Some(response) = frames.message().await? {
            told.push(response.frame);
            self.saw()?;
        }
        Ok(told)
    }

    async fn ending(&self, memory: &Memory) -> Result<Ending, Status> {
        let turns = self.clients.history(&memory.session).await?;
        let lore = self.clients.entries(&memory.world, WorldView::All).await?;
        let request =
            lorebook::ListChangesRequest { world_id: memory.world.clone(), ..Default::default() };
        let history = self.clients.history.clone().list_changes(request).await?.into_inner();
        let listed = self.clients.listed(ChangesetFilter::Unspecified).await?;
        let mut changesets = Vec::new();
        for changeset in listed {
            changesets
                .push(changeset_line(&self.clients.changeset(&changeset.changeset_id).await?));
        }
        let mut events = BTreeMap::new();
        for kind in self.clients.kinds(&memory.session).await {
            *events.entry(kind).or_default() += 1;
        }
        let verified = self.clients.verified(&memory.session).await?;
        assert_eq!(verified.first_bad_offset, 0);
        assert!(verified.drifted_requests.is_empty() && !verified.snapshot_drifted);
        Ok(Ending {
            turns: turns.iter().map(turn_line).collect(),
            lore: lore.iter().map(entry_line).collect(),
            history: history.changes.iter().map(change_line).collect(),
            changesets,
            events,
        })
    }
}

impl From<Status> for Stopped {
    fn from(status: Status) -> Self {
        Self::Failed(status)
    }
}

fn turn_line(turn: &ledger::Turn) -> String {
    let alternatives: Vec<_> =
        turn.alternatives.iter().map(|a| format!("{:?} {}", a.phase(), a.content)).collect();
    format!(
        "{} {:?} {:?} {} {} {alternatives:?}",
        turn.seq,
        turn.author(),
        turn.phase(),
        turn.in_context,
        turn.content
    )
}

fn entry_line(entry: &lorebook::Entry) -> String {
    format!(
        "{} {} {:?} {:?} {:?} {} r{} {}",
        entry.uid,
        entry.name,
        entry.keys,
        entry.layer(),
        entry.overlay_action(),
        entry.archived,
        entry.entry_revision,
        entry.content
    )
}

fn change_line(change: &lorebook::Change) -> String {
    let (from, to) = (change.base_revision, change.applied_revision);
    format!("{:?} {} {from} {to} {}", change.origin(), change.summary, change.revertible)
}

fn changeset_line(changeset: &proposal::Changeset) -> String {
    let operations = changeset.operations.iter().filter_map(|proposed| proposed.operation.as_ref());
    let operations: Vec<_> = operations
        .map(|operation| {
            format!("{:?} {:?} {:?}", operation.kind(), operation.name, operation.content)
        })
        .collect();
    let (state, base) = (changeset.state(), changeset.base_revision);
    format!("{state:?} {base} {} {operations:?}", changeset.summary)
}

/// The job, killed once and repeated; how it ended and how much was seen in all.
async fn run(home: &Home, kill_at: usize) -> (Ending, usize) {
    let mut memory = Memory::default();
    let mut client = Client::of(home, kill_at).await;
    let mut seen = 0;
    loop {
        let outcome = client.main_job(&mut memory).await;
        seen += client.seen;
        match outcome {
            Ok(()) => break,
            Err(Stopped::Killed) => {
                client.process.kill().await;
                home.let_leases_run_out().await;
                client = Client::of(home, 0).await;
            }
            Err(Stopped::Failed(status)) => panic!("killed at {kill_at}: {status:?}"),
        }
    }
    let ending = client.ending(&memory).await.expect("readable");
    client.process.kill().await;
    (ending, seen)
}

/// Kills at each `step`th thing seen, each in a home of its own.
async fn a_kill_changes_nothing(step: usize, home: impl AsyncFn() -> Home) {
    let (whole, points) = run(&home().await, 0).await;
    println!("{points} points");
    assert!(points >= POINTS_MIN, "{points} points");
    let kills = (1..=points).step_by(step);
    let kills = kills.map(async |kill_at| (kill_at, run(&home().await, kill_at).await.0));
    let mut endings = futures::stream::iter(kills).buffer_unordered(AT_ONCE);
    while let Some((kill_at, mut ending)) = endings.next().await {
        // A dead attempt at the same reply leaves its beginning and its stamp in the log, nothing else.
        for kind in ["generation-started", "llm-request-requested"] {
            let (once, found) = (whole.events[kind], ending.events[kind]);
            assert!(found == once || found == once + 1, "killed at {kill_at}: {found} {kind}");
            ending.events.insert(kind.to_owned(), once);
        }
        assert_eq!(ending, whole, "killed at {kill_at} of {points}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_each_thing_seen_a_kill_changes_nothing_in_the_end() {
    a_kill_changes_nothing(1, async || Home::new(SKALD, &script())).await;
}

/// At every third point: each of them takes a database of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_changes_nothing_in_the_end_on_postgres_either() {
    if host::testing::postgres_url().await.is_none() {
        return;
    }
    let home = async || Home::on_postgres(SKALD, &script()).await.expect("it was there just now");
    a_kill_changes_nothing(3, home).await;
}

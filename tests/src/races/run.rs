//! One run: a world, its callers, who goes first, and what must be true afterwards.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use futures::future::join_all;
use tokio::sync::Barrier;
use tonic::Status;
use wire::{lorebook::v1 as pb, mesh::v1::ApplyChangeRequest};

use super::{
    Dice,
    asked::{self, Answer, Asked, BOOK, Told},
    deed::{Deed, Plan},
    laws,
    place::{Hands, Place, Seen},
    turnstile::{ACTOR, Turnstile},
};

/// Who decides who is first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// The seed, on one thread: the same run each time.
    Seeded,
    /// The machine, on many threads.
    Threads,
}

/// Everything that was asked and answered in a run.
#[derive(Debug, Default)]
pub struct Log {
    pub asked: BTreeMap<usize, Asked>,
    /// In the order in which the callers heard it.
    pub said: Vec<Said>,
    /// The steps of the store and the answers between them, as a person reads them.
    pub lines: Vec<String>,
}

#[derive(Debug)]
pub struct Said {
    pub deed: Deed,
    pub told: Told,
}

/// A run as it went.
pub struct Report {
    pub seed: u64,
    pub log: Log,
    pub before: Seen,
    pub after: Seen,
    /// Newest first, with rows.
    pub history: Vec<pb::Change>,
    /// What does not hold; empty if all is well.
    pub broken: Vec<String>,
}

struct Race {
    hands: Hands,
    turnstile: Arc<Turnstile>,
    name: String,
    world_id: String,
    plan: Plan,
    log: Mutex<Log>,
}

/// Runs what the seed says.
pub async fn run(place: &Place, pace: Pace, seed: u64) -> Report {
    let mut dice = Dice::of(seed);
    let name = format!("s{seed}");
    let hands = place.hands(&name);
    let world_id = prepare(&hands, &name, &mut dice).await.expect("a world to race on");
    let (plan, turnstile) = (Plan::of(&mut dice), place.turnstile.clone());
    let race = Race { hands, turnstile, name, world_id, plan, log: Mutex::default() };
    let race = Arc::new(race);
    let before = race.seen().await;
    match pace {
        Pace::Seeded => race.seeded(&mut dice).await,
        Pace::Threads => race.threaded().await,
    }
    let (after, history) = (race.seen().await, race.hands.history(&race.world_id).await);
    let log = std::mem::take(&mut *race.log.lock().expect("not poisoned"));
    let history = history.expect("a history");
    let mut report = Report { seed, log, before, after, history, broken: Vec::new() };
    report.broken = laws::broken(&report);
    report
}

/// A world of three entries, half of the time with a change in its History.
async fn prepare(hands: &Hands, name: &str, dice: &mut Dice) -> Result<String, Status> {
    let (imported, _) = asked::import(hands, &format!("{name}-book"), BOOK.as_bytes()).await?;
    let Answer::World(world) = imported else { panic!("an import answers a world") };
    if dice.below(2) == 0 {
        let operation = pb::Operation {
            kind: pb::OperationKind::Create.into(),
            name: Some("Snow".to_owned()),
            content: Some("Snow fell.".to_owned()),
            ..Default::default()
        };
        let request = ApplyChangeRequest {
            change_id: format!("{name}-first"),
            world_id: world.world_id.clone(),
            base_revision: world.content_revision,
            operations: vec![operation],
            origin: pb::ChangeOrigin::Agent.into(),
            ..Default::default()
        };
        hands.lore.clone().apply_change(request).await?;
    }
    Ok(world.world_id)
}

// === impl Race ===

impl Race {
    async fn seen(&self) -> Seen {
        self.hands.read(&self.world_id, pb::WorldView::All).await.expect("the world")
    }

    async fn seeded(&self, dice: &mut Dice) {
        let callers = 0..self.plan.callers.len();
        self.turnstile.expect(callers.len());
        let acts = callers.map(|caller| {
            ACTOR.scope(caller, async move {
                self.turnstile.step("begins").await;
                self.act(caller).await;
                self.turnstile.leave();
            })
        });
        tokio::join!(join_all(acts), self.turnstile.turn(dice));
    }

    async fn threaded(self: &Arc<Self>) {
        let all = Arc::new(Barrier::new(self.plan.callers.len()));
        let acts = (0..self.plan.callers.len()).map(|caller| {
            let (all, race) = (all.clone(), self.clone());
            tokio::spawn(async move {
                all.wait().await;
                race.act(caller).await;
            })
        });
        for ended in join_all(acts).await {
            ended.expect("no caller panics");
        }
    }

    async fn act(&self, caller: usize) {
        for deed in self.plan.callers[caller].iter().map(|at| self.plan.deeds[*at]) {
            let told = self.done(&deed).await;
            let mut log = self.log.lock().expect("not poisoned");
            let steps = self.turnstile.steps();
            log.lines.extend(steps.iter().map(|(who, step)| format!("caller {who}: {step}")));
            let heard = laws::heard(&deed, log.asked.get(&deed.id), &told);
            log.lines.push(format!("caller {caller} hears of {heard}"));
            log.said.push(Said { deed, told });
        }
    }

    /// Sends the deed's request: the one that a twin has made, or one of its own.
    async fn done(&self, deed: &Deed) -> Told {
        let asked = self.log.lock().expect("not poisoned").asked.get(&deed.id).cloned();
        let asked = match asked {
            Some(asked) => asked,
            None => {
                let asked = Asked::of(deed, &self.name, &self.world_id, &self.hands).await?;
                self.log.lock().expect("not poisoned").asked.entry(deed.id).or_insert(asked).clone()
            }
        };
        asked.send(&self.hands).await
    }
}

// === impl Report ===

impl Report {
    /// The run as a person reads it: what does not hold, then who did what when.
    pub fn text(&self) -> String {
        let Self { seed, broken, log, before, after, .. } = self;
        let (first, last) = (before.world.content_revision, after.world.content_revision);
        let mut lines = vec![format!("seed {seed}, revision {first} to {last}:")];
        lines.extend(broken.iter().map(|why| format!("  broken: {why}")));
        let numbered = log.lines.iter().zip(1..);
        lines.extend(numbered.map(|(line, at)| format!("  {at:3}. {line}")));
        lines.join("\n")
    }
}

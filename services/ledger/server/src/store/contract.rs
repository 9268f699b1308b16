//! What every store of the ledger must do, run on both databases.

mod jobs;
mod sessions;

use std::sync::Arc;

use host::idempotency::Scope;
use kernel::{
    Digest, GenerationId, JobId, ManualClock, Owner, RequestId, SessionId, Subject, TenantId,
    Timestamp,
};
use ledger_core::{
    Actor, Decision, Envelope, Lease, Settings, State, Verb,
    command::Text,
    decide,
    decide::{AddContext, Create},
};
use prompt::derive::Tier;

use self::{jobs::*, sessions::*};
use super::{
    Append, AppendError, GenerationLease, GenerationWrite, JobLease, JobState, NewJob, NewSession,
    PendingSession, Store, postgres::PostgresStore, sqlite::SqliteStore,
};
use crate::attempt::Attempt;

const LEASE_MS: i64 = 60_000;

/// A store with a clock that the test moves (SQLite's leases follow it; PostgreSQL has its own).
struct Bench {
    store: Arc<dyn Store>,
    clock: Arc<ManualClock>,
    _folder: Option<tempfile::TempDir>,
}

macro_rules! contract {
    ($($(#[$doc:meta])* $name:ident)*) => {
        mod on_sqlite {
            $($(#[$doc])*
            #[tokio::test]
            async fn $name() {
                super::$name(super::sqlite().await).await;
            })*
        }
        mod on_postgres {
            $($(#[$doc])*
            #[tokio::test]
            async fn $name() {
                if let Some(bench) = super::postgres().await {
                    super::$name(bench).await;
                }
            })*
        }
    };
}

contract! {
    a_created_session_is_read_back_whole
    another_owner_sees_nothing
    an_append_behind_the_head_is_refused_and_writes_nothing
    of_many_appends_at_one_head_one_wins
    a_request_id_is_answered_once
    a_session_has_one_running_generation
    a_generation_under_an_old_fence_is_refused
    a_pending_session_becomes_live_or_is_forgotten
    jobs_are_leased_one_per_session_and_finished_with_events
    a_failed_job_is_parked_and_lets_the_next_one_through
    a_job_whose_workers_all_died_is_parked
    snapshots_only_move_forward
    chunks_are_read_back_in_order_and_go_with_the_generation
    texts_are_kept_once_per_owner
    sessions_are_listed_newest_first
    a_listed_session_is_what_its_events_fold_to
    the_request_before_an_offset_is_the_newest_of_them
}

async fn sqlite() -> Bench {
    let (folder, database) =
        host::testing::sqlite("ledger", crate::migrations(&crate::SQLITE)).await;
    let clock = clock();
    let store = SqliteStore::start(database, clock.clone()).await.expect("started");
    Bench { store: Arc::new(store), clock, _folder: Some(folder) }
}

async fn postgres() -> Option<Bench> {
    let url = host::testing::postgres().await?;
    let migrations = crate::migrations(&crate::POSTGRES);
    let database = host::database::Postgres::open(&url, "ledger", migrations, 8).await;
    let clock = clock();
    let store = PostgresStore::new(database.expect("opened"), clock.clone());
    Some(Bench { store: Arc::new(store), clock, _folder: None })
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(Timestamp::from_micros(1_796_000_000_000_000)))
}

fn owner(subject: &str) -> Owner {
    let tenant = TenantId::new("acme").expect("an id");
    Owner { tenant, subject: Subject::new(subject).expect("an id") }
}

fn session() -> SessionId {
    SessionId::new("s1").expect("an id")
}

fn envelope() -> Envelope {
    let subject = Subject::new("ada").expect("an id");
    Envelope {
        now: Timestamp::from_micros(1_796_000_000_000_000),
        actor: Actor { tier: Tier::Owner, subject, claim: None },
        scopes: Default::default(),
        request_id: None,
        entropy: [7; 32],
        lease: Lease::Alive,
    }
}

fn creation(session: &SessionId, owner: &Owner) -> Decision<()> {
    let create = Create {
        session: session.clone(),
        owner: owner.clone(),
        settings: Settings::default(),
        parent: None,
    };
    decide(&State::default(), &envelope(), create).expect("decided")
}

impl Bench {
    async fn create_named(&self, name: &str, at: i64) -> State {
        let (owner, session) = (owner("ada"), SessionId::new(name).expect("an id"));
        let decision = creation(&session, &owner);
        let created_at = Timestamp::from_micros(at);
        let append = Append {
            creates: Some(NewSession { title: name.to_owned(), created_at }),
            ..Append::to(&owner, &session).with(decision.events, &decision.state)
        };
        self.store.append(append).await.expect("created");
        decision.state
    }

    async fn create(&self) -> State {
        self.create_named("s1", 1).await
    }

    /// One more event on a state, not yet appended.
    fn fact(&self, state: &State, text: &str) -> (Append, State) {
        let content = Text::new(text).expect("a text");
        self.decided(state, AddContext { key: None, content })
    }

    /// What a verb decides on a state, not yet appended.
    fn decided(&self, state: &State, verb: impl Verb) -> (Append, State) {
        let decision = decide(state, &envelope(), verb).expect("decided");
        let append = Append::to(&owner("ada"), &session());
        (append.with(decision.events, &decision.state), decision.state)
    }

    async fn head(&self) -> u64 {
        let row = self.store.session(&owner("ada"), &session()).await.expect("read");
        row.expect("there").head
    }
}

fn lease(name: &str, fence: u64) -> GenerationLease {
    let generation = GenerationId::new(name).expect("an id");
    GenerationLease { generation, reply_seq: 1, fence, lease_ms: LEASE_MS }
}

fn job(name: &str, place: u64) -> NewJob {
    NewJob { job: JobId::new(name).expect("an id"), place, work: b"{}".to_vec() }
}

fn attempt(id: &str, request: &str) -> Attempt {
    let request_id = RequestId::new(id).expect("an id");
    let scope = Scope::new(&owner("ada"), "skald.ledger.v1.Test/Test", request_id);
    Attempt { scope: Some(scope), request: kernel::digest(request.as_bytes()) }
}

async fn an_append_behind_the_head_is_refused_and_writes_nothing(bench: Bench) {
    let state = bench.create().await;
    let (first, _) = bench.fact(&state, "first");
    let (mut second, _) = bench.fact(&state, "second");
    second.jobs.push(job("j1", 2));
    second.answer = attempt("r1", "x").entry(b"y");
    bench.store.append(first).await.expect("appended");
    let refused = bench.store.append(second).await;
    assert!(matches!(refused, Err(AppendError::HeadMoved)), "{refused:?}");
    let jobs = bench.store.lease_jobs("w", 10, LEASE_MS).await.expect("leased");
    assert_eq!(jobs, vec![]);
    let scope = attempt("r1", "x").scope.expect("a scope");
    assert_eq!(bench.store.answer(&scope).await.expect("read"), None);
}

async fn of_many_appends_at_one_head_one_wins(bench: Bench) {
    let state = bench.create().await;
    let appends = (0..16).map(|n| bench.fact(&state, &format!("fact {n}")).0);
    let outcomes =
        futures::future::join_all(appends.map(|append| bench.store.append(append))).await;
    let won = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    let lost = |o: &&Result<(), AppendError>| matches!(o, Err(AppendError::HeadMoved));
    assert_eq!((won, outcomes.iter().filter(lost).count()), (1, 15));
    assert_eq!(bench.head().await, 2);
}

async fn a_request_id_is_answered_once(bench: Bench) {
    let state = bench.create().await;
    let attempt = attempt("r1", "x");
    let (first, state) = bench.fact(&state, "first");
    let answered = Append { answer: attempt.entry(b"two"), ..first };
    bench.store.append(answered).await.expect("appended");
    let (second, _) = bench.fact(&state, "second");
    let again = Append { answer: attempt.entry(b"three"), ..second };
    let refused = bench.store.append(again).await;
    assert!(matches!(refused, Err(AppendError::Answered)), "{refused:?}");
    let scope = attempt.scope.expect("a scope");
    let stored = bench.store.answer(&scope).await.expect("read").expect("stored");
    assert_eq!((stored.request, stored.reference), (attempt.request, b"two".to_vec()));
    assert_eq!(bench.head().await, 2);
}

async fn a_session_has_one_running_generation(bench: Bench) {
    let state = bench.create().await;
    let (append, state) = bench.fact(&state, "one");
    let open = Append { generation: GenerationWrite::Open(lease("g1", 1)), ..append };
    bench.store.append(open).await.expect("opened");
    let (append, state) = bench.fact(&state, "two");
    let other = Append { generation: GenerationWrite::Open(lease("g2", 1)), ..append.clone() };
    let refused = bench.store.append(other).await;
    assert!(matches!(refused, Err(AppendError::GenerationInProgress)), "{refused:?}");

    let (generation, fence) = (lease("g1", 1).generation, 1);
    let replace = GenerationWrite::Replace { generation, fence, lease: lease("g3", 1) };
    bench.store.append(Append { generation: replace, ..append }).await.expect("replaced");
    let running = bench.store.running(&owner("ada"), &session()).await.expect("read");
    let running = running.expect("one runs");
    assert_eq!((running.generation.as_str(), running.running), ("g3", true));
    let old = bench.store.generation(&owner("ada"), &lease("g1", 1).generation).await;
    assert!(!old.expect("read").expect("known").running);
    let _ = state;
}

async fn a_generation_under_an_old_fence_is_refused(bench: Bench) {
    let state = bench.create().await;
    let (append, state) = bench.fact(&state, "one");
    let open = Append { generation: GenerationWrite::Open(lease("g1", 1)), ..append };
    bench.store.append(open).await.expect("opened");
    let (append, state) = bench.fact(&state, "two");
    let take = GenerationWrite::TakeOver { lease: lease("g1", 2), seen_fence: 1 };
    bench.store.append(Append { generation: take, ..append }).await.expect("taken over");

    let generation = lease("g1", 1).generation;
    let renewed = bench.store.renew(&owner("ada"), &generation, 1, LEASE_MS).await;
    assert!(!renewed.expect("asked"));
    assert!(bench.store.renew(&owner("ada"), &generation, 2, LEASE_MS).await.expect("asked"));
    let (append, _) = bench.fact(&state, "three");
    let close = GenerationWrite::Close { generation: generation.clone(), fence: 1 };
    let late = bench.store.append(Append { generation: close, ..append.clone() }).await;
    assert!(matches!(late, Err(AppendError::LeaseLost)), "{late:?}");
    let close = GenerationWrite::Close { generation, fence: 2 };
    bench.store.append(Append { generation: close, ..append }).await.expect("closed");
    assert_eq!(bench.store.running(&owner("ada"), &session()).await.expect("read"), None);
}

async fn chunks_are_read_back_in_order_and_go_with_the_generation(bench: Bench) {
    let state = bench.create().await;
    let (append, state) = bench.fact(&state, "one");
    let open = Append { generation: GenerationWrite::Open(lease("g1", 1)), ..append };
    bench.store.append(open).await.expect("opened");
    let (owner, generation) = (owner("ada"), lease("g1", 1).generation);
    for (at, text) in [(0, "сна"), (6, "чала "), (0, "again")] {
        bench.store.put_chunk(&owner, &generation, 1, at, text).await.expect("kept");
    }
    let text = bench.store.chunks(&owner, &generation, 1).await.expect("read");
    assert_eq!(text, "сначала ");
    assert_eq!(bench.store.chunks(&owner, &generation, 2).await.expect("read"), "");
    let (append, _) = bench.fact(&state, "two");
    let close = GenerationWrite::Close { generation: generation.clone(), fence: 1 };
    bench.store.append(Append { generation: close, ..append }).await.expect("closed");
    assert_eq!(bench.store.chunks(&owner, &generation, 1).await.expect("read"), "");
}

async fn texts_are_kept_once_per_owner(bench: Bench) {
    let state = bench.create().await;
    let kept = |text: &str| (kernel::digest(text.as_bytes()), text.to_owned());
    let (append, state) = bench.fact(&state, "one");
    let texts = vec![kept("a"), kept("b")];
    bench.store.append(Append { texts, ..append }).await.expect("kept");
    let (append, _) = bench.fact(&state, "two");
    let texts = vec![kept("b"), kept("c")];
    bench.store.append(Append { texts, ..append }).await.expect("kept");
    let digests: Vec<Digest> = ["a", "b", "c", "d"].map(|t| kept(t).0).to_vec();
    let mut found = bench.store.texts(&owner("ada"), &digests).await.expect("read");
    found.sort_by(|a, b| a.1.cmp(&b.1));
    assert_eq!(found, [kept("a"), kept("b"), kept("c")]);
    assert_eq!(bench.store.texts(&owner("bob"), &digests).await.expect("read"), vec![]);
}

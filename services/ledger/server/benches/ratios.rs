//! The ledger's figures, each against its floor in the same run: `cargo bench -p ledger --bench ratios`.
//!
//! `append_N_writers`: N sessions that each append one event at a time through the store, against the
//! same rows written through the bare driver into the same tables, where each transaction holds one
//! event of every session. So the floor has perfect groups and no checks; what remains is the cost of
//! the queue, the look-ups and the answers. Both are durable (`synchronous=FULL`) and on one disk.
//!
//! `append_shared_N_events`: the same for one append of N events.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use host::{database::Sqlite, testing};
use kernel::{Owner, SessionId, Subject, SystemClock, TenantId, Timestamp};
use ledger::store::{Append, Listed, NewSession, Store, sqlite::SqliteStore};
use ledger_core::{
    Actor, Envelope, Lease, Settings, State,
    command::Text,
    decide,
    decide::{AddContext, Create},
    event::Record,
};
use prompt::derive::Tier;
use sqlx::{Connection, SqliteConnection, migrate::Migrator};
use tokio::runtime::Runtime;

static MIGRATIONS: Migrator = sqlx::migrate!("../../../migrations/ledger/sqlite");

/// Alternating rounds; the median of their ratios is the figure.
const ROUNDS: usize = 9;
/// What one event says: about what a person types.
const TEXT_BYTES: usize = 400;

/// A session and the events that it will append, decided before anything is timed.
struct Script {
    session: SessionId,
    created: Vec<Record>,
    facts: Vec<Record>,
}

fn main() {
    let runtime = Runtime::new().expect("a runtime");
    for (writers, appends, bound) in [(1, 64, 2.0), (8, 64, 2.0), (64, 64, 2.0)] {
        let name = format!("append_{writers}_writers");
        let mut round = 0;
        figure(&name, bound, || {
            round += 1;
            let scripts = scripts(writers, appends, round);
            let floor = runtime.block_on(bare(&scripts));
            let ours = runtime.block_on(through_the_store(scripts));
            let each = |time: Duration| time / u32::try_from(writers * appends).expect("few");
            println!("  an event: floor {:?}, ours {:?}", each(floor), each(ours));
            (floor, ours)
        });
    }
}

/// Prints the median ratio of several rounds of (floor, ours).
fn figure(name: &str, bound: f64, mut round: impl FnMut() -> (Duration, Duration)) {
    let mut ratios: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let (floor, ours) = round();
            ours.as_secs_f64() / floor.as_secs_f64()
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    println!("ratio {name} {:.2} bound <= {bound}", ratios[ROUNDS / 2]);
}

// --- ours ---

async fn through_the_store(scripts: Vec<Script>) -> Duration {
    let (_folder, database) = database().await;
    let store = SqliteStore::start(database, Arc::new(SystemClock)).await.expect("started");
    let store = Arc::new(store);
    for script in &scripts {
        let created = NewSession { title: String::new(), created_at: Timestamp::from_micros(1) };
        let append = Append { creates: Some(created), ..append(script, script.created.clone()) };
        store.append(append).await.expect("created");
    }
    let started = Instant::now();
    let writers = scripts.into_iter().map(|script| {
        let store = store.clone();
        tokio::spawn(async move {
            for fact in &script.facts {
                store.append(append(&script, vec![fact.clone()])).await.expect("appended");
            }
        })
    });
    for ended in futures::future::join_all(writers).await {
        ended.expect("no panic");
    }
    started.elapsed()
}

fn append(script: &Script, events: Vec<Record>) -> Append {
    let listed = Listed { settings: Settings::default(), turn_count: 0, deleted: false };
    Append { events, listed: Some(listed), ..Append::to(&owner(), &script.session) }
}

// --- the floor ---

async fn bare(scripts: &[Script]) -> Duration {
    let (_folder, database) = database().await;
    let mut writer = database.writer.acquire().await.expect("a connection");
    for script in scripts {
        create(&mut writer, script).await;
    }
    let rounds = scripts[0].facts.len();
    let started = Instant::now();
    for at in 0..rounds {
        let mut transaction = writer.begin_with("begin immediate").await.expect("begun");
        for script in scripts {
            insert(&mut transaction, &script.facts[at]).await;
            move_head(&mut transaction, &script.facts[at]).await;
        }
        transaction.commit().await.expect("committed");
    }
    started.elapsed()
}

async fn create(connection: &mut SqliteConnection, script: &Script) {
    let insert_session = "
        insert into sessions (tenant, subject, session_id, status, title, created_at, head)
        values ($1, $2, $3, 'live', '', 1, 1)";
    sqlx::query(insert_session)
        .bind("acme")
        .bind("ada")
        .bind(script.session.as_str())
        .execute(&mut *connection)
        .await
        .expect("created");
    for record in &script.created {
        insert(connection, record).await;
    }
}

async fn insert(connection: &mut SqliteConnection, record: &Record) {
    let insert_event = "
        insert into events (
            tenant, session_id, at_offset, recorded_at, actor, kind, request_id,
            payload, salt, commitment, chain
        )
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    let kept = record.kept.as_ref().expect("not erased");
    sqlx::query(insert_event)
        .bind("acme")
        .bind(record.meta.session.as_str())
        .bind(record.meta.offset.cast_signed())
        .bind(record.meta.recorded_at.micros())
        .bind(record.meta.actor.to_stored())
        .bind(record.meta.kind.name())
        .bind(None::<&str>)
        .bind(kept.payload.as_slice())
        .bind(kept.salt.as_bytes().as_slice())
        .bind(record.commitment.as_bytes().as_slice())
        .bind(record.chain.as_bytes().as_slice())
        .execute(connection)
        .await
        .expect("inserted");
}

async fn move_head(connection: &mut SqliteConnection, record: &Record) {
    let update = "update sessions set head = $3 where tenant = $1 and session_id = $2";
    sqlx::query(update)
        .bind("acme")
        .bind(record.meta.session.as_str())
        .bind(record.meta.offset.cast_signed())
        .execute(connection)
        .await
        .expect("moved");
}

// --- what both write ---

async fn database() -> (tempfile::TempDir, Sqlite) {
    let migrations = Migrator { migrations: MIGRATIONS.migrations.clone(), ..Migrator::DEFAULT };
    testing::sqlite("ledger", migrations).await
}

fn scripts(writers: usize, appends: usize, round: usize) -> Vec<Script> {
    (0..writers).map(|writer| script(&format!("s-{round}-{writer}"), appends)).collect()
}

fn script(name: &str, appends: usize) -> Script {
    let session = SessionId::new(name).expect("an id");
    let create = Create {
        session: session.clone(),
        owner: owner(),
        settings: Settings::default(),
        parent: None,
    };
    let created = decide(&State::default(), &envelope(), create).expect("decided");
    let mut state = created.state;
    let facts = (0..appends).map(|at| {
        let text = format!("{at} ").repeat(TEXT_BYTES / 3);
        let content = Text::new(text).expect("a text");
        let decided = decide(&state, &envelope(), AddContext { key: None, content });
        let mut decided = decided.expect("decided");
        state = decided.state;
        decided.events.remove(0).into_record()
    });
    let facts = facts.collect();
    let created = created.events.into_iter().map(|event| event.into_record()).collect();
    Script { session, created, facts }
}

fn owner() -> Owner {
    let tenant = TenantId::new("acme").expect("an id");
    Owner { tenant, subject: Subject::new("ada").expect("an id") }
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

//! Whoever is first on a world, the same laws hold: seeded interleavings, and real threads.

use tests::races::{Fault, Kind, Pace, Place, run};

async fn raced(kind: Kind, pace: Pace, seeds: std::ops::Range<u64>) {
    let Some(place) = Place::open(kind, Fault::None).await else { return };
    for seed in seeds {
        let report = run(&place, pace, seed).await;
        assert!(report.broken.is_empty(), "{}", report.text());
    }
}

/// Some seed shows that a guard is missing, and its report says how.
async fn caught(fault: Fault, told: &str) {
    let place = Place::open(Kind::Sqlite, fault).await.expect("sqlite is there");
    for seed in 0..200 {
        let report = run(&place, Pace::Seeded, seed).await;
        if report.broken.iter().any(|why| why.contains(told)) {
            return;
        }
    }
    panic!("no seed shows that {fault:?} is broken");
}

#[tokio::test]
async fn seeded_interleavings_keep_the_laws_on_sqlite() {
    raced(Kind::Sqlite, Pace::Seeded, 0..150).await;
}

#[tokio::test]
async fn seeded_interleavings_keep_the_laws_on_postgres() {
    raced(Kind::Postgres, Pace::Seeded, 0..40).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_on_real_threads_keep_the_laws_on_sqlite() {
    raced(Kind::Sqlite, Pace::Threads, 0..60).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_on_real_threads_keep_the_laws_on_postgres() {
    raced(Kind::Postgres, Pace::Threads, 0..40).await;
}

#[tokio::test]
async fn a_seed_makes_the_same_run_again() {
    let mut runs = Vec::new();
    for _ in 0..2 {
        let place = Place::open(Kind::Sqlite, Fault::None).await.expect("sqlite is there");
        runs.push(run(&place, Pace::Seeded, 7).await);
    }
    assert_eq!(runs[0].text(), runs[1].text());
    assert_eq!((&runs[0].after, &runs[0].history), (&runs[1].after, &runs[1].history));
}

#[tokio::test]
async fn a_missing_guard_breaks_a_law_that_names_it() {
    caught(Fault::ForcesStale, "was applied to").await;
    caught(Fault::ForgetsClosed, "was closed and applied").await;
    caught(Fault::ForgetsAttempts, "times").await;
}

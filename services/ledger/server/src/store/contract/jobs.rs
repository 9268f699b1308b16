//! Jobs: leased, finished, put back, parked.

use super::*;

pub(super) async fn jobs_are_leased_one_per_session_and_finished_with_events(bench: Bench) {
    let state = bench.create().await;
    let (append, state) = bench.fact(&state, "one");
    let jobs = vec![job("j1", 2), job("j2", 3)];
    bench.store.append(Append { jobs, ..append }).await.expect("queued");
    let first = bench.store.lease_jobs("w", 10, LEASE_MS).await.expect("leased");
    assert_eq!(first.len(), 1, "one session, one job at a time");
    assert_eq!((first[0].lease.job.as_str(), first[0].attempt), ("j1", 1));
    assert_eq!(bench.store.lease_jobs("v", 10, LEASE_MS).await.expect("leased"), vec![]);
    let known = bench.store.leased(&owner("ada"), &first[0].lease).await.expect("read");
    assert_eq!(known.as_ref(), first.first());

    let stale = JobLease { fence: 99, ..first[0].lease.clone() };
    let (append, state) = bench.fact(&state, "two");
    let refused = bench.store.append(Append { finished: Some(stale), ..append.clone() }).await;
    assert!(matches!(refused, Err(AppendError::LeaseLost)), "{refused:?}");
    let finished = Some(first[0].lease.clone());
    bench.store.append(Append { finished, ..append }).await.expect("finished");
    let done = bench.store.job(&owner("ada"), &first[0].lease.job).await.expect("read");
    assert_eq!(done, JobState::Finished);
    let next = bench.store.lease_jobs("w", 10, LEASE_MS).await.expect("leased");
    assert_eq!(next[0].lease.job.as_str(), "j2");

    let nothing =
        Append { finished: Some(next[0].lease.clone()), ..Append::to(&owner("ada"), &session()) };
    bench.store.append(nothing).await.expect("finished without events");
    assert_eq!(bench.head().await, 3);
    let _ = state;
}

pub(super) async fn a_failed_job_is_parked_and_lets_the_next_one_through(bench: Bench) {
    let state = bench.create().await;
    let (append, _) = bench.fact(&state, "one");
    let jobs = vec![job("j1", 2), job("j2", 3)];
    bench.store.append(Append { jobs, ..append }).await.expect("queued");
    let leased = bench.store.lease_jobs("w", 1, LEASE_MS).await.expect("leased");
    let again = bench.store.release_job(&owner("ada"), &leased[0].lease, "no", Some(0)).await;
    assert!(again.expect("released"));
    bench.clock.advance_ms(1);
    let second = bench.store.lease_jobs("w", 1, LEASE_MS).await.expect("leased");
    assert_eq!((second[0].lease.job.as_str(), second[0].attempt), ("j1", 2));
    let late = bench.store.release_job(&owner("ada"), &leased[0].lease, "late", None).await;
    assert!(!late.expect("asked"), "the first lease is lost");
    let parked = bench.store.release_job(&owner("ada"), &second[0].lease, "broken", None).await;
    assert!(parked.expect("parked"));
    let state = bench.store.job(&owner("ada"), &second[0].lease.job).await.expect("read");
    assert_eq!(state, JobState::Parked { failure: "broken".to_owned() });
    let next = bench.store.lease_jobs("w", 1, LEASE_MS).await.expect("leased");
    assert_eq!(next[0].lease.job.as_str(), "j2");
}

pub(super) async fn a_job_whose_workers_all_died_is_parked(bench: Bench) {
    let state = bench.create().await;
    let (append, _) = bench.fact(&state, "one");
    bench.store.append(Append { jobs: vec![job("j1", 2)], ..append }).await.expect("queued");
    for attempt in 1..=kernel::limits::JOB_ATTEMPTS_MAX {
        // Expired as soon as it is given: its worker is as good as dead.
        let leased = bench.store.lease_jobs("w", 1, -1).await.expect("leased");
        assert_eq!(leased[0].attempt, attempt);
    }
    assert_eq!(bench.store.lease_jobs("w", 1, -1).await.expect("asked"), vec![]);
    let job = JobId::new("j1").expect("an id");
    let state = bench.store.job(&owner("ada"), &job).await.expect("read");
    assert!(matches!(state, JobState::Parked { .. }), "{state:?}");
}

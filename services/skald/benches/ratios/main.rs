//! The whole house's figures, each against its floor in the same run: `cargo bench -p skald --bench ratios`.
//!
//! All four services in one process, on SQLite with `synchronous=FULL`, on the sample files of the demo,
//! with the scripted model at zero latency.
//!
//! - `commits_*`: durable commits, counted in the write-ahead logs, not timed.
//! - `turn_over_its_commits`: the time of a turn over the time of as many bare durable commits through the
//!   driver on the same disk; `turn_with_evaluation_over_its_commits` waits for the judgement, too.
//! - `get_session_*_over_bare_call`: GetSession through the whole house over a bare tonic health call, in
//!   process (near) and over loopback (far). GetSession authenticates, and reads rows.
//! - `idle_memory_mb`: resident memory of `skald serve` that has just answered a call and does nothing.

mod calls;
mod disk;
mod process;
mod scene;
mod turns;

use std::time::Duration;

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        turns::measure().await;
        calls::measure().await;
        process::measure().await;
    });
}

/// Prints a figure of several rounds of (floor, ours): the median ratio.
fn figure(name: &str, bound: f64, rounds: &[(Duration, Duration)]) {
    let ratios = rounds.iter().map(|(floor, ours)| ours.as_secs_f64() / floor.as_secs_f64());
    let (floors, ours) = rounds.iter().map(|(floor, ours)| (*floor, *ours)).unzip();
    println!("  floor {:?}, ours {:?}", median::<Duration>(floors), median::<Duration>(ours));
    let ratio = median_by(ratios.collect(), f64::total_cmp);
    println!("ratio {name} {ratio:.2} bound <= {bound}");
}

fn median<T: Ord + Copy>(values: Vec<T>) -> T {
    median_by(values, T::cmp)
}

fn median_by<T: Copy>(mut values: Vec<T>, order: impl FnMut(&T, &T) -> std::cmp::Ordering) -> T {
    values.sort_by(order);
    values[values.len() / 2]
}

//! Seeded races: `races --of world --seed 1 --runs 10000 --store sqlite`, ending in `N passed, M failed`.

use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use tests::races::{Fault, Kind, Pace, Place, run};
use tracing::Level;

#[derive(Parser)]
struct Args {
    /// What is raced for.
    #[arg(long, value_enum, default_value_t = Of::World)]
    of: Of,
    /// The first seed; the runs have it and those after it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[arg(long, default_value_t = 1_000)]
    runs: u64,
    /// sqlite, or postgres.
    #[arg(long, default_value = "sqlite")]
    store: Kind,
    /// On real threads, where the machine decides who is first.
    #[arg(long)]
    threads: bool,
    /// Prints each run.
    #[arg(long)]
    show: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Of {
    /// Everything that writes one world.
    World,
}

/// Memory that looks like a folder is small, so a database does not outlive this many runs.
const RUNS_PER_PLACE: usize = 200;

fn main() -> ExitCode {
    let args = Args::parse();
    // What a server logs about a failure is part of a failing run.
    tracing_subscriber::fmt().with_max_level(Level::WARN).with_writer(std::io::stderr).init();
    let runtime = if args.threads {
        tokio::runtime::Builder::new_multi_thread().enable_all().build()
    } else {
        tokio::runtime::Builder::new_current_thread().enable_all().build()
    };
    match args.of {
        Of::World => runtime.expect("a runtime").block_on(races(&args)),
    }
}

async fn races(args: &Args) -> ExitCode {
    let pace = if args.threads { Pace::Threads } else { Pace::Seeded };
    let mut failed = 0;
    let mut place = None;
    for (at, seed) in (args.seed..args.seed + args.runs).enumerate() {
        if at % RUNS_PER_PLACE == 0 {
            // The old place goes before the new one comes.
            drop(place.take());
            place = Place::open(args.store, Fault::None).await;
        }
        let Some(place) = &place else { return ExitCode::FAILURE };
        if at == 0 {
            println!("{} runs from seed {} on {}, {pace:?}", args.runs, args.seed, place.name);
        }
        let report = run(place, pace, seed).await;
        failed += u64::from(!report.broken.is_empty());
        if args.show || !report.broken.is_empty() {
            println!("{}", report.text());
        }
    }
    println!("{} passed, {failed} failed", args.runs - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

//! The loader's figures, each against its floor in the same run: `cargo bench -p loader-core --bench ratios`.
//!
//! - `card_import_over_json_parse`: a 3 MB JSON card parsed, checked and normalised, over `serde_json`
//!   parsing it into a `Value`.
//! - `compile_warm_*`, one for each profile mode: a preset of 300 prompts, a card with a book of 150 entries
//!   and 64 KiB of chat, with the preset, the card, the book's automata and the keys of earlier messages at
//!   hand, as the services keep them; each turn has two new messages. From the fields through the activation
//!   to the finished profile with its audit, over copying and hashing the profile's texts plus the bare
//!   overlapping scan of the whole chat for the same keys. `compile_cold` reads and compiles the documents
//!   as well; it is printed and has no bound.
//! - `parallel_compiles_mb`: the process's memory at its highest while 64 threads each compile a profile
//!   of 512 KiB and keep it.

mod compile;
mod import;
mod memory;
mod scene;

use std::time::{Duration, Instant};

/// Alternating rounds; the median of their ratios is the figure.
const ROUNDS: usize = 15;

fn main() {
    import::measure();
    compile::measure();
    memory::measure();
}

fn figure(name: &str, bound: f64, mut floor: impl FnMut(), mut ours: impl FnMut()) {
    let mut ratios: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let (floor, ours) = (time(&mut floor), time(&mut ours));
            println!("  floor {floor:?}, ours {ours:?}");
            ours.as_secs_f64() / floor.as_secs_f64()
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    println!("ratio {name} {:.2} bound <= {bound}", ratios[ROUNDS / 2]);
}

fn time(run: &mut impl FnMut()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

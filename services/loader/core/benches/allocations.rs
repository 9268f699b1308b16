//! What a warm compile allocates in all, over the bytes of its texts:
//! `cargo bench -p loader-core --bench allocations`. Counting costs time, so the ratios are elsewhere.

use std::{alloc::System, hint::black_box};

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[path = "ratios/scene.rs"]
mod scene;

use scene::{MODES, Warm, card_file, output_bytes, preset_file};

#[global_allocator]
static ALLOCATIONS: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bytes allocated for each byte of output.
const BOUND: f64 = 16.0;

fn main() {
    let (preset, card) = (preset_file(), card_file());
    for (name, mode) in MODES {
        let mut warm = Warm::read(&preset, &card, mode);
        drop(black_box(warm.compile()));
        let region = Region::new(ALLOCATIONS);
        let profile = black_box(warm.compile());
        let change = region.change();
        let ratio = change.bytes_allocated as f64 / output_bytes(&profile) as f64;
        println!("{} allocations, {} bytes", change.allocations, change.bytes_allocated);
        println!("ratio {name}_allocated_over_output {ratio:.2} bound <= {BOUND}");
    }
}

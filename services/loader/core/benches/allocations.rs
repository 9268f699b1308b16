//! What a warm compile allocates in all, over the bytes of its texts:
//! `cargo bench -p loader-core --bench allocations`. Counting costs time, so the ratios are elsewhere.
//!
//! The bound holds for outputs of every size, so that a compile allocates in proportion to its output: from the
//! scene of the other figures, once with longer prompts and once with more of them.

use std::{alloc::System, hint::black_box};

use kernel::limits::PROFILE_BYTES_MAX;
use prompt::ProfileMode;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[path = "ratios/scene.rs"]
mod scene;

use scene::{MODES, Warm, card_file, output_bytes, preset_file, preset_of};

#[global_allocator]
static ALLOCATIONS: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bytes allocated for each byte of output.
const BOUND: f64 = 16.0;
/// Prompts and sentences of each for outputs of about 64 KiB, 256 KiB and 1 MiB.
const SIZES: [(&str, usize, usize); 5] = [
    ("64_kib", 150, 3),
    ("256_kib_by_longer_prompts", 150, 26),
    ("256_kib_by_more_prompts", 900, 3),
    ("1_mib_by_longer_prompts", 150, 116),
    ("1_mib_by_more_prompts", 4_000, 3),
];

fn main() {
    let card = card_file();
    for (name, mode) in MODES {
        measure(name, &preset_file(), &card, mode);
    }
    for (size, prompts, sentences) in SIZES {
        let preset = preset_of(prompts, sentences);
        for (name, mode) in MODES {
            measure(&format!("{name}_{size}"), &preset, &card, mode);
        }
    }
}

fn measure(name: &str, preset: &[u8], card: &[u8], mode: ProfileMode) {
    let mut warm = Warm::read(preset, card, mode);
    warm.input.profile_bytes_max = Some(PROFILE_BYTES_MAX);
    drop(black_box(warm.compile()));
    let region = Region::new(ALLOCATIONS);
    let profile = black_box(warm.compile());
    let change = region.change();
    let (bytes, allocated) = (output_bytes(&profile), change.bytes_allocated);
    println!(
        "{} KiB of output: {} allocations, {allocated} bytes",
        bytes / 1024,
        change.allocations
    );
    println!(
        "ratio {name}_allocated_over_output {:.2} bound <= {BOUND}",
        allocated as f64 / bytes as f64
    );
}

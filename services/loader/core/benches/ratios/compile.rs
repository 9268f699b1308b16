//! Compiling a large profile, the activation of its lore included.

use std::hint::black_box;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use kernel::digest;
use loader_core::compile::{self, Prepared};
use prompt::ProfileMode;

use crate::{
    ROUNDS, figure,
    scene::{ENTRIES, MODES, PROMPTS, Warm, card_file, output_bytes, preset_file},
    time,
};

pub fn measure() {
    let (preset, card) = (preset_file(), card_file());
    println!("a preset of {PROMPTS} prompts, a book of {ENTRIES} entries, 64 KiB of chat");
    for (name, mode) in MODES {
        let mut warm = Warm::read(&preset, &card, mode);
        let profile = warm.compile();
        let texts: Vec<&str> = profile.segments.iter().map(|one| one.text.as_str()).collect();
        let bytes = output_bytes(&profile);
        println!("{} segments, {bytes} bytes, {} entries", texts.len(), profile.audit.lore.len());
        explain(&mut warm);
        let scan = bare_scan(&warm);
        let floor = || {
            black_box(scan());
            for text in &texts {
                black_box(digest(black_box((*text).to_owned()).as_bytes()));
            }
        };
        figure(name, 3.0, floor, || drop(black_box(warm.compile())));
    }
    cold(&preset, &card);
}

/// What each step takes: the median of some turns.
fn explain(warm: &mut Warm) {
    let mut steps = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        warm.next_turn();
        let (mut prepared, mut fired) = (Prepared::default(), Vec::new());
        steps[0].push(time(&mut || prepared = compile::prepare(&warm.input)));
        let mut variables = prepared.variables().clone();
        steps[1].push(time(&mut || fired = warm.activate(&mut variables)));
        steps[2].push(time(&mut || {
            let (prepared, fired) = (std::mem::take(&mut prepared), std::mem::take(&mut fired));
            black_box(warm.compose(prepared, variables.clone(), fired));
        }));
    }
    let [fields, lore, profile] = steps.map(|mut times| {
        times.sort_unstable();
        times[ROUNDS / 2]
    });
    println!("fields {fields:?}, activation {lore:?}, profile {profile:?}");
}

fn cold(preset: &[u8], card: &[u8]) {
    let mut times: Vec<_> = (0..ROUNDS)
        .map(|_| {
            time(&mut || {
                black_box(Warm::read(preset, card, ProfileMode::Journal).compile());
            })
        })
        .collect();
    times.sort_unstable();
    println!(
        "compile_cold, with its documents read and its book compiled: {:?}",
        times[ROUNDS / 2]
    );
}

/// The faster of the two engines that can do it.
fn bare_scan(warm: &Warm) -> impl Fn() -> usize + use<> {
    let entries = warm.sources[0].world.entries();
    let keys: Vec<&String> = entries.iter().flat_map(|one| &one.entry.body.keys).collect();
    let texts = warm.input.messages.iter().map(|message| message.text.to_lowercase());
    let text = texts.collect::<Vec<_>>().join("\n");
    let engines = [AhoCorasickKind::DFA, AhoCorasickKind::ContiguousNFA].map(|kind| {
        let engine = AhoCorasick::builder().kind(Some(kind)).build(&keys).expect("few keys");
        let taken = time(&mut || {
            for _ in 0..ROUNDS {
                black_box(engine.find_overlapping_iter(&text).count());
            }
        });
        (taken, engine)
    });
    let fastest = engines.into_iter().min_by_key(|(taken, _)| *taken);
    let (_, engine) = fastest.expect("two engines");
    move || engine.find_overlapping_iter(&text).count()
}

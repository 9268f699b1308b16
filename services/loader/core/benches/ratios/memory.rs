//! The memory of many compiles at once.

use std::{fs, sync::Barrier, thread};

use kernel::PresetId;
use loader_core::{
    Preset,
    compile::{Input, Loaded, compile},
    preset::{OrderEntry, Prompt},
};

const COMPILES: usize = 64;
const PROFILE_BYTES: usize = 512 * 1024;
const PROMPTS: usize = 128;
const BOUND_MB: usize = 600;

pub fn measure() {
    println!("{COMPILES} compiles of {} KiB at once, each profile kept", PROFILE_BYTES / 1024);
    if fs::write("/proc/self/clear_refs", "5").is_err() {
        println!("not measured: a process's highest memory is reset and read in /proc");
        return;
    }
    let all_done = Barrier::new(COMPILES);
    thread::scope(|scope| {
        for _ in 0..COMPILES {
            scope.spawn(|| {
                let profile = compile(&large()).expect("compiles");
                all_done.wait();
                let bytes: usize = profile.segments.iter().map(|one| one.text.len()).sum();
                assert!(bytes > PROFILE_BYTES * 9 / 10, "{bytes} bytes");
            });
        }
    });
    let status = fs::read_to_string("/proc/self/status").expect("was there a moment ago");
    let highest = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = highest.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    let megabytes = kilobytes.expect("a number") / 1024;
    println!("ratio parallel_compiles_mb {megabytes} bound <= {BOUND_MB}");
}

/// A preset that fills the default budget almost to the brim; every prompt holds a macro.
fn large() -> Input {
    let mut preset = Preset { order: Vec::new(), ..Preset::default() };
    for at in 0..PROMPTS {
        let identifier = format!("prompt-{at}");
        let text =
            format!("{{{{char}}}} {}", "counts ships. ".repeat(PROFILE_BYTES / PROMPTS / 15));
        let prompt = Prompt { system_prompt: Some(false), ..Prompt::new(&identifier, text) };
        preset.prompts.push(prompt);
        preset.order.push(OrderEntry { identifier, enabled: true });
    }
    let preset = Loaded {
        id: PresetId::new("preset").expect("an id"),
        name: "Large".to_owned(),
        revision: "1".to_owned(),
        model: preset.into(),
    };
    Input { preset: Some(preset), ..Input::default() }
}

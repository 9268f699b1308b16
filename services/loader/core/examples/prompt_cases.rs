//! Runs a file of golden cases: `cargo run -p loader-core --example prompt_cases -- FILE`.
//!
//! Prints each case that differs with its first difference, one that differs on purpose with the reason, and
//! `N passed, M failed`. What differs on purpose counts as passed.

#[path = "../tests/golden/cases.rs"]
mod cases;

use std::process::ExitCode;

use cases::{Case, divergence};

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: prompt_cases FILE");
        return ExitCode::from(2);
    };
    let read = std::fs::read_to_string(&path).map_err(|error| error.to_string());
    let parsed = read.and_then(|text| {
        serde_json::from_str::<Vec<Case>>(&text).map_err(|error| error.to_string())
    });
    match parsed {
        Ok(cases) => report(&cases),
        Err(error) => {
            eprintln!("{path}: {error}");
            ExitCode::from(2)
        }
    }
}

fn report(cases: &[Case]) -> ExitCode {
    let mut failed = 0;
    for case in cases {
        let difference = match case.difference() {
            Ok(None) => continue,
            Ok(Some(difference)) => difference,
            Err(error) => format!("cannot run: {error}"),
        };
        let id = &case.input.id;
        if let Some(why) = divergence(id) {
            println!("{id}: {difference} (divergence: {why})");
            continue;
        }
        failed += 1;
        println!("{id}: {difference}");
    }
    println!("{} passed, {failed} failed", cases.len() - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

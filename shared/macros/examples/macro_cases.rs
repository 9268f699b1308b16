//! Runs a file of golden cases: `cargo run -p macros --example macro_cases -- FILE`.
//!
//! Prints each case that differs with its first difference, a divergence with the name of the defect
//! that explains it, and `N passed, M failed`. Divergences count as passed as long as they are fewer
//! than 5 % of the cases.

#[path = "../tests/golden/cases.rs"]
mod cases;

use std::process::ExitCode;

use cases::{Case, Outcome};

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: macro_cases FILE");
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
    let (mut failed, mut divergences) = (0, 0);
    for case in cases {
        let (ours, reason) = match case.outcome() {
            Outcome::Passed => continue,
            Outcome::Diverges(quirk, ours) => {
                divergences += 1;
                (ours, format!(" (divergence {quirk})"))
            }
            Outcome::Failed(ours) => {
                failed += 1;
                (ours, String::new())
            }
        };
        println!("{}: {}{reason}", case.id, first_difference(&case.expected, &ours));
    }
    if divergences * 20 >= cases.len() && divergences > 0 {
        println!("{divergences} divergences are too many of {} cases", cases.len());
        failed += divergences;
    }
    println!("{} passed, {failed} failed", cases.len() - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn first_difference(expected: &str, ours: &str) -> String {
    let same = expected.chars().zip(ours.chars()).take_while(|(left, right)| left == right).count();
    let tail = |text: &str| text.chars().skip(same).take(60).collect::<String>();
    format!("at character {same}: expected {:?}, got {:?}", tail(expected), tail(ours))
}

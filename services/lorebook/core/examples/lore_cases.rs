//! Runs a file of golden activations: `cargo run -p lorebook-core --example lore_cases -- FILE`.
//!
//! Prints each case that differs with its first difference, each divergence by the name of the
//! defect that explains it, and `N passed, M failed`. Divergences count as passed as long as they
//! are fewer than 3 % of the cases.

#[path = "../tests/support/lore_cases.rs"]
mod lore_cases;

use std::process::ExitCode;

use lore_cases::Outcome;

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: lore_cases FILE")?;
    let cases: Vec<serde_json::Value> = serde_json::from_slice(&std::fs::read(file)?)?;
    let (mut passed, mut failed, mut divergences) = (0, 0, 0);
    for case in &cases {
        let (id, outcome) = lore_cases::run(case);
        match outcome {
            Outcome::Passed => passed += 1,
            Outcome::Divergence(name) => {
                println!("{id}: divergence {name}");
                divergences += 1;
            }
            Outcome::Failed(difference) => {
                println!("{id}: {difference}");
                failed += 1;
            }
        }
    }
    if divergences * 100 >= cases.len() * 3 {
        println!("{divergences} divergences are too many of {} cases", cases.len());
        failed += divergences;
    } else {
        passed += divergences;
    }
    println!("{passed} passed, {failed} failed");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

//! The one binary people start.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    skald::run(std::env::args_os()).await
}

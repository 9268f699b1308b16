//! The `skald` binary under a name that these tests can find.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    skald::run(std::env::args_os()).await
}

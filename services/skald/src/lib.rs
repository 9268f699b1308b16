//! The command line, the house that joins the four services in one process, and the demo.

use std::{ffi::OsString, process::ExitCode};

use host::{config, telemetry};

pub mod cli;
pub mod demo;
pub mod house;

mod output;
mod providers;
mod serve;
mod tokens;

use cli::{Cli, Command};
use output::Output;

/// Runs one command line to its end.
pub async fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let loaded = match config::load::<Cli>(args) {
        Ok(loaded) => loaded,
        Err(config::ConfigError::Help(help)) => {
            let _ = help.print();
            return ExitCode::from(if help.use_stderr() { config::EXIT_USAGE } else { 0 });
        }
        Err(error) => return usage(&error),
    };
    let settings = loaded.settings;
    let outcome = match loaded.args.command {
        Command::Serve(args) => {
            if let Err(error) = telemetry::init(args.host.log_format, &args.host.log) {
                return usage(&error);
            }
            serve::serve(args).await
        }
        Command::Migrate(args) => serve::migrate(args).await,
        Command::Demo(args) => demo::run(args).await,
        Command::Config(_) => {
            let output = Output::default();
            settings.iter().for_each(|setting| output.line(format_args!("{setting}")));
            output.written()
        }
        Command::Token(args) => tokens::run(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage(error)) => usage(&*error),
        Err(Failure::Run(error)) => {
            output::complain(&*error);
            ExitCode::FAILURE
        }
    }
}

/// Why a command did not end well.
#[derive(Debug)]
pub enum Failure {
    /// It was started wrongly: exit code 64.
    Usage(Box<dyn std::error::Error + Send + Sync>),
    Run(Box<dyn std::error::Error + Send + Sync>),
}

fn usage(error: &(dyn std::error::Error + 'static)) -> ExitCode {
    output::complain(error);
    ExitCode::from(config::EXIT_USAGE)
}

// === impl Failure ===

impl Failure {
    fn usage(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Usage(error.into())
    }

    fn run(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Run(error.into())
    }
}

//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, builder::RangedU64ValueParser};
use host::{
    config::{HostArgs, PlaceArgs},
    link,
};
use kernel::limits::{JUDGES_DEFAULT, JUDGES_MAX};

/// Skald: the backend of record for role-play and agent conversation engines.
#[derive(Debug, Parser)]
#[command(name = "skald", version, about)]
pub struct Cli {
    /// TOML file of settings (also SKALD_CONFIG): each key a flag's name with `_` for `-`.
    #[arg(long, global = true)]
    pub config: Option<PathBuf>,

    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve all four services in one process, or one of them.
    Serve(ServeArgs),
    /// Run the main job from end to end on sample files, and print it.
    Demo(DemoArgs),
    /// Bring the databases up to date, and stop.
    Migrate(MigrateArgs),
    /// Print the configuration in effect; secrets are hidden.
    Config(ServeArgs),
    /// Make a token for a token file, or hash one.
    Token(TokenArgs),
}

/// One of the four.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ServiceName {
    Ledger,
    Loader,
    Lorebook,
    Proposal,
}

#[derive(Debug, Clone, Args)]
pub struct ServeArgs {
    /// Serve this one alone; its peers are found by their URLs.
    pub service: Option<ServiceName>,

    #[command(flatten)]
    pub host: HostArgs,

    #[command(flatten)]
    pub providers: ProviderArgs,

    /// Where the ledger answers: one URL, or several separated by commas.
    #[arg(long, env = "SKALD_LEDGER_URL", value_parser = link::checked_urls)]
    pub ledger_url: Option<String>,

    /// Where the loader answers.
    #[arg(long, env = "SKALD_LOADER_URL", value_parser = link::checked_urls)]
    pub loader_url: Option<String>,

    /// Where the lorebook answers.
    #[arg(long, env = "SKALD_LOREBOOK_URL", value_parser = link::checked_urls)]
    pub lorebook_url: Option<String>,

    /// Turns judged at the same time.
    #[arg(long, env = "SKALD_JUDGES", default_value_t = JUDGES_DEFAULT,
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=JUDGES_MAX as u64))]
    pub judges: usize,
}

#[derive(Debug, Clone, Args)]
pub struct MigrateArgs {
    /// The service whose database it is; all four without it.
    pub service: Option<ServiceName>,

    #[command(flatten)]
    pub place: PlaceArgs,
}

#[derive(Debug, Clone, Args)]
pub struct ProviderArgs {
    /// File of model providers (TOML, `[[providers]]`); without it generation answers PROVIDER_NOT_CONFIGURED.
    #[arg(long, env = "SKALD_PROVIDERS")]
    pub providers: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub struct DemoArgs {
    /// Folder that the demo leaves its data in.
    #[arg(long, env = "SKALD_DATA_DIR", default_value = "./data")]
    pub data_dir: PathBuf,

    /// `scripted`, or `openai` for a real model behind an OpenAI-compatible server.
    #[arg(long, default_value = "scripted")]
    pub provider: String,

    /// The server's API, `/v1` included.
    #[arg(long)]
    pub base_url: Option<String>,

    /// The model's name as the server knows it.
    #[arg(long)]
    pub model: Option<String>,

    /// The environment variable that holds the server's key.
    #[arg(long)]
    pub api_key_env: Option<String>,
}

#[derive(Debug, Clone, Args)]
pub struct TokenArgs {
    /// Hash the token on standard input in place of making a new one.
    #[arg(long)]
    pub hash: bool,
}

//! Configuration: flags, then the environment, then a TOML file, then defaults; all read by the same typed parsers.
//!
//! A value from the file becomes the default of its flag, so that one declaration (a clap `Args` struct) is the
//! flag `--data-dir`, the variable `SKALD_DATA_DIR` and the key `data_dir`. Secrets are marked with
//! `hide_env_values` and are never printed.

mod file;
mod host;
mod words;

use std::{env, error::Error as _, ffi::OsString, fmt, io, path::PathBuf};

use clap::{
    Arg, ArgMatches, Command, Parser,
    error::{ContextKind, ContextValue, ErrorKind},
    parser::ValueSource,
};

pub use host::{HostArgs, PlaceArgs};
pub use words::of_toml;

/// What a process ends with when it was started wrongly.
pub const EXIT_USAGE: u8 = 64;

/// The variable that names the file, where `--config` does not.
const FILE_VARIABLE: &str = "SKALD_CONFIG";

/// A command line with everything that stands behind it.
#[derive(Debug)]
pub struct Loaded<P> {
    pub args: P,
    pub settings: Vec<Setting>,
}

/// One value in effect, and where it comes from; shown as a line of the TOML file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub key: String,
    /// Nothing where the value is a secret.
    pub value: Option<String>,
    pub origin: Origin,
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Flag,
    Environment,
    File,
    Default,
}

/// Why a process does not start.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The caller asked for help or for the version, or gave no command (then it goes to standard error).
    #[error("{0}")]
    Help(clap::Error),
    #[error("{0}")]
    Usage(String),
    #[error("the configuration file {0} (--config, SKALD_CONFIG) cannot be read")]
    Unreadable(PathBuf, #[source] io::Error),
    #[error("the configuration file {0} (--config, SKALD_CONFIG) is not valid: {1}")]
    Invalid(PathBuf, String),
}

/// Reads a command line and all that stands behind it.
pub fn load<P: Parser>(args: impl IntoIterator<Item = OsString>) -> Result<Loaded<P>, ConfigError> {
    let args: Vec<OsString> = args.into_iter().collect();
    let mut command = P::command();
    let mut keys = Vec::new();
    if let Some(path) = file::path(&args).or_else(|| env::var_os(FILE_VARIABLE).map(PathBuf::from))
    {
        for (key, values) in file::read(&path, &command)? {
            command = file::apply(command, &key, &values);
            keys.push(key);
        }
    }
    let known = command.clone();
    let matches = command.try_get_matches_from(args.iter().cloned());
    let matches = matches.map_err(|error| explain(error, &known, &args, &keys))?;
    let parsed = P::from_arg_matches(&matches);
    let parsed = parsed.map_err(|error| explain(error, &known, &args, &keys))?;
    Ok(Loaded { args: parsed, settings: settings(&known, &matches, &keys) })
}

/// Every argument of the chosen subcommand, in the order of its declaration.
fn settings(command: &Command, matches: &ArgMatches, from_file: &[String]) -> Vec<Setting> {
    if let Some((name, inner)) = matches.subcommand() {
        let inner_command = command.find_subcommand(name);
        return inner_command.map_or(Vec::new(), |command| settings(command, inner, from_file));
    }
    let configurable = command.get_arguments().filter(|arg| arg.get_env().is_some());
    configurable.filter_map(|arg| setting(arg, matches, from_file)).collect()
}

fn setting(arg: &Arg, matches: &ArgMatches, from_file: &[String]) -> Option<Setting> {
    let key = arg.get_id().to_string();
    let raw = matches.get_raw(&key)?;
    let values: Vec<_> = raw.map(|value| value.to_string_lossy()).collect();
    let origin = match matches.value_source(&key)? {
        ValueSource::CommandLine => Origin::Flag,
        ValueSource::EnvVariable => Origin::Environment,
        _ if from_file.contains(&key) => Origin::File,
        _ => Origin::Default,
    };
    let value = (!is_secret(arg)).then(|| values.join(","));
    Some(Setting { key, value, origin })
}

fn is_secret(arg: &Arg) -> bool {
    arg.is_hide_env_values_set()
}

/// Puts the name under which a bad value came before what is wrong with it.
fn explain(
    error: clap::Error,
    command: &Command,
    args: &[OsString],
    keys: &[String],
) -> ConfigError {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    if let DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand = error.kind() {
        return ConfigError::Help(error);
    }
    let Some(ContextValue::String(shown)) = error.get(ContextKind::InvalidArg) else {
        return ConfigError::Usage(words::of_clap(&error));
    };
    let flag = shown.split([' ', '=']).next().unwrap_or_default();
    let Some(arg) = file::find(command, &|arg| arg.get_long() == flag.strip_prefix("--")) else {
        return ConfigError::Usage(words::of_clap(&error));
    };
    let given = args.iter().any(|given| given.to_string_lossy().starts_with(flag));
    let variable = arg.get_env().map(|name| name.to_string_lossy().into_owned());
    let name = match variable.filter(|name| !given && env::var_os(name).is_some()) {
        Some(variable) => variable,
        None if !given && keys.iter().any(|key| arg.get_id() == key.as_str()) => {
            format!("{} (configuration file)", arg.get_id())
        }
        None => flag.to_owned(),
    };
    let why = if is_secret(arg) { discreet(&error) } else { words::of_clap(&error) };
    ConfigError::Usage(format!("{name}: {why}"))
}

/// What is wrong with a secret: clap shows the value, its cause may be told unless it does, too.
fn discreet(error: &clap::Error) -> String {
    let value = match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(value)) => value.as_str(),
        _ => "",
    };
    match error.source().map(ToString::to_string) {
        Some(cause) if value.is_empty() || !cause.contains(value) => cause,
        _ => "the value is not valid".to_owned(),
    }
}

// === impl Setting ===

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = match self.origin {
            Origin::Flag => "flag",
            Origin::Environment => "environment",
            Origin::File => "file",
            Origin::Default => "default",
        };
        match &self.value {
            None => write!(f, "# {} is set and hidden ({origin})", self.key),
            Some(value) => write!(f, "{} = {}  # {origin}", self.key, file::toml_value(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Subcommand;

    use super::*;

    /// Two variables that every test process has stand in for ours: tests cannot set any.
    #[derive(Debug, Parser)]
    struct Skald {
        #[arg(long, global = true)]
        config: Option<PathBuf>,
        #[command(subcommand)]
        command: Verb,
    }

    #[derive(Debug, Subcommand)]
    enum Verb {
        Serve(Settings),
    }

    #[derive(Debug, clap::Args)]
    struct Settings {
        #[arg(long, env = "SKALD_NEVER_SET_PORT", default_value = "1")]
        port: u16,
        #[arg(long, env = "CARGO_PKG_NAME", default_value = "default")]
        name: String,
        #[arg(long, env = "CARGO_MANIFEST_DIR")]
        number: Option<u16>,
        #[arg(long, env = "SKALD_NEVER_SET_SECRET", hide_env_values = true)]
        secret: Option<u16>,
        #[arg(long, env = "SKALD_NEVER_SET_LIST", value_delimiter = ',')]
        list: Vec<u16>,
    }

    fn read(file: &str, flags: &str) -> Result<Loaded<Skald>, ConfigError> {
        let config = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(config.path(), file).expect("written");
        let line = format!("skald serve --number=7 --config {} {flags}", config.path().display());
        load(line.split_whitespace().map(OsString::from))
    }

    fn serve(file: &str, flags: &str) -> (Settings, Vec<Setting>) {
        let loaded = read(file, flags).expect("valid");
        let Verb::Serve(settings) = loaded.args.command;
        (settings, loaded.settings)
    }

    #[track_caller]
    fn refused(file: &str, flags: &str, words: &[&str]) {
        let error = read(file, flags).expect_err("not valid").to_string();
        for word in words {
            assert!(error.contains(word), "{word} is not in: {error}");
        }
    }

    #[test]
    fn a_flag_wins_over_the_environment_and_that_over_the_file() {
        assert_eq!(serve("", "").0.port, 1);
        assert_eq!(serve("port = 2", "").0.port, 2);
        assert_eq!(serve("port = 2", "--port 3").0.port, 3);
        assert_eq!(serve("name = 'file'", "").0.name, "host");
        assert_eq!(serve("name = 'file'", "--name flag").0.name, "flag");
        assert_eq!(serve("list = [1, 2]", "").0.list, [1, 2]);
    }

    #[test]
    fn a_bad_value_names_where_it_came_from() {
        refused("", "--port x", &["--port: invalid value 'x'"]);
        refused("port = 'x'", "", &["port (configuration file): invalid value 'x'"]);
        refused("port = 70000", "", &["port (configuration file)", "70000"]);
        let line = "skald serve".split(' ').map(OsString::from);
        let error = load::<Skald>(line).expect_err("a folder is no number").to_string();
        assert!(error.starts_with("CARGO_MANIFEST_DIR: invalid value"), "{error}");
    }

    #[test]
    fn a_bad_file_is_named() {
        refused("prt = 1", "", &["configuration file", "prt"]);
        refused("port = ", "", &["configuration file"]);
        refused("[serve]\nport = 1", "", &["serve"]);
        let line = "skald serve --config /nowhere/at/all".split(' ').map(OsString::from);
        let error = load::<Skald>(line).expect_err("absent").to_string();
        assert!(error.contains("/nowhere/at/all"), "{error}");
    }

    #[test]
    fn a_secret_is_never_shown() {
        let (settings, shown) = serve("", "--secret 12345");
        assert_eq!(settings.secret, Some(12_345));
        assert!(!format!("{shown:?}").contains("12345"));
        let error = read("", "--secret hunter2").expect_err("not valid").to_string();
        assert_eq!(error, "--secret: invalid digit found in string");
    }

    #[test]
    fn the_settings_in_effect_are_a_configuration_file() {
        let (_, settings) = serve("port = 2\nlist = [1, 2]", "");
        let lines: Vec<_> = settings.iter().map(Setting::to_string).collect();
        let shown = lines.join("\n");
        assert!(shown.contains("port = 2  # file"), "{shown}");
        assert!(shown.contains("name = \"host\"  # environment"), "{shown}");
        assert!(shown.contains("number = 7  # flag"), "{shown}");
        let again = serve(&shown, "").0;
        assert_eq!((again.port, again.list), (2, vec![1, 2]));
    }
}

//! The TOML file: flat keys, each the name of a flag with `_` for `-`.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use clap::{Arg, Command};
use toml::{Table, Value};

use crate::config::{ConfigError, of_toml};

/// The file that the command line names; read before clap, because clap's defaults come from it.
pub(super) fn path(args: &[OsString]) -> Option<PathBuf> {
    let at = args.iter().position(|arg| {
        arg == "--config" || arg.to_str().is_some_and(|text| text.starts_with("--config="))
    })?;
    match args[at].to_str().and_then(|text| text.strip_prefix("--config=")) {
        Some(path) => Some(path.into()),
        None => args.get(at + 1).map(PathBuf::from),
    }
}

/// The keys of a file with their values as text. A key that is no flag is refused.
pub(super) fn read(
    path: &Path,
    command: &Command,
) -> Result<Vec<(String, Vec<String>)>, ConfigError> {
    let unreadable = |error| ConfigError::Unreadable(path.to_owned(), error);
    let invalid = |why| ConfigError::Invalid(path.to_owned(), why);
    let text = fs::read_to_string(path).map_err(unreadable)?;
    let table: Table = text.parse().map_err(|error| invalid(of_toml(&error)))?;
    let entry = |(key, value): (String, Value)| {
        if find(command, &|arg| arg.get_id() == key.as_str() && arg.get_env().is_some()).is_none() {
            return Err(invalid(format!("{key} is no setting")));
        }
        let values = texts(value).ok_or_else(|| invalid(format!("{key} is not a plain value")))?;
        Ok((key, values))
    };
    table.into_iter().map(entry).collect()
}

fn texts(value: Value) -> Option<Vec<String>> {
    match value {
        Value::Array(values) => values.into_iter().map(text).collect(),
        value => text(value).map(|text| vec![text]),
    }
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(yes) => Some(yes.to_string()),
        Value::Datetime(_) | Value::Array(_) | Value::Table(_) => None,
    }
}

/// Makes the values the default of the argument, in the command and in all its subcommands.
pub(super) fn apply(command: Command, key: &str, values: &[String]) -> Command {
    let names: Vec<_> =
        command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    let has = command.get_arguments().any(|arg| arg.get_id() == key);
    let command = if has {
        // clap keeps defaults for ever; they are few, and read once in a process.
        let values: Vec<&'static str> =
            values.iter().map(|value| &*Box::leak(value.clone().into_boxed_str())).collect();
        command.mut_arg(key, |arg| arg.default_values(values))
    } else {
        command
    };
    names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, |inner| apply(inner, key, values))
    })
}

/// The first argument for which `test` holds, in the command or below it.
pub(super) fn find<'c>(command: &'c Command, test: &dyn Fn(&Arg) -> bool) -> Option<&'c Arg> {
    let here = command.get_arguments().find(|arg| test(arg));
    here.or_else(|| command.get_subcommands().find_map(|inner| find(inner, test)))
}

/// A value as it would stand in the file.
pub(super) fn toml_value(value: &str) -> String {
    match value.parse::<i64>() {
        Ok(number) => number.to_string(),
        Err(_) => Value::String(value.to_owned()).to_string(),
    }
}

//! Where rows live: one SQLite file for each service in a data folder, or one PostgreSQL schema for each.
//!
//! A server's store opens what a [`Place`] names and runs its own migrations through it; statements and
//! transactions are its own business.

mod folder;
mod postgres;
mod sqlite;

use std::path::PathBuf;

use sqlx::migrate::MigrateError;

pub use folder::DataFolder;
pub use postgres::{Postgres, PostgresUrl};
pub use sqlite::Sqlite;

/// What the operator chose for all services of a process.
#[derive(Debug, Clone)]
pub enum Place {
    Folder(DataFolder),
    Postgres {
        url: PostgresUrl,
        /// Connections of each service at the most.
        connections: u32,
    },
}

/// Why a database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    #[error("the data folder {0} is in use by process {1}")]
    FolderInUse(PathBuf, String),
    #[error("the data folder {0} (SKALD_DATA_DIR) cannot be used")]
    Folder(PathBuf, #[source] std::io::Error),
    #[error("the address of PostgreSQL begins with postgres://")]
    Scheme,
    #[error("the address of PostgreSQL is not valid")]
    Url(#[source] sqlx::Error),
    #[error("the {service} database cannot be opened")]
    Open { service: &'static str, source: sqlx::Error },
    #[error("the {service} database cannot be migrated")]
    Migrate { service: &'static str, source: MigrateError },
}

// === impl Place ===

impl Place {
    /// The last thing that a process does with its databases.
    pub async fn settle(&self) {
        if let Self::Folder(folder) = self {
            sqlite::fold(folder).await;
        }
    }
}

/// What a failed statement means for its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The store is away, busy or full; nothing happened.
    Unavailable,
    /// Another transaction won; run this one again.
    Conflict,
    /// A unique or primary key is taken.
    Taken,
    /// The file is damaged, or a row of it.
    Corrupt,
    /// A mistake of ours.
    Bug,
}

/// Reads a failure off an error, for either database.
pub fn failure(error: &sqlx::Error) -> Failure {
    let failure = meaning(error);
    if failure == Failure::Unavailable {
        postgres::lost();
    }
    failure
}

fn meaning(error: &sqlx::Error) -> Failure {
    use sqlx::Error;
    match error {
        Error::Io(_) | Error::Tls(_) | Error::PoolTimedOut | Error::PoolClosed => {
            Failure::Unavailable
        }
        Error::WorkerCrashed => Failure::Unavailable,
        // What was written through the same columns can be read through them.
        Error::ColumnDecode { .. } | Error::Decode(_) => Failure::Corrupt,
        Error::Database(database) if database.is_unique_violation() => Failure::Taken,
        Error::Database(database) => database.code().map_or(Failure::Bug, |code| by_code(&code)),
        _ => Failure::Bug,
    }
}

/// Each service counts its migrations in a table of its own.
fn migration_table(service: &str) -> String {
    format!("_migrations_{service}")
}

/// PostgreSQL's codes have five characters; SQLite's are shorter numbers whose low byte is the primary code.
fn by_code(code: &str) -> Failure {
    match (code.len(), code) {
        (5, "40001" | "40P01" | "55P03") => Failure::Conflict,
        (5, _) => match &code[..2] {
            // No connection, no resources, an operator's intervention, a failing system.
            "08" | "53" | "57" | "58" => Failure::Unavailable,
            "XX" => Failure::Corrupt,
            _ => Failure::Bug,
        },
        _ => match code.parse::<u32>().map(|code| code & 0xff) {
            // Busy, locked, read-only, input/output, full, cannot open.
            Ok(5 | 6 | 8 | 10 | 13 | 14) => Failure::Unavailable,
            // Corrupt, not a database.
            Ok(11 | 26) => Failure::Corrupt,
            _ => Failure::Bug,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: &str, expected: Failure) {
        assert_eq!(by_code(code), expected, "{code}");
    }

    #[test]
    fn the_codes_of_both_databases_are_told_apart() {
        check("40001", Failure::Conflict);
        check("57P01", Failure::Unavailable);
        check("08006", Failure::Unavailable);
        check("XX001", Failure::Corrupt);
        check("42601", Failure::Bug);
        check("5", Failure::Unavailable);
        check("517", Failure::Unavailable);
        check("11", Failure::Corrupt);
        check("1", Failure::Bug);
        check("", Failure::Bug);
    }
}

//! The SQLite files of a data folder, looked at and harmed from outside.

use std::{
    fs,
    path::{Path, PathBuf},
};

use sqlx::{AssertSqlSafe, Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};

/// Bytes of a write-ahead log's header, and of each frame's.
const LOG_HEAD: usize = 32;
const FRAME_HEAD: usize = 24;

/// Where a data folder keeps one service's rows.
pub fn file(data: &Path, service: &str) -> PathBuf {
    data.join(format!("{service}.db"))
}

/// Durable commits in the write-ahead logs of all services: frames that close a transaction.
///
/// SQLite writes the database's size in pages into the last frame of each commit and 0 into all others;
/// with `synchronous=FULL` each such frame is one sync. A frame counts while its salt is the log's own.
pub fn commits(data: &Path) -> usize {
    let logs = ["ledger", "loader", "lorebook", "proposal"].map(|service| log_of(data, service));
    logs.iter().map(|log| commits_of(log)).sum()
}

fn log_of(data: &Path, service: &str) -> Vec<u8> {
    fs::read(data.join(format!("{service}.db-wal"))).expect("a log of a running service")
}

fn commits_of(log: &[u8]) -> usize {
    if log.len() < LOG_HEAD {
        return 0;
    }
    let number = |at: usize| u32::from_be_bytes(log[at..at + 4].try_into().expect("four bytes"));
    let page = number(8) as usize;
    let frames = (LOG_HEAD..).step_by(FRAME_HEAD + page);
    let whole = frames.take_while(|at| at + FRAME_HEAD + page <= log.len());
    let ours = whole.take_while(|at| log[at + 8..at + 16] == log[16..24]);
    ours.filter(|at| number(at + 4) != 0).count()
}

/// Turns one bit of every place in a service's file that holds `text`; nothing may have it open.
pub async fn flip_a_bit_in(data: &Path, service: &str, text: &str) {
    let path = file(data, service);
    let options = SqliteConnectOptions::new().filename(&path);
    let mut connection = SqliteConnection::connect_with(&options).await.expect("opened");
    sqlx::query("pragma wal_checkpoint(truncate)").execute(&mut connection).await.expect("all in");
    connection.close().await.expect("closed");

    let mut bytes = fs::read(&path).expect("readable");
    let places: Vec<usize> = bytes
        .windows(text.len())
        .enumerate()
        .filter(|(_, window)| *window == text.as_bytes())
        .map(|(at, _)| at)
        .collect();
    assert!(!places.is_empty(), "{text:?} is stored");
    places.into_iter().for_each(|at| bytes[at] ^= 1);
    fs::write(&path, bytes).expect("written");
}

/// Changes a service's rows; the service may be running.
pub async fn change(data: &Path, service: &str, statement: String) {
    let options = SqliteConnectOptions::new().filename(file(data, service));
    let mut connection = SqliteConnection::connect_with(&options).await.expect("opened");
    let changed = sqlx::query(AssertSqlSafe(statement)).execute(&mut connection).await;
    assert_eq!(changed.expect("a statement").rows_affected(), 1);
    connection.close().await.expect("closed");
}

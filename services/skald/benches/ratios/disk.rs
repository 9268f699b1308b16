//! Durable commits: counted in the write-ahead logs of a folder, and made bare through the driver.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use host::database::{DataFolder, Sqlite};
use sqlx::{Connection as _, migrate::Migrator};

/// As SQLite's file format names them: the log's header, and the header of each page in it.
const LOG_HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;

/// A file of the same kind as the services', with one small table.
pub struct Bare {
    database: Sqlite,
    _folder: tempfile::TempDir,
}

/// The commits in all logs of a folder; grows by one with each commit until a log begins anew.
pub fn commits(folder: &Path) -> usize {
    let files = fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path());
    let logs = files.filter(|path| path.extension().is_some_and(|name| name == "db-wal"));
    logs.map(|log| commits_in(&fs::read(log).expect("a readable log"))).sum()
}

/// A frame is of this run of the log if it has the header's salt, and ends a commit if it says how many
/// pages the file has after it.
fn commits_in(log: &[u8]) -> usize {
    let Some((header, frames)) = log.split_at_checked(LOG_HEADER_BYTES) else { return 0 };
    let page_bytes = u32::from_be_bytes(header[8..12].try_into().expect("four bytes"));
    let salt = &header[16..24];
    let frames = frames.chunks_exact(FRAME_HEADER_BYTES + page_bytes as usize);
    let current = frames.take_while(|frame| frame[8..16] == *salt);
    current.filter(|frame| frame[4..8] != [0; 4]).count()
}

// === impl Bare ===

impl Bare {
    pub async fn open() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let data = DataFolder::open(folder.path()).expect("a folder of our own");
        let database = Sqlite::open(&data, "bare", Migrator::DEFAULT).await.expect("a fresh file");
        let table = sqlx::query("create table t (id integer primary key, v blob)");
        table.execute(&database.writer).await.expect("created");
        Self { database, _folder: folder }
    }

    /// The time of so many commits of one small row each, one after the other.
    pub async fn commit(&self, times: usize) -> Duration {
        let mut writer = self.database.writer.acquire().await.expect("a connection");
        let started = Instant::now();
        for _ in 0..times {
            let mut transaction = writer.begin_with("begin immediate").await.expect("begun");
            let insert = sqlx::query("insert into t (v) values ($1)").bind(&[7_u8; 400][..]);
            insert.execute(&mut *transaction).await.expect("inserted");
            transaction.commit().await.expect("committed");
        }
        started.elapsed()
    }
}

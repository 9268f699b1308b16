//! The folder that holds everything of a process without PostgreSQL, and the lock that keeps others out.

use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::database::DatabaseError;

const LOCK_FILE: &str = "skald.lock";
/// Histories are private: nobody else on the machine reads them.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// A data folder that belongs to this process for as long as a clone lives.
///
/// SQLite's own locks would let two processes write in turns; but migrations, leases and caches of one
/// process know nothing of the other's, so the folder has one owner.
#[derive(Debug, Clone)]
pub struct DataFolder(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    /// Holds the lock until it is closed.
    _lock: File,
}

// === impl DataFolder ===

impl DataFolder {
    /// Creates the folder where it is missing, and takes it.
    pub fn open(path: &Path) -> Result<Self, DatabaseError> {
        let unusable = |error| DatabaseError::Folder(path.to_owned(), error);
        DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path).map_err(unusable)?;
        let mut lock = private_file(&path.join(LOCK_FILE)).map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(DatabaseError::FolderInUse(path.to_owned(), holder(&mut lock)));
            }
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
        }
        write_holder(&mut lock).map_err(unusable)?;
        Ok(Self(Arc::new(Inner { path: path.to_owned(), _lock: lock })))
    }

    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// The database files in the folder.
    pub(super) fn databases(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.path()).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        paths.filter(|path| path.extension().is_some_and(|end| end == "db")).collect()
    }

    /// The path of a file in the folder that only this user may read.
    pub(super) fn file(&self, name: &str) -> Result<PathBuf, DatabaseError> {
        let path = self.path().join(name);
        private_file(&path).map_err(|error| DatabaseError::Folder(path.clone(), error))?;
        Ok(path)
    }
}

fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(FILE_MODE).open(path)
}

fn holder(lock: &mut File) -> String {
    let mut text = String::new();
    match lock.read_to_string(&mut text) {
        Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => "(unknown)".to_owned(),
    }
}

fn write_holder(lock: &mut File) -> io::Result<()> {
    lock.set_len(0)?;
    lock.rewind()?;
    writeln!(lock, "{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_folder_has_one_owner_and_names_it() {
        let parent = tempfile::tempdir().expect("a folder");
        let path = parent.path().join("new/data");
        let first = DataFolder::open(&path).expect("free");
        let error = DataFolder::open(&path).expect_err("taken").to_string();
        let expected = format!("{} is in use by process {}", path.display(), std::process::id());
        assert!(error.contains(&expected), "{error}");
        drop(first);
        DataFolder::open(&path).expect("free again");
    }

    #[test]
    fn nobody_else_reads_it() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = DataFolder::open(&parent.path().join("data")).expect("free");
        let mode = |path: &Path| path.metadata().expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(folder.path()), 0o700);
        assert_eq!(mode(&folder.file("ledger.db").expect("created")), 0o600);
    }

    #[test]
    fn what_is_not_a_folder_is_named() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let error = DataFolder::open(file.path()).expect_err("not a folder").to_string();
        assert!(error.contains(&file.path().display().to_string()), "{error}");
    }
}

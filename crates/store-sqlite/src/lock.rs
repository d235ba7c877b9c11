//! One engine process per database file.
//!
//! `<file>.lock` is held with an advisory lock while the store is open, and says whether it was closed cleanly. A store
//! that was not, and whose write-ahead log is gone, has lost commits: it is refused.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use redrive_store::StoreError;

const OPEN: &str = "open";
const CLOSED: &str = "closed";

/// The right to write this file. Dropping it gives the right back.
#[derive(Debug)]
pub(crate) struct FileLock {
    file: File,
}

impl FileLock {
    /// Takes the lock, or says who has it.
    pub(crate) fn take(database: &Path) -> Result<Self, StoreError> {
        let path = beside(database, ".lock");
        let refused = |what: &str, error: &dyn std::fmt::Display| {
            StoreError::Refused(format!("cannot {what} {}: {error}", path.display()))
        };
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(|e| refused("open", &e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let _ = file.read_to_string(&mut text);
                let who =
                    text.split_whitespace().nth(1).map(|pid| format!(" (process {pid})")).unwrap_or_default();
                return Err(StoreError::Refused(format!(
                    "{} is in use by another redrive process{who}: one process at a time may work on an SQLite file",
                    database.display()
                )));
            }
            Err(TryLockError::Error(error)) => return Err(refused("lock", &error)),
        }
        let lock = Self { file };
        // An empty file where a database was is a truncated one; a new one must not take its place.
        if lock.was_used() && std::fs::metadata(database).is_ok_and(|m| m.len() == 0) {
            return Err(StoreError::Refused(format!(
                "{} is empty although it was in use before: restore a backup; to start with nothing, delete it and {}",
                database.display(),
                path.display()
            )));
        }
        if lock.was_left_open() && database.exists() && !beside(database, "-wal").exists() {
            return Err(StoreError::Refused(format!(
                "the write-ahead log of {} is missing although the last process did not close it: restore the -wal file or a \
                 backup; if you are sure that nothing is lost, delete {}",
                database.display(),
                path.display()
            )));
        }
        Ok(lock)
    }

    /// Notes that the store is open. Called when the write-ahead log exists.
    pub(crate) fn mark_open(&self) -> Result<(), StoreError> {
        self.mark(OPEN)
    }

    /// Notes that the store was closed cleanly.
    pub(crate) fn mark_closed(&self) -> Result<(), StoreError> {
        self.mark(CLOSED)
    }

    fn was_left_open(&self) -> bool {
        self.says().starts_with(OPEN)
    }

    fn was_used(&self) -> bool {
        !self.says().is_empty()
    }

    /// What the last process wrote into the lock file.
    fn says(&self) -> String {
        let mut text = String::new();
        let mut file = &self.file;
        let _ = file.rewind().and_then(|()| file.read_to_string(&mut text));
        text
    }

    fn mark(&self, word: &str) -> Result<(), StoreError> {
        let mut file = &self.file;
        let line = format!("{word} {}\n", std::process::id());
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(line.as_bytes()))
            .and_then(|()| file.sync_all())
            .map_err(|error| StoreError::Unavailable {
                reason: format!("cannot write the lock file: {error}"),
            })
    }
}

/// `path` with something appended to its file name.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

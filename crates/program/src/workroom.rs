//! A folder for one run, and what is left of such folders when we were killed meanwhile.
//!
//! Whoever makes one holds the lock of a file beside it as long as the run takes, so a folder whose lock nobody holds was left by the dead,
//! however young it is. Where locks are not supported nothing is removed but by its maker.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use tempfile::TempDir;

/// What their names begin with.
const PREFIX: &str = ".run-";
/// The file that is locked, in the folder.
const LOCK: &str = "lock";
/// A sweeper may find a folder between its making and its lock; then another one is made, so often.
const TRIES: usize = 8;

/// A folder of one run. It is gone, with all that is in it, when this is dropped.
#[derive(Debug)]
pub struct Workroom {
    folder: TempDir,
    _lock: File,
}

impl Workroom {
    /// Makes one below a folder, which is made where it is missing. Only we may look into it.
    pub fn make(below: &Path) -> io::Result<Self> {
        let below = std::path::absolute(below)?;
        std::fs::create_dir_all(&below)?;
        for _ in 0..TRIES {
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(&below)?;
            let lock = match File::create_new(folder.path().join(LOCK)) {
                Ok(lock) => lock,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::Error(error)) if no_locks(&error) => {}
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) => continue,
            }
            if folder.path().join(LOCK).exists() {
                return Ok(Self { folder, _lock: lock });
            }
        }
        Err(io::Error::other("every folder was swept at once"))
    }

    /// Where something in it lies.
    #[must_use]
    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Removes the folders that nobody holds. Answers how many that were.
    pub fn sweep(below: &Path) -> io::Result<usize> {
        let entries = match std::fs::read_dir(below) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(error),
        };
        let mut swept = 0;
        for entry in entries {
            let entry = entry?;
            let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
            if !ours || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            // One without its file is being made, or being removed.
            let Ok(lock) = File::open(entry.path().join(LOCK)) else { continue };
            if lock.try_lock().is_ok() && std::fs::remove_dir_all(entry.path()).is_ok() {
                swept += 1;
            }
        }
        Ok(swept)
    }
}

fn no_locks(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOTSUP | Errno::NOSYS | Errno::NOLCK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_stays_and_what_the_dead_left_goes() {
        let home = tempfile::tempdir().unwrap();
        let held = Workroom::make(&home.path().join("runs")).unwrap();
        let below = home.path().join("runs");
        std::fs::create_dir_all(below.join(".run-dead/out")).unwrap();
        for name in [".run-dead/lock", ".run-dead/out/half", "notes.txt"] {
            std::fs::write(below.join(name), "x").unwrap();
        }
        assert_eq!(Workroom::sweep(&below).unwrap(), 1);
        assert!(held.at("lock").exists() && below.join("notes.txt").exists());
        assert!(!below.join(".run-dead").exists());
        drop(held);
        assert_eq!(std::fs::read_dir(&below).unwrap().count(), 1, "only what is not ours");
        assert_eq!(Workroom::sweep(&home.path().join("nowhere")).unwrap(), 0);
    }
}

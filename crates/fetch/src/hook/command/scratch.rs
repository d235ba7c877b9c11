//! Copies that a program looks at, and what is left of them when we were killed meanwhile.
//!
//! Whoever makes a copy holds its lock as long as it is looked at, so a copy that nobody holds was left by the dead, however young it is.
//! Where locks are not supported age alone protects a copy.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use redrive_blob::Temps;
use redrive_engine::model::{Timestamp, instant};
use tempfile::NamedTempFile;

/// What their names begin with.
const PREFIX: &str = ".tmp";
/// A sweeper may find a copy between its making and its lock; then another one is made, so often.
const TRIES: usize = 8;

/// An empty copy, locked. It is gone when it is dropped.
pub(super) fn make(folder: &Path) -> io::Result<NamedTempFile> {
    use std::os::unix::fs::MetadataExt;
    for _ in 0..TRIES {
        let copy = tempfile::Builder::new().prefix(PREFIX).tempfile_in(folder)?;
        match copy.as_file().try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(error)) if no_locks(&error) => {}
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) => continue,
        }
        if copy.as_file().metadata()?.nlink() > 0 {
            return Ok(copy);
        }
    }
    Err(io::Error::other("every copy was swept at once"))
}

/// Removes copies that nobody holds; where nobody can hold any, those that were last written before an instant, if one is said.
pub(crate) fn sweep(folder: &Path, before: Option<Timestamp>) -> io::Result<Temps> {
    let mut swept = Temps::default();
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(swept),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if !ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        // What cannot be opened was removed by its maker just now.
        let Ok(file) = File::open(entry.path()) else { continue };
        let Ok(about) = file.metadata() else { continue };
        let left = match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(error)) => {
                let since = about.modified()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
                no_locks(&error)
                    && before.is_some_and(|before| instant::after(Timestamp::UNIX_EPOCH, since) < before)
            }
        };
        if left && std::fs::remove_file(entry.path()).is_ok() {
            swept.removed += 1;
            swept.bytes = swept.bytes.saturating_add(about.len());
        }
    }
    Ok(swept)
}

fn no_locks(error: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(Errno::from_io_error(error), Some(Errno::NOTSUP | Errno::NOSYS | Errno::NOLCK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_stays_and_what_the_dead_left_goes() {
        let home = tempfile::tempdir().unwrap();
        let held = make(home.path()).unwrap();
        std::fs::write(home.path().join(".tmpdead"), "12345").unwrap();
        std::fs::write(home.path().join("notes.txt"), "theirs").unwrap();
        std::fs::create_dir(home.path().join(".tmpfolder")).unwrap();
        assert_eq!(sweep(home.path(), None).unwrap(), Temps { removed: 1, bytes: 5 });
        assert!(held.path().exists());
        drop(held);
        assert_eq!(sweep(home.path(), None).unwrap(), Temps::default());
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 2, "nothing else was touched");
        assert_eq!(sweep(&home.path().join("nowhere"), None).unwrap(), Temps::default());
    }
}

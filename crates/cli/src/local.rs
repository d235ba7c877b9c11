//! What one server leaves in its data folder: a lock while it runs, and how to reach it from the same machine.
//!
//! `server.lock` is held by the operating system as long as the process lives, so that a second server on the same folder ends
//! before it touches anything. `server.json` is readable by its owner alone and goes with a clean stop; after a crash it is stale,
//! and whoever reads it finds nobody there.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::exit::{Exit, Stop};

const LOCK: &str = "server.lock";
const FILE: &str = "server.json";

/// The right to be the server of a data folder, or the only one who does something else there. Dropping it gives the right back.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes it, or says who has it.
    pub(crate) fn take(data_dir: &Path) -> Result<Self, Stop> {
        Self::hold(&data_dir.join(LOCK), |who| {
            let folder = data_dir.display();
            format!(
                "{folder} is in use by another redrive process{who}: stop that one first, or start this one with another --data-dir"
            )
        })
    }

    /// Holds this file as long as the process lives, or says what the words make of whoever has it.
    pub(crate) fn hold(path: &Path, words: impl Fn(&str) -> String) -> Result<Self, Stop> {
        let cannot = |error: std::io::Error| {
            Stop::new(Exit::Failed, format!("cannot lock {}: {error}", path.display()))
        };
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(0o600)
            .open(path)
            .map_err(cannot)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                let _ = file.read_to_string(&mut pid);
                let who = if pid.is_empty() { String::new() } else { format!(" (process {})", pid.trim()) };
                return Err(Stop::new(Exit::Conflict, words(&who)));
            }
            Err(TryLockError::Error(error)) => return Err(cannot(error)),
        }
        let noted = file.set_len(0).and_then(|()| file.rewind());
        noted.and_then(|()| write!(file, "{}", std::process::id())).map_err(cannot)?;
        Ok(Self { _file: file })
    }
}

/// How to reach the server that runs on a data folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServerFile {
    pub(crate) url: String,
    pub(crate) token: String,
    pub(crate) pid: u32,
}

impl ServerFile {
    /// Reads it; nothing when there is none or when it cannot be understood.
    pub(crate) fn read(data_dir: &Path) -> Option<Self> {
        serde_json::from_str(&std::fs::read_to_string(data_dir.join(FILE)).ok()?).ok()
    }

    /// Writes it at once and whole, for its owner alone. Whoever has the [`Lock`] may.
    pub(crate) fn write(&self, data_dir: &Path) -> Result<Written, Stop> {
        let path = data_dir.join(FILE);
        let write = || {
            let mut temp = tempfile::Builder::new().prefix(".server-").tempfile_in(data_dir)?;
            serde_json::to_writer(&mut temp, self)?;
            temp.as_file().sync_all()?;
            temp.persist(&path).map_err(|error| error.error)?;
            Ok::<_, std::io::Error>(())
        };
        write()
            .map_err(|error| Stop::new(Exit::Failed, format!("cannot write {}: {error}", path.display())))?;
        Ok(Written { path })
    }
}

/// The file that we wrote; dropping it removes the file.
#[derive(Debug)]
pub(crate) struct Written {
    path: PathBuf,
}

impl Drop for Written {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_file_is_for_its_owner_alone_and_goes_with_its_server() {
        let dir = tempfile::tempdir().unwrap();
        let file = ServerFile { url: "http://127.0.0.1:1".into(), token: "t".into(), pid: 7 };
        let written = file.write(dir.path()).unwrap();
        let path = dir.path().join("server.json");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(ServerFile::read(dir.path()), Some(file));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no temp is left");
        drop(written);
        assert_eq!((path.exists(), ServerFile::read(dir.path())), (false, None));
    }

    #[test]
    fn one_server_has_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let lock = Lock::take(dir.path()).unwrap();
        assert!(Lock::take(dir.path()).is_err());
        drop(lock);
        Lock::take(dir.path()).unwrap();
    }
}

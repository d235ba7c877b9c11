//! Where small uploads are written: sixteen folders, so that those that come at the same time do not wait for each other's turn in one.
//!
//! They stay open between two uploads: a temp is nobody's to find, so it does not matter what its folder is called meanwhile. One that was
//! removed is made again.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::TEMP;
use super::root::{Root, Stop};
use crate::Result;
use crate::error::{Act, BlobError};

const SHARDS: usize = 16;

/// The folders that were opened so far.
#[derive(Debug, Default)]
pub(super) struct Shards(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    next: usize,
    folders: [Option<Arc<OwnedFd>>; SHARDS],
}

impl Shards {
    /// One after the other.
    pub(super) fn next(&self, root: &Root) -> Result<Arc<OwnedFd>> {
        let mut open = self.lock();
        let turn = open.next % SHARDS;
        open.next = turn + 1;
        let there = open.folders.get(turn).cloned().flatten();
        drop(open);
        if let Some(folder) = there.filter(|folder| is_there(folder)) {
            return Ok(folder);
        }
        let name = format!("{TEMP}/{turn:x}");
        let folder = match root.down(Some(&name), true, Act::Put) {
            Ok(way) => Arc::new(way.into_last()?),
            Err(Stop::Missing) => return Err(BlobError::io(format!("{name} is not a folder"))),
            Err(Stop::Failed(error)) => return Err(error),
        };
        if let Some(place) = self.lock().folders.get_mut(turn) {
            *place = Some(Arc::clone(&folder));
        }
        Ok(folder)
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a folder still has a name, so that something can be made in it.
fn is_there(folder: &OwnedFd) -> bool {
    rustix::fs::fstat(folder).is_ok_and(|stat| stat.st_nlink > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_folder_has_its_turn_and_one_that_was_removed_is_made_again() {
        let home = tempfile::tempdir().unwrap();
        let root = Root::open(home.path()).unwrap();
        let shards = Shards::default();
        let mut seen = Vec::new();
        for round in 0..3 {
            for turn in 0..SHARDS {
                let folder = shards.next(&root).unwrap();
                assert!(is_there(&folder), "{round} {turn}");
                seen.push(rustix::fs::fstat(&folder).unwrap().st_ino);
            }
            if round == 1 {
                std::fs::remove_dir_all(home.path().join(TEMP)).unwrap();
            }
        }
        assert_eq!(seen[..SHARDS], seen[SHARDS..2 * SHARDS], "they stay open");
        seen.truncate(SHARDS);
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), SHARDS);
        assert_eq!(std::fs::read_dir(home.path().join(TEMP)).unwrap().count(), SHARDS);
    }
}

//! Folders whose names are known to last, so that they need not be synced with every put.
//!
//! A folder is known by its name, its inode and the instant of its birth: one that was removed and made again, by whomever, is
//! another one. The clock of a file system goes in steps of milliseconds, so a folder is known only when something was written after
//! the step in which it was born: whatever is made from then on has a later birth. Where births are not told, nothing is
//! known and everything is synced.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{AtFlags, StatxFlags};

use crate::temp::Moment;

/// So many are remembered; then it begins anew.
const MOST: usize = 4_096;

/// Which folder it is, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    device: (u32, u32),
    inode: u64,
    born: Moment,
}

impl Identity {
    pub(super) fn of(folder: impl AsFd) -> Option<Self> {
        let wanted = StatxFlags::INO | StatxFlags::BTIME;
        let stat = rustix::fs::statx(folder, c"", AtFlags::EMPTY_PATH, wanted).ok()?;
        (stat.stx_mask & wanted.bits() == wanted.bits()).then_some(Self {
            device: (stat.stx_dev_major, stat.stx_dev_minor),
            inode: stat.stx_ino,
            born: (stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec),
        })
    }
}

/// What is known.
#[derive(Debug, Default)]
pub(super) struct Lasting(Mutex<HashMap<String, Identity>>);

impl Lasting {
    /// Whether the name of this folder was synced since it was made.
    pub(super) fn knows(&self, name: &str, folder: Option<Identity>) -> bool {
        folder.is_some() && self.lock().get(name).copied() == folder
    }

    /// Its name is synced, after something was written at this moment.
    pub(super) fn learn(&self, name: &str, folder: Option<Identity>, written: Moment) {
        let Some(folder) = folder.filter(|folder| folder.born < written) else { return };
        let mut known = self.lock();
        if known.len() >= MOST && !known.contains_key(name) {
            known.clear();
        }
        known.insert(name.to_owned(), folder);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Identity>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    const LATER: Moment = (i64::MAX, 0);

    #[test]
    fn a_folder_that_was_made_again_is_another_one() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a");
        let make = || {
            std::fs::create_dir(&path).unwrap();
            Identity::of(File::open(&path).unwrap())
        };
        let first = make();
        let lasting = Lasting::default();
        assert!(!lasting.knows("a", first));
        lasting.learn("a", first, LATER);
        // Where births are told it is known, and else nothing ever is.
        assert_eq!(lasting.knows("a", first), first.is_some());
        assert!(!lasting.knows("b", first), "another name of it is not synced");
        assert!(!lasting.knows("a", None));
        let again = first.map(|first| Identity { born: (first.born.0, first.born.1 + 1), ..first });
        assert!(!lasting.knows("a", again), "the inode alone says nothing");
    }

    #[test]
    fn one_that_was_born_in_the_same_step_of_the_clock_is_not_known() {
        let home = tempfile::tempdir().unwrap();
        let Some(folder) = Identity::of(File::open(home.path()).unwrap()) else { return };
        let lasting = Lasting::default();
        lasting.learn("a", Some(folder), folder.born);
        assert!(!lasting.knows("a", Some(folder)));
        lasting.learn("a", Some(folder), (folder.born.0, folder.born.1 + 1));
        assert!(lasting.knows("a", Some(folder)));
    }

    #[test]
    fn a_bounded_number_is_remembered() {
        let home = tempfile::tempdir().unwrap();
        let id = Identity::of(File::open(home.path()).unwrap());
        let lasting = Lasting::default();
        for n in 0..2 * MOST {
            lasting.learn(&n.to_string(), id, LATER);
        }
        assert!(lasting.lock().len() <= MOST);
    }
}

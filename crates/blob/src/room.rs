//! Room on the disk: what is free, and when to warn and to refuse.
//!
//! The door asks before it reads a body; a gauge (`redrive_disk_free_bytes`) shows the same number. Only folders have
//! room that can be told.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::StatVfs;

use crate::Result;
use crate::errno;
use crate::error::{Act, BlobError};

/// Bytes that this process may still write at a path. A file system without free inodes has no room, whatever its bytes.
pub fn free(path: &Path) -> Result<u64> {
    let stat = rustix::fs::statvfs(path).map_err(|e| errno::folder(Act::Read, "asking for free space", e))?;
    Ok(usable(&stat))
}

pub(crate) fn free_at(fd: impl AsFd, act: Act) -> Result<u64> {
    let stat = rustix::fs::fstatvfs(fd).map_err(|e| errno::folder(act, "asking for free space", e))?;
    Ok(usable(&stat))
}

const fn usable(stat: &StatVfs) -> u64 {
    // File systems that make inodes as they go say 0 of 0.
    if stat.f_files > 0 && stat.f_favail == 0 { 0 } else { stat.f_bavail.saturating_mul(stat.f_frsize) }
}

/// Limits for free space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Below this it is time to warn.
    pub soft: u64,
    /// Below this nothing new is taken: the reserve is for work that was accepted already.
    pub hard: u64,
}

/// How much room there is, in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// Enough.
    Plenty,
    /// Below the soft limit: warn.
    Low,
}

impl Default for Room {
    /// Warns below 1 GiB, refuses below 256 MiB.
    fn default() -> Self {
        Self { soft: 1 << 30, hard: 256 << 20 }
    }
}

impl Room {
    /// Whether something of `coming` bytes may be taken when so much is free. [`BlobError::Full`] when it must not.
    pub const fn check(&self, free: u64, coming: u64) -> Result<Space> {
        let left = free.saturating_sub(coming);
        if left < self.hard {
            Err(BlobError::Full)
        } else if left < self.soft {
            Ok(Space::Low)
        } else {
            Ok(Space::Plenty)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_warns_and_hard_refuses() {
        let room = Room { soft: 100, hard: 10 };
        for (free, coming, expected) in [
            (1_000, 0, Some(Space::Plenty)),
            (100, 0, Some(Space::Plenty)),
            (99, 0, Some(Space::Low)),
            (150, 60, Some(Space::Low)),
            (10, 0, Some(Space::Low)),
            (10, 1, None),
            (9, 0, None),
            (5, u64::MAX, None),
        ] {
            assert_eq!(room.check(free, coming).ok(), expected, "{free} free, {coming} coming");
        }
        assert!(matches!(room.check(0, 0), Err(BlobError::Full)));
    }

    #[test]
    fn free_space_of_a_real_folder_is_told_and_of_a_missing_one_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free(folder.path()).unwrap() > 0);
        assert!(free(&folder.path().join("missing")).is_err());
    }
}

//! Room on the disk: what is free, and when to warn and to refuse.
//!
//! The door asks before it reads a body; a gauge (`redrive_disk_free_bytes`) shows the same number. Only folders have
//! room that can be told.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::StatVfs;

use crate::error::{Act, BlobError};
use crate::{Blobs, Result};
use crate::{blocking, errno};

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

/// Places that are filled together: what one of them lacks, all lack.
#[derive(Debug, Clone, Default)]
pub struct Places {
    blobs: Vec<Arc<dyn Blobs>>,
    folders: Vec<PathBuf>,
}

impl Places {
    /// These places of artifacts.
    #[must_use]
    pub const fn of(blobs: Vec<Arc<dyn Blobs>>) -> Self {
        Self { blobs, folders: Vec::new() }
    }

    /// And these folders, whatever lies in them.
    #[must_use]
    pub fn folders(mut self, folders: &[PathBuf]) -> Self {
        self.folders.extend_from_slice(folders);
        self
    }

    /// And all of the others.
    #[must_use]
    pub fn and(mut self, others: &Self) -> Self {
        self.blobs.extend(others.blobs.iter().cloned());
        self.folders.extend(others.folders.iter().cloned());
        self
    }

    /// What the fullest of them has left; nothing when none of them can tell.
    pub async fn free(&self) -> Result<Option<u64>> {
        let mut least: Option<u64> = None;
        for place in &self.blobs {
            least = least.into_iter().chain(place.free().await?).min();
        }
        for folder in &self.folders {
            let folder = folder.clone();
            let there = blocking::run(move || free(&folder)).await?;
            least = least.into_iter().chain([there]).min();
        }
        Ok(least)
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

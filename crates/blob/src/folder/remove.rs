//! Removing files, and the folders that became empty.

use std::os::fd::AsFd;

use redrive_model::Timestamp;
use rustix::fs::{AtFlags, FlockOperation};
use rustix::io::Errno;

use super::read;
use super::root::{Root, Stop, Way, size};
use crate::Result;
use crate::blobs::Removed;
use crate::errno;
use crate::error::Act;
use crate::key::Key;

/// Removes a file. A link in its place is removed itself, never what it points at.
pub(super) fn remove(root: &Root, key: &Key) -> Result<Removed> {
    let Some(way) = way(root, key)? else { return Ok(Removed::Missing) };
    let bytes = rustix::fs::statat(way.last(), key.split().1, AtFlags::SYMLINK_NOFOLLOW)
        .map_or(0, |stat| size(&stat));
    unlink(&way, key, bytes)
}

/// Removes a file that was put or adopted before an instant. The lock is the one an adoption takes: either it made the
/// file young before we looked, or it finds it gone.
pub(super) fn remove_older(root: &Root, key: &Key, before: Timestamp) -> Result<Removed> {
    let Some(way) = way(root, key)? else { return Ok(Removed::Missing) };
    let Some((file, _)) = read::open_in(&way, key, Act::Delete)? else { return Ok(Removed::Missing) };
    match rustix::fs::flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive) {
        Ok(()) | Err(Errno::NOTSUP | Errno::NOSYS | Errno::NOLCK) => {}
        Err(Errno::WOULDBLOCK) => return Ok(Removed::Kept),
        Err(e) => return Err(errno::folder(Act::Delete, "locking a file", e)),
    }
    let stat = rustix::fs::fstat(&file).map_err(|e| errno::folder(Act::Delete, "looking at a file", e))?;
    if stat.st_nlink == 0 {
        return Ok(Removed::Missing);
    }
    if super::root::modified(&stat) >= before {
        return Ok(Removed::Kept);
    }
    unlink(&way, key, size(&stat))
}

fn way<'a>(root: &'a Root, key: &'a Key) -> Result<Option<Way<'a>>> {
    match root.way(key, false, Act::Delete) {
        Ok(way) => Ok(Some(way)),
        Err(Stop::Missing) => Ok(None),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// Takes the name away. It is not synced: a power cut may bring the file back, and the sweeper finds it again.
fn unlink(way: &Way<'_>, key: &Key, bytes: u64) -> Result<Removed> {
    match rustix::fs::unlinkat(way.last(), key.split().1, AtFlags::empty()) {
        Ok(()) => {
            way.prune();
            Ok(Removed::Gone { bytes })
        }
        Err(Errno::NOENT | Errno::ISDIR) => Ok(Removed::Missing),
        Err(e) => Err(errno::folder(Act::Delete, "removing a file", e)),
    }
}

//! A move on a folder: one rename that replaces nothing, looked at afterwards, and synced.
//!
//! Nothing is ever unlinked here, so nothing can be lost. What a person swapped in between the look and the rename was
//! moved by mistake and is put back, beside what has its name by then.

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, RenameFlags, Stat};
use rustix::io::Errno;

use super::beside::beside;
use super::seam::{MovePoint, MoveSeam, at_now};
use super::{Relocated, Version};
use crate::Result;
use crate::errno;
use crate::error::{Act, BlobError, Place};
use crate::folder::{Root, Stop, Way, modified, size};
use crate::key::Key;
use redrive_model::Timestamp;

/// So often files and folders may come and go under a move before it is an error.
const TRIES: usize = 16;
/// So many names beside a taken one are tried.
const NAMES: u32 = 100;

/// What a file is, without reading it. Not the inode: file systems over a network make them up anew, a backup that was restored
/// has others, and every file would look replaced. A rename keeps all three, so a move does not change it.
pub(super) fn version(bytes: u64, modified: Timestamp) -> Version {
    format!("{bytes}-{}", modified.as_nanosecond())
}

fn version_of(stat: &Stat) -> Version {
    version(size(stat), modified(stat))
}

/// What lies at a key. A link is refused; a folder is nothing.
pub(super) fn look(root: &Root, key: &Key) -> Result<Option<Stat>> {
    match way(root, key, false)? {
        Some(way) => look_in(way.last(), key.split().1),
        None => Ok(None),
    }
}

fn look_in(folder: &OwnedFd, name: &str) -> Result<Option<Stat>> {
    let stat = match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(e) => return Err(errno::folder(Act::Read, "looking at a file", e)),
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(Some(stat)),
        FileType::Directory => Ok(None),
        FileType::Symlink => Err(errno::linked(Act::Read, "looking at a file")),
        _ => Err(BlobError::io("something that is no file has this name")),
    }
}

fn way<'a>(root: &'a Root, key: &'a Key, make: bool) -> Result<Option<Way<'a>>> {
    match root.way(key, make, if make { Act::Put } else { Act::Read }) {
        Ok(way) => Ok(Some(way)),
        Err(Stop::Missing) => Ok(None),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// One move, as [`Shelf::relocate`](super::Shelf::relocate) says.
pub(super) fn relocate(
    root: &Root,
    seam: &dyn MoveSeam,
    from: &Key,
    meant: &Version,
    to: &Key,
) -> Result<Relocated> {
    for _ in 0..TRIES {
        let source = way(root, from, false)?;
        let there = match &source {
            Some(source) => look_in(source.last(), from.split().1)?,
            None => None,
        };
        let there = there.as_ref().map(version_of);
        let Some(source) = source.filter(|_| there.as_ref() == Some(meant)) else {
            return settled(root, from, there, meant, to);
        };
        if from == to {
            return Ok(Relocated::Done { version: meant.clone() });
        }
        let Some(target) = way(root, to, true)? else { continue };
        at_now(seam, MovePoint::BeforeCopy)?;
        match rename(&source, from, &target, to) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Ok(Relocated::Taken),
            Err(Errno::NOENT) => continue,
            Err(Errno::XDEV) => return Err(denied("the target lies on another file system")),
            Err(e) => return Err(errno::folder(Act::Put, "moving a file", e)),
        }
        let moved = match rustix::fs::statat(target.last(), to.split().1, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(moved) => moved,
            Err(Errno::NOENT) => continue,
            Err(e) => return Err(errno::folder(Act::Put, "looking at what was moved", e)),
        };
        if FileType::from_raw_mode(moved.st_mode) != FileType::RegularFile || version_of(&moved) != *meant {
            put_back(&target, to, &source, from)?;
            continue;
        }
        at_now(seam, MovePoint::AfterCopy)?;
        let written = (moved.st_ctime, u32::try_from(moved.st_ctime_nsec).unwrap_or_default());
        target.sync_new(written).map_err(unsynced)?;
        source.sync_last().map_err(unsynced)?;
        at_now(seam, MovePoint::AfterDelete)?;
        source.prune();
        return Ok(Relocated::Done { version: meant.clone() });
    }
    Err(BlobError::io("files came and went while one was moved"))
}

/// The source is not there, or something else. Then the target says whether the move was made before; whoever made it may have died
/// before the sync.
fn settled(root: &Root, from: &Key, there: Option<Version>, meant: &Version, to: &Key) -> Result<Relocated> {
    let target = way(root, to, false)?.filter(|_| from != to);
    let arrived = target.as_ref().is_some_and(|target| {
        look_in(target.last(), to.split().1)
            .is_ok_and(|stat| stat.as_ref().map(version_of).as_ref() == Some(meant))
    });
    let Some(target) = target.filter(|_| arrived) else {
        return Ok(there.map_or(Relocated::Missing, |version| Relocated::Changed { version }));
    };
    target.sync().map_err(unsynced)?;
    if let Some(source) = way(root, from, false)? {
        source.sync_last().map_err(unsynced)?;
        source.prune();
    }
    let version = meant.clone();
    Ok(if there.is_some() { Relocated::Overtaken { version } } else { Relocated::Done { version } })
}

/// Renames without replacing. Where the file system has no such rename, a second name is made and the first removed, if it is
/// still a name of the same file: a last look, not a lock.
fn rename(source: &Way<'_>, from: &Key, target: &Way<'_>, to: &Key) -> rustix::io::Result<()> {
    let (from, to) = (from.split().1, to.split().1);
    match rustix::fs::renameat_with(source.last(), from, target.last(), to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => link(source.last(), from, target.last(), to),
        answer => answer,
    }
}

fn link(source: &OwnedFd, from: &str, target: &OwnedFd, to: &str) -> rustix::io::Result<()> {
    let stat = |folder, name| rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    let linked = rustix::fs::linkat(source, from, target, to, AtFlags::empty());
    let (first, second) = (stat(source, from)?, stat(target, to)?);
    // Somebody who died here before has made the second name already.
    let same = (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino) && second.st_nlink > 1;
    match linked {
        Ok(()) | Err(Errno::EXIST) if same => rustix::fs::unlinkat(source, from, AtFlags::empty()),
        answer => answer,
    }
}

/// Something else was moved than was meant: it goes back to where it was, or beside what is there by now.
fn put_back(target: &Way<'_>, to: &Key, source: &Way<'_>, from: &Key) -> Result<()> {
    let names = std::iter::once(Ok(from.clone())).chain((2..NAMES).map(|n| beside(from, n)));
    for name in names {
        match rename(target, to, source, &name?) {
            // Gone again: whoever changed it has taken it away.
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::EXIST) => {}
            Err(e) => return Err(errno::folder(Act::Put, "putting a file back", e)),
        }
    }
    Err(denied(&format!("a file that was replaced while it was moved lies at {to} and has no way back")))
}

fn unsynced(e: Errno) -> BlobError {
    errno::folder(Act::Put, "syncing a folder", e)
}

fn denied(reason: &str) -> BlobError {
    BlobError::Denied { act: Act::Put, place: Place::Folder, reason: reason.to_owned() }
}

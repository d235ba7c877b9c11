//! Removing a folder of ours with all that is in it. Links go themselves; what they point at stays.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::Result;
use crate::errno;
use crate::error::{Act, BlobError, Place};
use crate::folder::{Root, Stop};
use crate::key::Key;

/// The only folder of a shelf below which things are cleared.
const TEMP: &str = "temp";
/// Deeper than any key of ours.
const DEPTH: usize = 512;

/// Errs unless a key lies below `temp/`.
pub(super) fn check(below: &Key, place: Place) -> Result<()> {
    let mut segments = below.segments();
    if segments.next() == Some(TEMP) && segments.next().is_some() {
        return Ok(());
    }
    let reason = format!("only what lies below {TEMP}/ is cleared, and {below} does not");
    Err(BlobError::Denied { act: Act::Delete, place, reason })
}

/// Removes everything below, and the folder; answers how many files that were.
pub(super) fn clear(root: &Root, below: &Key) -> Result<u64> {
    check(below, Place::Folder)?;
    let way = match root.way(below, false, Act::Delete) {
        Ok(way) => way,
        Err(Stop::Missing) => return Ok(0),
        Err(Stop::Failed(error)) => return Err(error),
    };
    let removed = remove(way.last().as_fd(), below.split().1, DEPTH)?;
    way.prune();
    Ok(removed)
}

/// Removes a name. What vanishes meanwhile was removed by another.
fn remove(folder: BorrowedFd<'_>, name: &str, depth: usize) -> Result<u64> {
    match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) => return Ok(1),
        Err(Errno::NOENT) => return Ok(0),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(e) => return Err(failed(e)),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let inner = match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        Ok(inner) => inner,
        Err(Errno::NOENT) => return Ok(0),
        Err(e) => return Err(failed(e)),
    };
    let deeper = depth.checked_sub(1).ok_or_else(|| BlobError::io("folders lie too deep to be cleared"))?;
    let mut removed = 0;
    for entry in Dir::read_from(&inner).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        removed += match (name.to_str(), entry.file_type()) {
            (Ok(name), _) => remove(inner.as_fd(), name, deeper)?,
            // A name that is no text is nobody's key; as a file it can go all the same.
            (Err(_), FileType::Directory) => 0,
            (Err(_), _) => u64::from(rustix::fs::unlinkat(&inner, name, AtFlags::empty()).is_ok()),
        };
    }
    match rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => Ok(removed),
        Err(e) => Err(failed(e)),
    }
}

fn failed(e: Errno) -> BlobError {
    errno::folder(Act::Delete, "clearing a folder", e)
}

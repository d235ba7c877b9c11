//! Temps of dead uploads.

use std::os::fd::{AsFd, BorrowedFd};

use redrive_model::Timestamp;
use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::root::{modified, size};
use crate::Result;
use crate::blobs::Temps;
use crate::errno;
use crate::error::Act;

/// Folders in the folder of temps are gone into, and no deeper.
const DEPTH: usize = 1;

/// Removes temps last written before an instant whose writer is gone. A living writer holds a lock, however slow it is.
pub(crate) fn sweep(folder: impl AsFd, before: Timestamp, most: usize) -> Result<Temps> {
    let mut swept = Temps::default();
    sweep_below(folder.as_fd(), before, most, DEPTH, &mut swept)?;
    Ok(swept)
}

fn sweep_below(
    folder: BorrowedFd<'_>,
    before: Timestamp,
    most: usize,
    depth: usize,
    swept: &mut Temps,
) -> Result<()> {
    let failed = |e| errno::folder(Act::Delete, "sweeping temps", e);
    for entry in Dir::read_from(folder).map_err(failed)? {
        if usize::try_from(swept.removed).unwrap_or(usize::MAX) >= most {
            break;
        }
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        // What cannot be opened was removed by its writer just now, or is not ours.
        let Ok(file) = rustix::fs::openat(folder, name, flags, Mode::empty()) else { continue };
        let stat = rustix::fs::fstat(&file).map_err(failed)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            if depth > 0 {
                sweep_below(file.as_fd(), before, most, depth - 1, swept)?;
            }
            continue;
        }
        match rustix::fs::flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) | Err(Errno::NOTSUP | Errno::NOSYS | Errno::NOLCK) => {}
            Err(_) => continue,
        }
        let stat = rustix::fs::fstat(&file).map_err(failed)?;
        if modified(&stat) < before && rustix::fs::unlinkat(folder, name, AtFlags::empty()).is_ok() {
            swept.removed += 1;
            swept.bytes = swept.bytes.saturating_add(size(&stat));
        }
    }
    Ok(())
}

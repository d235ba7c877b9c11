//! Temps of dead uploads.

use std::os::fd::AsFd;

use redrive_model::Timestamp;
use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::root::{modified, size};
use crate::Result;
use crate::blobs::Temps;
use crate::errno;
use crate::error::Act;

/// Removes temps last written before an instant whose writer is gone. A living writer holds a lock, however slow it is.
pub(crate) fn sweep(folder: impl AsFd, before: Timestamp, most: usize) -> Result<Temps> {
    let failed = |e| errno::folder(Act::Delete, "sweeping temps", e);
    let mut swept = Temps::default();
    for entry in Dir::read_from(&folder).map_err(failed)? {
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
        let Ok(file) = rustix::fs::openat(&folder, name, flags, Mode::empty()) else { continue };
        match rustix::fs::flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) | Err(Errno::NOTSUP | Errno::NOSYS | Errno::NOLCK) => {}
            Err(_) => continue,
        }
        let stat = rustix::fs::fstat(&file).map_err(failed)?;
        if modified(&stat) < before && rustix::fs::unlinkat(&folder, name, AtFlags::empty()).is_ok() {
            swept.removed += 1;
            swept.bytes = swept.bytes.saturating_add(size(&stat));
        }
    }
    Ok(swept)
}

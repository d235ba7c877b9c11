//! Opening and reading a file under the root.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::root::{Root, Stop, Way, modified, size};
use crate::Result;
use crate::blobs::{Head, Reading};
use crate::blocking;
use crate::errno;
use crate::error::{Act, BlobError};
use crate::key::Key;
use crate::range::ByteRange;

/// So many bytes are read at a time.
const BLOCK: u64 = 128 * 1024;

/// Opens the file of a key.
pub(super) fn open(root: &Root, key: &Key) -> Result<(File, Head)> {
    let missing = || BlobError::NotFound { key: key.clone() };
    let way = match root.way(key, false, Act::Read) {
        Ok(way) => way,
        Err(Stop::Missing) => return Err(missing()),
        Err(Stop::Failed(error)) => return Err(error),
    };
    let (file, head) = open_in(&way, key, Act::Read)?.ok_or_else(missing)?;
    Ok((File::from(file), head))
}

/// Opens the file of a key in its folder; `None` when there is none. Links, pipes and devices are refused: opening a
/// pipe would wait for a writer, so nothing here waits.
pub(super) fn open_in(way: &Way<'_>, key: &Key, act: Act) -> Result<Option<(OwnedFd, Head)>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(way.last(), key.split().1, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::NXIO) => return Err(BlobError::io("a pipe or socket has this name")),
        Err(e) => return Err(errno::folder(act, "opening a file", e)),
    };
    let stat = rustix::fs::fstat(&file).map_err(|e| errno::folder(act, "looking at a file", e))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            let head = Head { bytes: size(&stat), sha256: None, modified: modified(&stat) };
            Ok(Some((file, head)))
        }
        // On a bucket a folder is no object either.
        FileType::Directory => Ok(None),
        _ => Err(BlobError::io("something that is no file has this name")),
    }
}

/// The stream over an open file. The file may lose its name meanwhile: what is open is read to its end.
pub(super) fn reading(key: &Key, file: File, head: Head, range: Option<ByteRange>) -> Result<Reading> {
    let range = range.map_or(Ok(0..head.bytes), |range| range.resolve(head.bytes))?;
    let end = range.end;
    let (file, key) = (Arc::new(file), key.clone());
    let bytes = stream::try_unfold(range.start, move |at| {
        let (file, key) = (Arc::clone(&file), key.clone());
        async move {
            if at >= end {
                return Ok(None);
            }
            let want = usize::try_from(BLOCK.min(end - at)).unwrap_or(usize::MAX);
            let block = blocking::run(move || block(&file, &key, at, want)).await?;
            let next = at.saturating_add(block.len() as u64);
            Ok(Some((block, next)))
        }
    });
    Ok(Reading { head, range, bytes: Box::pin(bytes) })
}

/// One block. A file that became shorter is damaged: an artifact never changes.
fn block(file: &File, key: &Key, at: u64, want: usize) -> Result<Bytes> {
    let mut block = vec![0; want];
    let mut got = 0;
    while let Some(rest) = block.get_mut(got..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, at.saturating_add(got as u64)) {
            Ok(0) => {
                let reason = format!("it ended at byte {}", at.saturating_add(got as u64));
                return Err(BlobError::Corrupt { key: key.clone(), act: Act::Read, reason });
            }
            Ok(more) => got += more,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(errno::io(Act::Read, "reading a file", e)),
        }
    }
    Ok(Bytes::from(block))
}

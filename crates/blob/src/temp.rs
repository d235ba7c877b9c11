//! The local file that every upload is first written into.
//!
//! A temp has a random name, mode 0600, and a lock that its process holds: a sweeper that gets the lock knows that the
//! writer is dead. Whoever drops a temp removes it, unless it was marked to be gone on with. After one failed step a temp is
//! given up: a second fsync on the same file may say yes about bytes that are lost.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rand::Rng;
use rustix::fs::{Advice, AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::digest::{Hashing, Sha256, digits};
use crate::errno;
use crate::error::{Act, BlobError};
use crate::seam::{Point, Seam};

/// So much is read at once when a temp is gone on with.
const BLOCK: usize = 128 * 1024;

/// A large temp is sent to the disk in pieces of this size.
const SEND: u64 = 8 << 20;

/// A place in an upload that can be come back to: the temp, how much of it counts, and what that must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub(crate) temp: String,
    pub(crate) bytes: u64,
    pub(crate) sha256: Sha256,
}

impl Mark {
    /// How many bytes there are.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What they are.
    #[must_use]
    pub const fn sha256(&self) -> Sha256 {
        self.sha256
    }
}

/// Makes temps. It may block.
pub(crate) trait MakeTemp: Send + Sync + std::fmt::Debug {
    /// An empty temp, locked.
    fn make(&self) -> Result<Temp>;
}

/// The folder in which temps lie, and how they are treated.
#[derive(Debug, Clone)]
pub(crate) struct TempFolder {
    pub(crate) folder: Arc<OwnedFd>,
    pub(crate) seam: Arc<dyn Seam>,
    /// Whether the temp itself becomes the artifact, so that it must be on the disk before it gets its name.
    pub(crate) durable: bool,
    /// Whether people may read what becomes of it, as far as the umask lets them.
    pub(crate) shared: bool,
}

impl MakeTemp for TempFolder {
    fn make(&self) -> Result<Temp> {
        let name = digits(&rand::rng().random::<[u8; 16]>(), &mut [0; 32]).to_owned();
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = if self.shared { Mode::from_raw_mode(0o666) } else { Mode::RUSR | Mode::WUSR };
        let made = rustix::fs::openat(&self.folder, &name, flags, mode);
        let file = made.map_err(|e| errno::folder(Act::Put, "making a temp", e))?;
        let temp = Temp {
            file: Arc::new(File::from(file)),
            name,
            of: self.clone(),
            hash: Hashing::default(),
            sent: 0,
            stays: Stays::default(),
        };
        // Where locks are not supported age alone protects a temp.
        match rustix::fs::flock(temp.file.as_fd(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) | Err(Errno::NOTSUP | Errno::NOSYS | Errno::NOLCK) => Ok(temp),
            Err(e) => Err(errno::folder(Act::Put, "locking a temp", e)),
        }
    }
}

impl TempFolder {
    /// Opens a temp that was left at a mark, locked, with nothing in it behind the mark. Nothing when it is gone, when somebody
    /// still writes it, or when its bytes are not those that were marked: it was never synced, and a machine may have lost its
    /// power since.
    pub(crate) fn open(&self, mark: &Mark) -> Result<Option<Temp>> {
        if mark.temp.len() != 32 || !mark.temp.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.folder, &mark.temp, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT | Errno::LOOP) => return Ok(None),
            Err(e) => return Err(errno::folder(Act::Put, "opening a temp", e)),
        };
        match rustix::fs::flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) | Err(Errno::NOTSUP | Errno::NOSYS | Errno::NOLCK) => {}
            Err(_) => return Ok(None),
        }
        let failed = |e| errno::io(Act::Put, "going on with a temp", e);
        // A sweeper may have had it between the opening and the lock.
        let stat = rustix::fs::fstat(&file).map_err(|e| failed(e.into()))?;
        if stat.st_nlink == 0 || u64::try_from(stat.st_size).unwrap_or(0) < mark.bytes {
            return Ok(None);
        }
        let mut hash = Hashing::default();
        let mut block = vec![0; BLOCK];
        while hash.bytes() < mark.bytes {
            let left = usize::try_from(mark.bytes - hash.bytes()).unwrap_or(BLOCK).min(BLOCK);
            let part = block.get_mut(..left).unwrap_or_default();
            file.read_exact_at(part, hash.bytes()).map_err(failed)?;
            hash.update(part);
        }
        let temp = Temp {
            file: Arc::new(file),
            name: mark.temp.clone(),
            of: self.clone(),
            hash,
            sent: mark.bytes,
            stays: Stays::default(),
        };
        if temp.hash.clone().end() != mark.sha256 {
            return Ok(None);
        }
        temp.file.set_len(mark.bytes).map_err(failed)?;
        (&mut &*temp.file).seek(SeekFrom::Start(mark.bytes)).map_err(failed)?;
        Ok(Some(temp))
    }
}

/// A file that is being written and has no name that anybody else uses.
#[derive(Debug)]
pub(crate) struct Temp {
    pub(crate) file: Arc<File>,
    pub(crate) name: String,
    of: TempFolder,
    hash: Hashing,
    /// So much of it is on its way to the disk.
    sent: u64,
    pub(crate) stays: Stays,
}

/// Whether a temp stays when it is dropped: it has its name, or somebody will come back to it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stays(Arc<AtomicBool>);

impl Stays {
    pub(crate) fn set(&self, stays: bool) {
        self.0.store(stays, Ordering::Release);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Temp {
    /// Appends and hashes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.append(bytes)?;
        self.hash.update(bytes);
        if self.of.durable && self.hash.bytes() - self.sent >= SEND {
            // Begins to write it out, so that the sync at the end finds little to do; a hint, and no promise hangs on it.
            let length = std::num::NonZeroU64::new(self.hash.bytes() - self.sent);
            let _ = rustix::fs::fadvise(&self.file, self.sent, length, Advice::DontNeed);
            self.sent = self.hash.bytes();
        }
        Ok(())
    }

    /// Ends the writing: what is in it now is what will be stored.
    pub(crate) fn seal(self) -> Result<Sealing> {
        let (bytes, sha256) = (self.hash.bytes(), self.hash.clone().end());
        self.seal_as(bytes, sha256)
    }

    /// Writes all there is, whose hash is known, into an empty temp.
    pub(crate) fn fill(self, bytes: &[u8], sha256: Sha256) -> Result<Sealing> {
        self.append(bytes)?;
        self.seal_as(bytes.len() as u64, sha256)
    }

    fn append(&self, bytes: &[u8]) -> Result<()> {
        self.step(Point::WriteTemp, "writing a temp", |file| (&mut &*file).write_all(bytes))
    }

    fn seal_as(self, bytes: u64, sha256: Sha256) -> Result<Sealing> {
        match self.settled(bytes) {
            Ok(written) => Ok(Sealing { temp: self, bytes, sha256, written }),
            Err(error) => {
                // Whatever was marked: nobody can say what of it is on the disk.
                self.stays.set(false);
                Err(error)
            }
        }
    }

    /// Makes sure that everything is on the disk, where that is needed; says when it was written.
    fn settled(&self, bytes: u64) -> Result<Moment> {
        if self.of.durable {
            self.step(Point::SyncTemp, "syncing a temp", |file| file.sync_all())?;
        }
        let stat =
            rustix::fs::fstat(&self.file).map_err(|e| errno::folder(Act::Put, "looking at a temp", e))?;
        let there = u64::try_from(stat.st_size).unwrap_or_default();
        if there != bytes {
            return Err(BlobError::io(format!("a temp has {there} bytes after {bytes} were written")));
        }
        Ok((stat.st_mtime, u32::try_from(stat.st_mtime_nsec).unwrap_or_default()))
    }

    /// Asks the seam, then does a step of a put.
    pub(crate) fn step<T>(
        &self,
        at: Point,
        what: &str,
        step: impl FnOnce(&File) -> std::io::Result<T>,
    ) -> Result<T> {
        self.of.seam.before(at).and_then(|()| step(&self.file)).map_err(|e| errno::io(Act::Put, what, e))
    }

    /// How many bytes it has.
    pub(crate) const fn bytes(&self) -> u64 {
        self.hash.bytes()
    }

    pub(crate) const fn folder(&self) -> &Arc<OwnedFd> {
        &self.of.folder
    }

    /// It has its final name: there is nothing left to remove.
    pub(crate) fn renamed(&self) {
        self.stays.set(true);
    }

    /// From now on it stays when it is dropped, and this is how it is found again.
    pub(crate) fn mark(&self) -> Mark {
        self.stays.set(true);
        Mark { temp: self.name.clone(), bytes: self.hash.bytes(), sha256: self.hash.clone().end() }
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        if !self.stays.is_set() {
            // What stays behind is swept when it is old.
            let _ = rustix::fs::unlinkat(&self.of.folder, &self.name, AtFlags::empty());
        }
    }
}

/// A temp that is complete, with its size and hash.
#[derive(Debug)]
pub(crate) struct Sealing {
    pub(crate) temp: Temp,
    pub(crate) bytes: u64,
    pub(crate) sha256: Sha256,
    /// When its last byte was written, by the clock of its file system.
    pub(crate) written: Moment,
}

/// Seconds and nanoseconds as a file system has them.
pub(crate) type Moment = (i64, u32);

impl Sealing {
    /// From now on it stays when it is dropped, and this is how it is found again.
    pub(crate) fn mark(&self) -> Mark {
        self.temp.stays.set(true);
        Mark { temp: self.temp.name.clone(), bytes: self.bytes, sha256: self.sha256 }
    }

    /// Nobody will come back: it goes when it is dropped.
    pub(crate) fn unmark(&self) {
        self.temp.stays.set(false);
    }
}

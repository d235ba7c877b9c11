//! The local file that every upload is first written into.
//!
//! A temp has a random name, mode 0600, and a lock that its process holds: a sweeper that gets the lock knows that the
//! writer is dead. Whoever drops a temp removes it. After one failed step a temp is given up: a second fsync on the same
//! file may say yes about bytes that are lost.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rand::Rng;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::Result;
use crate::digest::{Hashing, Sha256};
use crate::errno;
use crate::error::{Act, BlobError};
use crate::seam::{Point, Seam};

/// The folder in which temps lie, and how they are treated.
#[derive(Debug, Clone)]
pub(crate) struct TempFolder {
    pub(crate) folder: Arc<OwnedFd>,
    pub(crate) seam: Arc<dyn Seam>,
    /// Whether the temp itself becomes the artifact, so that it must be on the disk before it gets its name.
    pub(crate) durable: bool,
}

impl TempFolder {
    /// Makes an empty temp, locked.
    pub(crate) fn make(&self) -> Result<Temp> {
        let name = format!("{:032x}", rand::rng().random::<u128>());
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made = rustix::fs::openat(&self.folder, &name, flags, Mode::RUSR | Mode::WUSR);
        let file = made.map_err(|e| errno::folder(Act::Put, "making a temp", e))?;
        let temp = Temp {
            file: Arc::new(File::from(file)),
            name,
            of: self.clone(),
            hash: Hashing::default(),
            named: true,
        };
        // Where locks are not supported age alone protects a temp.
        match rustix::fs::flock(temp.file.as_fd(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) | Err(Errno::NOTSUP | Errno::NOSYS | Errno::NOLCK) => Ok(temp),
            Err(e) => Err(errno::folder(Act::Put, "locking a temp", e)),
        }
    }
}

/// A file that is being written and has no name that anybody else uses.
#[derive(Debug)]
pub(crate) struct Temp {
    pub(crate) file: Arc<File>,
    pub(crate) name: String,
    of: TempFolder,
    hash: Hashing,
    named: bool,
}

impl Temp {
    /// Appends and hashes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.step(Point::WriteTemp, "writing a temp", |file| (&mut &*file).write_all(bytes))?;
        self.hash.update(bytes);
        Ok(())
    }

    /// Ends the writing: what is in it now is what will be stored.
    pub(crate) fn seal(self) -> Result<Sealing> {
        if self.of.durable {
            self.step(Point::SyncTemp, "syncing a temp", |file| file.sync_all())?;
        }
        let (bytes, sha256) = (self.hash.bytes(), self.hash.clone().end());
        let there = self.file.metadata().map_err(|e| errno::io(Act::Put, "looking at a temp", e))?.len();
        if there != bytes {
            return Err(BlobError::io(format!("a temp has {there} bytes after {bytes} were written")));
        }
        Ok(Sealing { temp: self, bytes, sha256 })
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

    pub(crate) const fn folder(&self) -> &Arc<OwnedFd> {
        &self.of.folder
    }

    /// It has its final name: there is nothing left to remove.
    pub(crate) const fn renamed(&mut self) {
        self.named = false;
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        if self.named {
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
}

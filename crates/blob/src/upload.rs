//! One upload: bytes first, name last.
//!
//! [`Upload`] takes bytes and counts them, [`Upload::seal`] ends that and tells the hash, [`Sealed::finish`] gives the key.
//! Dropping any of them aborts and leaves nothing behind. Bytes gather to blocks before a thread is asked to write them,
//! so that small chunks cost no thread hop each.

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};

use crate::Result;
use crate::blocking;
use crate::digest::Sha256;
use crate::errno;
use crate::error::{Act, BlobError};
use crate::key::Key;
use crate::scratch::Small;
use crate::temp::{Mark, Sealing, Temp};

/// So many bytes are gathered before they are written.
const BLOCK: usize = 128 * 1024;

/// Gives a sealed temp its key. The backend's half of an upload.
#[async_trait]
pub(crate) trait Publish: Send + Sync + fmt::Debug {
    /// Puts it there once. Answers with the temp when the same call may be made again.
    async fn publish(&self, sealing: Sealing, key: &Key) -> (Option<Sealing>, Result<Placed>);
}

/// What became of a put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its key.
    pub key: Key,
    /// Its hash.
    pub sha256: Sha256,
    /// Its size.
    pub bytes: u64,
    /// Whether this put made it.
    pub placed: Placed,
}

/// Whether a put made the artifact, or found the same bytes under its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// It is new.
    New,
    /// The same bytes were there already; they were adopted, and count as put now.
    Adopted,
}

/// An upload that takes bytes.
#[derive(Debug)]
pub struct Upload {
    /// Away while it is being written, and for good after an error or a write that nobody waited for.
    temp: Option<Temp>,
    /// There is no temp yet: perhaps none is needed.
    small: Option<Small>,
    waiting: BytesMut,
    bytes: u64,
    limit: u64,
    publish: Arc<dyn Publish>,
}

impl Upload {
    pub(crate) fn new(temp: Temp, limit: u64, publish: Arc<dyn Publish>) -> Self {
        let bytes = temp.bytes();
        Self { temp: Some(temp), small: None, waiting: BytesMut::new(), bytes, limit, publish }
    }

    /// An upload that makes a temp only when it is larger than what is gathered anyway.
    pub(crate) fn small(small: Small, limit: u64, publish: Arc<dyn Publish>) -> Self {
        Self { temp: None, small: Some(small), waiting: BytesMut::new(), bytes: 0, limit, publish }
    }

    /// How many bytes came.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes more bytes. After an error nothing of the upload is left, and every further call errs.
    pub async fn write(&mut self, chunk: impl Into<Bytes>) -> Result<()> {
        let chunk = chunk.into();
        self.bytes = self.bytes.saturating_add(chunk.len() as u64);
        if self.bytes > self.limit {
            self.unmark();
            (self.temp, self.small) = (None, None);
            return Err(BlobError::TooLarge { limit: self.limit });
        }
        if chunk.len() >= BLOCK {
            // A large chunk is written as it is, behind what waits.
            self.flush().await?;
            return self.append(chunk).await;
        }
        self.waiting.extend_from_slice(&chunk);
        if self.waiting.len() >= BLOCK { self.flush().await } else { Ok(()) }
    }

    /// Writes out what came so far and tells how to go on from here with [`Blobs::resume`](crate::Blobs::resume): after this
    /// upload was dropped, or its process has died. From now on the temp stays when it is dropped; what nobody comes back to is
    /// swept when it is old.
    pub async fn mark(&mut self) -> Result<Mark> {
        if self.small.is_some() {
            // What is to be come back to is on the disk, however small.
            let block = self.waiting.split().freeze();
            self.append(block).await?;
        }
        self.flush().await?;
        self.temp.as_mut().map(Temp::mark).ok_or_else(given_up)
    }

    /// Nobody will come back: the temp goes when it is dropped.
    pub fn unmark(&mut self) {
        if let Some(temp) = &mut self.temp {
            temp.unmark();
        }
    }

    /// Ends the bytes. What is sealed is on the disk, and its hash is known.
    pub async fn seal(mut self) -> Result<Sealed> {
        if let Some(small) = self.small.take() {
            let whole = self.waiting.freeze();
            let (sha256, bytes) = (Sha256::of(&whole), self.bytes);
            return Ok(Sealed {
                whole: Some(Whole::Small(small, whole)),
                sha256,
                bytes,
                publish: self.publish,
            });
        }
        self.flush().await?;
        let temp = self.temp.take().ok_or_else(given_up)?;
        let sealing = blocking::run(move || temp.seal()).await?;
        let (sha256, bytes) = (sealing.sha256, sealing.bytes);
        Ok(Sealed { whole: Some(Whole::Temp(sealing)), sha256, bytes, publish: self.publish })
    }

    /// [`Upload::seal`] and [`Sealed::finish`] in one, where the key is known without the hash.
    pub async fn finish(self, key: &Key) -> Result<Stored> {
        self.seal().await?.finish(key).await
    }

    async fn flush(&mut self) -> Result<()> {
        if self.waiting.is_empty() && (self.temp.is_some() || self.small.is_some()) {
            return Ok(());
        }
        let block = self.waiting.split().freeze();
        self.append(block).await
    }

    async fn append(&mut self, block: Bytes) -> Result<()> {
        let (temp, small) = (self.temp.take(), self.small.take());
        let written = blocking::run(move || {
            let mut temp = match small {
                Some(small) => small.temps().make()?,
                None => temp.ok_or_else(given_up)?,
            };
            temp.write(&block)?;
            Ok(temp)
        });
        self.temp = Some(written.await?);
        Ok(())
    }
}

/// A complete upload without a name.
#[derive(Debug)]
pub struct Sealed {
    whole: Option<Whole>,
    sha256: Sha256,
    bytes: u64,
    publish: Arc<dyn Publish>,
}

/// All bytes of an upload.
#[derive(Debug)]
enum Whole {
    Temp(Sealing),
    Small(Small, Bytes),
}

impl Sealed {
    /// The hash of all bytes.
    #[must_use]
    pub const fn sha256(&self) -> Sha256 {
        self.sha256
    }

    /// The number of all bytes.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Tells how to come back to it, as [`Upload::mark`] does: nothing is to be sent again by whoever sent it. `None` when it
    /// was given up after an error of the disk, is finished, or is in memory only.
    pub fn mark(&mut self) -> Option<Mark> {
        match self.whole.as_mut()? {
            Whole::Temp(sealing) => Some(sealing.temp.mark()),
            Whole::Small(..) => None,
        }
    }

    /// Writes all bytes into a file, for whoever must look at them before they get their key. It is a copy: whatever is done to it
    /// is not done to this upload.
    pub async fn copy_to(&self, file: File) -> Result<()> {
        match self.whole.as_ref().ok_or_else(given_up)? {
            Whole::Temp(sealing) => {
                let (from, bytes) = (sealing.temp.file.clone(), sealing.bytes);
                blocking::run(move || copy(&from, &file, bytes)).await
            }
            Whole::Small(_, bytes) => {
                let bytes = bytes.clone();
                blocking::run(move || (&mut &file).write_all(&bytes).map_err(not_copied)).await
            }
        }
    }

    /// Gives it its key, once, durably. The same bytes under this key are adopted; other bytes are
    /// [`BlobError::AlreadyExists`] and stay as they are.
    ///
    /// When the name is taken by other bytes, another name may be tried with the same upload. A bucket that was not
    /// available may be asked again. A folder whose disk failed may not: the upload is given up and must be made anew.
    ///
    /// On a bucket that ignores conditional writes this is a last check, not a lock: two puts of different bytes in
    /// the same instant can both be told yes.
    pub async fn finish(&mut self, key: &Key) -> Result<Stored> {
        let (back, placed) = match self.whole.take().ok_or_else(given_up)? {
            Whole::Temp(sealing) => {
                let (back, placed) = self.publish.publish(sealing, key).await;
                (back.map(Whole::Temp), placed)
            }
            Whole::Small(small, bytes) => {
                let placed = small.put(key, bytes.clone(), self.sha256);
                (placed.is_err().then_some(Whole::Small(small, bytes)), placed)
            }
        };
        self.whole = back;
        Ok(Stored { key: key.clone(), sha256: self.sha256, bytes: self.bytes, placed: placed? })
    }
}

/// Copies without moving in the file that is copied from: others have it open too.
fn copy(from: &File, mut to: &File, bytes: u64) -> Result<()> {
    let (mut block, mut at) = (vec![0; BLOCK], 0);
    while at < bytes {
        let left = usize::try_from(bytes - at).unwrap_or(BLOCK).min(BLOCK);
        let part = block.get_mut(..left).unwrap_or_default();
        from.read_exact_at(part, at).and_then(|()| to.write_all(part)).map_err(not_copied)?;
        at += left as u64;
    }
    Ok(())
}

fn not_copied(error: std::io::Error) -> BlobError {
    errno::io(Act::Read, "copying an upload", error)
}

fn given_up() -> BlobError {
    BlobError::io("this upload was given up after an error, or is finished")
}

//! One upload: bytes first, name last.
//!
//! [`Upload`] takes bytes and counts them, [`Upload::seal`] ends that and tells the hash, [`Sealed::finish`] gives the key.
//! Dropping any of them aborts and leaves nothing behind. Bytes gather to blocks before a thread is asked to write them,
//! so that small chunks cost no thread hop each; while it writes, the next block gathers. What fits into one block waits in memory for
//! its key, and is made, written, synced and named in one hop.

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};

use crate::Result;
use crate::blocking::{self, Thread};
use crate::digest::Sha256;
use crate::errno;
use crate::error::{Act, BlobError};
use crate::key::Key;
use crate::temp::{MakeTemp, Mark, Sealing, Stays, Temp};

/// So many bytes are gathered before they are written.
const BLOCK: usize = 128 * 1024;

/// So many bytes gather while others are written; then the disk is waited for.
const MOST: usize = 2 * BLOCK;

/// Gives uploads their keys. The backend's half of an upload.
#[async_trait]
pub(crate) trait Publish: Send + Sync + fmt::Debug {
    /// Where temps are made.
    fn temps(&self) -> Arc<dyn MakeTemp>;

    /// Puts it there once. Answers with the temp when the same call may be made again.
    async fn publish(&self, sealing: Sealing, key: &Key) -> (Option<Sealing>, Result<Placed>);

    /// The same for bytes that have no temp yet.
    async fn publish_small(&self, small: Small, key: &Key) -> (Option<Whole>, Result<Placed>) {
        let temps = self.temps();
        match blocking::run(move || small.into_temp(&*temps)).await {
            Ok(sealing) => {
                let (back, placed) = self.publish(sealing, key).await;
                (back.map(Whole::Temp), placed)
            }
            Err(error) => (None, Err(error)),
        }
    }
}

/// All bytes of an upload.
#[derive(Debug)]
pub(crate) enum Whole {
    Temp(Sealing),
    Small(Small),
}

/// All bytes of an upload that fits into a block.
#[derive(Debug, Clone)]
pub(crate) struct Small {
    pub(crate) bytes: Bytes,
    pub(crate) sha256: Sha256,
}

impl Small {
    /// Writes them out. It may block.
    pub(crate) fn into_temp(self, temps: &dyn MakeTemp) -> Result<Sealing> {
        temps.make()?.fill(&self.bytes, self.sha256)
    }
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
    place: At,
    waiting: BytesMut,
    bytes: u64,
    limit: u64,
    publish: Arc<dyn Publish>,
}

/// Where the bytes of an upload are, but for those that wait to be written.
#[derive(Debug)]
enum At {
    /// Nothing was written yet.
    Nowhere,
    Temp(Temp),
    /// A thread has it and writes.
    Writing(Writing),
    /// It was given up.
    Away,
}

#[derive(Debug)]
struct Writing {
    thread: Thread<Temp>,
    /// Whether the temp stays, of one that had been made before.
    stays: Option<Stays>,
}

impl At {
    const fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Away)
    }

    fn stays(&self) -> Option<&Stays> {
        match self {
            Self::Temp(temp) => Some(&temp.stays),
            Self::Writing(writing) => writing.stays.as_ref(),
            Self::Nowhere | Self::Away => None,
        }
    }

    /// Waits until nobody writes. After an error it is given up.
    async fn settle(&mut self) -> Result<()> {
        if let Self::Writing(writing) = self {
            let written = writing.thread.ended().await;
            *self = Self::Away;
            *self = Self::Temp(written?);
        }
        Ok(())
    }
}

impl Upload {
    pub(crate) fn new(limit: u64, publish: Arc<dyn Publish>) -> Self {
        Self { place: At::Nowhere, waiting: BytesMut::new(), bytes: 0, limit, publish }
    }

    /// One that goes on with a temp.
    pub(crate) fn of(temp: Temp, limit: u64, publish: Arc<dyn Publish>) -> Self {
        let bytes = temp.bytes();
        Self { place: At::Temp(temp), waiting: BytesMut::new(), bytes, limit, publish }
    }

    /// How many bytes came.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether all of it is in memory so far: nothing of it can be come back to.
    #[must_use]
    pub const fn is_in_memory(&self) -> bool {
        matches!(self.place, At::Nowhere)
    }

    /// Takes more bytes. After an error nothing of the upload is left, and every further call errs. What a disk refuses may be told by a
    /// later call, because bytes gather while earlier ones are written.
    pub async fn write(&mut self, chunk: impl Into<Bytes>) -> Result<()> {
        let chunk = chunk.into();
        self.bytes = self.bytes.saturating_add(chunk.len() as u64);
        if self.bytes > self.limit {
            self.unmark();
            self.place = At::Away;
            return Err(BlobError::TooLarge { limit: self.limit });
        }
        if matches!(self.place, At::Away) {
            return Err(given_up());
        }
        self.waiting.extend_from_slice(&chunk);
        let gathers = match &self.place {
            At::Writing(writing) if !writing.thread.has_ended() => MOST,
            _ => BLOCK,
        };
        if self.waiting.len() < gathers {
            return Ok(());
        }
        self.place.settle().await?;
        self.write_out();
        Ok(())
    }

    /// Writes out what came so far and tells how to go on from here with [`Blobs::resume`](crate::Blobs::resume): after this
    /// upload was dropped, or its process has died. From now on the temp stays when it is dropped; what nobody comes back to is
    /// swept when it is old.
    pub async fn mark(&mut self) -> Result<Mark> {
        self.place.settle().await?;
        // What is to be come back to is on the disk, however small.
        if !self.waiting.is_empty() || matches!(self.place, At::Nowhere) {
            self.write_out();
            self.place.settle().await?;
        }
        match &mut self.place {
            At::Temp(temp) => Ok(temp.mark()),
            At::Nowhere | At::Writing(_) | At::Away => Err(given_up()),
        }
    }

    /// Nobody will come back: the temp goes when it is dropped.
    pub fn unmark(&mut self) {
        if let Some(stays) = self.place.stays() {
            stays.set(false);
        }
    }

    /// Ends the bytes, and tells their hash. Nothing is durable before it has its key.
    pub async fn seal(mut self) -> Result<Sealed> {
        self.place.settle().await?;
        let last = self.waiting.split().freeze();
        let whole = match self.place {
            At::Nowhere => Whole::Small(Small { sha256: Sha256::of(&last), bytes: last }),
            At::Temp(mut temp) => {
                let sealing = blocking::run(move || {
                    if !last.is_empty() {
                        temp.write(&last)?;
                    }
                    temp.seal()
                });
                Whole::Temp(sealing.await?)
            }
            At::Writing(_) | At::Away => return Err(given_up()),
        };
        let (sha256, bytes) = match &whole {
            Whole::Temp(sealing) => (sealing.sha256, sealing.bytes),
            Whole::Small(small) => (small.sha256, self.bytes),
        };
        Ok(Sealed { whole: Some(whole), sha256, bytes, publish: self.publish })
    }

    /// [`Upload::seal`] and [`Sealed::finish`] in one, where the key is known without the hash.
    pub async fn finish(self, key: &Key) -> Result<Stored> {
        self.seal().await?.finish(key).await
    }

    /// A thread writes what has gathered. Nobody else writes now.
    fn write_out(&mut self) {
        let stays = self.place.stays().cloned();
        let (place, temps, block) = (self.place.take(), self.publish.temps(), self.waiting.split().freeze());
        let thread = Thread::start(move || {
            let mut temp = match place {
                At::Nowhere => temps.make()?,
                At::Temp(temp) => temp,
                At::Writing(_) | At::Away => return Err(given_up()),
            };
            temp.write(&block)?;
            Ok(temp)
        });
        self.place = At::Writing(Writing { thread, stays });
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
    /// was given up after an error of the disk, is finished, or is in memory and was not tried to be given a key.
    pub fn mark(&mut self) -> Option<Mark> {
        match self.whole.as_mut()? {
            Whole::Temp(sealing) => Some(sealing.mark()),
            Whole::Small(_) => None,
        }
    }

    /// Nobody will come back: it goes when it is dropped.
    pub fn unmark(&mut self) {
        match &self.whole {
            Some(Whole::Temp(sealing)) => sealing.unmark(),
            Some(Whole::Small(_)) | None => {}
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
            Whole::Small(small) => {
                let bytes = small.bytes.clone();
                blocking::run(move || (&mut &file).write_all(&bytes).map_err(not_copied)).await
            }
        }
    }

    /// Gives it its key, once, durably. The same bytes under this key are adopted; other bytes are
    /// [`BlobError::AlreadyExists`] and stay as they are.
    ///
    /// When the name is taken by other bytes, another name may be tried with the same upload. A bucket that was not
    /// available may be asked again. A folder whose disk failed may not: the upload is given up and must be made anew. What was marked
    /// is kept while it may be asked again, also when this is dropped in the middle, and goes with its key or when it is given up.
    ///
    /// On a bucket that ignores conditional writes this is a last check, not a lock: two puts of different bytes in
    /// the same instant can both be told yes.
    pub async fn finish(&mut self, key: &Key) -> Result<Stored> {
        let (back, placed) = match self.whole.take().ok_or_else(given_up)? {
            Whole::Temp(sealing) => {
                let (back, placed) = self.publish.publish(sealing, key).await;
                (back.map(Whole::Temp), placed)
            }
            Whole::Small(small) => self.publish.publish_small(small, key).await,
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

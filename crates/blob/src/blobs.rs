//! The trait that folders and buckets implement.

use std::fmt;
use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use redrive_model::Timestamp;

use crate::Result;
use crate::digest::Sha256;
use crate::key::Key;
use crate::range::ByteRange;
use crate::temp::Mark;
use crate::upload::Upload;

/// Bytes as they come. A stream that ends without an error has given every byte it promised.
pub type ByteStream = BoxStream<'static, Result<Bytes>>;

/// A place for artifacts.
///
/// Every put is put-once and durable before it is answered; memory is a few chunks per call, whatever the size. Nothing
/// retries below this trait: an error is the caller's to decide. The convenient forms are in
/// [`BlobsExt`](crate::BlobsExt).
#[async_trait]
pub trait Blobs: Send + Sync + fmt::Debug + 'static {
    /// Begins an upload that stops with `TooLarge` at `limit` + 1 bytes. Its key is chosen at the end. The place is asked when there
    /// is something to write: one that denies us says so then.
    async fn begin(&self, limit: u64) -> Result<Upload>;

    /// Goes on with an upload where it was marked. Nothing when what was marked is gone, in use or not what it was: then the
    /// bytes have to come again.
    async fn resume(&self, mark: &Mark, limit: u64) -> Result<Option<Upload>>;

    /// Opens an artifact, or a part of it.
    async fn read(&self, key: &Key, range: Option<ByteRange>) -> Result<Reading>;

    /// Tells about an artifact.
    async fn head(&self, key: &Key) -> Result<Head>;

    /// Removes an artifact. What is not there is removed already; the answer says which it was.
    async fn delete(&self, key: &Key) -> Result<Removed>;

    /// Removes an artifact only when it was last put or adopted before `before`. A folder decides and removes under a
    /// lock that puts take too; a bucket looks right before it removes.
    async fn delete_older(&self, key: &Key, before: Timestamp) -> Result<Removed>;

    /// Everything under a prefix of whole segments, or everything; page by page, in no promised order. Names that are
    /// no keys are left out and logged.
    fn list(&self, under: Option<&Key>) -> BoxStream<'static, Result<Listed>>;

    /// Removes what uploads that died before `before` left behind: temps, unfinished multipart uploads. At most `most`.
    async fn sweep_temps(&self, before: Timestamp, most: usize) -> Result<Temps>;

    /// How many bytes the place still has room for, where that can be told.
    async fn free(&self) -> Result<Option<u64>>;

    /// Whether what was put is there for whoever comes after a crash.
    fn lasts(&self) -> bool {
        true
    }
}

/// What a place knows about an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Its size.
    pub bytes: u64,
    /// Its hash, where the place keeps it: buckets do (for what we put), folders do not.
    pub sha256: Option<Sha256>,
    /// When it was put or adopted, by the place's own clock.
    pub modified: Timestamp,
}

/// An open artifact.
pub struct Reading {
    /// What it is; the size is that of the whole.
    pub head: Head,
    /// Which of its bytes follow.
    pub range: Range<u64>,
    /// The bytes. It errs when fewer come than the range has.
    pub bytes: ByteStream,
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading")
            .field("head", &self.head)
            .field("range", &self.range)
            .finish_non_exhaustive()
    }
}

/// One line of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its key.
    pub key: Key,
    /// Its size.
    pub bytes: u64,
    /// When it was put or adopted, by the place's own clock.
    pub modified: Timestamp,
}

/// What a removal found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// It was there and is gone.
    Gone {
        /// Its size, where the place told.
        bytes: u64,
    },
    /// It was not there.
    Missing,
    /// It is younger than asked for, or in use, and stays.
    Kept,
}

/// What a sweep of temps did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Temps {
    /// How many were removed.
    pub removed: u64,
    /// How many bytes they had, as far as the place tells.
    pub bytes: u64,
}

//! A bucket, on AWS or on anything that speaks S3.
//!
//! An upload gathers in a local spool, so that its hash, size and key are known before the first byte is sent and slow
//! clients hold no memory; then it goes out in one request or in parts, create-only, with its hash as metadata. All
//! uploads together hold a bounded number of parts in memory.

mod bucket;
mod list;
mod memory;
mod objects;
mod probe;
mod promises;
mod publish;
mod read;
mod refusal;
mod seen;
mod send;
mod settings;
mod signed;
mod temps;
mod wire;

use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use redrive_model::Timestamp;
use redrive_store::clock::{Clock, SystemClock};

use crate::Result;
use crate::blobs::{Blobs, Head, Listed, Reading, Removed, Temps};
use crate::blocking;
use crate::error::{Act, BlobError};
use crate::folder::Root;
use crate::key::Key;
use crate::range::ByteRange;
use crate::seam::Seamless;
use crate::temp::{MakeTemp, Mark, Temp, TempFolder};
use crate::upload::Upload;

pub use probe::{Conditional, Conditionals};
pub use settings::S3Settings;

pub(crate) use objects::Objects;
pub(crate) use refusal::Failed;
pub(crate) use seen::Seen;

use bucket::Bucket;
use publish::{ClockOf, Publisher};

/// Artifacts in a bucket.
#[derive(Debug, Clone)]
pub struct S3 {
    bucket: Arc<Bucket>,
    publisher: Arc<Publisher>,
    spool: Arc<Spool>,
}

/// Where uploads gather on their way to the bucket.
#[derive(Debug)]
struct Spool(Root);

impl Spool {
    fn folder(&self) -> Result<TempFolder> {
        let folder = self.0.fd().try_clone_to_owned();
        let folder = folder.map_err(|e| crate::errno::io(Act::Put, "opening the spool", e))?;
        Ok(TempFolder { folder: Arc::new(folder), seam: Arc::new(Seamless), durable: false, shared: false })
    }
}

impl MakeTemp for Spool {
    fn make(&self) -> Result<Temp> {
        self.folder()?.make()
    }
}

impl S3 {
    /// Opens a bucket: makes the spool, and asks the bucket whether it keeps its word about conditional writes. Errs
    /// when it cannot be written to.
    pub async fn open(settings: S3Settings) -> Result<Self> {
        Self::open_with(settings, Arc::new(SystemClock)).await
    }

    /// [`S3::open`] with a clock. It only decides whether an adopted object is written again to make it young.
    pub async fn open_with(settings: S3Settings, clock: Arc<dyn Clock>) -> Result<Self> {
        let at = settings.spool.clone();
        let spool = Arc::new(Spool(blocking::run(move || Root::open(&at)).await?));
        let bucket = Arc::new(Bucket::new(settings)?);
        let conditionals = probe::probe(&bucket).await?;
        let (temps, clock) = (Arc::clone(&spool) as _, ClockOf(clock));
        let publisher = Publisher { bucket: Arc::clone(&bucket), conditionals, temps, clock };
        Ok(Self { bucket, publisher: Arc::new(publisher), spool })
    }

    /// What the bucket does with conditions, as it was found out at start.
    #[must_use]
    pub fn conditionals(&self) -> Conditionals {
        self.publisher.conditionals
    }
}

#[async_trait]
impl Blobs for S3 {
    async fn begin(&self, limit: u64) -> Result<Upload> {
        Ok(Upload::new(limit, Arc::clone(&self.publisher) as _))
    }

    async fn resume(&self, mark: &Mark, limit: u64) -> Result<Option<Upload>> {
        let (mark, spool) = (mark.clone(), Arc::clone(&self.spool));
        let temp = blocking::run(move || spool.folder()?.open(&mark)).await?;
        Ok(temp.map(|temp| Upload::of(temp, limit, Arc::clone(&self.publisher) as _)))
    }

    async fn read(&self, key: &Key, range: Option<ByteRange>) -> Result<Reading> {
        read::open(&self.bucket, key, range).await
    }

    async fn head(&self, key: &Key) -> Result<Head> {
        let there = self.bucket.head(key, Act::Read).await?;
        Ok(there.ok_or_else(|| BlobError::NotFound { key: key.clone() })?.head)
    }

    async fn delete(&self, key: &Key) -> Result<Removed> {
        let Some(there) = self.bucket.head(key, Act::Delete).await? else { return Ok(Removed::Missing) };
        self.bucket.remove(&self.bucket.path(key)?).await?;
        Ok(Removed::Gone { bytes: there.head.bytes })
    }

    async fn delete_older(&self, key: &Key, before: Timestamp) -> Result<Removed> {
        let Some(there) = self.bucket.head(key, Act::Delete).await? else { return Ok(Removed::Missing) };
        if there.head.modified >= before {
            return Ok(Removed::Kept);
        }
        self.bucket.remove(&self.bucket.path(key)?).await?;
        Ok(Removed::Gone { bytes: there.head.bytes })
    }

    fn list(&self, under: Option<&Key>) -> BoxStream<'static, Result<Listed>> {
        list::list(Arc::clone(&self.bucket), under)
    }

    async fn sweep_temps(&self, before: Timestamp, most: usize) -> Result<Temps> {
        temps::sweep(&self.bucket, &self.spool, before, most).await
    }

    /// A bucket does not tell.
    async fn free(&self) -> Result<Option<u64>> {
        Ok(None)
    }
}

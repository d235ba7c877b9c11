//! A place for files that counts how often it is asked whether one is there, and may fall silent, or be full.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use futures::stream::BoxStream;
use redrive_blob::{
    Blobs, ByteRange, Folder, Head, Key, Listed, Mark, Reading, Removed, Result, Temps, Upload,
};
use redrive_model::Timestamp;

/// The place.
#[derive(Debug)]
pub(crate) struct Watched {
    folder: Folder,
    heads: AtomicUsize,
    silent: AtomicBool,
    full: AtomicBool,
}

impl Watched {
    pub(crate) fn new(folder: Folder) -> Arc<Self> {
        Arc::new(Self {
            folder,
            heads: AtomicUsize::new(0),
            silent: AtomicBool::new(false),
            full: AtomicBool::new(false),
        })
    }

    /// How often it was asked since the last time.
    pub(crate) fn asked(&self) -> usize {
        self.heads.swap(0, Ordering::SeqCst)
    }

    /// From now on it says that it has no room left, or that it has.
    pub(crate) fn fill(&self, full: bool) {
        self.full.store(full, Ordering::SeqCst);
    }

    /// From now on it does not say whether a file is there.
    pub(crate) fn fall_silent(&self) {
        self.silent.store(true, Ordering::SeqCst);
    }
}

#[async_trait]
impl Blobs for Watched {
    async fn begin(&self, limit: u64) -> Result<Upload> {
        self.folder.begin(limit).await
    }

    async fn resume(&self, mark: &Mark, limit: u64) -> Result<Option<Upload>> {
        self.folder.resume(mark, limit).await
    }

    async fn read(&self, key: &Key, range: Option<ByteRange>) -> Result<Reading> {
        self.folder.read(key, range).await
    }

    async fn head(&self, key: &Key) -> Result<Head> {
        self.heads.fetch_add(1, Ordering::SeqCst);
        if self.silent.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        self.folder.head(key).await
    }

    async fn delete(&self, key: &Key) -> Result<Removed> {
        self.folder.delete(key).await
    }

    async fn delete_older(&self, key: &Key, before: Timestamp) -> Result<Removed> {
        self.folder.delete_older(key, before).await
    }

    fn list(&self, under: Option<&Key>) -> BoxStream<'static, Result<Listed>> {
        self.folder.list(under)
    }

    async fn sweep_temps(&self, before: Timestamp, most: usize) -> Result<Temps> {
        self.folder.sweep_temps(before, most).await
    }

    async fn free(&self) -> Result<Option<u64>> {
        if self.full.load(Ordering::SeqCst) { Ok(Some(0)) } else { self.folder.free().await }
    }
}

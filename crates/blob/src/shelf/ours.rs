//! What is ours on a shelf: puts and reads as everywhere, and no sweep for orphans.
//!
//! On a place of our own whatever no row knows is an orphan and goes. Here it is somebody's file. So nothing is ever removed
//! because it is old.

use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use redrive_model::Timestamp;

use crate::Result;
use crate::blobs::{Blobs, Head, Listed, Reading, Removed, Temps};
use crate::key::Key;
use crate::range::ByteRange;
use crate::temp::Mark;
use crate::upload::Upload;

/// A place for artifacts that is also a place of people.
#[derive(Debug)]
pub(super) struct Ours(pub(super) Arc<dyn Blobs>);

#[async_trait]
impl Blobs for Ours {
    async fn begin(&self, limit: u64) -> Result<Upload> {
        self.0.begin(limit).await
    }

    async fn resume(&self, mark: &Mark, limit: u64) -> Result<Option<Upload>> {
        self.0.resume(mark, limit).await
    }

    async fn read(&self, key: &Key, range: Option<ByteRange>) -> Result<Reading> {
        self.0.read(key, range).await
    }

    async fn head(&self, key: &Key) -> Result<Head> {
        self.0.head(key).await
    }

    async fn delete(&self, key: &Key) -> Result<Removed> {
        self.0.delete(key).await
    }

    async fn delete_older(&self, _: &Key, _: Timestamp) -> Result<Removed> {
        Ok(Removed::Kept)
    }

    fn list(&self, under: Option<&Key>) -> BoxStream<'static, Result<Listed>> {
        self.0.list(under)
    }

    async fn sweep_temps(&self, before: Timestamp, most: usize) -> Result<Temps> {
        self.0.sweep_temps(before, most).await
    }

    async fn free(&self) -> Result<Option<u64>> {
        self.0.free().await
    }

    fn lasts(&self) -> bool {
        self.0.lasts()
    }
}

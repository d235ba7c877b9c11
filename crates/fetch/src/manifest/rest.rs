//! A stored manifest from one of its resources on: what is not unpacked yet, for whoever tells it or stops it.

use redrive_blob::Blobs;
use redrive_engine::store::{Store, StoreError};
use redrive_engine::{BatchId, Failure};

use super::entry::Entry;
use super::unpack::{Chunks, Position, unpack_id};
use super::wish::lost;

/// What comes behind the resources that are passed over.
pub(crate) struct Rest {
    chunks: Chunks,
    offset: u64,
    skip: usize,
}

impl Rest {
    /// Opens a manifest where its `first` resource stands, or before that: who unpacks notes now and then where a line begins.
    pub(crate) async fn open(
        store: &dyn Store,
        blobs: &dyn Blobs,
        batch: BatchId,
        key: &str,
        first: u64,
    ) -> Result<Self, Failure> {
        // The note may be older than what is there, or younger; never is anything between them lost.
        let noted = noted(store, batch).await.map_err(lost)?;
        let from = if u64::from(noted.next) <= first { noted } else { Position::default() };
        let chunks = Chunks::from(blobs, key, from.offset).await?;
        let skip = usize::try_from(first - u64::from(from.next)).unwrap_or(usize::MAX);
        Ok(Self { chunks, offset: from.offset, skip })
    }

    /// The next entries, at most so many; none at the end.
    pub(crate) async fn next(&mut self, most: usize) -> Result<Vec<Entry>, Failure> {
        loop {
            let mut entries = self.chunks.entries(most, &mut self.offset).await?;
            let passed = self.skip.min(entries.len());
            let at_end = entries.is_empty();
            entries.drain(..passed);
            self.skip -= passed;
            if at_end || !entries.is_empty() {
                return Ok(entries);
            }
        }
    }
}

/// How far whoever unpacks said to be.
async fn noted(store: &dyn Store, batch: BatchId) -> Result<Position, StoreError> {
    let state = store.payload(unpack_id(batch)).await?.and_then(|payload| payload.state);
    Ok(state.and_then(|state| serde_json::from_slice(&state).ok()).unwrap_or_default())
}

//! Removing what no row points at.
//!
//! Files are durable before the row that points at them is committed, so a crash in between leaves a file without a row:
//! an orphan. The sweep deletes what is old *and* referenced by no row. It asks for a batch, asks again for each few
//! right before they go, and then the place itself looks whether they are still old. When a question fails nothing of
//! that batch is deleted, and the sweep ends.

use std::collections::HashSet;
use std::time::Duration;

use async_trait::async_trait;
use futures::TryStreamExt;
use redrive_model::{Timestamp, instant};

use crate::blobs::{Blobs, Listed, Removed, Temps};
use crate::error::BlobError;
use crate::key::Key;

/// So many are asked about once more right before they are deleted.
const LAST_QUESTION: usize = 16;

/// Whoever knows which artifacts rows point at. The workloads that own the rows implement it.
#[async_trait]
pub trait References: Send + Sync {
    /// Those of these keys that some row points at, or may soon: when in doubt, yes. Any error stops the sweep.
    async fn referenced(&self, keys: &[Key]) -> Result<HashSet<Key>, ReferenceError>;
}

/// Why nobody could say what is referenced.
pub type ReferenceError = Box<dyn std::error::Error + Send + Sync>;

/// One sweep.
#[derive(Debug, Clone)]
pub struct Sweep {
    /// The instant, by the clock that the caller trusts.
    pub now: Timestamp,
    /// What was put or adopted less long ago is left alone: its row may be on its way. It must be longer than any
    /// upload takes, and than clocks of the place and the caller differ.
    pub older_than: Duration,
    /// Temps of uploads that were last written longer ago go too.
    pub temps_older_than: Duration,
    /// Only what lies under this.
    pub under: Option<Key>,
    /// So many keys are asked about at a time.
    pub batch: usize,
    /// So many are deleted at most; the next sweep goes on.
    pub most: usize,
}

impl Sweep {
    /// A sweep of everything that is older than a day, in batches of 500, at most 10,000.
    #[must_use]
    pub const fn at(now: Timestamp) -> Self {
        let day = Duration::from_secs(24 * 60 * 60);
        Self { now, older_than: day, temps_older_than: day, under: None, batch: 500, most: 10_000 }
    }
}

/// What a sweep did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Artifacts that were looked at.
    pub seen: u64,
    /// Artifacts that were too young to be asked about.
    pub young: u64,
    /// Old artifacts that a row points at.
    pub referenced: u64,
    /// Orphans that were deleted.
    pub deleted: u64,
    /// Their bytes.
    pub deleted_bytes: u64,
    /// Orphans that became young, or vanished, between the question and the deletion.
    pub spared: u64,
    /// Orphans that the place would not let go. They are named in the log, and found again by the next sweep.
    pub failed: u64,
    /// Temps of dead uploads that were removed.
    pub temps: Temps,
    /// Whether everything was looked at; otherwise the bound was reached.
    pub through: bool,
}

/// Why a sweep ended early, and what it had done by then.
#[derive(Debug, thiserror::Error)]
#[error("the sweep ended early after {} deletions", done.deleted)]
pub struct SweepError {
    /// What was done before.
    pub done: Swept,
    /// Why.
    #[source]
    pub why: SweepFailure,
}

/// What stopped a sweep.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepFailure {
    /// Nobody could say what is referenced. Nothing was deleted on a guess.
    #[error("nobody could say what is referenced")]
    References(#[source] ReferenceError),
    /// The place failed.
    #[error(transparent)]
    Place(#[from] BlobError),
}

/// Sweeps a place.
pub async fn sweep(
    blobs: &dyn Blobs,
    references: &dyn References,
    plan: &Sweep,
) -> Result<Swept, SweepError> {
    let mut sweeping = Sweeping { blobs, references, plan, done: Swept::default() };
    match sweeping.run().await {
        Ok(()) => Ok(sweeping.done),
        Err(why) => Err(SweepError { done: sweeping.done, why }),
    }
}

struct Sweeping<'a> {
    blobs: &'a dyn Blobs,
    references: &'a dyn References,
    plan: &'a Sweep,
    done: Swept,
}

impl Sweeping<'_> {
    async fn run(&mut self) -> Result<(), SweepFailure> {
        let temps_before = instant::before(self.plan.now, self.plan.temps_older_than);
        self.done.temps = self.blobs.sweep_temps(temps_before, self.plan.most).await?;
        let before = instant::before(self.plan.now, self.plan.older_than);
        let mut listed = self.blobs.list(self.plan.under.as_ref());
        let mut batch = Vec::new();
        while let Some(one) = listed.try_next().await? {
            self.done.seen += 1;
            if one.modified >= before {
                self.done.young += 1;
                continue;
            }
            batch.push(one);
            if batch.len() >= self.plan.batch.max(1) {
                self.batch(&mut batch, before).await?;
                if self.is_full() {
                    return Ok(());
                }
            }
        }
        self.batch(&mut batch, before).await?;
        self.done.through = !self.is_full();
        Ok(())
    }

    /// Asks about a batch and deletes its orphans.
    async fn batch(&mut self, batch: &mut Vec<Listed>, before: Timestamp) -> Result<(), SweepFailure> {
        let keys = std::mem::take(batch).into_iter().map(|listed| listed.key).collect();
        let orphans = self.orphans(keys).await?;
        for few in orphans.chunks(LAST_QUESTION) {
            for key in self.orphans(few.to_vec()).await? {
                if self.is_full() {
                    return Ok(());
                }
                let removed = self.blobs.delete_older(&key, before).await;
                self.note(&key, removed)?;
            }
        }
        Ok(())
    }

    /// Counts one deletion. One orphan that cannot go does not keep the others; a place that is away ends the sweep.
    fn note(&mut self, key: &Key, removed: Result<Removed, BlobError>) -> Result<(), SweepFailure> {
        match removed {
            Ok(Removed::Gone { bytes }) => {
                self.done.deleted += 1;
                self.done.deleted_bytes = self.done.deleted_bytes.saturating_add(bytes);
                tracing::info!(event = "blob.orphan_deleted", blob.key = %key, blob.bytes = bytes, "orphan {key} deleted");
            }
            Ok(Removed::Missing | Removed::Kept) => self.done.spared += 1,
            Err(
                error @ (BlobError::Unavailable { .. } | BlobError::Throttled { .. } | BlobError::NoBucket),
            ) => {
                return Err(error.into());
            }
            Err(error) => {
                self.done.failed += 1;
                tracing::warn!(event = "blob.orphan_left", blob.key = %key, %error, "orphan {key} cannot be deleted");
            }
        }
        Ok(())
    }

    async fn orphans(&mut self, mut keys: Vec<Key>) -> Result<Vec<Key>, SweepFailure> {
        if keys.is_empty() {
            return Ok(keys);
        }
        let referenced = self.references.referenced(&keys).await.map_err(SweepFailure::References)?;
        let all = keys.len();
        keys.retain(|key| !referenced.contains(key));
        self.done.referenced += (all - keys.len()) as u64;
        Ok(keys)
    }

    fn is_full(&self) -> bool {
        usize::try_from(self.done.deleted).unwrap_or(usize::MAX) >= self.plan.most
    }
}

//! Cancelling a batch of any size.

use std::sync::Arc;

use redrive_blob::Blobs;
use redrive_engine::model::BatchState;
use redrive_engine::store::{ActEnd, Acted, Store};
use redrive_engine::{
    BatchId, By, Code, Context, Done, EngineError, Failure, Input, JobId, Policy, Workload, member_id,
};
use serde::{Deserialize, Serialize};

use super::Manifests;
use super::commit::KEEP;
use super::stopped::end_unpacking;
use super::wish::{self, conclude, goes_on, lost, refused, wish_id};

/// So many members are stopped at once.
const CHUNK: u32 = 1_000;
pub(super) const WISH: &str = "cancel";

/// Which batch is cancelled, and the line of the audit trail that says by whom.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cancel {
    batch: BatchId,
    act: i64,
}

impl Input for Cancel {
    const WORKLOAD: &'static str = "fetch.cancel";

    fn label(&self) -> Option<String> {
        Some(format!("cancels {}", self.batch))
    }
}

/// The job that cancels this batch. There is a further one only when failed members were started again since.
pub(super) fn cancel_id(batch: BatchId, round: u32) -> JobId {
    wish_id(batch, WISH, round)
}

impl Manifests {
    /// Asks for a batch to be cancelled. Refused when the batch has ended.
    pub async fn cancel(&self, batch: BatchId, by: &By) -> Result<(), EngineError> {
        if self.wished(batch).await?.state != BatchState::Processing {
            return Err(refused(Code::ConflictState, "the batch has ended"));
        }
        self.wish(batch, WISH, by, |act| Cancel { batch, act }).await
    }
}

/// Cancels batches.
#[derive(Clone)]
pub struct Canceller {
    store: Arc<dyn Store>,
    blobs: Arc<dyn Blobs>,
}

impl Canceller {
    /// In this store, whose manifests are kept in this place.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, blobs: Arc<dyn Blobs>) -> Self {
        Self { store, blobs }
    }

    /// Stops every member below this number that has not ended, and answers how many that were. Numbers make ids, so nobody has to be
    /// looked for; those that would run next are stopped first.
    async fn stop(&self, batch: BatchId, members: u32, ctx: &Context) -> Result<u64, Failure> {
        let (mut first, mut stopped) = (0, 0);
        while first < members {
            goes_on(ctx)?;
            let end = members.min(first.saturating_add(CHUNK));
            let chunk = (first..end).map(|n| member_id(batch, n)).collect();
            let acted = self.store.cancel(chunk, Some(KEEP)).await.map_err(lost)?;
            stopped += acted.iter().filter(|acted| **acted == Acted::Done).count() as u64;
            first = end;
            ctx.progress(u64::from(first), Some(u64::from(members)), Some("members")).await?;
        }
        Ok(stopped)
    }
}

impl Workload for Canceller {
    type Input = Cancel;

    fn policy(&self) -> Policy {
        wish::policy()
    }

    fn concurrency(&self) -> usize {
        2
    }

    async fn run(&self, ctx: Context, cancel: Cancel) -> Result<Done, Failure> {
        let before = self.store.batch(cancel.batch).await.map_err(lost)?;
        let there = before.as_ref().map_or(0, |row| u32::try_from(row.counters.total).unwrap_or(u32::MAX));
        let mut stopped = self.stop(cancel.batch, there, &ctx).await?;
        let row = self.store.batch(cancel.batch).await.map_err(lost)?;
        // Only when every resource is a member can the batch end.
        if let Some(row) = row.filter(|row| !row.sealed) {
            stopped += end_unpacking(&*self.store, &*self.blobs, &ctx, &row, there).await?;
        }
        let after = wish::state(self.store.batch(cancel.batch).await.map_err(lost)?.as_ref());
        let end = ActEnd::from(format!("{stopped} stopped")).changed(wish::state(before.as_ref()), after);
        conclude(&*self.store, cancel.act, end).await;
        Ok(Done::Complete)
    }
}

//! Removing what has been kept long enough, a little at a time.

use std::sync::Arc;
use std::time::Duration;

use redrive_model::{Code, Done, Failure, JobId, Policy, instant};
use redrive_store::{Purge, Store};

use crate::{Context, Permanent};

/// Rows that are looked at in one transaction.
const SCAN: usize = 500;
/// Transactions in one run; then others have their turn.
const CHUNKS: usize = 100;
/// Idempotency keys and workers that were not used for so long are forgotten.
const FORGET: Duration = Duration::from_secs(7 * 24 * 3600);

/// The permanent job that walks over all jobs, from the oldest on, and removes those whose time is over.
pub(crate) struct Retention {
    pub(crate) store: Arc<dyn Store>,
    /// Between two walks.
    pub(crate) every: Duration,
}

impl Permanent for Retention {
    fn policy(&self) -> Policy {
        Policy::permanent()
    }

    async fn run(&self, ctx: Context) -> Result<Done, Failure> {
        let away = |error| Failure::new(Code::StorageUnavailable, format_args!("{error}"));
        let mut after = ctx.state::<Option<JobId>>()?.flatten();
        let mut removed = 0;
        for _ in 0..CHUNKS {
            let purged = self.store.purge(Purge { after, scan: SCAN }).await.map_err(away)?;
            removed += purged.jobs;
            after = purged.next;
            if after.is_none() || ctx.is_cancelled() {
                break;
            }
            tokio::task::yield_now().await;
        }
        if removed > 0 {
            tracing::info!(event = "retention.purged", jobs = removed, "removed jobs whose time was over");
        }
        ctx.save_state(&after).await?;
        if after.is_some() {
            return Ok(Done::RescheduleIn(Duration::from_secs(1)));
        }
        let now = self.store.now().await.map_err(away)?;
        self.store.forget(instant::before(now, FORGET)).await.map_err(away)?;
        Ok(Done::RescheduleIn(self.every))
    }
}

//! Removing what has been kept long enough, a little at a time.

use std::sync::Arc;
use std::time::Duration;

use redrive_model::{Done, EventSeq, Failure, JobId, Policy, instant};
use redrive_store::{Purge, Store, StoreError};
use tokio::time::Instant;

use crate::projector::READERS;
use crate::{Context, Permanent};

/// Rows that are looked at in one transaction.
const SCAN: usize = 500;
/// Transactions in one run; then others have their turn.
const CHUNKS: usize = 100;
/// After each it rests for so many times what it took: a walk over millions of rows is in nobody's way.
const REST: u32 = 9;
/// Idempotency keys and workers that were not used for so long are forgotten.
const FORGET: Duration = Duration::from_secs(7 * 24 * 3600);

/// Breakers that have not changed for so long, and say nothing any more, are forgotten.
const IDLE: Duration = Duration::from_secs(24 * 3600);

/// The permanent job that walks over all jobs, from the oldest on, and removes those whose time is over; then it does the
/// same for events that every reader has read.
pub(crate) struct Retention {
    pub(crate) store: Arc<dyn Store>,
    /// Between two walks.
    pub(crate) every: Duration,
    /// How long events are kept at least.
    pub(crate) keep_events: Duration,
}

impl Permanent for Retention {
    fn policy(&self) -> Policy {
        Policy::permanent()
    }

    async fn run(&self, ctx: Context) -> Result<Done, Failure> {
        let mut after = ctx.state::<Option<JobId>>()?.flatten();
        let mut removed = 0;
        for _ in 0..CHUNKS {
            let began = Instant::now();
            let purged = self.store.purge(Purge { after, scan: SCAN }).await?;
            removed += purged.jobs;
            after = purged.next;
            if after.is_none() || ctx.is_cancelled() {
                break;
            }
            rest(began.elapsed(), ctx.cancelled()).await;
        }
        if removed > 0 {
            tracing::info!(event = "retention.purged", jobs = removed, "removed jobs whose time was over");
        }
        ctx.save_state(&after).await?;
        if after.is_some() {
            return Ok(Done::RescheduleIn(Duration::from_secs(1)));
        }
        let now = self.store.now().await?;
        self.store.forget(instant::before(now, FORGET)).await?;
        let more = self.forget_targets(&ctx).await? | self.purge_events(&ctx).await?;
        Ok(Done::RescheduleIn(if more { Duration::from_secs(1) } else { self.every }))
    }
}

impl Retention {
    /// Removes what is left of targets that nobody uses any more. Answers whether there may be more.
    async fn forget_targets(&self, ctx: &Context) -> Result<bool, Failure> {
        for _ in 0..CHUNKS {
            let began = Instant::now();
            let before = instant::before(self.store.now().await?, IDLE);
            if self.store.forget_targets(before, SCAN).await? < SCAN as u64 {
                return Ok(false);
            }
            if ctx.is_cancelled() {
                break;
            }
            rest(began.elapsed(), ctx.cancelled()).await;
        }
        Ok(true)
    }

    /// Removes events that are old enough and that every reader has read. Answers whether there may be more.
    async fn purge_events(&self, ctx: &Context) -> Result<bool, Failure> {
        let mut read = EventSeq(i64::MAX);
        for reader in self.store.settings(READERS).await? {
            read = read.min(EventSeq(reader.value.parse().unwrap_or(0)));
        }
        let now = self.store.now().await?;
        let young = instant::before(now, self.keep_events);
        let mut from = EventSeq(0);
        for _ in 0..CHUNKS {
            let began = Instant::now();
            let page = match self.store.events_after(from, SCAN).await {
                Err(StoreError::EventsGone { oldest }) => {
                    from = EventSeq(oldest.0 - 1);
                    self.store.events_after(from, SCAN).await?
                }
                page => page?,
            };
            let old = page.iter().take_while(|event| event.at < young && event.seq <= read);
            let Some(upto) = old.map(|event| event.seq).last() else { return Ok(false) };
            self.store.purge_events(upto, SCAN).await?;
            if upto < page.last().map_or(upto, |last| last.seq) || ctx.is_cancelled() {
                return Ok(false);
            }
            rest(began.elapsed(), ctx.cancelled()).await;
            from = upto;
        }
        Ok(true)
    }
}

/// Rests after a transaction that took so long, unless the attempt is to come to an end.
async fn rest(took: Duration, end: impl Future<Output = ()>) {
    let _ = tokio::time::timeout(took * REST, end).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_walk_rests_most_of_the_time_and_ends_when_told() {
        let began = Instant::now();
        rest(Duration::from_millis(10), std::future::pending()).await;
        let rested = began.elapsed();
        assert!((90..=92).contains(&rested.as_millis()), "{rested:?}");

        rest(Duration::from_secs(60), std::future::ready(())).await;
        assert_eq!(began.elapsed(), rested);
    }
}

//! Starting what failed of a batch again, however much that is.

use std::sync::Arc;

use redrive_engine::model::{Shown, Timestamp};
use redrive_engine::store::{ActEnd, Acted, JobFilter, PageRequest, RetryBy, Store};
use redrive_engine::{
    BatchId, By, Code, Context, Done, EngineError, Failure, Input, JobId, Policy, Workload,
};
use serde::{Deserialize, Serialize};

use super::Manifests;
use super::cancel::WISH;
use super::commit::KEEP;
use super::wish::{self, conclude, goes_on, lost, refused, wished_since};

/// So many members are started at once.
const CHUNK: usize = 1_000;

/// Whose failed members are started again, and the line of the audit trail that says by whom.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Again {
    batch: BatchId,
    act: i64,
    /// What failed later has had its chance.
    upto: Timestamp,
}

impl Input for Again {
    const WORKLOAD: &'static str = "fetch.again";

    fn label(&self) -> Option<String> {
        Some(format!("starts what failed of {} again", self.batch))
    }
}

impl Manifests {
    /// Asks for everything that failed of a batch to be tried again. Refused when nothing failed.
    pub async fn again(&self, batch: BatchId, by: &By) -> Result<(), EngineError> {
        if self.wished(batch).await?.counters.failed == 0 {
            return Err(refused(Code::ConflictState, "nothing of the batch failed"));
        }
        let upto = self.engine.store().now().await?;
        self.wish(batch, "again", by, |act| Again { batch, act, upto }).await
    }
}

/// Starts what failed again.
#[derive(Clone)]
pub struct Starter {
    store: Arc<dyn Store>,
}

impl Starter {
    /// In this store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }
}

impl Workload for Starter {
    type Input = Again;

    fn policy(&self) -> Policy {
        wish::policy()
    }

    fn concurrency(&self) -> usize {
        2
    }

    async fn run(&self, ctx: Context, again: Again) -> Result<Done, Failure> {
        let filter =
            JobFilter { batch: Some(again.batch), shown: vec![Shown::Failed], ..JobFilter::default() };
        let before = wish::state(self.store.batch(again.batch).await.map_err(lost)?.as_ref());
        let (mut started, mut waiting, mut cursor) = (0_u64, Vec::new(), None);
        loop {
            let page = PageRequest { limit: 200, cursor };
            let page = self.store.jobs(filter.clone(), page).await.map_err(lost)?;
            let old = page.rows.iter().filter(|row| row.finished_at.is_some_and(|at| at <= again.upto));
            waiting.extend(old.map(|row| row.id));
            cursor = page.next;
            if waiting.len() >= CHUNK || cursor.is_none() {
                let cancelled = || wished_since(&*self.store, again.batch, WISH, again.upto);
                if cancelled().await.map_err(lost)? {
                    break;
                }
                let jobs: Vec<JobId> = std::mem::take(&mut waiting);
                let acted = self.store.retry(jobs.clone(), RetryBy::default()).await.map_err(lost)?;
                // Whoever cancelled the batch since meant these too, and may have passed them already. Whoever does so from now on finds them.
                if cancelled().await.map_err(lost)? {
                    self.store.cancel(jobs, Some(KEEP)).await.map_err(lost)?;
                    break;
                }
                started += acted.iter().filter(|acted| **acted == Acted::Done).count() as u64;
                ctx.progress(started, None, Some("started again")).await?;
            }
            if cursor.is_none() {
                break;
            }
            goes_on(&ctx)?;
        }
        let after = wish::state(self.store.batch(again.batch).await.map_err(lost)?.as_ref());
        let end = ActEnd::from(format!("{started} started again")).changed(before, after);
        conclude(&*self.store, again.act, end).await;
        Ok(Done::Complete)
    }
}

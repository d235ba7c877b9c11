//! Starting what failed of a batch again, however much that is: the wish is written down at once, and a job does it chunk by chunk.

use std::sync::Arc;
use std::time::Duration;

use redrive_engine::model::{Shown, Timestamp};
use redrive_engine::store::{Acted, JobFilter, NewAct, PageRequest, RetryBy, Store, StoreError};
use redrive_engine::{
    BatchId, By, Code, Context, Done, EngineError, Enqueue, Failure, Input, JobId, Policy, Workload,
};
use serde::{Deserialize, Serialize};

use super::Manifests;
use super::unpack::derived;

/// So many members are started at once.
const CHUNK: usize = 1_000;
/// A batch is started again at most so often.
const ROUNDS: u32 = 1_000;

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

fn again_id(batch: BatchId, round: u32) -> JobId {
    derived(batch, "again", round)
}

impl Manifests {
    /// Asks for everything that failed of a batch to be tried again: durable when this returns, done soon after. Asking twice is asking
    /// once. Refused when nothing failed.
    pub async fn again(&self, batch: BatchId, by: &By) -> Result<(), EngineError> {
        let store = self.engine.store();
        let refused = |code, reason: &str| EngineError::Refused { code, reason: reason.into() };
        let row =
            store.batch(batch).await?.ok_or_else(|| refused(Code::NotFound, "there is no such batch"))?;
        if row.counters.failed == 0 {
            return Err(refused(Code::ConflictState, "nothing of the batch failed"));
        }
        for round in 0..ROUNDS {
            let id = again_id(batch, round);
            match store.job(id).await? {
                Some(row) if !row.state.is_terminal() => return Ok(()),
                Some(_) => {}
                None => {
                    let act = NewAct {
                        actor: by.actor().to_owned(),
                        action: "batch.again".into(),
                        subject: format!("batch {batch}"),
                        reason: by.reason().map(str::to_owned),
                    };
                    let act = store.note_act(act).await?;
                    let again = Again { batch, act, upto: store.now().await? };
                    let how = Enqueue::default().id(id).priority(1);
                    return self.engine.enqueue_with(&again, how).await.map(drop);
                }
            }
        }
        Err(refused(Code::ConflictState, "the batch was started again too often"))
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
        Policy { attempt_timeout: Duration::from_secs(6 * 3_600), ..Policy::on_demand() }
    }

    fn concurrency(&self) -> usize {
        2
    }

    async fn run(&self, ctx: Context, again: Again) -> Result<Done, Failure> {
        let filter =
            JobFilter { batch: Some(again.batch), shown: vec![Shown::Failed], ..JobFilter::default() };
        let (mut started, mut waiting, mut cursor) = (0_u64, Vec::new(), None);
        loop {
            let page = PageRequest { limit: 200, cursor };
            let page = self.store.jobs(filter.clone(), page).await.map_err(lost)?;
            let old = page.rows.iter().filter(|row| row.finished_at.is_some_and(|at| at <= again.upto));
            waiting.extend(old.map(|row| row.id));
            cursor = page.next;
            if waiting.len() >= CHUNK || cursor.is_none() {
                let jobs = std::mem::take(&mut waiting);
                let acted = self.store.retry(jobs, RetryBy::default()).await.map_err(lost)?;
                started += acted.iter().filter(|acted| **acted == Acted::Done).count() as u64;
                ctx.progress(started, None, Some("started again")).await?;
            }
            if cursor.is_none() {
                break;
            }
            if ctx.is_cancelled() {
                return Err(Failure::new(Code::SystemInterrupted, "told to stop"));
            }
        }
        if let Err(error) = self.store.conclude_act(again.act, &format!("{started} started again")).await {
            tracing::warn!(event = "desk.not_concluded", number = again.act, "{error}");
        }
        Ok(Done::Complete)
    }
}

fn lost(error: StoreError) -> Failure {
    Failure::new(error.code(), error)
}

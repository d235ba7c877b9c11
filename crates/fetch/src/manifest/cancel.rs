//! Cancelling a batch of any size: the wish is written down at once, and a job stops the members chunk by chunk.

use std::sync::Arc;
use std::time::Duration;

use redrive_engine::model::BatchState;
use redrive_engine::store::{Acted, NewAct, RetryBy, Store, StoreError};
use redrive_engine::{
    BatchId, By, Code, Context, Done, EngineError, Enqueue, Failure, Input, JobId, Policy, Workload,
    member_id,
};
use serde::{Deserialize, Serialize};

use super::Manifests;
use super::commit::KEEP;
use super::unpack::{derived, unpack_id};

/// So many members are stopped at once.
const CHUNK: u32 = 1_000;
/// A batch that came back to life is cancelled anew, at most so often.
const ROUNDS: u32 = 1_000;
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
    derived(batch, "cancel", round)
}

impl Manifests {
    /// Asks for a batch to be cancelled: durable when this returns, done soon after. Asking twice is asking once. Refused when the batch
    /// has ended.
    pub async fn cancel(&self, batch: BatchId, by: &By) -> Result<(), EngineError> {
        let store = self.engine.store();
        let refused = |code, reason: &str| EngineError::Refused { code, reason: reason.into() };
        let row =
            store.batch(batch).await?.ok_or_else(|| refused(Code::NotFound, "there is no such batch"))?;
        if row.state != BatchState::Processing {
            return Err(refused(Code::ConflictState, "the batch has ended"));
        }
        for round in 0..ROUNDS {
            let id = cancel_id(batch, round);
            match store.job(id).await? {
                None => return self.ask(batch, id, by).await,
                Some(row) if !row.state.is_terminal() => return Ok(()),
                Some(_) => {}
            }
        }
        Err(refused(Code::ConflictState, "the batch was cancelled too often"))
    }

    async fn ask(&self, batch: BatchId, id: JobId, by: &By) -> Result<(), EngineError> {
        let store = self.engine.store();
        let act = NewAct {
            actor: by.actor().to_owned(),
            action: "batch.cancel".into(),
            subject: format!("batch {batch}"),
            reason: by.reason().map(str::to_owned),
        };
        let act = store.note_act(act).await?;
        let cancel = Cancel { batch, act };
        match self.engine.enqueue_with(&cancel, Enqueue::default().id(id).priority(1)).await {
            Ok(_) => Ok(()),
            Err(error) => {
                let _ = store.conclude_act(act, &format!("{}: {error}", error.code().name())).await;
                Err(error)
            }
        }
    }
}

/// Cancels batches.
#[derive(Clone)]
pub struct Canceller {
    store: Arc<dyn Store>,
}

impl Canceller {
    /// In this store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// Stops every member that is there and has not ended. Numbers make ids, so nobody has to be looked for; those that would run next
    /// are stopped first.
    async fn stop(&self, batch: BatchId, ctx: &Context) -> Result<u64, Failure> {
        let row = self.store.batch(batch).await.map_err(lost)?;
        let members = row.map_or(0, |row| u32::try_from(row.counters.total).unwrap_or(u32::MAX));
        let (mut first, mut stopped) = (0, 0);
        while first < members {
            if ctx.is_cancelled() {
                return Err(Failure::new(Code::SystemInterrupted, "told to stop"));
            }
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
        Policy { attempt_timeout: Duration::from_secs(6 * 3_600), ..Policy::on_demand() }
    }

    fn concurrency(&self) -> usize {
        2
    }

    async fn run(&self, ctx: Context, cancel: Cancel) -> Result<Done, Failure> {
        let stopped = self.stop(cancel.batch, &ctx).await?;
        let row = self.store.batch(cancel.batch).await.map_err(lost)?;
        if row.is_some_and(|row| !row.sealed) {
            // It is still being unpacked, and whoever does that cancels the rest. If that job was given up it is started again: only
            // when every resource is a member can the batch end.
            self.store.retry(vec![unpack_id(cancel.batch)], RetryBy::default()).await.map_err(lost)?;
        }
        if let Err(error) = self.store.conclude_act(cancel.act, &format!("{stopped} stopped")).await {
            tracing::warn!(event = "desk.not_concluded", number = cancel.act, "{error}");
        }
        Ok(Done::Complete)
    }
}

fn lost(error: StoreError) -> Failure {
    Failure::new(error.code(), error)
}

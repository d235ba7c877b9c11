//! What somebody wants done with a whole batch: the wish is written down at once, and a job of its own does it chunk by chunk.

use std::time::Duration;

use redrive_engine::store::{ActEnd, BatchRow, Store, StoreError};
use redrive_engine::{
    BatchId, By, Code, Context, EngineError, Enqueue, Failure, Input, JobId, Policy, Timestamp,
};

use super::Manifests;
use super::unpack::derived;

/// The same is wished for a batch at most so often: again only when the job of the last wish has ended.
const ROUNDS: u32 = 1_000;

/// The job that does what is wished for the `round`th time.
pub(super) fn wish_id(batch: BatchId, what: &str, round: u32) -> JobId {
    derived(batch, what, round)
}

/// Whether this was wished for a batch at or after an instant.
pub(super) async fn wished_since(
    store: &dyn Store,
    batch: BatchId,
    what: &str,
    since: Timestamp,
) -> Result<bool, StoreError> {
    for round in 0..ROUNDS {
        match store.job(wish_id(batch, what, round)).await? {
            Some(row) if row.created_at >= since => return Ok(true),
            Some(_) => {}
            None => return Ok(false),
        }
    }
    Ok(false)
}

impl Manifests {
    /// The batch about which something is wished.
    pub(super) async fn wished(&self, batch: BatchId) -> Result<BatchRow, EngineError> {
        self.batch(batch).await?.ok_or_else(|| refused(Code::NotFound, "there is no such batch"))
    }

    /// Durable when this returns, done soon after. Asking twice is asking once. `wish` makes the input of the job from the line of the
    /// audit trail that says who asked.
    pub(super) async fn wish<W: Input>(
        &self,
        batch: BatchId,
        what: &str,
        by: &By,
        wish: impl FnOnce(i64) -> W + Send,
    ) -> Result<(), EngineError> {
        let store = self.engine.store();
        let mut round = 0;
        while let Some(row) = store.job(wish_id(batch, what, round)).await? {
            if !row.state.is_terminal() {
                return Ok(());
            }
            round += 1;
            if round == ROUNDS {
                return Err(refused(Code::ConflictState, "that was asked for this batch too often"));
            }
        }
        let act = self.engine.begin_act(by, &format!("batch.{what}"), format!("batch {batch}")).await?;
        let how = Enqueue::default().id(wish_id(batch, what, round)).priority(1);
        let Err(error) = self.engine.enqueue_with(&wish(act), how).await else { return Ok(()) };
        conclude(&**store, act, format!("{}: {error}", error.code().name()).into()).await;
        Err(error)
    }
}

pub(super) fn refused(code: Code, reason: &str) -> EngineError {
    EngineError::Refused { code, reason: reason.into() }
}

/// How such jobs run: a large batch takes its time.
pub(super) fn policy() -> Policy {
    Policy { attempt_timeout: Duration::from_secs(6 * 3_600), ..Policy::on_demand() }
}

/// Between two chunks: whether to go on.
pub(super) fn goes_on(ctx: &Context) -> Result<(), Failure> {
    if ctx.is_cancelled() {
        return Err(Failure::new(Code::SystemInterrupted, "told to stop"));
    }
    Ok(())
}

/// How a batch is, in the words of the audit trail.
pub(super) fn state(row: Option<&BatchRow>) -> Option<String> {
    row.map(|row| row.state.to_string())
}

/// Says in the audit trail what came of it. One that is done a second time, after a crash, has said so already.
pub(super) async fn conclude(store: &dyn Store, act: i64, end: ActEnd) {
    if let Err(error) = store.conclude_act(act, end).await {
        tracing::warn!(event = "desk.not_concluded", number = act, "{error}");
    }
}

pub(super) fn lost(error: StoreError) -> Failure {
    Failure::new(error.code(), error)
}

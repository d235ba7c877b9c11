//! Rows of documents that ended long ago, and whose jobs are gone, are forgotten, and so is who was sent what. Files in `result/` and `failed/` never are.

use std::sync::Arc;
use std::time::Duration;

use redrive_engine::model::instant;
use redrive_engine::store::intake::IntakeStore;
use redrive_engine::store::{self, Store};
use redrive_engine::{Context, Done, Failure, Permanent, Timestamp};

/// A row stays at least so long after its end, whatever became of its job.
const AT_LEAST: Duration = Duration::from_secs(3 * 24 * 3600);
/// So long it can be seen who was sent a digest.
const DELIVERIES: Duration = Duration::from_secs(90 * 24 * 3600);
/// So many rows at once.
const AT_ONCE: usize = 500;

/// The permanent job that forgets.
pub struct DocumentRetention {
    store: Arc<dyn Store>,
    intake: Arc<dyn IntakeStore>,
    every: Duration,
}

impl DocumentRetention {
    /// Looks this often.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, intake: Arc<dyn IntakeStore>, every: Duration) -> Self {
        Self { store, intake, every }
    }

    /// Some rows of each kind; how many.
    async fn forget(&self, ended: Timestamp, delivered: Timestamp) -> store::Result<u64> {
        let documents = self.intake.forget_documents(ended, AT_ONCE).await?;
        Ok(documents + self.intake.forget_deliveries(delivered, AT_ONCE).await?)
    }
}

impl Permanent for DocumentRetention {
    async fn run(&self, ctx: Context) -> Result<Done, Failure> {
        let now = self.store.now().await.map_err(|error| Failure::new(error.code(), error))?;
        let (ended, delivered) = (instant::before(now, AT_LEAST), instant::before(now, DELIVERIES));
        while !ctx.is_cancelled() {
            if self.forget(ended, delivered).await.map_err(|error| Failure::new(error.code(), error))? == 0 {
                break;
            }
        }
        Ok(Done::RescheduleIn(self.every))
    }
}

impl std::fmt::Debug for DocumentRetention {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DocumentRetention").field("every", &self.every).finish_non_exhaustive()
    }
}

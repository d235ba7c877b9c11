//! Rows of documents that ended long ago, and whose jobs are gone, are forgotten. Files in `result/` and `failed/` never are.

use std::sync::Arc;
use std::time::Duration;

use redrive_engine::model::instant;
use redrive_engine::store::Store;
use redrive_engine::store::intake::IntakeStore;
use redrive_engine::{Context, Done, Failure, Permanent};

/// A row stays at least so long after its end, whatever became of its job.
const AT_LEAST: Duration = Duration::from_secs(3 * 24 * 3600);
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
}

impl Permanent for DocumentRetention {
    async fn run(&self, ctx: Context) -> Result<Done, Failure> {
        let now = self.store.now().await.map_err(|error| Failure::new(error.code(), error))?;
        let before = instant::before(now, AT_LEAST);
        while !ctx.is_cancelled() {
            let forgotten = self.intake.forget_documents(before, AT_ONCE).await;
            if forgotten.map_err(|error| Failure::new(error.code(), error))? == 0 {
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

//! Counting what happened by minute, a second behind it.

use std::sync::Arc;
use std::time::Duration;

use redrive_model::{Done, Failure, Policy};
use redrive_store::Store;
use tokio::time::Instant;

use crate::{Context, Permanent};

/// Rows of events that are counted in one transaction.
const AT_ONCE: usize = 5_000;
/// Between two looks when nothing is left.
const EVERY: Duration = Duration::from_secs(1);
/// It counts for so long in one execution, so that it leaves few rows behind.
const SHIFT: Duration = Duration::from_secs(600);

/// The permanent job that counts for everybody.
pub(crate) struct Minutes {
    pub(crate) store: Arc<dyn Store>,
}

impl Permanent for Minutes {
    fn policy(&self) -> Policy {
        Policy { attempt_timeout: SHIFT * 2, ..Policy::permanent() }
    }

    async fn run(&self, ctx: Context) -> Result<Done, Failure> {
        let end = Instant::now() + SHIFT;
        while Instant::now() < end && !ctx.is_cancelled() {
            if self.store.roll_up(AT_ONCE).await? == AT_ONCE {
                continue;
            }
            tokio::select! {
                () = tokio::time::sleep(EVERY) => {}
                () = ctx.cancelled() => {}
            }
        }
        Ok(Done::RescheduleNow)
    }
}

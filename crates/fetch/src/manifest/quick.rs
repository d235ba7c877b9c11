//! Three quick tries inside a request, with a doubling wait between them: what is still away then is the client's to try again.

use std::fmt;
use std::time::Duration;

use redrive_engine::store::StoreError;

/// The tries of one call.
#[derive(Debug)]
pub(super) struct Tries {
    left: u32,
    wait: Duration,
}

impl Tries {
    /// So often, and so far apart at first.
    pub(super) const fn new(tries: u32, first_wait: Duration) -> Self {
        Self { left: tries.saturating_sub(1), wait: first_wait }
    }

    /// Waits for the next try. False when there is none left.
    pub(super) async fn again(&mut self, error: &(dyn fmt::Display + Sync)) -> bool {
        let Some(left) = self.left.checked_sub(1) else { return false };
        tracing::warn!(event = "manifest.again", left, "{error}");
        tokio::time::sleep(self.wait).await;
        (self.left, self.wait) = (left, self.wait.saturating_mul(2));
        true
    }
}

/// Whether the same call may be made again. One whose answer was lost may too: ids make that safe.
pub(super) const fn may_pass(error: &StoreError) -> bool {
    error.is_temporary() || matches!(error, StoreError::Unknown { .. })
}

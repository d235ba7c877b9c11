//! Work that blocks, on the threads for it.

use tokio::task::JoinHandle;

use crate::Result;
use crate::error::BlobError;

/// Runs `work` where it may block. It runs to its end even when nobody waits for it any more.
pub(crate) async fn run<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    Thread::start(work).ended().await
}

/// Work that goes on while its owner does something else. Dropped, it runs to its end all the same.
#[derive(Debug)]
pub(crate) struct Thread<T>(JoinHandle<Result<T>>);

impl<T: Send + 'static> Thread<T> {
    pub(crate) fn start(work: impl FnOnce() -> Result<T> + Send + 'static) -> Self {
        Self(tokio::task::spawn_blocking(work))
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.0.is_finished()
    }

    /// What came of it. To be asked until it answers, and not again.
    pub(crate) async fn ended(&mut self) -> Result<T> {
        (&mut self.0).await.unwrap_or_else(|_| Err(BlobError::io("work on the disk was stopped")))
    }
}

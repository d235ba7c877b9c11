//! Work that blocks, on the threads for it.

use crate::Result;
use crate::error::BlobError;

/// Runs `work` where it may block. It runs to its end even when nobody waits for it any more.
pub(crate) async fn run<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(answer) => answer,
        Err(_) => Err(BlobError::io("work on the disk was stopped")),
    }
}

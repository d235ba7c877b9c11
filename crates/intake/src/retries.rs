//! How often a document is tried again: a number that can be changed while everything runs.

use std::sync::Arc;

use redrive_engine::store::Store;
use redrive_engine::{Failure, Policy};

pub use redrive_engine::store::intake::{MAX_RETRIES, MOST_RETRIES};

/// Most executions of a document now: as somebody has set it, else as the policy says.
pub(crate) async fn most(store: &Arc<dyn Store>, policy: &Policy) -> Result<u32, Failure> {
    let rows = store.settings(MAX_RETRIES).await.map_err(|error| Failure::new(error.code(), error))?;
    let set = rows.iter().find(|row| row.key == MAX_RETRIES).and_then(|row| row.value.parse::<u32>().ok());
    let retries = set.map(|retries| retries.min(MOST_RETRIES).saturating_add(1));
    Ok(retries.or(policy.max_attempts).unwrap_or(1))
}

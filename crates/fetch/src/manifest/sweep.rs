//! Removing manifests that no batch needs any more. Every name tells its batch, so there is no second list.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use redrive_blob::{Blobs, Key, ReferenceError, References, Sweep, Swept, sweep};
use redrive_engine::store::Store;
use redrive_engine::{BatchId, Code, Context, Done, Failure, Permanent};

/// After a walk that had more to do than one walk does.
const SOON: Duration = Duration::from_secs(1);

/// The permanent job that walks over the manifests. A batch is purged 30 days after its end; then its manifest goes too.
#[derive(Clone)]
pub struct ManifestRetention {
    store: Arc<dyn Store>,
    blobs: Arc<dyn Blobs>,
    every: Duration,
}

impl ManifestRetention {
    /// Walks over this place; the store says what is still needed.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, blobs: Arc<dyn Blobs>, every: Duration) -> Self {
        Self { store, blobs, every }
    }

    /// One walk.
    pub async fn walk(&self) -> Result<Swept, Failure> {
        let now = self.store.now().await.map_err(|error| Failure::new(error.code(), error))?;
        let under = Key::parse("manifests").map_err(|error| Failure::new(Code::SystemInternal, error))?;
        let plan = Sweep { under: Some(under), ..Sweep::at(now) };
        sweep(&*self.blobs, self, &plan)
            .await
            .map_err(|error| Failure::new(Code::StorageUnavailable, format!("{error}: {}", error.why)))
    }
}

impl Permanent for ManifestRetention {
    async fn run(&self, _: Context) -> Result<Done, Failure> {
        let swept = self.walk().await?;
        if swept.deleted > 0 {
            tracing::info!(
                event = "retention.manifests",
                removed = swept.deleted,
                bytes = swept.deleted_bytes
            );
        }
        Ok(Done::RescheduleIn(if swept.through { self.every } else { SOON.min(self.every) }))
    }
}

#[async_trait]
impl References for ManifestRetention {
    async fn referenced(&self, keys: &[Key]) -> Result<HashSet<Key>, ReferenceError> {
        let mut needed = HashSet::new();
        for key in keys {
            // A name that is none of ours is somebody else's file.
            let Some(batch) = batch_of(key) else {
                needed.insert(key.clone());
                continue;
            };
            if self.store.batch(batch).await?.is_some() {
                needed.insert(key.clone());
            }
        }
        Ok(needed)
    }
}

fn batch_of(key: &Key) -> Option<BatchId> {
    key.as_str().strip_prefix("manifests/")?.strip_suffix(".ndjson")?.parse().ok()
}

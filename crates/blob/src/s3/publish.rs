//! Put-once on a bucket: by condition where it is honoured, by a last check where it is not.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use object_store::ObjectStoreExt;
use rand::Rng;
use redrive_model::instant;
use redrive_store::clock::Clock;

use super::bucket::{Bucket, Object};
use super::probe::{Conditional, Conditionals};
use super::read;
use super::refusal::{Failed, failed};
use super::send::Send;
use super::wire::Condition;
use crate::Result;
use crate::error::{Act, BlobError};
use crate::folder::TEMP;
use crate::key::Key;
use crate::temp::{MakeTemp, Sealing};
use crate::upload::{Placed, Publish};

/// So often an object may come and go under a put before it is an error.
const TRIES: usize = 4;
/// An adopted object older than this is written again, so that it counts as put now and no sweeper takes it.
const YOUNG: Duration = Duration::from_secs(15 * 60);

/// Gives uploads their keys in one bucket.
#[derive(Debug)]
pub(super) struct Publisher {
    pub(super) bucket: Arc<Bucket>,
    pub(super) conditionals: Conditionals,
    pub(super) temps: Arc<dyn MakeTemp>,
    pub(super) clock: ClockOf,
}

/// A clock that can be printed.
#[derive(Clone)]
pub(super) struct ClockOf(pub(super) Arc<dyn Clock>);

impl std::fmt::Debug for ClockOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}

#[async_trait]
impl Publish for Publisher {
    fn temps(&self) -> Arc<dyn MakeTemp> {
        Arc::clone(&self.temps)
    }

    async fn publish(&self, sealing: Sealing, key: &Key) -> (Option<Sealing>, Result<Placed>) {
        let placed = self.put(&sealing, key).await;
        let again = placed
            .as_ref()
            .is_err_and(|error| error.is_temporary() || matches!(error, BlobError::AlreadyExists { .. }));
        if !again {
            sealing.unmark();
        }
        (again.then_some(sealing), placed)
    }
}

impl Publisher {
    async fn put(&self, sealing: &Sealing, key: &Key) -> Result<Placed> {
        let path = self.bucket.path(key)?;
        let send = Send { bucket: &self.bucket, sealing, path: &path, key };
        let conditional = if Send::is_large(&self.bucket, sealing) {
            self.conditionals.multipart
        } else {
            self.conditionals.put
        };
        for _ in 0..TRIES {
            let there = match conditional {
                Conditional::Honoured => match send.send(Condition::Absent).await {
                    Ok(()) => return Ok(Placed::New),
                    Err(Failed::Condition) => self.bucket.head(key, Act::Put).await?,
                    Err(Failed::Error(error)) => Some(self.read_back(error, key).await?),
                },
                Conditional::Ignored => match self.bucket.head(key, Act::Put).await? {
                    None => match self.checked(sealing, key).await? {
                        None => return Ok(Placed::New),
                        there => there,
                    },
                    there => there,
                },
            };
            let Some(there) = there else { continue };
            self.same(&there, sealing, key).await?;
            match (conditional, there.etag) {
                (Conditional::Honoured, Some(etag)) if self.is_old(&there.head) => {
                    match send.send(Condition::Unchanged(etag)).await {
                        Ok(()) => return Ok(Placed::Adopted),
                        // Somebody was faster: look again.
                        Err(Failed::Condition | Failed::Error(BlobError::NotFound { .. })) => {}
                        Err(Failed::Error(error)) => return Err(error),
                    }
                }
                (Conditional::Honoured | Conditional::Ignored, _) => return Ok(Placed::Adopted),
            }
        }
        Err(BlobError::Unavailable {
            act: Act::Put,
            timeout: false,
            retry_after: None,
            reason: "the object came and went while it was put".to_owned(),
        })
    }

    /// The answer never came: read back, never guess. The put may have happened, or was refused early and the refusal
    /// was lost with the connection. When nothing is there it is the error that it was.
    async fn read_back(&self, error: BlobError, key: &Key) -> Result<Object> {
        if !matches!(error, BlobError::Unavailable { .. }) {
            return Err(error);
        }
        match self.bucket.head(key, Act::Put).await {
            Ok(Some(there)) => Ok(there),
            Ok(None) | Err(_) => Err(error),
        }
    }

    /// Sends under a name of its own, looks once more, and copies to the final name: the moment in which another put
    /// can slip in is one copy inside the store, not a whole upload. Answers with what slipped in before that.
    async fn checked(&self, sealing: &Sealing, key: &Key) -> Result<Option<Object>> {
        let temp = self.bucket.own_path(&format!("{TEMP}/{:032x}", rand::rng().random::<u128>()))?;
        let send = Send { bucket: &self.bucket, sealing, path: &temp, key };
        send.send(Condition::Any).await?;
        let placed = async {
            if let Some(there) = self.bucket.head(key, Act::Put).await? {
                return Ok(Some(there));
            }
            let copied = self.bucket.store.copy(&temp, &self.bucket.path(key)?).await;
            copied.map_err(|e| BlobError::from(failed(Act::Put, Some(key), e)))?;
            match self.bucket.head(key, Act::Put).await? {
                Some(there) if there.head.sha256 == Some(sealing.sha256) => Ok(None),
                there => Ok(there),
            }
        };
        let placed = placed.await;
        // What stays is removed by the sweep of temps.
        let _ = self.bucket.remove(&temp).await;
        placed
    }

    /// Errs unless what is there has the bytes of this upload. The hash that we kept with an object is believed; an
    /// object without one is read.
    async fn same(&self, there: &Object, sealing: &Sealing, key: &Key) -> Result<()> {
        let hash = match there.head.sha256 {
            Some(hash) => hash,
            None => read::hash_of(&self.bucket, key).await?,
        };
        if hash == sealing.sha256 && there.head.bytes == sealing.bytes {
            return Ok(());
        }
        Err(BlobError::AlreadyExists { key: key.clone(), there: hash })
    }

    fn is_old(&self, head: &crate::blobs::Head) -> bool {
        instant::between(head.modified, self.clock.0.now()) > YOUNG
    }
}

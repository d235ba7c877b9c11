//! Sending a sealed upload: in one request, or in parts.

use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{
    MultipartId, ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, UpdateVersion,
};

use super::bucket::{Bucket, attributes};
use super::refusal::{Failed, failed};
use super::wire::{COMPLETION, Condition};
use crate::Result;
use crate::blocking;
use crate::errno;
use crate::error::Act;
use crate::key::Key;
use crate::temp::Sealing;

/// S3 takes no more parts than this.
const MAX_PARTS: u64 = 10_000;
/// So many parts of one upload are on their way at a time.
const AT_A_TIME: usize = 4;

/// What is sent where.
pub(super) struct Send<'a> {
    pub(super) bucket: &'a Arc<Bucket>,
    pub(super) sealing: &'a Sealing,
    pub(super) path: &'a Path,
    /// What it is called in errors.
    pub(super) key: &'a Key,
}

impl Send<'_> {
    /// Whether it goes out in parts.
    pub(super) fn is_large(bucket: &Bucket, sealing: &Sealing) -> bool {
        sealing.bytes > bucket.settings.part_bytes
    }

    /// Sends it. The object is there, whole, when this is answered well, and never in part.
    pub(super) async fn send(&self, condition: Condition) -> Result<(), Failed> {
        if Self::is_large(self.bucket, self.sealing) {
            self.in_parts(condition).await
        } else {
            self.at_once(condition).await
        }
    }

    async fn at_once(&self, condition: Condition) -> Result<(), Failed> {
        let body = self.block(0, self.sealing.bytes).await.map_err(Failed::Error)?;
        let mode = match condition {
            Condition::Absent => PutMode::Create,
            Condition::Unchanged(etag) => PutMode::Update(UpdateVersion { e_tag: Some(etag), version: None }),
            Condition::Any => PutMode::Overwrite,
        };
        let options =
            PutOptions { mode, attributes: attributes(&self.sealing.sha256), ..PutOptions::default() };
        let sent = self.bucket.store.put_opts(self.path, PutPayload::from(body), options).await;
        sent.map(drop).map_err(|e| self.failed(e))
    }

    async fn in_parts(&self, condition: Condition) -> Result<(), Failed> {
        let options =
            PutMultipartOptions { attributes: attributes(&self.sealing.sha256), ..Default::default() };
        let id =
            self.bucket.store.create_multipart_opts(self.path, options).await.map_err(|e| self.failed(e))?;
        // From here on parts lie in the bucket that nobody sees and somebody pays for.
        let mut abort =
            Abort { bucket: Arc::clone(self.bucket), path: self.path.clone(), id: Some(id.clone()) };
        let sent = async {
            let parts = self.parts(&id).await?;
            let complete = self.bucket.store.complete_multipart(self.path, &id, parts);
            COMPLETION.scope(condition, complete).await.map_err(|e| self.failed(e))
        };
        match sent.await {
            Ok(_) => {
                abort.id = None;
                Ok(())
            }
            Err(failed) => {
                abort.now().await;
                Err(failed)
            }
        }
    }

    async fn parts(&self, id: &MultipartId) -> Result<Vec<PartId>, Failed> {
        let (bytes, usual) = (self.sealing.bytes, self.bucket.settings.part_bytes);
        let size = usual.max(bytes.div_ceil(MAX_PARTS));
        let parts = stream::iter(0..bytes.div_ceil(size)).map(|n| async move {
            let at = n * size;
            let length = size.min(bytes - at);
            let body = PutPayload::from(self.block(at, length).await.map_err(Failed::Error)?);
            let index = usize::try_from(n).unwrap_or(usize::MAX);
            self.bucket.store.put_part(self.path, id, index, body).await.map_err(|e| self.failed(e))
        });
        parts.buffered(AT_A_TIME).try_collect().await
    }

    /// Reads a block of the temp, once there is memory for it.
    async fn block(&self, at: u64, length: u64) -> Result<Bytes> {
        let mut share = self.bucket.memory.share(length).await?;
        let file = Arc::clone(&self.sealing.temp.file);
        let read = blocking::run(move || {
            let read = file.read_exact_at(share.bytes(), at);
            read.map_err(|e| errno::io(Act::Put, "reading a temp", e))?;
            Ok(share.freeze())
        });
        read.await
    }

    fn failed(&self, error: object_store::Error) -> Failed {
        failed(Act::Put, Some(self.key), error)
    }
}

/// Aborts a multipart upload, also when nobody waits for it any more.
struct Abort {
    bucket: Arc<Bucket>,
    path: Path,
    id: Option<MultipartId>,
}

impl Abort {
    async fn now(&mut self) {
        if let Some(id) = self.id.take() {
            abort(&self.bucket, &self.path, &id).await;
        }
    }
}

impl Drop for Abort {
    fn drop(&mut self) {
        if let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) {
            let (bucket, path) = (Arc::clone(&self.bucket), self.path.clone());
            runtime.spawn(async move { abort(&bucket, &path, &id).await });
        }
    }
}

/// Best effort: what stays is aborted by the sweep of temps.
async fn abort(bucket: &Bucket, path: &Path, id: &MultipartId) {
    if let Err(error) = bucket.store.abort_multipart(path, id).await {
        let error = super::refusal::root_cause(&error);
        tracing::warn!(
            event = "blob.not_aborted",
            error,
            "an unfinished upload could not be aborted; the sweep will"
        );
    }
}

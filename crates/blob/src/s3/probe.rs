//! Whether a bucket keeps its word about conditional writes. Asked at start, never believed.
//!
//! Some stores ignore `If-None-Match` without a word: a put that should have been refused replaces what is there. So a
//! probe object is put create-only twice, in one request and in parts, and the second of each must be refused.

use std::sync::Arc;

use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::{ObjectStore, PutMode, PutOptions, PutPayload};
use rand::Rng;

use super::bucket::Bucket;
use super::refusal::{Failed, failed};
use super::wire::{COMPLETION, Condition};
use crate::Result;
use crate::error::{Act, BlobError};

/// Where probe objects lie for a moment.
pub(super) const PROBE: &str = ".redrive-probe";

/// What a bucket does with a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conditional {
    /// It refuses the second put.
    Honoured,
    /// It replaces what is there, or does not know the condition.
    Ignored,
}

/// What was found out about a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conditionals {
    /// For a body that goes out in one request.
    pub put: Conditional,
    /// For a body that goes out in parts.
    pub multipart: Conditional,
}

/// Asks. An error means that the bucket cannot be used at all.
pub(super) async fn probe(bucket: &Arc<Bucket>) -> Result<Conditionals> {
    let path = bucket.own_path(&format!("{PROBE}/{:032x}", rand::rng().random::<u128>()))?;
    let found = ask(bucket, &path).await;
    let tidied = bucket.remove(&path).await;
    let found = found?;
    tidied?;
    if found.put == Conditional::Ignored || found.multipart == Conditional::Ignored {
        tracing::warn!(
            event = "blob.no_conditions",
            bucket = bucket.settings.bucket,
            put = ?found.put,
            multipart = ?found.multipart,
            "this store ignores conditional writes: put-once is a last check before the write, not a lock"
        );
    }
    Ok(found)
}

async fn ask(bucket: &Bucket, path: &Path) -> Result<Conditionals> {
    if let Err(error) = put(bucket, path, PutMode::Create).await {
        match error {
            // Not even the first: the condition is not known there. The object must exist for the second question.
            Failed::Condition | Failed::Error(BlobError::Denied { .. }) => {
                put(bucket, path, PutMode::Overwrite).await?;
            }
            Failed::Error(error) => return Err(error),
        }
    }
    let again = judge(put(bucket, path, PutMode::Create).await)?;
    let parts = judge(in_parts(bucket, path).await)?;
    Ok(Conditionals { put: again, multipart: parts })
}

/// Only a refused condition is a promise kept. A store that refuses the header itself is used without it.
pub(super) fn judge(second: Result<(), Failed>) -> Result<Conditional> {
    match second {
        Err(Failed::Condition) => Ok(Conditional::Honoured),
        Ok(()) | Err(Failed::Error(BlobError::Denied { .. })) => Ok(Conditional::Ignored),
        Err(Failed::Error(error)) => Err(error),
    }
}

pub(super) async fn put(bucket: &Bucket, path: &Path, mode: PutMode) -> Result<(), Failed> {
    let options = PutOptions { mode, ..PutOptions::default() };
    let put = bucket.store.put_opts(path, PutPayload::from_static(b"probe"), options).await;
    put.map(drop).map_err(|e| failed(Act::Put, None, e))
}

async fn in_parts(bucket: &Bucket, path: &Path) -> Result<(), Failed> {
    let failed = |e| failed(Act::Put, None, e);
    let id = bucket.store.create_multipart(path).await.map_err(failed)?;
    let completed = async {
        let part =
            bucket.store.put_part(path, &id, 0, PutPayload::from_static(b"probe")).await.map_err(failed)?;
        let complete = bucket.store.complete_multipart(path, &id, vec![part]);
        COMPLETION.scope(Condition::Absent, complete).await.map(drop).map_err(failed)
    };
    let completed = completed.await;
    if completed.is_err() {
        let _ = bucket.store.abort_multipart(path, &id).await;
    }
    completed
}

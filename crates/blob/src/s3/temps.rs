//! What dead uploads left: files in the spool, objects under temporary names, unfinished multipart uploads.

use std::sync::Arc;

use futures::TryStreamExt;
use object_store::multipart::MultipartStore;
use object_store::path::Path;
use redrive_model::Timestamp;

use super::Spool;
use super::bucket::Bucket;
use super::list;
use super::probe::PROBE;
use super::refusal::failed;
use crate::Result;
use crate::blobs::Temps;
use crate::blocking;
use crate::error::{Act, BlobError};
use crate::folder::{self, TEMP};

/// Removes what was last written before an instant.
pub(super) async fn sweep(
    bucket: &Arc<Bucket>,
    spool: &Arc<Spool>,
    before: Timestamp,
    most: usize,
) -> Result<Temps> {
    let spool = Arc::clone(spool);
    let mut swept = blocking::run(move || folder::sweep_temps(spool.0.fd(), before, most)).await?;
    for own in [TEMP, PROBE] {
        let mut objects = list::found(Arc::clone(bucket), format!("{own}/"));
        while let Some(object) = objects.try_next().await? {
            if done(&swept, most) {
                return Ok(swept);
            }
            if object.modified < before {
                bucket.remove(&bucket.own_path(&object.name)?).await?;
                swept.removed += 1;
                swept.bytes = swept.bytes.saturating_add(object.bytes);
            }
        }
    }
    unfinished(bucket, before, most, &mut swept).await?;
    Ok(swept)
}

/// Aborts multipart uploads that were begun before an instant. A store that cannot list them is left to its own
/// lifecycle rules.
async fn unfinished(bucket: &Bucket, before: Timestamp, most: usize, swept: &mut Temps) -> Result<()> {
    let mut behind = None;
    loop {
        let (uploads, next) = match list::unfinished(bucket, behind.as_ref()).await {
            Ok(page) => page,
            Err(BlobError::Denied { reason, .. }) => {
                tracing::warn!(
                    event = "blob.temps_unlisted",
                    reason,
                    "this store does not list unfinished uploads: give it a lifecycle rule for them"
                );
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        for upload in uploads.into_iter().filter(|upload| upload.initiated < before) {
            if done(swept, most) {
                return Ok(());
            }
            let Ok(path) = Path::parse(&upload.key) else { continue };
            match bucket.store.abort_multipart(&path, &upload.upload_id).await {
                Ok(()) => swept.removed += 1,
                Err(e) => {
                    // Somebody finished or aborted it just now.
                    let error = BlobError::from(failed(Act::Delete, None, e));
                    tracing::debug!(event = "blob.not_aborted", %error, "an unfinished upload was not aborted");
                }
            }
        }
        behind = next;
        if behind.is_none() {
            return Ok(());
        }
    }
}

fn done(swept: &Temps, most: usize) -> bool {
    usize::try_from(swept.removed).unwrap_or(usize::MAX) >= most
}

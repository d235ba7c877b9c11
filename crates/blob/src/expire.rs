//! Removing artifacts whose time is over.
//!
//! Rows say when; this only carries it out, one key after the other, and tells which may be noted as expired. A key whose
//! deletion failed stays with its row and is named again by the next run. A key that several rows share is over when the
//! last of them says so; who shares keys must ask before naming one here.

use crate::blobs::{Blobs, Removed};
use crate::error::BlobError;
use crate::key::Key;

/// What became of the keys.
#[derive(Debug, Default)]
pub struct Expired {
    /// Gone now, or gone before: their rows may say so.
    pub gone: Vec<Key>,
    /// Bytes that became free.
    pub bytes: u64,
    /// Still there, and why.
    pub failed: Vec<(Key, BlobError)>,
}

/// Deletes these artifacts. One failure does not stop the others.
pub async fn expire(blobs: &dyn Blobs, keys: impl IntoIterator<Item = Key>) -> Expired {
    let mut expired = Expired::default();
    for key in keys {
        match blobs.delete(&key).await {
            Ok(Removed::Gone { bytes }) => {
                expired.bytes = expired.bytes.saturating_add(bytes);
                expired.gone.push(key);
            }
            Ok(Removed::Missing | Removed::Kept) => expired.gone.push(key),
            Err(error) => expired.failed.push((key, error)),
        }
    }
    expired
}

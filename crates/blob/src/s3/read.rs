//! Reading objects.

use futures::{StreamExt, TryStreamExt, stream};
use object_store::{GetOptions, GetRange, ObjectStore};

use super::bucket::{Bucket, object};
use super::refusal::failed;
use crate::Result;
use crate::blobs::{ByteStream, Reading};
use crate::digest::{Hashing, Sha256};
use crate::error::{Act, BlobError};
use crate::key::Key;
use crate::range::ByteRange;

/// Opens an object, or a part of it.
pub(super) async fn open(bucket: &Bucket, key: &Key, range: Option<ByteRange>) -> Result<Reading> {
    if range.is_some_and(ByteRange::is_void) {
        return Err(BlobError::Range { bytes: 0 });
    }
    let options = GetOptions {
        range: range.map(|range| match range {
            ByteRange::From(first) => GetRange::Offset(first),
            ByteRange::Within { first, last } => GetRange::Bounded(first..last.saturating_add(1)),
            ByteRange::Last(count) => GetRange::Suffix(count),
        }),
        ..GetOptions::default()
    };
    let got = match bucket.store.get_opts(&bucket.path(key)?, options).await {
        Ok(got) => got,
        Err(e) => {
            let error = BlobError::from(failed(Act::Read, Some(key), e));
            // Stores say in different words that a range lies outside; the size decides.
            if let Some(range) = range
                && !matches!(error, BlobError::NotFound { .. } | BlobError::Throttled { .. })
                && let Ok(Some(there)) = bucket.head(key, Act::Read).await
            {
                range.resolve(there.head.bytes)?;
            }
            return Err(error);
        }
    };
    let range = got.range.clone();
    let head = object(got.meta.clone(), &got.attributes).head;
    let wanted = range.end.saturating_sub(range.start);
    let of = key.clone();
    let bytes = got.into_stream().map_err(move |e| BlobError::from(failed(Act::Read, Some(&of), e)));
    Ok(Reading { head, range, bytes: whole(bytes.boxed(), wanted) })
}

/// Errs when the stream ends before it gave what it promised.
pub(super) fn whole(bytes: ByteStream, wanted: u64) -> ByteStream {
    let state = (bytes, 0_u64);
    stream::try_unfold(state, move |(mut bytes, got)| async move {
        match bytes.try_next().await? {
            Some(chunk) => {
                let got = got.saturating_add(chunk.len() as u64);
                Ok(Some((chunk, (bytes, got))))
            }
            None if got == wanted => Ok(None),
            None => Err(BlobError::Unavailable {
                act: Act::Read,
                timeout: false,
                retry_after: None,
                reason: format!("the answer ended after {got} of {wanted} bytes"),
            }),
        }
    })
    .boxed()
}

/// The hash of an object, by reading it.
pub(super) async fn hash_of(bucket: &Bucket, key: &Key) -> Result<Sha256> {
    let mut bytes = open(bucket, key, None).await?.bytes;
    let mut hashing = Hashing::default();
    while let Some(chunk) = bytes.try_next().await? {
        hashing.update(&chunk);
    }
    Ok(hashing.end())
}

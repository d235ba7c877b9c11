//! The convenient forms: a whole stream in, a copy, a check.

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{BoxStream, Stream};
use futures::{StreamExt, TryStreamExt, stream};

use crate::Result;
use crate::blobs::{Blobs, ByteStream, Reading};
use crate::digest::{Hashing, Sha256};
use crate::error::{Act, BlobError};
use crate::key::Key;
use crate::upload::Stored;

/// Why a put of a stream failed: the stream, or the place.
#[derive(Debug, thiserror::Error)]
pub enum PutError<E> {
    /// The stream broke off. Nothing of it is kept.
    #[error("the bytes broke off")]
    Source(#[source] E),
    /// The place could not store it.
    #[error(transparent)]
    Blob(#[from] BlobError),
}

/// What every place can do on top of [`Blobs`].
#[async_trait]
pub trait BlobsExt: Blobs {
    /// Puts a whole stream under a key. See [`Sealed::finish`](crate::Sealed::finish) for what put-once means.
    async fn put<S, E>(&self, key: &Key, body: S, limit: u64) -> Result<Stored, PutError<E>>
    where
        S: Stream<Item = Result<Bytes, E>> + Send,
        E: Send,
    {
        let mut upload = self.begin(limit).await?;
        let mut body = std::pin::pin!(body);
        while let Some(chunk) = body.next().await {
            upload.write(chunk.map_err(PutError::Source)?).await?;
        }
        Ok(upload.finish(key).await?)
    }

    /// Puts bytes that are in memory already.
    async fn put_bytes(&self, key: &Key, bytes: Bytes) -> Result<Stored> {
        let mut upload = self.begin(bytes.len() as u64).await?;
        upload.write(bytes).await?;
        upload.finish(key).await
    }

    /// Copies to a key that is put once, through this process, so that the answer's hash is that of the bytes that
    /// were really there. A move is this, then the caller's note of the new place, then [`Blobs::delete`].
    ///
    /// Only the bytes and their hash go along, no other metadata. Made again after a crash it finds the copy and adopts it. When something else is at `to` it errs and changes
    /// nothing.
    async fn copy_once(&self, from: &Key, to: &Key) -> Result<Stored> {
        let reading = self.read(from, None).await?;
        let known = reading.head.sha256;
        let mut upload = self.begin(reading.head.bytes).await?;
        let mut bytes = reading.bytes;
        while let Some(chunk) = bytes.try_next().await? {
            upload.write(chunk).await?;
        }
        let mut sealed = upload.seal().await?;
        if known.is_some_and(|known| known != sealed.sha256()) {
            return Err(differs(from, sealed.sha256()));
        }
        sealed.finish(to).await
    }

    /// The hash of what is stored now, by reading all of it.
    async fn hash(&self, key: &Key) -> Result<Sha256> {
        let mut bytes = self.read(key, None).await?.bytes;
        let mut hashing = Hashing::default();
        while let Some(chunk) = bytes.try_next().await? {
            hashing.update(&chunk);
        }
        Ok(hashing.end())
    }

    /// Errs with [`BlobError::Corrupt`] unless what is stored now has this hash.
    async fn verify(&self, key: &Key, expected: &Sha256) -> Result<()> {
        let found = self.hash(key).await?;
        if found == *expected { Ok(()) } else { Err(differs(key, found)) }
    }

    /// Opens an artifact whose hash is known. The stream errs with [`BlobError::Corrupt`] instead of ending when the
    /// bytes were others: whoever sends them on must cut the connection, so that a damaged download is never whole.
    async fn read_verified(&self, key: &Key, expected: Sha256) -> Result<Reading> {
        let mut reading = self.read(key, None).await?;
        reading.bytes = verified(reading.bytes, key.clone(), expected);
        Ok(reading)
    }

    /// All keys under a prefix, for callers that know there are few.
    async fn keys(&self, under: Option<&Key>) -> Result<Vec<Key>> {
        let listed: BoxStream<'static, _> = self.list(under);
        listed.map_ok(|listed| listed.key).try_collect().await
    }
}

impl<T: Blobs + ?Sized> BlobsExt for T {}

fn verified(bytes: ByteStream, key: Key, expected: Sha256) -> ByteStream {
    let state = Some((bytes, Hashing::default(), key));
    stream::try_unfold(state, move |state| async move {
        let Some((mut bytes, mut hashing, key)) = state else { return Ok(None) };
        match bytes.try_next().await? {
            Some(chunk) => {
                hashing.update(&chunk);
                Ok(Some((chunk, Some((bytes, hashing, key)))))
            }
            None => match hashing.end() {
                found if found == expected => Ok(None),
                found => Err(differs(&key, found)),
            },
        }
    })
    .boxed()
}

fn differs(key: &Key, found: Sha256) -> BlobError {
    BlobError::Corrupt { key: key.clone(), act: Act::Read, reason: format!("its hash is {found}") }
}

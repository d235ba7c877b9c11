//! Objects that others made, and what is said beside them: looked at, copied and removed under conditions.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use redrive_model::Timestamp;
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH};

use super::S3;
use super::bucket::Bucket;
use super::list;
use super::probe::Conditional;
use super::promises::{self, Promises};
use super::read;
use super::refusal::Failed;
use super::seen::{Seen, quoted, unquoted};
use super::signed::{Call, away};
use crate::Result;
use crate::blobs::ByteStream;
use crate::digest::Sha256;
use crate::error::{Act, BlobError};
use crate::key::{Key, RESERVED};

/// What a copy is made of, and which version of it.
pub(super) const COPY_SOURCE: HeaderName = HeaderName::from_static("x-amz-copy-source");
pub(super) const COPY_SOURCE_IF_MATCH: HeaderName = HeaderName::from_static("x-amz-copy-source-if-match");
const METADATA_DIRECTIVE: HeaderName = HeaderName::from_static("x-amz-metadata-directive");
/// What need not be escaped in a copy's source.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// The objects of one bucket.
#[derive(Debug)]
pub(crate) struct Objects {
    bucket: Arc<Bucket>,
    /// What the bucket keeps.
    pub(crate) promises: Promises,
}

/// One line of a list.
pub(crate) struct Line {
    pub(crate) key: Key,
    pub(crate) bytes: u64,
    pub(crate) modified: Timestamp,
    pub(crate) etag: Option<String>,
}

impl Objects {
    /// Asks the bucket what it keeps.
    pub(crate) async fn of(s3: &S3) -> Result<Self> {
        let bucket = Arc::clone(&s3.bucket);
        let promises = promises::probe(&bucket).await?;
        Ok(Self { bucket, promises })
    }

    /// Where they lie, without secrets.
    pub(crate) fn root(&self) -> String {
        let settings = &self.bucket.settings;
        match &settings.prefix {
            Some(prefix) => format!("s3://{}/{prefix}", settings.bucket),
            None => format!("s3://{}", settings.bucket),
        }
    }

    pub(crate) async fn look(&self, key: &Key, act: Act) -> Result<Option<Seen>> {
        let path = self.bucket.path(key)?;
        let call = Call { method: Method::HEAD, path: &path, headers: HeaderMap::new(), act, key: Some(key) };
        match call.send(&self.bucket).await.map_err(BlobError::from) {
            Ok(response) => Seen::read(response.headers(), act).map(Some),
            Err(BlobError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn open(&self, key: &Key) -> Result<(Seen, ByteStream)> {
        let path = self.bucket.path(key)?;
        let (method, headers, act) = (Method::GET, HeaderMap::new(), Act::Read);
        let call = Call { method, path: &path, headers, act, key: Some(key) };
        let response = call.send(&self.bucket).await?;
        let seen = Seen::read(response.headers(), act)?;
        let bytes = response.bytes_stream().map_err(move |e| away(act, e)).boxed();
        Ok((seen.clone(), read::whole(bytes, seen.bytes)))
    }

    /// The hash of an object, by reading it.
    pub(crate) async fn hash(&self, key: &Key) -> Result<Sha256> {
        let mut bytes = self.open(key).await?.1;
        let mut hashing = crate::digest::Hashing::default();
        while let Some(chunk) = bytes.try_next().await? {
            hashing.update(&chunk);
        }
        Ok(hashing.end())
    }

    /// Copies what was seen, inside the store, with this metadata in place of its own; `create` only where nothing is. Answers the ETag
    /// of the copy, where the store says it.
    pub(crate) async fn copy(
        &self,
        from: &Key,
        seen: &Seen,
        to: &Key,
        meta: &BTreeMap<String, String>,
        create: bool,
    ) -> Result<Option<String>, Failed> {
        let mut headers = seen.headers(meta);
        source(&self.bucket, &self.bucket.path(from)?, &mut headers)?;
        headers.insert(METADATA_DIRECTIVE, HeaderValue::from_static("REPLACE"));
        if let Some(etag) = &seen.etag {
            headers.insert(COPY_SOURCE_IF_MATCH, quoted(etag)?);
        }
        if create && self.promises.copy == Conditional::Honoured {
            headers.insert(IF_NONE_MATCH, HeaderValue::from_static("*"));
        }
        let path = self.bucket.path(to)?;
        let call = Call { method: Method::PUT, path: &path, headers, act: Act::Put, key: Some(from) };
        let body = call.send_for_document(&self.bucket).await?;
        Ok(etag_in(&body))
    }

    /// Removes an object if it is still what was seen, where the store keeps that promise.
    pub(crate) async fn remove(&self, key: &Key, seen: &Seen) -> Result<(), Failed> {
        let mut headers = HeaderMap::new();
        if let (Conditional::Honoured, Some(etag)) = (self.promises.delete, &seen.etag) {
            headers.insert(IF_MATCH, quoted(etag)?);
        }
        let path = self.bucket.path(key)?;
        let call = Call { method: Method::DELETE, path: &path, headers, act: Act::Delete, key: Some(key) };
        call.send(&self.bucket).await.map(drop)
    }

    /// Removes whatever has this key.
    pub(crate) async fn remove_any(&self, key: &Key) -> Result<()> {
        self.bucket.remove(&self.bucket.path(key)?).await
    }

    /// Everything below a folder, page by page. The objects that stand for empty folders (`a/`) are nothing.
    pub(crate) fn list(&self, below: &Key) -> BoxStream<'static, Result<Line>> {
        list::found(Arc::clone(&self.bucket), format!("{below}/"))
            .try_filter_map(|found| async move {
                match Key::parse(&found.name) {
                    Ok(key) => {
                        let etag = found.etag.as_deref().map(unquoted);
                        return Ok(Some(Line { key, bytes: found.bytes, modified: found.modified, etag }));
                    }
                    Err(_) if found.name.ends_with('/') || found.name.starts_with(RESERVED) => {}
                    Err(_) => {
                        let name = found.name.escape_debug();
                        tracing::warn!(event = "blob.name_unusable", %name, "an object whose name cannot be used is passed over");
                    }
                }
                Ok(None)
            })
            .boxed()
    }
}

/// Says what a copy is made of.
pub(super) fn source(bucket: &Bucket, path: &Path, headers: &mut HeaderMap) -> Result<()> {
    let name = format!("{}/{}", bucket.settings.bucket, path.as_ref());
    let name = utf8_percent_encode(&name, PLAIN).to_string();
    let name = HeaderValue::try_from(name).map_err(|_| BlobError::io("a name that cannot be sent"))?;
    headers.insert(COPY_SOURCE, name);
    Ok(())
}

/// The ETag in the answer to a copy.
fn etag_in(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let (_, rest) = text.split_once("<ETag>")?;
    let (etag, _) = rest.split_once("</ETag>")?;
    Some(unquoted(&etag.replace("&quot;", "\"").replace("&#34;", "\""))).filter(|etag| !etag.is_empty())
}

impl From<BlobError> for Failed {
    fn from(error: BlobError) -> Self {
        Self::Error(error)
    }
}

//! One bucket with its client: the calls that the rest of this folder is made of.

use std::time::Duration;

use bytes::Bytes;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::signer::{SignedUrlOptions, Signer};
use object_store::{Attribute, Attributes, GetOptions, ObjectStore, ObjectStoreExt, RetryConfig};
use redrive_model::{Timestamp, instant};
use reqwest::Method;

use super::memory::Memory;
use super::refusal::{Failed, Refusal, failed, root_cause};
use super::settings::S3Settings;
use super::wire;
use crate::Result;
use crate::blobs::Head;
use crate::digest::Sha256;
use crate::error::{Act, BlobError};
use crate::key::Key;

/// The metadata under which an object's hash is kept.
const HASH: &str = "sha256";
/// How long a signed URL of our own is good for: it is used at once.
pub(super) const SIGNED_FOR: Duration = Duration::from_secs(300);

/// A bucket.
#[derive(Debug)]
pub(super) struct Bucket {
    pub(super) store: AmazonS3,
    pub(super) settings: S3Settings,
    /// What its uploads may hold.
    pub(super) memory: Memory,
    pub(super) http: reqwest::Client,
}

/// What a bucket says about an object.
pub(super) struct Object {
    pub(super) head: Head,
    pub(super) etag: Option<String>,
}

impl Bucket {
    pub(super) fn new(settings: S3Settings) -> Result<Self> {
        settings.check()?;
        let http = wire::client(&settings)?;
        let mut builder = AmazonS3Builder::new();
        for (key, value) in &settings.vars {
            builder = builder.with_config(*key, value);
        }
        if let Some(endpoint) = &settings.endpoint {
            builder = builder.with_endpoint(endpoint.trim_end_matches('/'));
        }
        let store = builder
            .with_bucket_name(&settings.bucket)
            .with_allow_http(true)
            .with_disable_bulk_delete(true)
            .with_disable_tagging(true)
            // One retry loop: the engine's.
            .with_retry(RetryConfig { max_retries: 0, ..RetryConfig::default() })
            .with_http_connector(wire::Connector(http.clone()))
            .build()
            .map_err(|e| BlobError::settings(root_cause(&e)))?;
        let memory = Memory::new(settings.memory_bytes, settings.part_bytes);
        Ok(Self { store, settings, memory, http })
    }

    /// The object of a key.
    pub(super) fn path(&self, key: &Key) -> Result<Path> {
        self.own_path(key.as_str())
    }

    /// An object of our own, or of a key.
    pub(super) fn own_path(&self, name: &str) -> Result<Path> {
        let object = self.settings.object(name);
        Path::parse(&object).map_err(|_| BlobError::settings(format!("{object} is no name of an object")))
    }

    pub(super) async fn head(&self, key: &Key, act: Act) -> Result<Option<Object>> {
        let options = GetOptions { head: true, ..GetOptions::default() };
        match self.store.get_opts(&self.path(key)?, options).await {
            Ok(answer) => Ok(Some(object(answer.meta, &answer.attributes))),
            Err(e) => match BlobError::from(failed(act, Some(key), e)) {
                BlobError::NotFound { .. } => Ok(None),
                error => Err(error),
            },
        }
    }

    pub(super) async fn remove(&self, path: &Path) -> Result<()> {
        match self.store.delete(path).await.map_err(|e| failed(Act::Delete, None, e)) {
            Ok(()) => Ok(()),
            Err(Failed::Condition) => Ok(()),
            Err(Failed::Error(error)) => Err(error),
        }
    }

    /// A GET on the bucket itself with these parameters; the answer is an XML document.
    pub(super) async fn ask(&self, query: &[(&str, &str)]) -> Result<Bytes> {
        let away = |e: reqwest::Error| BlobError::Unavailable {
            act: Act::List,
            timeout: e.is_timeout(),
            retry_after: None,
            reason: root_cause(&e.without_url()),
        };
        let options = SignedUrlOptions::new().with_query(query.iter().copied());
        let url = self.store.signed_url_opts(Method::GET, &Path::ROOT, SIGNED_FOR, &options).await;
        let url = url.map_err(|e| BlobError::from(failed(Act::List, None, e)))?;
        let response = self.http.get(url).send().await.map_err(away)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await.map_err(away)?;
        if status.is_success() {
            return Ok(body);
        }
        Err(Refusal::new(status.as_u16(), &headers, &body).means(Act::List, None).into())
    }
}

/// The metadata of an object that we put.
pub(super) fn attributes(sha256: &Sha256) -> Attributes {
    Attributes::from_iter([(Attribute::Metadata(HASH.into()), sha256.to_string())])
}

/// What an answer says about its object.
pub(super) fn object(meta: object_store::ObjectMeta, attributes: &Attributes) -> Object {
    let sha256 = attributes.get(&Attribute::Metadata(HASH.into())).and_then(|text| Sha256::parse(text));
    let modified = modified(meta.last_modified.timestamp_millis());
    Object { head: Head { bytes: meta.size, sha256, modified }, etag: meta.e_tag }
}

fn modified(ms: i64) -> Timestamp {
    instant::from_millis(ms)
}

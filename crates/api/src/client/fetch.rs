//! Manifests and their batches.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use reqwest::header::{ACCEPT, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use reqwest::{Body, Method};
use serde::Serialize;

use super::upload::stream;
use super::{Client, Download, QUICK, Result, read};
use crate::{FetchList, FetchReply, FetchResources, FetchSnapshot};

/// A manifest and its answer take no longer than this.
const LONG: Duration = Duration::from_secs(3_600);

/// How a manifest is written and packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ManifestShape {
    /// One resource a line, instead of one document.
    pub ndjson: bool,
    /// Packed with gzip.
    pub gzip: bool,
}

/// Which resources of a batch are asked for.
#[derive(Debug, Clone, Default, Serialize)]
pub struct WantedResources {
    /// Only in these shown states, with commas between them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// At most so many on a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Where the page before ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl Client {
    /// Hands in a manifest that streams. With a key the same manifest again is the same batch.
    pub async fn fetch<S, E>(&self, body: S, shape: ManifestShape, key: Option<&str>) -> Result<FetchReply>
    where
        S: Stream<Item = Result<Bytes, E>> + Send + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
    {
        self.hand_in(Body::wrap_stream(body), None, shape, key).await
    }

    /// Hands in a manifest from a file, which is never held whole.
    pub async fn fetch_file(
        &self,
        file: &Path,
        shape: ManifestShape,
        key: Option<&str>,
    ) -> Result<FetchReply> {
        let opened = std::fs::File::open(file)?;
        let length = opened.metadata()?.len();
        self.hand_in(stream(opened), Some(length), shape, key).await
    }

    async fn hand_in(
        &self,
        body: Body,
        length: Option<u64>,
        shape: ManifestShape,
        key: Option<&str>,
    ) -> Result<FetchReply> {
        let media = if shape.ndjson { "application/x-ndjson" } else { "application/json" };
        let mut request = self.request(Method::POST, &["api", "fetch"]).header(CONTENT_TYPE, media);
        if shape.gzip {
            request = request.header(CONTENT_ENCODING, "gzip");
        }
        if let Some(length) = length {
            request = request.header(CONTENT_LENGTH, length);
        }
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        read(self.send(request.body(body).timeout(LONG)).await?).await
    }

    /// One page of batches, newest first: one's own, for operators all.
    pub async fn batches(&self, limit: Option<usize>, cursor: Option<&str>) -> Result<FetchList> {
        let wanted = WantedResources { limit, cursor: cursor.map(str::to_owned), ..Default::default() };
        let request = self.request(Method::GET, &["api", "fetch"]).query(&wanted).timeout(QUICK);
        read(self.send(request).await?).await
    }

    /// How a batch is.
    pub async fn batch(&self, id: &str) -> Result<FetchSnapshot> {
        self.get(&["api", "fetch", id]).await
    }

    /// One page of its resources.
    pub async fn resources(&self, id: &str, wanted: &WantedResources) -> Result<FetchResources> {
        let request = self.request(Method::GET, &["api", "fetch", id, "resources"]).query(wanted);
        read(self.send(request.timeout(QUICK)).await?).await
    }

    /// A manifest of what is not stored, its body still to be read: as NDJSON, as a document, or as fits.
    pub async fn missing(&self, id: &str, ndjson: Option<bool>) -> Result<Download> {
        let mut request = self.request(Method::GET, &["api", "fetch", id, "missing"]);
        match ndjson {
            Some(true) => request = request.header(ACCEPT, "application/x-ndjson"),
            Some(false) => request = request.header(ACCEPT, "application/json"),
            None => {}
        }
        Ok(Download(self.send(request).await?))
    }

    /// Starts what failed of a batch again; it opens soon after.
    pub async fn retry_batch(&self, id: &str) -> Result<FetchSnapshot> {
        let request = self.request(Method::POST, &["api", "fetch", id, "retry"]).timeout(QUICK);
        read(self.send(request).await?).await
    }

    /// Stops what has not ended of a batch; it ends soon after.
    pub async fn cancel_batch(&self, id: &str) -> Result<FetchSnapshot> {
        let request = self.request(Method::POST, &["api", "fetch", id, "cancel"]).timeout(QUICK);
        read(self.send(request).await?).await
    }
}

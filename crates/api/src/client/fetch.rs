//! Manifests and their batches.

use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, TryStreamExt};
use reqwest::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
use reqwest::{Body, Method};

use super::{Client, Download, QUICK, Result, read};
use crate::{FetchReply, FetchResources, FetchSnapshot, Status};

/// A manifest of a million lines and its answer take no longer than this.
const LONG: Duration = Duration::from_secs(3_600);
/// One resource a line.
const NDJSON: &str = "application/x-ndjson";

impl Client {
    /// Hands in a manifest of this type, as it streams. The same key and manifest again are the same batch.
    pub async fn fetch<E>(
        &self,
        manifest: impl Stream<Item = std::result::Result<Bytes, E>> + Send + 'static,
        content_type: &str,
        gzip: bool,
        idempotency_key: Option<&str>,
    ) -> Result<FetchReply>
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        let body = Body::wrap_stream(manifest.map_err(Box::<dyn std::error::Error + Send + Sync>::from));
        let mut request = self.request(Method::POST, &["api", "fetch"]).header(CONTENT_TYPE, content_type);
        if gzip {
            request = request.header(CONTENT_ENCODING, "gzip");
        }
        if let Some(key) = idempotency_key {
            request = request.header("idempotency-key", key);
        }
        read(self.send(request.body(body).timeout(LONG)).await?).await
    }

    /// How a batch is.
    pub async fn fetch_snapshot(&self, id: &str) -> Result<FetchSnapshot> {
        self.get(&["api", "fetch", id]).await
    }

    /// One page of a batch's resources in these states, or in any.
    pub async fn fetch_resources(
        &self,
        id: &str,
        states: &[&str],
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<FetchResources> {
        let mut query = vec![("limit", limit.to_string())];
        if !states.is_empty() {
            query.push(("status", states.join(",")));
        }
        query.extend(cursor.map(|cursor| ("cursor", cursor.to_owned())));
        let request = self.request(Method::GET, &["api", "fetch", id, "resources"]).query(&query);
        read(self.send(request.timeout(QUICK)).await?).await
    }

    /// A manifest of what is not stored, one resource a line, its body still to be read.
    pub async fn fetch_missing(&self, id: &str) -> Result<Download> {
        let request = self.request(Method::GET, &["api", "fetch", id, "missing"]).header(ACCEPT, NDJSON);
        Ok(Download(self.send(request).await?))
    }

    /// Stops what has not ended of a batch; done soon after this answers.
    pub async fn fetch_cancel(&self, id: &str) -> Result<()> {
        let request = self.request(Method::POST, &["api", "fetch", id, "cancel"]).timeout(QUICK);
        self.send(request).await.map(drop)
    }

    /// How everything is.
    pub async fn status(&self) -> Result<Status> {
        self.get(&["api", "status"]).await
    }
}

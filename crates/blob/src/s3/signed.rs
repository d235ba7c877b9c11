//! Calls that `object_store` does not make: with headers that it does not know, and with all headers of the answer.
//!
//! Its signer signs them. Refusals are told apart like all others, and nothing is retried.

use bytes::Bytes;
use object_store::path::Path;
use object_store::signer::{SignedUrlOptions, Signer};
use reqwest::header::HeaderMap;
use reqwest::{Method, Response};

use super::bucket::{Bucket, SIGNED_FOR};
use super::refusal::{Failed, Refusal, failed, root_cause};
use crate::error::{Act, BlobError};
use crate::key::Key;

/// One call on one object.
pub(super) struct Call<'a> {
    pub(super) method: Method,
    pub(super) path: &'a Path,
    pub(super) headers: HeaderMap,
    pub(super) act: Act,
    /// What it is called in errors.
    pub(super) key: Option<&'a Key>,
}

impl Call<'_> {
    /// Makes it; the body of the answer is still to come.
    pub(super) async fn send(self, bucket: &Bucket) -> Result<Response, Failed> {
        let mut options = SignedUrlOptions::new();
        for (name, value) in &self.headers {
            options = options.with_signed_header(name.clone(), value.clone());
        }
        let url = bucket.store.signed_url_opts(self.method.clone(), self.path, SIGNED_FOR, &options).await;
        let url = url.map_err(|e| failed(self.act, self.key, e))?;
        let request = bucket.http.request(self.method.clone(), url).headers(self.headers);
        // A PUT without a body must say so.
        let request = if self.method == Method::PUT { request.body(Bytes::new()) } else { request };
        let response = request.send().await.map_err(|e| Failed::Error(away(self.act, e)))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = document(self.act, response).await?;
        Err(Refusal::new(status, &headers, &body).means(self.act, self.key))
    }

    /// Makes it and reads the answer, which may be an error in spite of its status: copies answer early and tell later.
    pub(super) async fn send_for_document(self, bucket: &Bucket) -> Result<Bytes, Failed> {
        let (act, key) = (self.act, self.key);
        let response = self.send(bucket).await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = document(act, response).await?;
        if body.windows(7).any(|window| window == b"<Error>") {
            return Err(Refusal::new(status, &headers, &body).means(act, key));
        }
        Ok(body)
    }
}

async fn document(act: Act, response: Response) -> Result<Bytes, Failed> {
    response.bytes().await.map_err(|e| Failed::Error(away(act, e)))
}

/// The connection failed.
pub(super) fn away(act: Act, e: reqwest::Error) -> BlobError {
    let timeout = e.is_timeout();
    BlobError::Unavailable { act, timeout, retry_after: None, reason: root_cause(&e.without_url()) }
}

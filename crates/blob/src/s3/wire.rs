//! The HTTP client below `object_store`: one TLS provider, no retries, no redirects, no proxy of the environment.
//!
//! It stands between the two for three reasons. `object_store` keeps `Retry-After` and error codes to itself, so every
//! answer that is no success becomes a [`Refusal`] here. A multipart upload can be completed create-only, but only by
//! a header that its API does not offer. And a completion may answer 200 with an error in its body.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures::TryStreamExt;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use reqwest::Method;
use reqwest::header::{HeaderValue, IF_MATCH, IF_NONE_MATCH};
use rustls_platform_verifier::BuilderVerifierExt;

use super::refusal::Refusal;
use super::settings::S3Settings;
use crate::Result;
use crate::error::BlobError;

/// So much of an error document is read.
const MAX_DOCUMENT: usize = 64 * 1024;
/// Every signed request to a bucket carries it; requests for credentials do not.
const SIGNED: &str = "x-amz-content-sha256";

/// What must hold for a write to happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Condition {
    /// Nothing is there.
    Absent,
    /// What is there is still this.
    Unchanged(String),
    /// Nothing.
    Any,
}

tokio::task_local! {
    /// The condition of the multipart completion that the current task makes.
    pub(super) static COMPLETION: Condition;
}

/// Makes the one client.
pub(super) fn client(settings: &S3Settings) -> Result<reqwest::Client> {
    let plain = settings.endpoint.as_deref().is_some_and(|endpoint| endpoint.starts_with("http://"));
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls(plain)?)
        .connect_timeout(settings.connect_timeout)
        .read_timeout(settings.read_timeout)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
        .https_only(false)
        .http1_only()
        .user_agent(concat!("redrive/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|e| BlobError::settings(format!("no HTTP client: {}", e.without_url())))
}

/// TLS by ring, trusting what the machine trusts. An endpoint without TLS works on a machine without certificates.
fn tls(plain: bool) -> Result<rustls::ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = || {
        rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|e| BlobError::settings(format!("no TLS: {e}")))
    };
    match builder()?.with_platform_verifier() {
        Ok(trusting) => Ok(trusting.with_no_client_auth()),
        Err(_) if plain => {
            Ok(builder()?.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
        }
        Err(e) => Err(BlobError::settings(format!("this machine has no certificates to trust: {e}"))),
    }
}

/// Hands the client to `object_store`.
#[derive(Debug)]
pub(super) struct Connector(pub(super) reqwest::Client);

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Wire(self.0.clone())))
    }
}

#[derive(Debug)]
struct Wire(reqwest::Client);

#[async_trait]
impl HttpService for Wire {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let ours = request.headers().contains_key(SIGNED);
        let completion = completes(&request);
        if completion {
            condition(&mut request)?;
        }
        let response = HttpService::call(&self.0, request).await?;
        let status = response.status();
        if !ours || (status.is_success() && !completion) {
            return Ok(response);
        }
        let (parts, body) = response.into_parts();
        let body = document(body).await?;
        if !status.is_success() || contains(&body, b"<Error>") {
            let refusal = Refusal::new(status.as_u16(), &parts.headers, &body);
            return Err(HttpError::new(HttpErrorKind::Unknown, refusal));
        }
        Ok(HttpResponse::from_parts(parts, HttpResponseBody::from(body)))
    }
}

/// Whether a request completes a multipart upload: the only POST that names one.
fn completes(request: &HttpRequest) -> bool {
    request.method() == Method::POST && request.uri().query().is_some_and(|query| query.contains("uploadId="))
}

fn condition(request: &mut HttpRequest) -> Result<(), HttpError> {
    let headers = request.headers_mut();
    match COMPLETION.try_with(Clone::clone).unwrap_or(Condition::Any) {
        Condition::Absent => {
            headers.insert(IF_NONE_MATCH, HeaderValue::from_static("*"));
        }
        Condition::Unchanged(etag) => {
            let etag = HeaderValue::try_from(etag).map_err(|e| HttpError::new(HttpErrorKind::Unknown, e))?;
            headers.insert(IF_MATCH, etag);
        }
        Condition::Any => {}
    }
    Ok(())
}

/// The beginning of a short document.
async fn document(body: HttpResponseBody) -> Result<Bytes, HttpError> {
    let mut stream = body.bytes_stream();
    let mut document = BytesMut::new();
    while let Some(chunk) = stream.try_next().await? {
        document.extend_from_slice(&chunk);
        if document.len() >= MAX_DOCUMENT {
            document.truncate(MAX_DOCUMENT);
            break;
        }
    }
    Ok(document.freeze())
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

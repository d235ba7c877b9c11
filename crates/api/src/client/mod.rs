//! A client of the API: the same types that the server answers with, and every refusal as a [`ClientError`].
//!
//! It never retries and never follows a redirect, uses no proxy of the environment, and keeps the session's cookie itself. No error
//! holds a URL: it may hold a password.

mod dead;
mod desk;
mod digest;
mod error;
mod events;
mod fetch;
mod intake;
mod replays;
mod tokens;
mod upload;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HeaderMap, HeaderValue, SET_COOKIE};
use reqwest::{Method, RequestBuilder, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Url;

use crate::{Explanation, Job, JobList, JobReply, Mapping, Status};

pub use error::ClientError;
pub use events::Events;
pub use fetch::{ManifestShape, WantedResources};

/// What every call answers.
pub type Result<T, E = ClientError> = std::result::Result<T, E>;

/// To be answered at all takes no longer than this.
const CONNECT: Duration = Duration::from_secs(5);
/// A plain question takes no longer than this; uploads, downloads and the event stream take their time.
const QUICK: Duration = Duration::from_secs(30);
/// The largest answer that is held in memory.
const ANSWER_BYTES: usize = 64 << 20;

/// A client of one server. Clones share their session.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    bearer: Option<HeaderValue>,
    cookie: Arc<Mutex<Option<HeaderValue>>>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

/// Which jobs are asked for.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Wanted {
    /// Only this kind of job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Only the members of this batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<String>,
    /// With the members of all batches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub members: Option<bool>,
    /// Only in these shown states, with commas between them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Only failed with this code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Only with this text in the file name, or with this id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// Only created at or after this instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Only ended at or after this instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_since: Option<String>,
    /// Only those that depend on this target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Only those that this worker holds now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// At most so many on a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Where the page before ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl Client {
    /// A client of the server at this address, as an operator when there is a token. Nothing is asked yet.
    pub fn new(base: Url, token: Option<&str>) -> Result<Self> {
        // One provider of TLS in the whole program; whoever was first has installed the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT)
            .build()
            .map_err(ClientError::unreachable)?;
        let bearer = token.map(|token| HeaderValue::from_str(&format!("Bearer {token}"))).transpose();
        let mut bearer = bearer.map_err(|_| ClientError::Token)?;
        if let Some(bearer) = &mut bearer {
            bearer.set_sensitive(true);
        }
        Ok(Self { http, base, bearer, cookie: Arc::default() })
    }

    /// Whether the server answers.
    pub async fn ready(&self) -> Result<()> {
        self.send(self.request(Method::GET, &["readyz"]).timeout(CONNECT)).await.map(drop)
    }

    /// How everything is.
    pub async fn status(&self) -> Result<Status> {
        self.get(&["api", "status"]).await
    }

    /// What it can make, the default first.
    pub async fn mappings(&self) -> Result<Vec<Mapping>> {
        self.get(&["api", "mappings"]).await
    }

    /// One page of jobs, newest first: one's own, for operators all.
    pub async fn jobs(&self, wanted: &Wanted) -> Result<JobList> {
        let request = self.request(Method::GET, &["api", "jobs"]).query(wanted).timeout(QUICK);
        read(self.send(request).await?).await
    }

    /// One job.
    pub async fn job(&self, id: &str) -> Result<Job> {
        self.get(&["api", "jobs", id]).await
    }

    /// Why a job is where it is, and what comes next.
    pub async fn explain(&self, id: &str) -> Result<Explanation> {
        self.get(&["api", "jobs", id, "explain"]).await
    }

    /// Starts a failed job again.
    pub async fn retry(&self, id: &str) -> Result<Job> {
        self.act(id, "retry").await
    }

    /// Stops a job.
    pub async fn cancel(&self, id: &str) -> Result<Job> {
        self.act(id, "cancel").await
    }

    /// A result, its body still to be read.
    pub async fn download(&self, id: &str) -> Result<Download> {
        let response = self.send(self.request(Method::GET, &["api", "jobs", id, "download"])).await?;
        Ok(Download(response))
    }

    async fn act(&self, id: &str, verb: &str) -> Result<Job> {
        let request = self.request(Method::POST, &["api", "jobs", id, verb]).timeout(QUICK);
        read::<JobReply>(self.send(request).await?).await.map(|reply| reply.job)
    }

    /// Acts at a path and says why.
    async fn tell<T: DeserializeOwned>(&self, path: &[&str], body: &impl Serialize) -> Result<T> {
        let request = self.request(Method::POST, path).timeout(QUICK);
        read(self.send(with_json(request, body)?).await?).await
    }

    async fn get<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T> {
        read(self.send(self.request(Method::GET, path).timeout(QUICK)).await?).await
    }

    /// A request to a path; what people typed is a segment of it and never more.
    fn request(&self, method: Method, path: &[&str]) -> RequestBuilder {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            // A URL has no such segments: it would be another one.
            let typed = path.iter().map(|part| if matches!(*part, "." | ".." | "") { "\0" } else { part });
            segments.pop_if_empty().extend(typed);
        }
        let mut headers = HeaderMap::new();
        if let Some(bearer) = &self.bearer {
            headers.insert(AUTHORIZATION, bearer.clone());
        }
        if let Some(cookie) = &*self.cookie.lock().unwrap_or_else(PoisonError::into_inner) {
            headers.insert(COOKIE, cookie.clone());
        }
        self.http.request(method, url).headers(headers)
    }

    /// Sends, keeps the session's cookie, and turns a refusal into an error.
    async fn send(&self, request: RequestBuilder) -> Result<Response> {
        let response = request.send().await.map_err(ClientError::unreachable)?;
        let set = response.headers().get(SET_COOKIE).and_then(|value| value.to_str().ok());
        let pair =
            set.and_then(|set| set.split(';').next()).and_then(|pair| HeaderValue::from_str(pair).ok());
        if let Some(mut pair) = pair {
            pair.set_sensitive(true);
            *self.cookie.lock().unwrap_or_else(PoisonError::into_inner) = Some(pair);
        }
        if response.status().is_success() { Ok(response) } else { Err(error::refused(response).await) }
    }
}

/// A result that is on its way.
#[derive(Debug)]
pub struct Download(Response);

impl Download {
    /// The next piece; nothing at the end.
    pub async fn chunk(&mut self) -> Result<Option<bytes::Bytes>> {
        self.0.chunk().await.map_err(ClientError::unreachable)
    }

    /// The hash that the server knows it by, without its marks.
    #[must_use]
    pub fn etag(&self) -> Option<String> {
        let tag = self.0.headers().get(reqwest::header::ETAG)?.to_str().ok()?;
        Some(tag.trim_matches('"').to_owned())
    }
}

/// The request with a body of JSON.
fn with_json(request: RequestBuilder, body: &impl Serialize) -> Result<RequestBuilder> {
    let body = serde_json::to_vec(body).map_err(|error| ClientError::Answer(error.to_string()))?;
    Ok(request.header(CONTENT_TYPE, "application/json").body(body))
}

async fn read<T: DeserializeOwned>(response: Response) -> Result<T> {
    let bytes = body(response).await?;
    serde_json::from_slice(&bytes).map_err(|error| ClientError::Answer(error.to_string()))
}

async fn body(mut response: Response) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(ClientError::unreachable)? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > ANSWER_BYTES {
            return Err(ClientError::Answer("it does not end".to_owned()));
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_typed_stays_a_segment_of_its_own() {
        let client = Client::new("http://127.0.0.1:1/below/".parse().unwrap(), None).unwrap();
        let path = |typed: &str| {
            let request = client.request(Method::POST, &["api", "jobs", typed, "cancel"]).build().unwrap();
            request.url().path().to_owned()
        };
        assert_eq!(path("019a"), "/below/api/jobs/019a/cancel");
        assert_eq!(path("a/../b?c#d"), "/below/api/jobs/a%2F..%2Fb%3Fc%23d/cancel");
        // `/api/jobs/cancel` is something else altogether.
        for nothing in ["", ".", ".."] {
            assert_eq!(path(nothing), "/below/api/jobs/%00/cancel", "{nothing:?}");
        }
        assert_eq!(path("%2e%2e"), "/below/api/jobs/%252e%252e/cancel");
    }
}

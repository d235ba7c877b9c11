//! The client: one PDF out, one answer in, every refusal told by a code.
//!
//! It never retries and never follows a redirect; it uses no proxy of the environment. The whole call, to the last byte of the
//! answer, has one deadline.

use std::time::Duration;

use redrive_engine::model::pdf::Properties;
use redrive_engine::{Code, Failure};
use reqwest::header::{ACCEPT, HeaderName, HeaderValue};
use reqwest::multipart::{Form, Part};
use reqwest::{RequestBuilder, redirect};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use url::Url;

use crate::answer::Answer;
use crate::refusal;
use crate::source::{Outgoing, Source};

/// The target that the breaker of everything that asks a gateway watches.
pub const TARGET: &str = "gateway";

/// The largest list, or description of a file, that is read.
const JSON_BYTES: u64 = 1 << 20;

/// A quick question, such as the list of mappings, takes no longer than this.
const QUICK: Duration = Duration::from_secs(5);

/// Where the gateway is, and how much of it is borne.
#[derive(Debug, Clone)]
pub struct GatewayOptions {
    /// Its base, such as `http://127.0.0.1:8090`.
    pub url: Url,
    /// From the first byte out to the last byte in.
    pub timeout: Duration,
    /// The largest answer.
    pub max_response: u64,
}

/// Why there can be no client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// The URL is not one of http or https.
    #[error("GATEWAY_URL must begin with http:// or https://")]
    Scheme,
    /// The client could not be made.
    #[error("no HTTP client: {0}")]
    Client(#[source] reqwest::Error),
}

/// One mapping of the gateway's list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    /// What is asked for.
    pub name: String,
    /// What people read.
    #[serde(default)]
    pub title: String,
    /// Where its schema is.
    #[serde(default)]
    pub schema: Option<String>,
    /// What it gives.
    #[serde(default)]
    pub media_type: Option<String>,
}

/// One call.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// Which mapping.
    pub mapping: &'a str,
    /// A range of pages from 1, where not all are wanted.
    pub pages: Option<(u32, u32)>,
    /// The same for every call that is made for the same thing.
    pub idempotency_key: &'a str,
}

/// The client. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Gateway {
    options: GatewayOptions,
    http: reqwest::Client,
}

impl Gateway {
    /// A client for this gateway. Nothing is called yet.
    pub fn new(options: GatewayOptions) -> Result<Self, GatewayError> {
        if !matches!(options.url.scheme(), "http" | "https") {
            return Err(GatewayError::Scheme);
        }
        // One provider of TLS in the whole program; whoever was first has installed the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .connect_timeout(QUICK.min(options.timeout))
            .build()
            .map_err(GatewayError::Client)?;
        Ok(Self { options, http })
    }

    /// Sends a PDF. The answer's body is still to be read, under the same deadline.
    pub async fn process(&self, pdf: impl Into<Outgoing>, ask: Ask<'_>) -> Result<Answer, Failure> {
        let mut form = Form::new().text("mapping", ask.mapping.to_owned());
        if let Some((first, last)) = ask.pages {
            form = form.text("pages", format!("{first}-{last}"));
        }
        let request = self.http.post(self.at("process"));
        let mut request = request.header(ACCEPT, HeaderValue::from_static("application/xml"));
        if let Ok(key) = HeaderValue::from_str(ask.idempotency_key) {
            request = request.header(HeaderName::from_static("idempotency-key"), key);
        }
        self.send(request, form, pdf.into(), self.options.max_response).await
    }

    /// Asks what kind of file a PDF is, without converting it.
    pub async fn inspect(&self, pdf: impl Into<Outgoing>) -> Result<Properties, Failure> {
        let request = self.http.post(self.at("inspect"));
        json(self.send(request, Form::new(), pdf.into(), JSON_BYTES).await?).await
    }

    /// What it can make, the default first.
    pub async fn mappings(&self) -> Result<Vec<Mapping>, Failure> {
        let asked = self.http.get(self.at("mappings")).send();
        let response = match tokio::time::timeout(QUICK, asked).await {
            Ok(answered) => answered.map_err(refusal::of_error)?,
            Err(_) => return Err(refusal::too_slow(QUICK)),
        };
        let answer = Answer::new(response, Instant::now() + QUICK, QUICK, JSON_BYTES);
        if answer.status() != 200 {
            return Err(refusal::of_answer(answer).await);
        }
        json(answer).await
    }

    /// Sends a form with a PDF behind it, and answers with what is no refusal.
    async fn send(
        &self,
        request: RequestBuilder,
        form: Form,
        pdf: Outgoing,
        most: u64,
    ) -> Result<Answer, Failure> {
        let deadline = Instant::now() + self.options.timeout;
        let (source, body, length) = Source::of(pdf);
        let file = Part::stream_with_length(body, length)
            .file_name("source.pdf")
            .mime_str("application/pdf")
            .map_err(|error| Failure::new(Code::SystemInternal, error))?;
        let sent = tokio::time::timeout_at(deadline, request.multipart(form.part("file", file)).send()).await;
        if let Some(failure) = source.failure() {
            return Err(failure);
        }
        let response = match sent {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(refusal::of_error(error)),
            Err(_) => return Err(refusal::too_slow(self.options.timeout)),
        };
        let answer = Answer::new(response, deadline, self.options.timeout, most);
        if answer.status() == 200 { Ok(answer) } else { Err(refusal::of_answer(answer).await) }
    }

    fn at(&self, path: &str) -> Url {
        let mut url = self.options.url.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().push(path);
        }
        url
    }
}

async fn json<T: DeserializeOwned>(mut answer: Answer) -> Result<T, Failure> {
    let mut json = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        json.extend_from_slice(&chunk);
    }
    serde_json::from_slice(&json).map_err(|error| Failure::new(Code::GwBadResponse, error))
}

//! A client that keeps its cookie, as a browser does.

use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{COOKIE, HeaderMap, SET_COOKIE};
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

use super::eventually;

/// What came back.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The status and the code of a problem.
    pub(crate) fn problem(&self) -> (u16, String) {
        let json = self.json();
        assert_eq!(json["status"], self.status, "{json}");
        (self.status, json["code"].as_str().unwrap_or_else(|| panic!("{json}")).to_owned())
    }

    pub(crate) fn job_id(&self) -> String {
        self.json()["job"]["id"].as_str().unwrap_or_else(|| panic!("{}", self.text())).to_owned()
    }
}

/// One browser. Its copies share its cookie.
#[derive(Debug, Clone)]
pub(crate) struct Browser {
    http: reqwest::Client,
    url: String,
    cookie: Arc<Mutex<Option<String>>>,
}

static TLS: Once = Once::new();

impl Browser {
    pub(crate) fn new(address: &str) -> Self {
        TLS.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { http, url: format!("http://{address}"), cookie: Arc::default() }
    }

    /// The same person after the server has come back, perhaps elsewhere.
    pub(crate) fn at(&self, address: &str) -> Self {
        let cookie = Arc::new(Mutex::new(self.cookie()));
        Self { cookie, ..Self::new(address) }
    }

    pub(crate) fn cookie(&self) -> Option<String> {
        self.cookie.lock().unwrap().clone()
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> RequestBuilder {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = self.http.request(method, format!("{}{path}", self.url));
        match self.cookie() {
            Some(cookie) => request.header(COOKIE, cookie),
            None => request,
        }
    }

    /// Sends it; an error when there is no whole answer.
    pub(crate) async fn try_send(&self, request: RequestBuilder) -> reqwest::Result<Answer> {
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        if let Some(cookie) = headers.get(SET_COOKIE) {
            let pair = cookie.to_str().unwrap().split(';').next().unwrap();
            *self.cookie.lock().unwrap() = Some(pair.to_owned());
        }
        Ok(Answer { status, headers, body: response.bytes().await?.to_vec() })
    }

    pub(crate) async fn send(&self, request: RequestBuilder) -> Answer {
        self.try_send(request).await.unwrap()
    }

    /// Looks, and comes again when it is told to.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        loop {
            let answer = self.send(self.request("GET", path)).await;
            match answer.status {
                429 => tokio::time::sleep(Duration::from_millis(200)).await,
                _ => return answer,
            }
        }
    }

    pub(crate) async fn post(&self, path: &str) -> Answer {
        self.send(self.request("POST", path)).await
    }

    /// The request of an upload.
    pub(crate) fn upload_request(&self, bytes: &[u8], mapping: Option<&str>) -> RequestBuilder {
        self.request("POST", "/api/upload")
            .header("content-type", "multipart/form-data; boundary=XX")
            .body(form(bytes, mapping))
    }

    pub(crate) async fn upload(&self, bytes: &[u8]) -> Answer {
        self.send(self.upload_request(bytes, None)).await
    }

    /// Uploads what must be taken; answers the job.
    #[track_caller]
    pub(crate) fn hand_in(&self, bytes: &[u8]) -> impl Future<Output = String> {
        let caller = std::panic::Location::caller();
        let sending = self.upload_request(bytes, None);
        async move {
            let answer = self.send(sending).await;
            assert_eq!(answer.status, 201, "{caller}: {}", answer.text());
            answer.job_id()
        }
    }

    pub(crate) async fn job(&self, id: &str) -> Value {
        let answer = self.get(&format!("/api/jobs/{id}")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    /// Waits until people see the job so.
    #[track_caller]
    pub(crate) fn until(&self, id: &str, status: &str) -> impl Future<Output = Value> {
        let (id, status) = (id.to_owned(), status.to_owned());
        eventually(format!("{id} to be {status}"), async move || {
            let job = self.job(&id).await;
            let here = job["status"] == status.as_str();
            let end = matches!(job["status"].as_str(), Some("complete" | "failed" | "cancelled"));
            assert!(here || !end, "{id} is not {status}: {job:#}");
            here.then_some(job)
        })
    }

    pub(crate) async fn attempts(&self, id: &str) -> Vec<Value> {
        let answer = self.get(&format!("/api/jobs/{id}/attempts")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json().as_array().unwrap().clone()
    }

    /// The names of its transitions, oldest first.
    pub(crate) async fn events(&self, id: &str) -> Vec<String> {
        let json = self.get(&format!("/api/jobs/{id}/events")).await.json();
        json.as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) async fn download(&self, id: &str) -> Answer {
        self.get(&format!("/api/jobs/{id}/download")).await
    }

    pub(crate) async fn retry(&self, id: &str) -> Answer {
        self.post(&format!("/api/jobs/{id}/retry")).await
    }

    /// The breaker of a target as everybody sees it; `Null` while there is none.
    pub(crate) async fn breaker(&self, target: &str) -> Value {
        let status = self.get("/api/status").await.json();
        let breakers = status["breakers"].as_array().unwrap_or_else(|| panic!("{status}"));
        breakers.iter().find(|breaker| breaker["target"] == target).cloned().unwrap_or(Value::Null)
    }
}

/// The body of an upload.
pub(crate) fn form(bytes: &[u8], mapping: Option<&str>) -> Vec<u8> {
    let mut body = Vec::new();
    if let Some(mapping) = mapping {
        body.extend(b"--XX\r\nContent-Disposition: form-data; name=\"mapping\"\r\n\r\n");
        body.extend(mapping.as_bytes());
        body.extend(b"\r\n");
    }
    body.extend(b"--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"paper.pdf\"\r\n\r\n");
    body.extend(bytes);
    body.extend(b"\r\n--XX--\r\n");
    body
}

/// An instant of an answer, in milliseconds.
pub(crate) fn when(value: &Value) -> i64 {
    let text = value.as_str().unwrap_or_else(|| panic!("no instant: {value}"));
    text.parse::<Timestamp>().unwrap().as_millisecond()
}

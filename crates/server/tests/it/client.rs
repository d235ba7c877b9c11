//! A client that keeps its cookie, as a browser does, and goes nowhere by itself.

use reqwest::header::{COOKIE, HeaderMap, HeaderName, HeaderValue, SET_COOKIE};
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

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

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn job_id(&self) -> String {
        self.json()["job"]["id"].as_str().unwrap().to_owned()
    }

    /// The code of a problem, after a look at whether it is a proper one.
    pub(crate) fn code(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{}", self.text());
        let json = self.json();
        assert_eq!(json["status"], self.status);
        let code = json["code"].as_str().unwrap().to_owned();
        assert_eq!(json["type"], format!("/api/failures/{code}"));
        assert_eq!(json["request_id"].as_str(), self.header("x-request-id"));
        for field in ["title", "detail"] {
            assert!(json[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {json}");
        }
        if matches!(self.status, 429 | 503) {
            let seconds: u64 = self.header("retry-after").unwrap().parse().unwrap();
            assert!(seconds >= 1 && json["retry_after_ms"].as_u64().unwrap() >= 1_000);
        }
        code
    }
}

/// One browser.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    url: String,
    pub(crate) cookie: Option<String>,
    token: Option<String>,
}

impl Client {
    pub(crate) fn new(url: &str) -> Self {
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        Self { http, url: url.to_owned(), cookie: None, token: None }
    }

    pub(crate) fn with_token(self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self }
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> RequestBuilder {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = self.http.request(method, format!("{}{path}", self.url));
        let request = match &self.cookie {
            Some(cookie) => request.header(COOKIE, cookie),
            None => request,
        };
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    pub(crate) async fn send(&mut self, request: RequestBuilder) -> Answer {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        if let Some(cookie) = headers.get(SET_COOKIE) {
            let pair = cookie.to_str().unwrap().split(';').next().unwrap();
            self.cookie = Some(pair.to_owned());
        }
        let body = response.bytes().await.unwrap().to_vec();
        Answer { status, headers, body }
    }

    pub(crate) async fn ask(&mut self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let map: HeaderMap = headers
            .iter()
            .map(|(name, value)| {
                (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap())
            })
            .collect();
        self.send(self.request(method, path).headers(map)).await
    }

    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        self.ask("GET", path, &[]).await
    }

    pub(crate) async fn post(&mut self, path: &str) -> Answer {
        self.ask("POST", path, &[]).await
    }

    pub(crate) async fn upload(&mut self, name: &str, bytes: &[u8], mapping: Option<&str>) -> Answer {
        self.upload_with(name, bytes, mapping, &[]).await
    }

    pub(crate) async fn upload_with(
        &mut self,
        name: &str,
        bytes: &[u8],
        mapping: Option<&str>,
        headers: &[(&str, &str)],
    ) -> Answer {
        let mut fields = vec![("file", Some(name), bytes)];
        if let Some(mapping) = mapping {
            fields.push(("mapping", None, mapping.as_bytes()));
        }
        self.form(&fields, headers).await
    }

    pub(crate) async fn form(
        &mut self,
        fields: &[(&str, Option<&str>, &[u8])],
        headers: &[(&str, &str)],
    ) -> Answer {
        let mut request = self
            .request("POST", "/api/upload")
            .header("content-type", "multipart/form-data; boundary=XX")
            .body(form(fields));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request).await
    }
}

/// A body of these fields: name, file name, bytes.
pub(crate) fn form(fields: &[(&str, Option<&str>, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, file, bytes) in fields {
        body.extend(format!("--XX\r\nContent-Disposition: form-data; name=\"{name}\"").as_bytes());
        if let Some(file) = file {
            body.extend(format!("; filename=\"{}\"", file.replace('"', "%22")).as_bytes());
        }
        body.extend(b"\r\n\r\n");
        body.extend(*bytes);
        body.extend(b"\r\n");
    }
    body.extend(b"--XX--\r\n");
    body
}

//! A small S3 that misbehaves when it is told to.
//!
//! It knows just the calls that we make, keeps objects in memory (or only their sizes), counts every call under a short
//! name, and can be told what to do with the n-th call of a kind.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Method, Request, Response};
use bytes::Bytes;
use futures::{StreamExt, stream};

/// So many objects make a page of a list.
const PAGE: usize = 1_000;

/// What happens to one call.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// It is refused with a status, a code, and maybe `Retry-After`.
    Refuse(u16, &'static str, Option<&'static str>),
    /// It is done, and the connection dies before the answer.
    LoseReply,
    /// The connection dies; nothing is done.
    Reset,
    /// The body of the answer ends after so many bytes, though more were promised.
    Cut(usize),
    /// The body of the answer stops after so many bytes and never ends.
    Stall(usize),
    /// Nothing is done, and the answer is 200 with an error document.
    ErrorBody(&'static str),
    /// The object is removed right after the answer is made.
    VanishAfter,
}

/// Which conditions are kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keeps {
    pub(crate) put: bool,
    pub(crate) complete: bool,
}

#[derive(Clone)]
struct Object {
    bytes: Bytes,
    size: usize,
    sha256: Option<String>,
    /// Other user metadata.
    meta: BTreeMap<String, String>,
    etag: String,
}

/// An upload in parts, which have bytes and sizes.
struct Unfinished {
    name: String,
    sha256: Option<String>,
    parts: BTreeMap<u32, (Bytes, usize)>,
}

#[derive(Default)]
struct Inner {
    objects: BTreeMap<String, Object>,
    uploads: HashMap<String, Unfinished>,
    calls: HashMap<String, usize>,
    faults: Vec<(String, usize, Fault)>,
    next: usize,
    /// Whether a copy has an ETag of its own, as with encryption by keys, or after parts.
    reseals: bool,
}

pub(crate) struct Fake {
    pub(crate) url: String,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Clone)]
struct Shared {
    inner: Arc<Mutex<Inner>>,
    keeps: Keeps,
    /// Whether bodies are kept; otherwise they are counted and thrown away.
    hoards: bool,
}

impl Fake {
    pub(crate) async fn start() -> Self {
        Self::keeping(Keeps { put: true, complete: true }).await
    }

    pub(crate) async fn keeping(keeps: Keeps) -> Self {
        Self::with(keeps, true).await
    }

    /// One that throws bodies away.
    pub(crate) async fn forgetful() -> Self {
        Self::with(Keeps { put: true, complete: true }, false).await
    }

    async fn with(keeps: Keeps, hoards: bool) -> Self {
        let inner = Arc::new(Mutex::new(Inner::default()));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Shared { inner: Arc::clone(&inner), keeps, hoards };
        let app = Router::new().fallback(serve).with_state(shared);
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, inner }
    }

    /// Says what to do with the n-th call of a kind from now, counted from 1.
    pub(crate) fn on(&self, call: &str, nth: usize, fault: Fault) {
        let mut inner = self.inner.lock().unwrap();
        let at = inner.calls.get(call).copied().unwrap_or_default() + nth;
        inner.faults.push((call.to_owned(), at, fault));
    }

    pub(crate) fn calls(&self, call: &str) -> usize {
        self.inner.lock().unwrap().calls.get(call).copied().unwrap_or_default()
    }

    pub(crate) fn forget(&self) {
        let mut inner = self.inner.lock().unwrap();
        inner.calls.clear();
        inner.faults.clear();
    }

    pub(crate) fn objects(&self) -> Vec<String> {
        self.inner.lock().unwrap().objects.keys().cloned().collect()
    }

    pub(crate) fn unfinished(&self) -> usize {
        self.inner.lock().unwrap().uploads.len()
    }

    /// From now on a copy has an ETag of its own.
    pub(crate) fn reseal(&self) {
        self.inner.lock().unwrap().reseals = true;
    }

    /// What an object holds.
    pub(crate) fn bytes(&self, name: &str) -> Option<Bytes> {
        self.inner.lock().unwrap().objects.get(name).map(|object| object.bytes.clone())
    }

    /// Puts an object past our code, under whatever name.
    pub(crate) fn plant(&self, name: &str, bytes: &'static [u8]) {
        self.plant_as(name, bytes, None);
    }

    /// Puts an object whose metadata says this hash.
    pub(crate) fn plant_as(&self, name: &str, bytes: &'static [u8], sha256: Option<String>) {
        let object = Object {
            bytes: bytes.into(),
            size: bytes.len(),
            sha256,
            meta: BTreeMap::new(),
            etag: "\"planted\"".into(),
        };
        self.inner.lock().unwrap().objects.insert(name.to_owned(), object);
    }
}

fn call_of(method: &Method, query: &str, headers: &HeaderMap) -> &'static str {
    let has = |name: &str| query.split('&').any(|pair| pair.split('=').next() == Some(name));
    match method.as_str() {
        "PUT" if has("partNumber") => "PART",
        "PUT" if headers.contains_key("x-amz-copy-source") => "COPY",
        "PUT" => "PUT",
        "POST" if has("uploads") => "CREATE",
        "POST" => "COMPLETE",
        "DELETE" if has("uploadId") => "ABORT",
        "DELETE" => "DELETE",
        "HEAD" => "HEAD",
        "GET" if has("uploads") => "UPLOADS",
        "GET" if has("list-type") => "LIST",
        _ => "GET",
    }
}

async fn serve(State(shared): State<Shared>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let call = call_of(&parts.method, &query, &parts.headers);
    let name = parts.uri.path().strip_prefix("/bucket/").unwrap_or_default().to_owned();
    let (bytes, size) = take(body, shared.hoards || call == "COMPLETE").await;
    let fault = {
        let mut inner = shared.inner.lock().unwrap();
        let count = inner.calls.entry(call.to_owned()).or_default();
        *count += 1;
        let count = *count;
        let at = inner.faults.iter().position(|(of, at, _)| of == call && *at == count);
        at.map(|at| inner.faults.remove(at).2)
    };
    match &fault {
        Some(Fault::Refuse(status, code, retry_after)) => return refuse(*status, code, *retry_after),
        Some(Fault::ErrorBody(code)) => return refuse(200, code, None),
        Some(Fault::Reset) => hang_up(),
        Some(Fault::LoseReply | Fault::Cut(_) | Fault::Stall(_) | Fault::VanishAfter) | None => {}
    }
    let mut inner = shared.inner.lock().unwrap();
    let answer = inner.answer(call, &name, &query, &parts.headers, (bytes, size), shared.keeps);
    match fault {
        Some(Fault::LoseReply) => {
            drop(inner);
            hang_up()
        }
        Some(Fault::VanishAfter) => {
            inner.objects.remove(&name);
            answer
        }
        Some(Fault::Cut(at)) => broken(&inner, &name, at, false),
        Some(Fault::Stall(at)) => broken(&inner, &name, at, true),
        Some(Fault::Refuse(..) | Fault::ErrorBody(_) | Fault::Reset) | None => answer,
    }
}

/// Ends the connection without an answer, and without the noise of a panic.
fn hang_up() -> ! {
    std::panic::resume_unwind(Box::new("the connection dies"))
}

async fn take(body: Body, keep: bool) -> (Bytes, usize) {
    let mut stream = body.into_data_stream();
    let (mut kept, mut size) = (Vec::new(), 0);
    while let Some(Ok(chunk)) = stream.next().await {
        size += chunk.len();
        if keep {
            kept.extend_from_slice(&chunk);
        }
    }
    (kept.into(), size)
}

fn refuse(status: u16, code: &str, retry_after: Option<&str>) -> Response<Body> {
    let mut response = Response::builder().status(status);
    if let Some(retry_after) = retry_after {
        response = response.header("retry-after", retry_after);
    }
    response.body(format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code></Error>").into()).unwrap()
}

fn ok(body: impl Into<Body>) -> Response<Body> {
    Response::builder().header("etag", "\"e\"").body(body.into()).unwrap()
}

fn broken(inner: &Inner, name: &str, at: usize, stall: bool) -> Response<Body> {
    let object = &inner.objects[name];
    let first = stream::iter([Ok(object.bytes.slice(..at))]);
    let body = if stall {
        Body::from_stream(first.chain(stream::pending::<std::io::Result<Bytes>>()))
    } else {
        Body::from_stream(first.chain(stream::iter([Err(std::io::Error::other("cut"))])))
    };
    of(object).header("content-length", object.size).body(body).unwrap()
}

fn of(object: &Object) -> axum::http::response::Builder {
    let mut response = Response::builder()
        .header("etag", &object.etag)
        .header("last-modified", "Mon, 16 Nov 2026 08:00:00 GMT");
    for (name, value) in &object.meta {
        response = response.header(name, value);
    }
    if let Some(sha256) = &object.sha256 {
        response = response.header("x-amz-meta-sha256", sha256);
    }
    response
}

impl Inner {
    /// What a copy would be made of.
    fn source(&self, from: &str) -> Option<Object> {
        self.objects.get(from.strip_prefix("bucket/").unwrap()).cloned()
    }

    fn answer(
        &mut self,
        call: &str,
        name: &str,
        query: &str,
        headers: &HeaderMap,
        (bytes, size): (Bytes, usize),
        keeps: Keeps,
    ) -> Response<Body> {
        let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        let parameter = |name: &str| {
            query
                .split('&')
                .find_map(|pair| pair.strip_prefix(&format!("{name}=")))
                .unwrap_or_default()
                .replace("%2F", "/")
        };
        let kept = if call == "PUT" { keeps.put } else { keeps.complete };
        if matches!(call, "PUT" | "COMPLETE") && kept {
            let there = self.objects.get(name).map(|object| object.etag.clone());
            let absent = header("if-none-match").is_none() || there.is_none();
            let unchanged = header("if-match").is_none_or(|etag| there == Some(etag));
            if !absent || !unchanged {
                return refuse(412, "PreconditionFailed", None);
            }
        }
        if matches!(call, "COPY" | "DELETE") && keeps.put {
            let there = self.objects.get(name).map(|object| object.etag.clone());
            let source = header("x-amz-copy-source").and_then(|from| self.source(&from));
            let source = source.map(|object| object.etag);
            let absent = header("if-none-match").is_none() || there.is_none();
            let meant = header("x-amz-copy-source-if-match")
                .is_none_or(|etag| source.is_none() || source == Some(etag));
            let unchanged = header("if-match").is_none_or(|etag| there == Some(etag));
            if !absent || !meant || !unchanged {
                return refuse(412, "PreconditionFailed", None);
            }
        }
        let meta = || -> BTreeMap<String, String> {
            let ours = headers.iter().filter(|(name, _)| name.as_str().starts_with("x-amz-meta-"));
            ours.filter(|(name, _)| *name != "x-amz-meta-sha256")
                .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
                .collect()
        };
        self.next += 1;
        let etag = format!("\"{}\"", self.next);
        match call {
            "PUT" => {
                let object = Object { bytes, size, sha256: header("x-amz-meta-sha256"), meta: meta(), etag };
                self.objects.insert(name.to_owned(), object);
                ok("")
            }
            "COPY" => {
                let from = header("x-amz-copy-source").unwrap();
                let Some(mut object) = self.source(&from) else { return refuse(404, "NoSuchKey", None) };
                if header("x-amz-metadata-directive").as_deref() == Some("REPLACE") {
                    (object.sha256, object.meta) = (header("x-amz-meta-sha256"), meta());
                }
                if self.reseals {
                    object.etag = etag;
                }
                let answer = format!("<CopyObjectResult><ETag>{}</ETag></CopyObjectResult>", object.etag);
                self.objects.insert(name.to_owned(), object);
                ok(answer)
            }
            "CREATE" => {
                let id = format!("u{}", self.next);
                let sha256 = header("x-amz-meta-sha256");
                self.uploads
                    .insert(id.clone(), Unfinished { name: name.to_owned(), sha256, parts: BTreeMap::new() });
                ok(format!(
                    "<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
                ))
            }
            "PART" => match self.uploads.get_mut(&parameter("uploadId")) {
                Some(Unfinished { parts, .. }) => {
                    parts.insert(parameter("partNumber").parse().unwrap(), (bytes, size));
                    ok("")
                }
                None => refuse(404, "NoSuchUpload", None),
            },
            "COMPLETE" => match self.uploads.remove(&parameter("uploadId")) {
                Some(Unfinished { sha256, parts, .. }) => {
                    let size = parts.values().map(|(_, size)| size).sum();
                    let bytes =
                        parts.into_values().map(|(bytes, _)| bytes).collect::<Vec<_>>().concat().into();
                    self.objects
                        .insert(name.to_owned(), Object { bytes, size, sha256, meta: BTreeMap::new(), etag });
                    ok("<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>")
                }
                None => refuse(404, "NoSuchUpload", None),
            },
            "ABORT" => {
                self.uploads.remove(&parameter("uploadId"));
                Response::builder().status(204).body(Body::empty()).unwrap()
            }
            "DELETE" => {
                self.objects.remove(name);
                Response::builder().status(204).body(Body::empty()).unwrap()
            }
            "LIST" => {
                let after = parameter("continuation-token").replace("%2F", "/");
                let mut page: Vec<_> = self.objects.range(after..).take(PAGE + 1).collect();
                let next = page.get(PAGE).map(|(name, _)| (*name).clone());
                page.truncate(PAGE);
                let contents: String = page.into_iter().map(|(name, object)| format!(
                    "<Contents><Key>{name}</Key><Size>{}</Size><LastModified>2026-01-01T00:00:00Z</LastModified><ETag>{}</ETag></Contents>",
                    object.size, object.etag
                )).collect();
                let next = next.map(|next| format!("<NextContinuationToken>{next}</NextContinuationToken>"));
                ok(format!("<ListBucketResult>{}{contents}</ListBucketResult>", next.unwrap_or_default()))
            }
            "UPLOADS" => {
                // Two a page.
                let behind = (parameter("key-marker"), parameter("upload-id-marker"));
                let mut found: Vec<(String, String)> = self
                    .uploads
                    .iter()
                    .map(|(id, upload)| (upload.name.clone(), id.clone()))
                    .filter(|upload| *upload > behind)
                    .collect();
                found.sort();
                let more = found.len() > 2;
                found.truncate(2);
                let uploads: String = found.iter().map(|(name, id)| format!(
                    "<Upload><Key>{name}</Key><UploadId>{id}</UploadId><Initiated>2026-11-16T08:00:00Z</Initiated></Upload>"
                )).collect();
                let next = found.last().map(|(name, id)| {
                    format!(
                        "<NextKeyMarker>{name}</NextKeyMarker><NextUploadIdMarker>{id}</NextUploadIdMarker>"
                    )
                });
                let next = next.filter(|_| more).unwrap_or_default();
                ok(format!(
                    "<ListMultipartUploadsResult><IsTruncated>{more}</IsTruncated>{next}{uploads}</ListMultipartUploadsResult>"
                ))
            }
            "GET" | "HEAD" => match self.objects.get(name) {
                Some(object) if call == "GET" => of(object).body(object.bytes.clone().into()).unwrap(),
                Some(object) => of(object).header("content-length", object.size).body(Body::empty()).unwrap(),
                None => refuse(404, "NoSuchKey", None),
            },
            other => panic!("{other}"),
        }
    }
}

//! A gateway that really reads PDFs, page ranges and all, and that fails where it is told to.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use redrive_gateway::convert::Reader;
use redrive_gateway::write::{Mapping, write};
use redrive_gateway::{PdfReader, sample};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use url::Url;

/// What one range gets in place of its XML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// This status, so often.
    Status(u16, usize),
    /// Nothing, until the gate is opened.
    Gate,
}

#[derive(Default)]
pub(crate) struct Script {
    /// By the first page of a range; 0 is the whole.
    faults: Mutex<Vec<(u32, Fault)>>,
    asked: Mutex<Vec<Option<(u32, u32)>>>,
    no_inspect: Mutex<bool>,
    no_ranges: Mutex<bool>,
}

pub(crate) struct ReadingGateway {
    pub(crate) url: Url,
    pub(crate) gate: Arc<Semaphore>,
    script: Arc<Script>,
}

#[derive(Clone)]
struct Shared(Arc<Script>, Arc<Semaphore>);

impl ReadingGateway {
    pub(crate) async fn start() -> Self {
        let (script, gate) = (Arc::new(Script::default()), Arc::new(Semaphore::new(0)));
        let app = Router::new()
            .route("/process", post(process))
            .route("/inspect", post(inspect))
            .route("/mappings", get(mappings))
            .layer(DefaultBodyLimit::disable())
            .with_state(Shared(script.clone(), gate.clone()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, gate, script }
    }

    /// The range that begins with this page has a fault from now on.
    pub(crate) fn fault(&self, first: u32, fault: Fault) {
        self.script.faults.lock().unwrap().push((first, fault));
    }

    pub(crate) fn knows_no_inspection(&self) {
        *self.script.no_inspect.lock().unwrap() = true;
    }

    pub(crate) fn knows_no_ranges(&self) {
        *self.script.no_ranges.lock().unwrap() = true;
    }

    /// What it was asked to convert, in order of the pages; nothing is the whole.
    pub(crate) fn asked(&self) -> Vec<Option<(u32, u32)>> {
        let mut asked = self.script.asked.lock().unwrap().clone();
        asked.sort_unstable();
        asked
    }
}

/// A PDF that is large enough to be looked at. What its pages are does not depend on their neighbours.
pub(crate) fn large(pages: u32) -> Vec<u8> {
    let padding = format!("% {}\n", "x".repeat(78)).repeat(1 + (300 << 10) / 80 / pages as usize);
    let contents: Vec<String> = (1..=pages)
        .map(|n| {
            let y = 600 - 17 * (n % 30);
            format!("{padding}BT /F1 12 Tf 72 {y} Td (word{n} says <&> it) Tj ET")
        })
        .collect();
    sample::pages(&contents.iter().map(String::as_str).collect::<Vec<_>>())
}

/// What it makes of a whole.
pub(crate) fn whole(pdf: &[u8], mapping: &str) -> String {
    let document = PdfReader::default().read(pdf.to_vec(), None).unwrap();
    let mut out = Vec::new();
    write(Mapping::from_name(mapping).unwrap(), &document, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

async fn mappings() -> Response {
    ([("content-type", "application/json")], r#"[{"name":"text","title":"Text"}]"#).into_response()
}

async fn inspect(State(Shared(script, _)): State<Shared>, request: Request) -> Response {
    if *script.no_inspect.lock().unwrap() {
        return StatusCode::NOT_FOUND.into_response();
    }
    let form = Form::read(request).await;
    let pages = PdfReader::default().read(form.file, None).unwrap().page_count;
    ([("content-type", "application/json")], format!("{{\"pages\":{pages}}}")).into_response()
}

async fn process(State(Shared(script, gate)): State<Shared>, request: Request) -> Response {
    let form = Form::read(request).await;
    script.asked.lock().unwrap().push(form.pages);
    let first = form.pages.map_or(0, |(first, _)| first);
    let fault = {
        let mut faults = script.faults.lock().unwrap();
        let fault = faults.iter_mut().find(|(of, fault)| *of == first && *fault != Fault::Status(0, 0));
        fault.map(|(_, fault)| {
            let now = *fault;
            if let Fault::Status(_, left) = fault {
                *left -= 1;
                if *left == 0 {
                    *fault = Fault::Status(0, 0);
                }
            }
            now
        })
    };
    match fault {
        Some(Fault::Status(status, _)) => return StatusCode::from_u16(status).unwrap().into_response(),
        Some(Fault::Gate) => gate.acquire().await.unwrap().forget(),
        None => {}
    }
    let range = form.pages.filter(|_| !*script.no_ranges.lock().unwrap());
    let document = PdfReader::default().read(form.file, range.map(|(first, last)| first..=last)).unwrap();
    let mut out = Vec::new();
    write(Mapping::from_name(&form.mapping).unwrap(), &document, &mut out).unwrap();
    let pages = document.pages.len().to_string();
    ([("content-type", "application/xml".to_owned()), ("x-pages", pages)], out).into_response()
}

/// A form, as far as we send one.
struct Form {
    mapping: String,
    pages: Option<(u32, u32)>,
    file: Vec<u8>,
}

impl Form {
    async fn read(request: Request) -> Self {
        let kind = request.headers()[header::CONTENT_TYPE].to_str().unwrap().to_owned();
        let boundary = format!("--{}", kind.split("boundary=").nth(1).unwrap().trim_matches('"'));
        let body = axum::body::to_bytes(request.into_body(), usize::MAX).await.unwrap();
        let field = |name: &str| {
            let at = find(&body, format!("name=\"{name}\"").as_bytes(), 0)?;
            let from = find(&body, b"\r\n\r\n", at)? + 4;
            let to = find(&body, format!("\r\n{boundary}").as_bytes(), from)?;
            Some(body[from..to].to_vec())
        };
        let text = |name: &str| field(name).map(|bytes| String::from_utf8(bytes).unwrap());
        let pages = text("pages").map(|pages| {
            let (first, last) = pages.split_once('-').unwrap();
            (first.parse().unwrap(), last.parse().unwrap())
        });
        Self { mapping: text("mapping").unwrap_or_default(), pages, file: field("file").unwrap() }
    }
}

fn find(body: &[u8], what: &[u8], from: usize) -> Option<usize> {
    body[from..].windows(what.len()).position(|window| window == what).map(|at| at + from)
}

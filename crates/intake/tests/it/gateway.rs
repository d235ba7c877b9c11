//! A gateway that says what it is told: one line per call, the last one for ever.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tokio::net::TcpListener;
use url::Url;

/// What happens to one call.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Say {
    /// 200 with XML.
    Xml,
    /// Another status.
    Status(u16),
    /// A refusal of the file itself.
    Broken,
    /// Nothing, ever.
    Silence,
}

#[derive(Default)]
struct Script {
    process: Mutex<VecDeque<Say>>,
    inspect: Mutex<VecDeque<Say>>,
    calls: Mutex<(usize, usize)>,
}

pub(crate) struct FakeGateway {
    pub(crate) url: Url,
    script: Arc<Script>,
}

impl FakeGateway {
    pub(crate) async fn start(process: impl IntoIterator<Item = Say>) -> Self {
        let script = Arc::new(Script {
            process: Mutex::new(process.into_iter().collect()),
            inspect: Mutex::new(VecDeque::from([Say::Xml])),
            calls: Mutex::default(),
        });
        let app = Router::new()
            .route("/process", post(processed))
            .route("/inspect", post(inspected))
            .route("/mappings", get(mappings))
            .layer(DefaultBodyLimit::disable())
            .with_state(script.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, script }
    }

    /// How often it was asked to convert, and to inspect.
    pub(crate) fn calls(&self) -> (usize, usize) {
        *self.script.calls.lock().unwrap()
    }

    /// What it says from now on when a PDF is to be converted.
    pub(crate) fn now(&self, say: Say) {
        *self.script.process.lock().unwrap() = VecDeque::from([say]);
    }

    /// What it says from now on when a PDF is to be inspected.
    pub(crate) fn inspects(&self, say: Say) {
        *self.script.inspect.lock().unwrap() = VecDeque::from([say]);
    }
}

fn next(script: &Mutex<VecDeque<Say>>) -> Say {
    let mut script = script.lock().unwrap();
    if script.len() > 1 { script.pop_front().unwrap() } else { script[0] }
}

async fn mappings() -> Response {
    ([("content-type", "application/json")], r#"[{"name":"text","title":"Text"}]"#).into_response()
}

async fn processed(State(script): State<Arc<Script>>, request: Request) -> Response {
    axum::body::to_bytes(request.into_body(), usize::MAX).await.unwrap_or_default();
    script.calls.lock().unwrap().0 += 1;
    answer(next(&script.process), "application/xml", "<document/>").await
}

async fn inspected(State(script): State<Arc<Script>>, request: Request) -> Response {
    axum::body::to_bytes(request.into_body(), usize::MAX).await.unwrap_or_default();
    script.calls.lock().unwrap().1 += 1;
    answer(next(&script.inspect), "application/json", r#"{"version":"1.4","pages":3,"images":2}"#).await
}

async fn answer(say: Say, kind: &'static str, body: &'static str) -> Response {
    match say {
        Say::Xml => ([("content-type", kind), ("x-pages", "3")], body).into_response(),
        Say::Status(status) => StatusCode::from_u16(status).unwrap().into_response(),
        Say::Broken => {
            let problem = r#"{"title":"no","status":400,"code":"invalid_pdf"}"#;
            (StatusCode::BAD_REQUEST, [("content-type", "application/problem+json")], problem).into_response()
        }
        Say::Silence => std::future::pending().await,
    }
}

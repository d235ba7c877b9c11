//! A gateway that does what it is told: one script line per call, the last one for ever.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures::StreamExt;
use tokio::net::TcpListener;
use url::Url;

/// What happens to one call.
#[derive(Debug, Clone)]
pub(crate) enum Say {
    /// 200 with this body.
    Xml(&'static str),
    /// Another status, headers and body.
    Status(u16, &'static [(&'static str, &'static str)], &'static str),
    /// 200, this much of a body whose length was promised longer, and then the wire is cut.
    Cut(&'static str),
    /// 200 and so many bytes.
    Flood(usize),
    /// Nothing, ever.
    Silence,
}

/// One call as it was heard.
#[derive(Debug, Clone)]
pub(crate) struct Heard {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

#[derive(Default)]
struct Script {
    say: Mutex<VecDeque<Say>>,
    heard: Mutex<Vec<Heard>>,
}

pub(crate) struct FakeGateway {
    pub(crate) url: Url,
    script: Arc<Script>,
}

impl FakeGateway {
    pub(crate) async fn start(say: impl IntoIterator<Item = Say>) -> Self {
        let script = Arc::new(Script { say: Mutex::new(say.into_iter().collect()), heard: Mutex::default() });
        let app = Router::new()
            .route("/base/process", post(process))
            .route("/base/mappings", get(mappings))
            .with_state(script.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}/base", listener.local_addr().unwrap())).unwrap();
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, script }
    }

    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.script.heard.lock().unwrap().clone()
    }

    /// What it says from now on.
    pub(crate) fn now(&self, say: Say) {
        *self.script.say.lock().unwrap() = VecDeque::from([say]);
    }
}

async fn mappings() -> Response {
    let json = r#"[{"name":"text","title":"Text"},{"name":"alto","title":"ALTO","schema":null}]"#;
    ([("content-type", "application/json")], json).into_response()
}

async fn process(State(script): State<Arc<Script>>, request: Request) -> Response {
    let headers = request.headers().clone();
    let body = axum::body::to_bytes(request.into_body(), usize::MAX).await.unwrap_or_default();
    script.heard.lock().unwrap().push(Heard { headers, body });
    let say = {
        let mut say = script.say.lock().unwrap();
        if say.len() > 1 { say.pop_front() } else { say.front().cloned() }
    };
    match say.unwrap() {
        Say::Xml(xml) => {
            ([("content-type", "application/xml"), ("x-pages", "2"), ("x-warnings", "repaired, BAD!")], xml)
                .into_response()
        }
        Say::Status(status, headers, body) => {
            let mut response = (StatusCode::from_u16(status).unwrap(), body).into_response();
            for (name, value) in headers {
                response.headers_mut().insert(*name, value.parse().unwrap());
            }
            response
        }
        Say::Cut(body) => {
            // The piece is on the wire before it is cut.
            let cut = async {
                tokio::time::sleep(Duration::from_millis(30)).await;
                Err(std::io::Error::other("cut"))
            };
            let piece = Ok(Bytes::from_static(body.as_bytes()));
            let pieces = futures::stream::iter([piece]).chain(futures::stream::once(cut));
            Response::builder()
                .header("content-length", body.len() + 10)
                .body(Body::from_stream(pieces))
                .unwrap()
        }
        Say::Flood(bytes) => {
            let piece = Bytes::from(vec![b' '; 64 << 10]);
            let pieces = futures::stream::iter(
                (0..bytes / piece.len()).map(move |_| Ok::<_, std::io::Error>(piece.clone())),
            );
            Response::new(Body::from_stream(pieces.boxed()))
        }
        Say::Silence => std::future::pending().await,
    }
}

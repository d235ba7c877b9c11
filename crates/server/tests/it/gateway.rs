//! A gateway that does what a test wants.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// What it does with the next conversions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    /// A result.
    Fine,
    /// A refusal of the file.
    Refuses,
    /// A refusal of the file, with words of the test.
    Shouts,
    /// It says nothing until the mood is another one.
    Silent,
}

#[derive(Clone)]
struct Shared {
    mood: watch::Sender<Mood>,
    result: Arc<Mutex<String>>,
}

/// The gateway. It ends with its test.
pub(crate) struct FakeGateway {
    pub(crate) address: SocketAddr,
    shared: Shared,
    task: tokio::task::JoinHandle<()>,
}

impl FakeGateway {
    pub(crate) async fn start(mappings: Option<&'static str>) -> Self {
        let shared = Shared {
            mood: watch::Sender::new(Mood::Fine),
            result: Arc::new(Mutex::new("<text>made</text>".to_owned())),
        };
        let list = async move || match mappings {
            Some(json) => (StatusCode::OK, json),
            None => (StatusCode::SERVICE_UNAVAILABLE, ""),
        };
        let router = Router::new()
            .route("/process", post(process))
            .route("/mappings", get(list))
            .layer(axum::extract::DefaultBodyLimit::disable())
            .with_state(shared.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, shared, task }
    }

    pub(crate) fn mood(&self, mood: Mood) {
        self.shared.mood.send_replace(mood);
    }

    /// Refuses each file from now on, with these words.
    pub(crate) fn shouts(&self, words: String) {
        self.makes(words);
        self.mood(Mood::Shouts);
    }

    /// What it makes from now on.
    pub(crate) fn makes(&self, xml: String) {
        *self.shared.result.lock().unwrap() = xml;
    }
}

impl Drop for FakeGateway {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn process(State(shared): State<Shared>, body: Body) -> Response {
    axum::body::to_bytes(body, 64 << 20).await.unwrap();
    let mut mood = shared.mood.subscribe();
    let mood = *mood.wait_for(|mood| *mood != Mood::Silent).await.unwrap();
    match mood {
        Mood::Fine | Mood::Silent => shared.result.lock().unwrap().clone().into_response(),
        Mood::Shouts => {
            let words = shared.result.lock().unwrap().clone();
            (StatusCode::BAD_REQUEST, [("content-type", "application/problem+json")], words).into_response()
        }
        Mood::Refuses => (
            StatusCode::BAD_REQUEST,
            [("content-type", "application/problem+json")],
            r#"{"code":"invalid_pdf","detail":"secret /srv/path"}"#,
        )
            .into_response(),
    }
}

//! The demo's own web server, and the lists of its addresses that somebody has fetched. Some of them lead nowhere.

use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use redrive_api::client::{Client, ClientError, ManifestShape};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;
use url::Url;

use super::Stage;
use super::papers::{Flaw, paper};
use super::schedule::ROUND;
use crate::exit::Stop;
use crate::say;
use crate::signals::until;

/// How long the slow address takes.
const SLOWLY: Duration = Duration::from_secs(4);
/// After the beginning, the first list comes.
const FIRST: Duration = Duration::from_secs(3);
/// So many lists in all, one in each round.
const LISTS: usize = 40;
/// Documents on a list that are there.
const THERE: usize = 9;
/// What else is on it: where it leads, and how often.
const ELSEWHERE: [(&str, usize); 3] = [("missing", 3), ("gone", 1), ("slow", 1)];

/// Starts the web server on a free port; it ends when it is time to stop.
pub(super) async fn serve(stage: Stage, stopped: watch::Receiver<bool>) -> Result<String, Stop> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let router = Router::new().route("/archive/{list}/{kind}/{number}", get(answer)).with_state(stage);
    let limits = redrive_door::Limits { drain: Duration::ZERO, ..redrive_door::Limits::default() };
    tokio::spawn(redrive_door::serve(listener, router, limits, until(stopped)));
    Ok(format!("http://{address}"))
}

async fn answer(
    State(stage): State<Stage>,
    Path((list, kind, number)): Path<(usize, String, usize)>,
) -> Response {
    let found = || {
        let bytes = paper(list.saturating_mul(100).saturating_add(number), Flaw::None).bytes;
        ([(header::CONTENT_TYPE, "application/pdf")], bytes).into_response()
    };
    match kind.as_str() {
        "there" => found(),
        "slow" => {
            stage.rest(SLOWLY).await;
            found()
        }
        "gone" => StatusCode::GONE.into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Has one list fetched in each round.
pub(super) async fn fetch(stage: &Stage, server: &Url, origin: &str) {
    let Ok(owner) = Client::new(server.clone(), None) else { return };
    stage.rest(FIRST).await;
    for list in 0..LISTS {
        if let Err(error) = hand_in(&owner, origin, list).await {
            say::note(&format!("a list of the demo was not taken: {error}"));
        }
        stage.rest(ROUND).await;
    }
}

async fn hand_in(owner: &Client, origin: &str, list: usize) -> Result<(), ClientError> {
    let mut resources = Vec::new();
    for (kind, many) in [("there", THERE)].into_iter().chain(ELSEWHERE) {
        for number in 0..many {
            let url = format!("{origin}/archive/{list}/{kind}/{number}");
            resources.push(json!({"id": format!("{kind}-{number}"), "url": url}));
        }
    }
    let manifest = json!({"manifest_version": 1, "end_rule": "tolerant", "resources": resources});
    let body = futures::stream::iter([Ok::<_, std::io::Error>(Bytes::from(manifest.to_string()))]);
    owner.fetch(body, ManifestShape::default(), None).await.map(drop)
}

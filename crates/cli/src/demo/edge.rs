//! What stands before the demo's gateway: it makes it slow, down, or without a licence, as the schedule says.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;

use super::schedule::{Mood, Schedule};

/// How much longer an answer takes while it is slow.
const LATER: Duration = Duration::from_secs(2);
/// The mapping that it has a licence for, or not.
const LICENSED: &[u8] = b"tei";
/// What it says without one.
const NO_LICENCE: &str = r#"{"title":"Forbidden","status":403,"code":"licence_expired","detail":"The licence for TEI has run out."}"#;
/// The field that names the mapping stands first in a form: so much of it is looked at.
const LOOK: usize = 1_024;
/// The first so many answers while it is down are 503; then every third is one that breaks off.
const PLAIN: usize = 6;

/// The edge of one gateway.
#[derive(Debug, Clone)]
pub(super) struct Edge {
    schedule: Schedule,
    began: Instant,
    /// The largest form.
    most: usize,
    refused: Arc<AtomicUsize>,
}

impl Edge {
    pub(super) fn new(schedule: Schedule, began: Instant, max_upload: u64) -> Self {
        let most = usize::try_from(max_upload).unwrap_or(usize::MAX).saturating_add(64 << 10);
        Self { schedule, began, most, refused: Arc::default() }
    }

    /// Stands around the gateway's routes.
    pub(super) fn around(self, gateway: Router) -> Router {
        gateway.layer(from_fn_with_state(self, misbehave))
    }

    /// Alternately the two ways of being down.
    fn down(&self) -> Response {
        let before = self.refused.fetch_add(1, Ordering::Relaxed);
        if before < PLAIN || !before.is_multiple_of(3) {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
        let pieces = [
            Ok(Bytes::from_static(b"<?xml version=\"1.0\"?>\n<document>")),
            Err(std::io::Error::other("the demo's gateway hangs up")),
        ];
        let body = Body::from_stream(futures::stream::iter(pieces));
        ([(header::CONTENT_TYPE, "application/xml"), (header::CONTENT_LENGTH, "4096")], body).into_response()
    }
}

async fn misbehave(State(edge): State<Edge>, request: Request, next: Next) -> Response {
    let since = edge.began.elapsed();
    let works = request.method() == Method::POST;
    match edge.schedule.mood(since) {
        Mood::Down => return edge.down(),
        Mood::Slow if works => tokio::time::sleep(edge.schedule.lasts(LATER)).await,
        Mood::Slow | Mood::Well => {}
    }
    if !works || edge.schedule.licensed(since) {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let Ok(form) = to_bytes(body, edge.most).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    if wants_licence(&form) {
        let kind = [(header::CONTENT_TYPE, "application/problem+json")];
        return (StatusCode::FORBIDDEN, kind, NO_LICENCE).into_response();
    }
    next.run(Request::from_parts(parts, Body::from(form))).await
}

/// Whether the form asks for the mapping that has a licence.
fn wants_licence(form: &[u8]) -> bool {
    let head = form.get(..form.len().min(LOOK)).unwrap_or_default();
    let field = [b"name=\"mapping\"\r\n\r\n", LICENSED, b"\r\n"].concat();
    head.windows(field.len()).any(|piece| piece == field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tei_needs_a_licence() {
        let form = |mapping: &str| {
            format!("--x\r\nContent-Disposition: form-data; name=\"mapping\"\r\n\r\n{mapping}\r\n--x\r\n")
        };
        assert!(wants_licence(form("tei").as_bytes()));
        for other in ["text", "alto", "docbook", "teint", ""] {
            assert!(!wants_licence(form(other).as_bytes()), "{other}");
        }
        assert!(!wants_licence(b""));
    }
}

//! `GET /api/fetch/{id}/missing`: a manifest of exactly what is not stored, streamed, ready to be sent again.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures::TryStreamExt;
use redrive_api::{FetchManifest, Problem};
use redrive_fetch::Format;

use super::shape;
use crate::download::attachment;
use crate::own::OwnedBatch;

/// What of a batch is not stored: what failed, what was cancelled, and while it runs what is not done yet. With the real URLs and
/// headers. One document up to 1,000 resources and 8 MiB, NDJSON beyond that or where `Accept` names it: what comes out can go in again.
#[utoipa::path(get, path = "/api/fetch/{id}/missing", tag = "fetch",
    params(("id" = String, Path, description = "The batch"),
        ("Accept" = Option<String>, Header, description = "application/json or application/x-ndjson")),
    responses(
        (status = 200, description = "A manifest", content((FetchManifest = "application/json"), (String = "application/x-ndjson"))),
        (status = 403, description = "FORBIDDEN", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn missing(batch: OwnedBatch, headers: HeaderMap) -> Response {
    let missing = batch.missing(shape::wanted(&headers)).await;
    let id = batch.id;
    let name = match missing.format {
        Format::Json => format!("missing-{id}.json"),
        Format::Ndjson => format!("missing-{id}.ndjson"),
    };
    let media = shape::media(missing.format);
    // An answer that breaks off in the middle is cut, so that nobody holds a part for the whole.
    let bytes = missing.bytes.map_err(move |failure| {
        tracing::warn!(event = "fetch.missing_broke", batch = %id, error_code = failure.code.name(), "{}", failure.message);
        std::io::Error::other("not whole")
    });
    let mut response = Body::from_stream(bytes).into_response();
    let answer = response.headers_mut();
    answer.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    answer.insert(header::CONTENT_DISPOSITION, attachment(&name));
    answer.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    response
}

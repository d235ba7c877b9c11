//! `GET /api/jobs/{id}/download`: the result, whole and as it was made, or not at all.
//!
//! A whole file is hashed while it passes; other bytes than were stored cut the connection, so that nobody holds a wrong file
//! for the right one. Of a part nothing can be told on the way: the file is checked first.

mod disposition;
mod fetched;
mod range;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use redrive_api::Problem;
use redrive_blob::{BlobError, BlobsExt, ByteRange, ByteStream, Key, Sha256};
use redrive_model::{Code, State as JobState};

pub(crate) use disposition::{attachment, xml_name};

use crate::app::App;
use crate::own::Owned;
use crate::refusal::Refusal;

/// No result ever runs in a browser, whatever it holds.
pub(crate) const SANDBOX: HeaderValue = HeaderValue::from_static("sandbox; default-src 'none'");

/// The result of a complete job.
#[utoipa::path(get, path = "/api/jobs/{id}/download", tag = "jobs", params(
        ("id" = String, Path, description = "The job"),
        ("Range" = Option<String>, Header, description = "One range of bytes"),
        ("If-Range" = Option<String>, Header, description = "The ETag for which the range is meant"),
        ("If-None-Match" = Option<String>, Header, description = "An ETag that is there already")),
    responses(
        (status = 200, description = "The XML; of a download the object, as application/octet-stream", content((String = "application/xml"), (Vec<u8> = "application/octet-stream"))),
        (status = 206, description = "A part of it", content_type = "application/xml", body = String),
        (status = 304, description = "It is the one you have"),
        (status = 403, description = "FORBIDDEN", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "EXPIRED", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "NOT_READY", body = Problem, content_type = "application/problem+json"),
        (status = 416, description = "VALIDATION_INVALID_FIELD: the range lies outside", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn download(
    State(app): State<App>,
    job: Owned,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    if let Some(made) = job.fetched() {
        return fetched::download(&job, &made, &headers).await;
    }
    let (key, hash, _) = artifact(&job)?;
    let tag = format!("\"{hash}\"");
    if range::matches(headers.get(header::IF_NONE_MATCH), &tag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    let wanted = range::wanted(&headers, &tag);
    let (status, reading) = match wanted {
        None => (StatusCode::OK, app.results().read_verified(&key, hash).await),
        Some(part) => (StatusCode::PARTIAL_CONTENT, read_part(&app, &key, &hash, part).await),
    };
    let reading = reading.map_err(|error| unreadable(&job, error))?;
    let (range, whole) = (reading.range.clone(), reading.head.bytes);
    let mut response = (status, Body::from_stream(held_back(reading.bytes))).into_response();
    let answer = response.headers_mut();
    answer.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    answer.insert(header::CONTENT_DISPOSITION, attachment(&xml_name(job.label.as_deref())));
    answer.insert(header::CONTENT_SECURITY_POLICY, SANDBOX);
    answer.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    answer.insert(header::CONTENT_LENGTH, HeaderValue::from(range.end - range.start));
    answer.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        answer.insert(header::ETAG, tag);
    }
    let last = range.end.saturating_sub(1);
    if status == StatusCode::PARTIAL_CONTENT
        && let Ok(value) = HeaderValue::from_str(&format!("bytes {}-{last}/{whole}", range.start))
    {
        answer.insert(header::CONTENT_RANGE, value);
    }
    Ok(response)
}

async fn read_part(
    app: &App,
    key: &Key,
    hash: &Sha256,
    part: ByteRange,
) -> redrive_blob::Result<redrive_blob::Reading> {
    let head = app.results().head(key).await?;
    part.resolve(head.bytes)?;
    app.results().verify(key, hash).await?;
    app.results().read(key, Some(part)).await
}

/// The same bytes, the last piece only when the end is known to be good. Whoever knows the length of an answer stops reading at
/// its last byte, and would never see an error behind it.
pub(crate) fn held_back(bytes: ByteStream) -> ByteStream {
    let state = (bytes, None::<Bytes>);
    stream::try_unfold(state, |(mut bytes, mut held)| async move {
        while let Some(next) = bytes.try_next().await? {
            if let Some(piece) = held.replace(next) {
                return Ok(Some((piece, (bytes, held))));
            }
        }
        Ok(held.take().map(|piece| (piece, (stream::empty().boxed(), None))))
    })
    .boxed()
}

/// Where the result of a job lies, what it must be, and its size.
pub(crate) fn artifact(job: &Owned) -> Result<(Key, Sha256, u64), Refusal> {
    if job.expired_at.is_some() {
        return Err(job.gone());
    }
    if job.state != JobState::Complete {
        let text = format!("The job is {}.", job.shown);
        return Err(Refusal::new(Code::NotReady, text).job(job.id));
    }
    let made = job.made().ok_or_else(|| job.gone())?;
    match (made.key(), made.hash()) {
        (Some(key), Some(hash)) => Ok((key, hash, made.bytes)),
        (None, _) | (_, None) => Err(job.gone()),
    }
}

/// A result that is lost is as gone as one that was removed.
pub(crate) fn unreadable(job: &Owned, error: BlobError) -> Refusal {
    match error {
        BlobError::NotFound { .. } => job.gone(),
        BlobError::Range { bytes } => {
            let text = format!("The range lies outside of the {bytes} bytes.");
            let whole = format!("bytes */{bytes}");
            Refusal::new(Code::ValidationInvalidField, text)
                .status(StatusCode::RANGE_NOT_SATISFIABLE)
                .header(header::CONTENT_RANGE, &whole)
        }
        error => Refusal::from(error).job(job.id),
    }
}

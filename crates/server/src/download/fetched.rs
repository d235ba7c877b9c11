//! What a download brought, for whoever may see its job: as a file to be saved, and never as what its origin said that it is.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use redrive_blob::BlobsExt;
use redrive_fetch::Made;
use redrive_model::Code;

use super::{SANDBOX, attachment, held_back, range, unreadable};
use crate::own::Owned;
use crate::refusal::Refusal;

/// The object, whole. Parts are not offered: to check one, all of it would have to be read.
pub(super) async fn download(job: &Owned, made: &Made, headers: &HeaderMap) -> Result<Response, Refusal> {
    let tag = format!("\"{}\"", made.sha256);
    if range::matches(headers.get(header::IF_NONE_MATCH), &tag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    let Some(place) = job.place(made) else {
        let text = "It lies in a place that this server does not know.";
        return Err(Refusal::new(Code::NotReady, text).job(job.id));
    };
    let key = made.key().ok_or_else(|| job.gone())?;
    let reading = place.read_verified(&key, made.sha256).await.map_err(|error| unreadable(job, error))?;
    let bytes = reading.head.bytes;
    let mut response = Body::from_stream(held_back(reading.bytes)).into_response();
    let answer = response.headers_mut();
    answer.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    answer.insert(header::CONTENT_DISPOSITION, attachment(name(&made.key)));
    answer.insert(header::CONTENT_SECURITY_POLICY, SANDBOX);
    answer.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes));
    answer.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        answer.insert(header::ETAG, tag);
    }
    Ok(response)
}

/// The last segment of the key, without the hash before it where there is more.
fn name(key: &str) -> &str {
    let last = key.rsplit('/').next().unwrap_or(key);
    last.split_once('-').map_or(last, |(_, tail)| tail)
}

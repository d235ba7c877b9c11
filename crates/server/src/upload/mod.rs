//! `POST /api/upload`: a PDF comes in, a job goes out.
//!
//! The file is durable before its row exists, and the row appears in one transaction. What is refused leaves a failed job, so
//! that the person sees it; what breaks off leaves nothing.

mod admission;
mod content;
pub(crate) mod form;
mod name;
mod receive;
mod turns;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use redrive_api::{Problem, UploadReply};
use redrive_blob::Sealed;
use redrive_convert::{Pdf, source_key};
use redrive_door::multipart::{Multipart, boundary};
use redrive_engine::Failure;
use redrive_model::Code;
use redrive_model::limits::MAX_NAME_BYTES;
use redrive_store::{Enqueued, Idempotency};
use sha2::{Digest, Sha256};

pub(crate) use admission::{admit_manifest, admit_received, charge, is_active, overloaded};
pub(crate) use turns::Turns;

use crate::app::App;
use crate::deadline::to_its_end;
use crate::refusal::Refusal;
use crate::session::{Guest, Session};
use crate::view;
use receive::{Received, Refused};

/// What a form may have around the file.
const AROUND: u64 = 64 * 1024;

/// The form, for the OpenAPI document.
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "the document is made from it")]
pub(crate) struct UploadForm {
    /// The PDF.
    #[schema(format = Binary, content_media_type = "application/pdf")]
    file: String,
    /// Which mapping; the first of `/api/mappings` unless said. Send it before the file: what does not exist is then refused
    /// before the file is read.
    mapping: Option<String>,
}

/// Takes a PDF and makes a job of it.
#[utoipa::path(post, path = "/api/upload", tag = "jobs",
    params(("Idempotency-Key" = Option<String>, Header, description = "Makes the request safe to repeat: one that has its answer gets it again, whatever quota is used up")),
    request_body(content = UploadForm, content_type = "multipart/form-data"),
    responses(
        (status = 201, description = "A new job", body = UploadReply),
        (status = 200, description = "The same bytes and mapping were there already", body = UploadReply),
        (status = 400, description = "NOT_PDF, VALIDATION_*, VALIDATION_MISSING_FIELD, VALIDATION_UNKNOWN_FIELD, VALIDATION_UNKNOWN_MAPPING", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "TOO_LARGE, VALIDATION_TOO_MANY", body = Problem, content_type = "application/problem+json"),
        (status = 415, description = "UNSUPPORTED_MEDIA_TYPE", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "IDEMPOTENCY_MISMATCH", body = Problem, content_type = "application/problem+json"),
        (status = 429, description = "RATE_LIMITED", body = Problem, content_type = "application/problem+json"),
        (status = 500, description = "IO_ERROR", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "OVERLOADED", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn upload(
    State(app): State<App>,
    guest: Guest,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let boundary = form_boundary(&headers)?;
    let key = idempotency_key(&headers)?;
    let announced = announced(&headers);
    let limit = app.limits().max_upload;
    let place = admission::admit(&app, &guest, announced.unwrap_or(0).min(limit), key.as_deref()).await?;
    // The file is counted where it is written, and everything else is small: there is no third limit.
    let form = Multipart::new(body, &boundary, u64::MAX);
    let too_long = announced.is_some_and(|bytes| bytes > limit.saturating_add(AROUND));
    let received = match receive::receive(&app, form, too_long).await {
        Ok(received) => received,
        Err(Refused::Request(refusal)) => return Err(refusal),
        Err(Refused::File { name, mapping, bytes, why }) => {
            let session = guest.keep(&app).await?;
            return Err(reject(&app, session, name, mapping, bytes, why).await);
        }
    };
    if announced.is_none() && !guest.is_operator() {
        // It was not charged before.
        let _ = app.meters().bytes.take(guest.owner(), received.sealed.bytes() as f64);
    }
    let (reply, status) = to_its_end(async move {
        let session = guest.keep(&app).await?;
        let done = commit(app, session, received, key).await;
        drop(place);
        done
    })
    .await?;
    let location = reply.job.links.this.clone();
    Ok((status, [(header::LOCATION, location)], Json(reply)).into_response())
}

/// A file that is not even sent, because whoever has it knows that it is larger than may be: it is refused like one that was.
pub(crate) async fn refuse_unsent(
    app: &App,
    guest: Guest,
    filename: &str,
    mapping: &str,
    bytes: u64,
) -> Result<Refusal, Refusal> {
    let limit = app.limits().max_upload;
    if bytes <= limit {
        return Err(Refusal::field("bytes", "is within the limit: send the file"));
    }
    let mapping =
        if mapping.is_empty() { app.mappings().default_name() } else { app.mappings().check(mapping)? };
    let _place = admission::admit(app, &guest, 0, None).await?;
    let session = guest.keep(app).await?;
    Ok(reject(app, session, name::display(filename), mapping, bytes, too_large(limit)).await)
}

/// The file gets its name, then the row is made.
async fn commit(
    app: App,
    session: Session,
    received: Received,
    key: Option<String>,
) -> Result<(UploadReply, StatusCode), Refusal> {
    let Received { mut sealed, name, mapping } = received;
    let id = app.desk().new_id();
    let place = source_key(id).map_err(|_| internal())?;
    if let Err(error) = sealed.finish(&place).await {
        // Whatever a place does to a file is the same to whoever sent it, early or late.
        let why = Failure { code: Code::IoError, ..error.failure() };
        return Err(reject(&app, session, name, mapping, sealed.bytes(), why).await);
    }
    let idempotency = key.map(|key| idempotency(&session, key, &sealed, &mapping, &name));
    let pdf = Pdf {
        source: place.as_str().to_owned(),
        sha256: sealed.sha256().to_string(),
        bytes: sealed.bytes(),
        filename: name,
        mapping,
    };
    // When this fails nobody may know whether it was done: the file stays, and the sweeper looks at it after a day.
    let reply = app.desk().hand_in(&session, id, &pdf, idempotency).await?;
    let made = reply.jobs.first().copied().unwrap_or(Enqueued::Created(id));
    if made.job() != id
        && let Err(error) = app.sources().delete(&place).await
    {
        tracing::warn!(event = "upload.twin_file_left", job_id = %id, "{error}");
    }
    let job = app.desk().owned(&session, made.job()).await?;
    let job = view::job(&job).await?;
    Ok(match made {
        Enqueued::Created(_) | Enqueued::Existing(_) => {
            (UploadReply { job, deduped_from: None }, StatusCode::CREATED)
        }
        Enqueued::Duplicate(twin) => {
            (UploadReply { job, deduped_from: Some(twin.to_string()) }, StatusCode::OK)
        }
    })
}

/// Leaves a failed job, where the store answers, and says why.
async fn reject(
    app: &App,
    session: Session,
    filename: String,
    mapping: String,
    bytes: u64,
    why: Failure,
) -> Refusal {
    let id = app.desk().new_id();
    let public = why.code.public();
    let detail = why.public_message().to_owned();
    let answer = Refusal::new(why.code, detail);
    tracing::info!(event = "upload.rejected", job_id = %id, error_code = why.code.name(), "{}", why.message);
    // Public codes only: what went wrong inside is in the log.
    let why = Failure { code: public, ..why };
    let pdf = Pdf { source: String::new(), sha256: String::new(), bytes, filename, mapping };
    let desk = app.desk().clone();
    let left = to_its_end(async move { desk.reject(&session, id, &pdf, why).await }).await;
    match left {
        Ok(id) => answer.job(id),
        Err(_) => answer,
    }
}

fn form_boundary(headers: &HeaderMap) -> Result<String, Refusal> {
    let encoded = headers.get_all(header::CONTENT_ENCODING).iter();
    if encoded.into_iter().any(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        let text = "An upload is taken as it is: without Content-Encoding.";
        return Err(Refusal::new(Code::UnsupportedMediaType, text));
    }
    let missing = || Refusal::new(Code::UnsupportedMediaType, "Send multipart/form-data with a field file.");
    boundary(headers).ok_or_else(missing)
}

pub(crate) fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    match value.to_str().map(str::trim) {
        Ok(key) if !key.is_empty() && key.len() <= MAX_NAME_BYTES => Ok(Some(key.to_owned())),
        Ok(_) | Err(_) => Err(Refusal::field("Idempotency-Key", "1 to 255 printable ASCII characters")),
    }
}

fn idempotency(session: &Session, key: String, sealed: &Sealed, mapping: &str, name: &str) -> Idempotency {
    let mut hash = Sha256::new();
    for part in ["upload", &sealed.sha256().to_string(), mapping, name] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    Idempotency { owner: session.owner().clone(), key, request_hash: hash.finalize().into() }
}

fn internal() -> Refusal {
    Refusal::new(Code::SystemInternal, "Something went wrong on our side.")
}

/// What a size is called where it is a limit.
pub(crate) fn in_words(bytes: u64) -> String {
    const MB: u64 = 1 << 20;
    if bytes >= MB && bytes.is_multiple_of(MB) {
        format!("{} MB", bytes / MB)
    } else {
        format!("{bytes} bytes")
    }
}

/// Why a file was refused, with the real limit.
pub(crate) fn too_large(limit: u64) -> Failure {
    let text = format!("File exceeds the limit of {}.", in_words(limit));
    Failure::new(Code::TooLarge, &text).say(&text)
}

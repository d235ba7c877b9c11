//! `POST /api/fetch`: a manifest comes in, a batch goes out. It is judged while it streams; what is refused or breaks off leaves nothing.

use axum::Json;
use axum::body::{Body, BodyDataStream};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::{Stream, TryStreamExt, stream};
use redrive_api::{FetchManifest, FetchReply, Problem, ProblemError};
use redrive_door::TooSlow;
use redrive_fetch::{AcceptError, Handing, ManifestProblem, ManifestProblems, Spot};
use redrive_model::Code;

use super::shape;
use crate::app::App;
use crate::deadline::to_its_end;
use crate::disk::Incoming;
use crate::refusal::Refusal;
use crate::session::Guest;
use crate::upload::{admit_manifest, admit_received, announced, charge, idempotency_key};

/// A manifest that is packed becomes so many times as large, as far as the room for it is concerned.
const UNPACKS_TO: u64 = 64;

/// Takes a manifest and makes a batch of it.
#[utoipa::path(post, path = "/api/fetch", tag = "fetch",
    params(("Idempotency-Key" = Option<String>, Header, description = "Makes the request safe to repeat: one that has its answer gets it again, whatever quota is used up"),
        ("Content-Encoding" = Option<String>, Header, description = "gzip, or nothing")),
    request_body(description = "A JSON document of up to 1,000 resources, or NDJSON of up to 1,000,000, one a line; the first line may hold the other fields",
        content((FetchManifest = "application/json"), (String = "application/x-ndjson",
            example = "{\"manifest_version\":1,\"end_rule\":\"tolerant\"}\n{\"id\":\"cat-1\",\"url\":\"https://images.example/cats/1.jpg\"}\n"))),
    responses(
        (status = 202, description = "Accepted: a batch", body = FetchReply),
        (status = 400, description = "VALIDATION_*, VALIDATION_MISSING_FIELD, VALIDATION_UNKNOWN_FIELD, VALIDATION_DUPLICATE_ID, VALIDATION_UNSUPPORTED_VERSION, VALIDATION_DESTINATION, with line or resource and field of each flaw in `errors`", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "NOT_FOUND: this server does not fetch", body = Problem, content_type = "application/problem+json"),
        (status = 408, description = "REQUEST_TIMEOUT", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "VALIDATION_TOO_LARGE, VALIDATION_TOO_MANY", body = Problem, content_type = "application/problem+json"),
        (status = 415, description = "UNSUPPORTED_MEDIA_TYPE", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "IDEMPOTENCY_MISMATCH", body = Problem, content_type = "application/problem+json"),
        (status = 429, description = "RATE_LIMITED", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "STORAGE_UNAVAILABLE, SYSTEM_UNAVAILABLE after three quick tries; OVERLOADED", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn post(
    State(app): State<App>,
    guest: Guest,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let manifests = app.desk().manifests()?.clone();
    let shape = shape::of_request(&headers)?;
    let key = idempotency_key(&headers)?;
    let announced = announced(&headers);
    let limit = manifests.options().limits.encoded_bytes;
    if announced.is_some_and(|bytes| bytes > limit) {
        let text = format!("The manifest is larger than {limit} bytes: send it in parts.");
        return Err(Refusal::new(Code::ValidationTooLarge, text));
    }
    let place = admit_manifest(&app, &guest, announced.unwrap_or(0), key.as_deref()).await?;
    let body = while_room(&app, body.into_data_stream(), shape.gzip);
    let received = manifests.receive(body, shape, &Handing::default()).await.map_err(refused)?;
    if announced.is_none() {
        charge(&app, &guest, received.encoded_bytes(), key.as_deref()).await?;
    }
    let accepted = to_its_end(async move {
        let session = guest.keep(&app).await?;
        let _turn = admit_received(&app, &session, key.as_deref()).await?;
        let accepted = app.desk().hand_in_manifest(&session, received, key).await.map_err(refused)?;
        drop(place);
        tracing::info!(event = "fetch.accepted", batch = %accepted.batch, resources = accepted.resource_count, replayed = accepted.replayed);
        Ok(accepted)
    })
    .await?;
    let reply = FetchReply {
        job_id: accepted.batch.to_string(),
        manifest_key: accepted.manifest_key,
        resource_count: accepted.resource_count,
        replayed: accepted.replayed,
    };
    let location = format!("/api/fetch/{}", reply.job_id);
    Ok((StatusCode::ACCEPTED, [(header::LOCATION, location)], Json(reply)).into_response())
}

/// The body as long as there is room for it.
fn while_room(
    app: &App,
    body: BodyDataStream,
    packed: bool,
) -> impl Stream<Item = Result<Bytes, axum::Error>> + Send + use<> {
    let room = app.disk().watch_over(Incoming::Manifest);
    let times = if packed { UNPACKS_TO } else { 1 };
    stream::try_unfold((body, room), move |(mut body, mut room)| async move {
        let Some(piece) = body.try_next().await? else { return Ok(None) };
        room.count((piece.len() as u64).saturating_mul(times))
            .await
            .map_err(|no| axum::Error::new(NoRoom(no)))?;
        Ok(Some((piece, (body, room))))
    })
}

/// The disk was nearly full in the middle of a body.
#[derive(Debug, thiserror::Error)]
#[error("there is no room for more")]
struct NoRoom(Refusal);

/// Why a body broke off.
fn broken(error: axum::Error) -> Refusal {
    if TooSlow::is_cause_of(&error) {
        return Refusal::new(Code::RequestTimeout, "The manifest came too slowly.");
    }
    match error.into_inner().downcast::<NoRoom>() {
        Ok(no) => no.0,
        Err(_) => Refusal::new(Code::ValidationMalformed, "The body breaks off."),
    }
}

pub(crate) fn refused(error: AcceptError<axum::Error>) -> Refusal {
    match error {
        AcceptError::Body(error) => broken(error),
        AcceptError::Refused(problems) => flawed(&problems),
        AcceptError::Mismatch => {
            Refusal::new(Code::IdempotencyMismatch, "This idempotency key was used for another request.")
        }
        AcceptError::Unavailable(failure) => {
            tracing::warn!(
                event = "fetch.unavailable",
                error_code = failure.code.name(),
                "{}",
                failure.message
            );
            let text = "Storage or store did not answer, also after three tries. Send the manifest again in a moment, with the same Idempotency-Key: it is accepted once.";
            Refusal::new(failure.code, text)
        }
    }
}

/// What is wrong, each with its place. The first one decides.
fn flawed(problems: &ManifestProblems) -> Refusal {
    let first = problems.problems.first().map(ToString::to_string).unwrap_or_default();
    let more = match problems.problems.len() {
        0 | 1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    };
    let errors = problems.problems.iter().map(one).collect();
    Refusal::new(problems.code(), format!("{first}{more}.")).errors(errors)
}

fn one(problem: &ManifestProblem) -> ProblemError {
    let (line, resource) = match problem.spot {
        Spot::Whole => (None, None),
        Spot::Line(line) => (Some(line), None),
        Spot::Resource(n) => (None, Some(n as u64)),
    };
    ProblemError {
        code: problem.code.name().to_owned(),
        line,
        resource,
        field: problem.field.clone(),
        detail: problem.reason.clone(),
    }
}

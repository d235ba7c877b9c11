//! `Idempotency-Key` on what people do to jobs and what operators do: the same request with the same key is carried out once, and answered like
//! the first.
//!
//! The key is taken before the handler runs and settled behind it. A request that was refused has not used its key. Where nobody can say
//! whether something was done, because the process ended in the middle, the key stays taken: nothing is done twice, and the trail knows what the
//! first request did.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use redrive_model::{Code, Timestamp, instant};
use redrive_store::{Idempotency, Keyed};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::app::App;
use crate::body::Said;
use crate::deadline::to_its_end;
use crate::refusal::Refusal;
use crate::request::RequestId;
use crate::session::{Session, Visit};
use crate::upload::idempotency_key;

/// Says that this is the answer to an earlier request.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// Larger answers than this are none of ours.
const MOST: usize = 1 << 20;
/// Whatever was not answered for so long is not being answered any more.
const LOST: Duration = Duration::from_secs(600);
/// A store that is away when a key is to be settled is asked again so often, each time after twice as long.
const TRIES: u32 = 10;

/// Goes with an answer that is given once: what a repetition is told in its place. Nothing of the answer is kept.
#[derive(Debug, Clone)]
pub(crate) struct ToldOnce(pub(crate) String);

/// An answer as it is kept.
#[derive(Debug, Serialize, Deserialize)]
enum Kept {
    Answer { status: u16, location: Option<String>, body: String },
    ToldOnce(String),
}

/// Carries a request out, or answers it like the one that was carried out under its key.
pub(crate) async fn once(State(app): State<App>, request: Request, next: Next) -> Result<Response, Refusal> {
    let Some(key) = idempotency_key(request.headers())? else { return Ok(next.run(request).await) };
    let (visit, id) = (request.extensions().get::<Visit>(), request.extensions().get::<RequestId>());
    let (Some(visit), Some(id)) = (visit.cloned(), id.copied()) else {
        return Err(Refusal::new(Code::SystemInternal, "This route has no sessions."));
    };
    // Who has no session has nothing to do it to, and is told so by the handler.
    let Some(session) = visit.known(&app).await? else { return Ok(next.run(request).await) };
    let (request, asked) = read(request, key, &session).await?;
    // A key that is taken is settled, also when nobody waits for it.
    to_its_end(async move {
        match app.desk().take_key(&asked, id).await? {
            Keyed::Yours => Ok(settled(app, asked, id, next.run(request).await).await),
            Keyed::Answered(kept) => answer_again(&kept),
            Keyed::Taken { by, since } => {
                Err(taken(&by, since, app.desk().now().await?, session.is_operator()))
            }
        }
    })
    .await
}

/// Reads the body, which is part of what was asked.
async fn read(request: Request, key: String, session: &Session) -> Result<(Request, Idempotency), Refusal> {
    let (parts, body) = request.into_parts();
    let said = Said::from_request(Request::from_parts(parts.clone(), body), &()).await?;
    let place = parts.uri.path_and_query().map_or("", |place| place.as_str());
    let mut hash = Sha256::new();
    for part in [b"act".as_slice(), parts.method.as_str().as_bytes(), place.as_bytes(), said.bytes()] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let asked = Idempotency { owner: session.owner_of_keys()?, key, request_hash: hash.finalize().into() };
    Ok((Request::from_parts(parts, Body::from(said.bytes().clone())), asked))
}

/// What became of a request, for its key.
enum Ended {
    /// It was carried out, and answered with this.
    Done(String),
    /// It was refused: nothing was done.
    Refused,
    /// It failed, perhaps when something was done.
    Failed,
}

/// Settles the key by the answer.
async fn settled(app: App, asked: Idempotency, id: RequestId, response: Response) -> Response {
    let (parts, body) = response.into_parts();
    let body = match to_bytes(body, MOST).await {
        Ok(body) => body,
        Err(error) => {
            tracing::error!(event = "request.broke", "{error}");
            return Refusal::new(Code::SystemInternal, "Something went wrong on our side.").into_response();
        }
    };
    let ended = if parts.status.is_success() {
        let kept = match parts.extensions.get::<ToldOnce>() {
            Some(ToldOnce(text)) => Kept::ToldOnce(text.clone()),
            None => Kept::Answer {
                status: parts.status.as_u16(),
                location: parts
                    .headers
                    .get(header::LOCATION)
                    .and_then(|place| place.to_str().ok())
                    .map(str::to_owned),
                body: String::from_utf8_lossy(&body).into_owned(),
            },
        };
        Ended::Done(serde_json::to_string(&kept).unwrap_or_default())
    } else if parts.status.is_server_error() {
        Ended::Failed
    } else {
        Ended::Refused
    };
    if let Err(refusal) = settle(&app, &asked, id, &ended).await {
        tracing::warn!(event = "request.key_not_settled", request_id = %id, error_code = refusal.code());
        tokio::spawn(async move {
            for doubled in 0..TRIES {
                tokio::time::sleep(Duration::from_secs(1 << doubled)).await;
                if settle(&app, &asked, id, &ended).await.is_ok() {
                    return;
                }
            }
        });
    }
    Response::from_parts(parts, Body::from(body))
}

async fn settle(app: &App, asked: &Idempotency, id: RequestId, ended: &Ended) -> Result<(), Refusal> {
    let answer = match ended {
        Ended::Done(answer) => Some(answer.as_str()),
        Ended::Refused => None,
        Ended::Failed if app.desk().has_acted(id).await? => return Ok(()),
        Ended::Failed => None,
    };
    app.desk().settle_key(asked, id, answer).await
}

fn answer_again(kept: &str) -> Result<Response, Refusal> {
    let unreadable = |why: String| {
        tracing::error!(event = "request.kept_answer_unreadable", "{why}");
        Refusal::new(Code::SystemInternal, "Something went wrong on our side.")
    };
    match serde_json::from_str(kept).map_err(|error| unreadable(error.to_string()))? {
        Kept::ToldOnce(text) => Err(Refusal::new(Code::ConflictState, text)),
        Kept::Answer { status, location, body } => {
            let status = StatusCode::from_u16(status).map_err(|error| unreadable(error.to_string()))?;
            let json = HeaderValue::from_static("application/json");
            let mut response = (status, [(header::CONTENT_TYPE, json)], body).into_response();
            let headers = response.headers_mut();
            headers.insert(REPLAYED, HeaderValue::from_static("true"));
            if let Some(place) = location.and_then(|place| HeaderValue::from_str(&place).ok()) {
                headers.insert(header::LOCATION, place);
            }
            Ok(response)
        }
    }
}

fn taken(by: &str, since: Timestamp, now: Timestamp, is_operator: bool) -> Refusal {
    let text = if instant::between(since, now) < LOST {
        format!(
            "Request {by} with this key is still being answered: ask again in a moment, with the same key."
        )
    } else {
        let trail = if is_operator { format!(" (GET /api/audit?request_id={by})") } else { String::new() };
        format!(
            "Request {by} took this key at {since} and was never answered. Look what it did{trail}, and use a new key for the rest."
        )
    };
    Refusal::new(Code::IdempotencyInFlight, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_took_a_key_is_named_and_a_request_that_got_lost_is_said_to_be() {
        let since = instant::from_millis(1_000_000);
        let at = |seconds: u64, is_operator| {
            let refusal =
                taken("5f0c", since, instant::after(since, Duration::from_secs(seconds)), is_operator);
            assert_eq!((refusal.code(), refusal.problem().status), ("IDEMPOTENCY_IN_FLIGHT", 409));
            refusal.problem().detail.clone()
        };
        let soon = at(599, true);
        assert!(soon.contains("Request 5f0c") && soon.contains("in a moment, with the same key"), "{soon}");
        let lost = at(600, true);
        assert!(lost.contains("/api/audit?request_id=5f0c") && lost.contains("a new key"), "{lost}");
        assert!(!at(600, false).contains("/api/audit"), "the trail is the operators'");
    }

    #[test]
    fn an_answer_that_is_kept_is_given_again() {
        let kept = |kept: &Kept| answer_again(&serde_json::to_string(kept).unwrap());
        let place = Some("/api/replays/7".to_owned());
        let answer = kept(&Kept::Answer { status: 201, location: place, body: "{}".into() }).unwrap();
        let header = |name: &str| answer.headers().get(name).unwrap().to_str().unwrap();
        assert_eq!(answer.status(), 201);
        assert_eq!(header("location"), "/api/replays/7");
        assert_eq!((header("content-type"), header("idempotent-replayed")), ("application/json", "true"));
        let refusal = kept(&Kept::ToldOnce("Token 7 was made.".into())).unwrap_err();
        assert_eq!(
            (refusal.code(), refusal.problem().detail.as_str()),
            ("CONFLICT_STATE", "Token 7 was made.")
        );
        assert_eq!(answer_again("rubbish").unwrap_err().code(), "SYSTEM_INTERNAL");
    }
}

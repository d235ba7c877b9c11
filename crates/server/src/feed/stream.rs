//! `GET /api/events/stream`: own events, for operators all, as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::sse::{Event as Message, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::{StreamExt, stream};
use redrive_api::Problem;
use redrive_model::EventSeq;

use crate::app::App;
use crate::peer::Peer;
use crate::refusal::Refusal;
use crate::session::{Session, ends};
use crate::view;

/// A client that was cut off comes back after this.
const COME_BACK: Duration = Duration::from_secs(2);

/// Own events as they happen, for operators those of all jobs. Each has its sequence as id, its type as name and an `Event` as data. `reset` means: more was
/// missed than can be told, look at everything anew. The stream ends with what opened it: a session, a sign-in, a token.
#[utoipa::path(get, path = "/api/events/stream", tag = "events",
    params(("Last-Event-ID" = Option<i64>, Header, description = "The last event that was seen; what came after it follows")),
    responses(
        (status = 200, description = "Events without end", content_type = "text/event-stream", body = String),
        (status = 503, description = "OVERLOADED: too many streams of this session, of this address, or in all", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn stream(
    State(app): State<App>,
    session: Session,
    Peer(from): Peer,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let after = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    // What is no number of ours is as good as none.
    let after = after.and_then(|text| text.trim().parse::<i64>().ok()).filter(|n| *n >= 0).map(EventSeq);
    let listening = app.feed().listen(&session, from, after).await?;
    let hello = Message::default().retry(COME_BACK).comment("hello");
    // Who is cut off before the first event knows where to go on.
    let hello = if after.is_none() { hello.id(listening.position.to_string()) } else { hello };
    let reset = listening.reset.then(|| {
        let id = listening.position.to_string();
        Message::default().event("reset").id(id).data(r#"{"code":"EVENTS_GONE"}"#)
    });
    let begin = [hello].into_iter().chain(reset).chain(listening.missed.iter().map(message));
    let coming = stream::unfold(listening.coming, |mut coming| async {
        coming.next().await.map(|event| (message(&event), coming))
    });
    let mut stopping = app.stopping();
    let stop = {
        let (app, session) = (app.clone(), session.clone());
        async move {
            tokio::select! {
                _ = stopping.wait_for(|stop| *stop) => {}
                () = ends(&app, &session) => {}
            }
        }
    };
    let messages =
        stream::iter(begin.collect::<Vec<_>>()).chain(coming).map(Ok::<_, Infallible>).take_until(stop);
    let alive = KeepAlive::new().interval(app.limits().stream_heartbeat).text("still here");
    let mut response = Sse::new(messages).keep_alive(alive).into_response();
    // Proxies shall not gather it.
    let header = HeaderName::from_static("x-accel-buffering");
    response.headers_mut().insert(header, HeaderValue::from_static("no"));
    Ok(response)
}

fn message(event: &Arc<redrive_store::Event>) -> Message {
    let view = view::event(event);
    let json = serde_json::to_string(&view).unwrap_or_default();
    Message::default().id(view.sequence.to_string()).event(view.r#type).data(json)
}

//! What keeps pages fresh: a stream that says *that* something changed, a few times a second at most, and never what.
//!
//! Two things are watched: the session's jobs (or one of them) and what the banner says. A claim writes no event and a breaker
//! has none, so while something is going on the numbers are looked at too.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderName, HeaderValue};
use axum::response::sse::{Event as Message, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use redrive_model::{Code, JobId};
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior};

use super::banner;
use crate::app::App;
use crate::feed::Coming;
use crate::peer::Peer;
use crate::refusal::Refusal;
use crate::session::{Session, ends};
use crate::upload::is_active;

/// Between two messages about the same thing.
const PACE: Duration = Duration::from_millis(500);
/// Between two looks at the numbers while nothing is heard: so many times the pace.
const LOOK_EVERY: u32 = 2;
/// A page that hears nothing for longer than a few of these thinks that the connection is lost.
const BEAT: Duration = Duration::from_secs(10);

/// What to watch.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Watch {
    /// This job only.
    job: Option<String>,
}

/// `GET /live`: messages `jobs`, `banner` and `beat`.
pub(super) async fn stream(
    State(app): State<App>,
    session: Session,
    Peer(from): Peer,
    watch: Result<Query<Watch>, QueryRejection>,
) -> Result<Response, Refusal> {
    let unknown = |_| Refusal::new(Code::ValidationUnknownField, "The query can hold job.");
    let Query(watch) = watch.map_err(unknown)?;
    let job = match watch.job.as_deref() {
        Some(text) => Some(text.parse::<JobId>().map_err(|_| Refusal::forbidden())?),
        None => None,
    };
    if let Some(id) = job {
        app.desk().owned(&session, id).await?;
    }
    let listening = app.feed().listen(&session, from, None).await?;
    let (sender, receiver) = mpsc::channel(8);
    let watcher = Watcher { app, session, job, sender };
    tokio::spawn(watcher.run(listening.coming));
    let messages = stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|name| (Ok::<_, Infallible>(message(name)), receiver))
    });
    let mut response = Sse::new(messages).into_response();
    // Proxies shall not gather it.
    let header = HeaderName::from_static("x-accel-buffering");
    response.headers_mut().insert(header, HeaderValue::from_static("no"));
    Ok(response)
}

fn message(name: &'static str) -> Message {
    Message::default().event(name).data("")
}

struct Watcher {
    app: App,
    session: Session,
    job: Option<JobId>,
    sender: mpsc::Sender<&'static str>,
}

impl Watcher {
    /// Until nobody listens, the feed lets us go (who listens comes back), what opened the session ends, or the server stops.
    async fn run(self, mut coming: Coming) {
        let mut stopping = self.app.stopping();
        let mut ends = std::pin::pin!(ends(&self.app, &self.session));
        let mut tick = tokio::time::interval(PACE);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut jobs, mut banner) = (self.jobs().await, banner::signature(&self.app).await);
        let (mut changed, mut told, mut round) = (false, Instant::now(), 0u32);
        if self.sender.send("beat").await.is_err() {
            return;
        }
        loop {
            tokio::select! {
                _ = stopping.wait_for(|stop| *stop) => return,
                () = &mut ends => return,
                () = self.sender.closed() => return,
                event = coming.next() => match event {
                    None => return,
                    Some(event) => {
                        changed |= self.job.is_none_or(|job| event.job == Some(job));
                        continue;
                    }
                },
                _ = tick.tick() => {}
            }
            let mut names = Vec::new();
            round = round.wrapping_add(1);
            if changed || (jobs.active && round.is_multiple_of(LOOK_EVERY)) {
                let now = self.jobs().await;
                if changed || now != jobs {
                    names.push("jobs");
                }
                (jobs, changed) = (now, false);
            }
            let now = banner::signature(&self.app).await;
            if now != banner {
                names.push("banner");
                banner = now;
            }
            if names.is_empty() && told.elapsed() >= BEAT {
                names.push("beat");
            }
            for name in names {
                told = Instant::now();
                if self.sender.send(name).await.is_err() {
                    return;
                }
            }
        }
    }

    /// What is looked at besides events. A store that is away looks like a change, and soon like another.
    async fn jobs(&self) -> Jobs {
        let seen = match self.job {
            None => self.app.desk().counts(&self.session, true).await.map(|counts| Jobs {
                active: counts.iter().any(|count| is_active(count.shown) && count.jobs > 0),
                signature: format!("{counts:?}"),
            }),
            Some(id) => self.app.desk().owned(&self.session, id).await.map(|job| Jobs {
                active: is_active(job.shown),
                signature: format!("{} {} {}", job.shown, job.attempt, job.due_at),
            }),
        };
        seen.unwrap_or(Jobs { active: true, signature: String::new() })
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Jobs {
    /// Something will still happen.
    active: bool,
    signature: String,
}

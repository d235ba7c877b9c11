//! One job: how it is, why, what comes next, what happened, and what was made of it.

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use maud::{Markup, html};
use redrive_api::{Event, Explanation};
use redrive_model::{BatchId, Code, Shown, text};

use super::banner::banner;
use super::icon;
use super::layout::{Place, Shell, sentences};
use super::preview::preview;
use super::row::{Line, line};
use super::timeline::timeline;
use super::viewer::Viewer;
use super::words::{self, span, time_exactly};
use crate::app::App;
use crate::jobs::look::explanation;
use crate::own::Owned;
use crate::refusal::Refusal;
use crate::view;

/// The page, or the part of it that is kept fresh.
pub(super) async fn page(
    State(app): State<App>,
    viewer: Viewer,
    headers: HeaderMap,
    job: Owned,
) -> Result<Response, Refusal> {
    let piece = piece(&app, &job, &headers).await?;
    if super::wants_piece(&headers) {
        return Ok(super::html(piece));
    }
    let title = title(&job);
    let stream = format!("/live?job={}", job.id);
    let place = if batch_of(&job).is_some() { Place::Fetch } else { Place::Jobs };
    Ok(Shell::new(&title, viewer).at(place).live(banner(&app).await, stream).page(&piece))
}

/// The batch of downloads that it is part of.
fn batch_of(job: &Owned) -> Option<BatchId> {
    job.batch.filter(|_| job.workload.as_str() == "fetch")
}

/// The state comes first: a tab shows the beginning.
fn title(job: &Owned) -> String {
    let name = job.label.as_deref().unwrap_or("unnamed");
    format!("{}: {}", words::state(job.shown), text::one_line_chars(name, 60))
}

/// Everything about the job.
pub(super) async fn piece(app: &App, job: &Owned, headers: &HeaderMap) -> Result<Markup, Refusal> {
    let line = line(app, job, app.desk().now().await?).await?;
    let story = explanation(job).await?;
    let events: Vec<Event> = job.events().await?.iter().map(view::event).collect();
    Ok(html! {
        article #job data-job=(job.id) hx-get={ "/jobs/" (job.id) } hx-trigger="jobs from:#live" hx-swap="outerMorph"
            data-title=(title(job)) {
            p.fine.crumb {
                @match batch_of(job) {
                    Some(batch) => a href={ "/fetch/" (batch) } { "Its batch" },
                    None => a href="/jobs" { "All jobs" },
                }
            }
            h1 { bdi { (line.name()) } }
            div.head {
                p.how { (icon::state(line.shown)) " " (line.detail()) }
                div.acts { (line.acts(false)) }
            }
            (line.facts())
            (lease(&line))
            (failure(&line, &story))
            (preview(app, job).await)
            (timeline(&line, &story))
            (history(&events))
            (commands(&line, &origin(app, headers)))
        }
    })
}

/// Who runs it and until when, for operators.
fn lease(line: &Line) -> Markup {
    html! {
        @if let (Some(worker), Some(until)) = (&line.job.worker, line.job.lease_expires_at) {
            p.fine.lease {
                "Runs on worker " a href={ "/workers#worker-" (worker) } { code { (worker) } } ", which holds it until " (time_exactly(until))
                " and extends that while it lives."
            }
        }
    }
}

/// Why it is where it is, and what comes next. A failure says its three sentences, with the words of this very job first.
fn failure(line: &Line, story: &Explanation) -> Markup {
    let job = &line.job;
    let code = job.error.as_ref().map(|error| error.code.as_str());
    let code = code.or_else(|| job.last_failure.as_ref().map(|failure| failure.code.as_str()));
    let happened = job.error.as_ref().map(|error| error.message.as_str());
    let happened = happened.or_else(|| job.last_failure.as_ref().map(|failure| failure.message.as_str()));
    match (line.shown, code.and_then(Code::parse)) {
        (Shown::Failed, Some(code)) => html! {
            section.explain.is-bad aria-label="Why it failed" {
                (sentences(code, happened))
                p.fine { a href={ "/failures/" (code.public().name()) } { "About " (code.public().name()) } }
            }
        },
        (Shown::Complete, _) if line.expired => html! {
            section.explain aria-label="What comes next" { (sentences(Code::Expired, Some(Code::Expired.entry().what_happened))) }
        },
        (Shown::Complete, _) => html! {},
        (_, Some(code)) => html! {
            section.explain.(icon::class(line.shown)) aria-label="What comes next" {
                p { (next(line, story)) }
                p.why { "Last time: " (happened.unwrap_or_default()) " " a href={ "/failures/" (code.public().name()) } { (code.public().name()) } }
            }
        },
        (_, None) => html! {
            section.explain.(icon::class(line.shown)) aria-label="What comes next" { p { (next(line, story)) } }
        },
    }
}

/// The engine's sentence, but for those that hold an instant: people get a countdown for these.
fn next(line: &Line, story: &Explanation) -> Markup {
    let job = &line.job;
    match (line.shown, job.retry_after) {
        (Shown::WaitingRetry, Some(at)) => html! {
            "It is tried again by itself: attempt " (job.attempt + 1)
            @if let Some(most) = job.max_attempts { " of " (most) }
            " comes " (words::countdown(at, line.now)) "."
        },
        (Shown::Scheduled, Some(at)) => {
            html! { "It runs " (words::countdown(at, line.now)) " for the first time." }
        }
        (Shown::Processing, _) if job.workload == "fetch" => {
            html! { "It is being fetched. There is nothing to do." }
        }
        (Shown::Processing, _) => html! { "It is being converted. There is nothing to do." },
        (_, _) => html! { (story.now) },
    }
}

fn history(events: &[Event]) -> Markup {
    html! {
        details.history {
            summary { "Events (" (events.len()) ")" }
            ol.events {
                @for event in events {
                    li {
                        (time_exactly(event.at)) " " strong { (event.r#type) }
                        @if event.attempt > 0 { ", attempt " (event.attempt) }
                        @if let Some(ms) = event.duration_ms.and_then(|ms| u64::try_from(ms).ok()) {
                            ", " (span(std::time::Duration::from_millis(ms)))
                        }
                        @if let Some(code) = &event.error_code { ", " a href={ "/failures/" (code) } { (code) } }
                    }
                }
            }
        }
    }
}

/// The same for those who would rather type.
fn commands(line: &Line, origin: &str) -> Markup {
    let id = &line.job.id;
    let at = format!("{origin}/api/jobs/{id}");
    let can_retry = line.shown == Shown::Failed && line.no_retry.is_none();
    html! {
        details.commands {
            summary { "On the command line" }
            p.fine { "With the cookie of your session in the file " code { "jar" } ":" }
            pre tabindex="0" aria-label="Commands with curl" {
                "curl -b jar " (at) "\n"
                "curl -b jar " (at) "/explain\n"
                @if line.job.can_download { "curl -b jar -OJ " (at) "/download\n" }
                @if can_retry { "curl -b jar -X POST " (at) "/retry\n" }
                @if line.job.links.cancel.is_some() { "curl -b jar -X POST " (at) "/cancel\n" }
            }
            p.fine { "On the server:" }
            pre tabindex="0" aria-label="Commands with redrive" {
                "redrive jobs show " (id) "\n"
                @if can_retry { "redrive jobs retry " (id) "\n" }
                @if let Some(error) = &line.job.error { "redrive explain " (error.code) "\n" }
            }
        }
    }
}

/// How the reader reaches this server, as far as that can be told. It is only shown.
fn origin(app: &App, headers: &HeaderMap) -> String {
    match app.public_url() {
        Some(url) => url.as_str().trim_end_matches('/').to_owned(),
        None => {
            let host =
                headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("127.0.0.1:8080");
            format!("http://{}", text::one_line(host, 255, false))
        }
    }
}

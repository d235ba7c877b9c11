//! One document: what it is, why it failed and what to do, where its PDF went; kept fresh while something is still to happen.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use redrive_api::{DocumentHistory, DocumentMove, IntakeDocument};
use redrive_model::{Code, JobId, State as JobState};
use url::form_urlencoded;

use super::super::banner::banner;
use super::super::layout::{Place, Shell};
use super::super::viewer::Viewer;
use super::super::words::{bytes, time, time_exactly};
use super::records::table;
use super::siblings;
use crate::app::App;
use crate::intake::documents::{history, named};
use crate::operator::Operator;
use crate::refusal::Refusal;

/// The word of the query that names the report somebody waits for.
pub(super) const REPORT: &str = "report";

/// A report that was asked for here.
struct Asked {
    job: JobId,
    state: JobState,
}

/// The page, or the part of it that is kept fresh.
pub(in crate::pages) async fn page(
    State(app): State<App>,
    operator: Operator,
    viewer: Viewer,
    id: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let story = history(&app, operator, named(id)?).await?;
    let asked = match wanted(query.as_deref()) {
        Some(job) => app.desk().report_job(operator, job).await?.map(|row| Asked { job, state: row.state }),
        None => None,
    };
    let piece = piece(&story, asked.as_ref());
    if super::super::wants_piece(&headers) {
        return Ok(super::super::html(piece));
    }
    let body = html! { (siblings("")) (piece) };
    let title = &story.document.path;
    Ok(Shell::new(title, viewer).at(Place::Intake).live(banner(&app).await, "/live").page(&body))
}

/// The job that writes the report.
fn wanted(query: Option<&str>) -> Option<JobId> {
    let mut words = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    words.find_map(|(name, value)| if name == REPORT { value.parse().ok() } else { None })
}

fn piece(story: &DocumentHistory, asked: Option<&Asked>) -> Markup {
    let document = &story.document;
    let mut here = format!("/intake/documents/{}", document.id);
    if let Some(asked) = asked {
        here.push_str(&format!("?{REPORT}={}", asked.job));
    }
    let writes = asked.is_some_and(|asked| matches!(asked.state, JobState::Queued | JobState::Processing));
    let moves = matches!(document.stage.as_str(), "waiting" | "processing");
    html! {
        article #document hx-get=(here) hx-trigger=[(writes || moves).then_some("every 2s")] hx-swap="outerMorph" {
            h1 { bdi { (document.path) } }
            (stage(document))
            (acts(document, writes))
            @if let Some(asked) = asked { (report(asked)) }
            (facts(document))
            (moved(story))
            h2 { "What failed" }
            @if story.failures.is_empty() { p.fine { "Nothing." } } @else { (table(&story.failures, false)) }
        }
    }
}

/// Where it is, in a sentence, and why.
fn stage(document: &IntakeDocument) -> Markup {
    let (tone, words) = match document.stage.as_str() {
        "waiting" if document.retry_count > 0 => {
            ("is-delayed", "It failed and waits in the queue to be tried again.")
        }
        "waiting" => ("is-waiting", "It waits in the queue."),
        "processing" => ("is-running", "It is being processed."),
        "done" => ("is-good", "It is done. The PDF and what was made of it lie in result/."),
        "failed" => ("is-bad", "It was given up. The PDF is kept in failed/."),
        _ => ("is-bad", "Somebody took the PDF away or replaced it, so nothing more is done."),
    };
    let failure = document.last_failure.as_ref().filter(|_| document.stage != "done");
    let code = failure.and_then(|failure| Code::parse(&failure.code));
    html! {
        p { strong class={ "toned " (tone) } { (words) } }
        @if let (Some(failure), Some(code)) = (failure, code) {
            section class={ "explain " (tone) } aria-label="Why" {
                (why(document, code))
                p.fine { "Code " a href={ "/failures/" (failure.code) } { (failure.code) } ": " (failure.message) }
            }
        }
    }
}

/// The registry's sentences, but for what we do: here everything is tried again, as often as the setting says.
fn why(document: &IntakeDocument, code: Code) -> Markup {
    let entry = code.entry();
    let kept = "The PDF is kept in failed/.";
    let does = match (document.stage.as_str(), document.retry_count) {
        ("waiting" | "processing", _) => "It is tried again by itself.".to_owned(),
        ("failed", _) if code == Code::Cancelled => kept.to_owned(),
        ("failed", 0) => format!("We tried once and gave up. {kept}"),
        ("failed", retries) => format!("We tried {} times and gave up. {kept}", u64::from(retries) + 1),
        _ => "Nothing more is done.".to_owned(),
    };
    html! {
        dl.sentences {
            div { dt { "What happened" } dd { (entry.what_happened) } }
            div { dt { "What we do" } dd { (does) } }
            div { dt { "What you can do" } dd { (entry.what_you_can_do) } }
        }
    }
}

/// What can be done with it. There is nothing to report about what never failed.
fn acts(document: &IntakeDocument, writes: bool) -> Markup {
    let id = &document.id;
    html! {
        div.actions {
            @if document.stage == "failed" {
                form method="post" action={ "/jobs/" (id) "/retry" } { button { "Try again" } }
            }
            @if document.report.is_some() {
                a.button.quiet href={ "/api/intake/documents/" (id) "/report" } download { "Download the report" }
            }
            @if document.last_failure.is_some() && !writes {
                form method="post" action={ "/intake/documents/" (id) "/report" } {
                    button.quiet { @if document.report.is_some() { "Write the report again" } @else { "Write a report" } }
                }
            }
            a.button.quiet href={ "/jobs/" (id) } { "Its attempts" }
        }
    }
}

/// How it is with the report that somebody asked for.
fn report(asked: &Asked) -> Markup {
    html! {
        p.remark role="status" {
            @match asked.state {
                JobState::Queued | JobState::Processing => "The report is being written. It can be downloaded here in a moment.",
                JobState::Complete => "The report is written.",
                JobState::Failed | JobState::Cancelled => {
                    "The report could not be written. " a href={ "/jobs/" (asked.job) } { "Why" }
                }
            }
        }
    }
}

fn facts(document: &IntakeDocument) -> Markup {
    html! {
        dl.facts {
            div { dt { "Owner" } dd { bdi { (document.owner) } } }
            div { dt { "Lies at" } dd { bdi { (document.place) } } }
            @if let Some(report) = &document.report { div { dt { "Report" } dd { bdi { (report) } } } }
            div { dt { "Size" } dd { (bytes(document.bytes)) } }
            div { dt { "Taken in" } dd { (time(document.created_at)) } }
            div { dt { "Tried again" } dd { (document.retry_count) @if document.max_retries_exceeded { ", as often as it may be" } } }
            @if let Some(sha256) = &document.sha256 { div { dt { "SHA-256" } dd { code { (sha256) } } } }
        }
    }
}

fn moved(story: &DocumentHistory) -> Markup {
    html! {
        h2 { "Where the PDF went" }
        @if story.moves.is_empty() {
            p.fine { "It was not moved yet." }
        } @else {
            table.plain-table.stacks {
                thead { tr { th scope="col" { "When" } th scope="col" { "From" } th scope="col" { "To" } th scope="col" { "Why" } } }
                tbody { @for one in &story.moves { (row(one)) } }
            }
        }
    }
}

fn row(one: &DocumentMove) -> Markup {
    let why = match one.why.as_str() {
        "process" => "To be processed",
        "done" => "It is done",
        "retry" => "To be tried again",
        "failed" => "It was given up",
        "cancelled" => "Somebody cancelled it",
        other => other,
    };
    html! {
        tr {
            th scope="row" { (time_exactly(one.at)) }
            td { bdi { (one.from) } }
            td { bdi { (one.to) } }
            td {
                (why)
                @match one.state.as_str() {
                    "open" => { " " span.fine { "not finished yet" } }
                    "lost" => { " " span.why { "there was nothing to move" } }
                    _ => {}
                }
                @if let Some(note) = &one.note { " " span.fine { (note) } }
            }
        }
    }
}

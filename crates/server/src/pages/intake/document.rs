//! One document: what it is, where its PDF went, and what failed.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use maud::{Markup, html};
use redrive_api::{DocumentHistory, DocumentMove, IntakeDocument};
use redrive_model::Code;

use super::super::layout::{Shell, sentences};
use super::super::words::{bytes, time, time_exactly};
use super::records::table;
use super::siblings;
use crate::app::App;
use crate::intake::documents::{history, named};
use crate::operator::Operator;
use crate::refusal::Refusal;

/// The page.
pub(in crate::pages) async fn page(
    State(app): State<App>,
    operator: Operator,
    id: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let story = history(&app, operator, named(id)?).await?;
    let document = &story.document;
    let asked = query.as_deref() == Some("report=asked");
    let body = html! {
        h1 { bdi { (document.path) } }
        (siblings(""))
        @if asked { p.remark role="status" { "A report is being written. Its place is told here when it is there." } }
        (stage(document))
        (facts(document))
        (acts(document))
        (moves(&story))
        h2 { "What failed" }
        @if story.failures.is_empty() { p.fine { "Nothing." } } @else { (table(&story.failures, false)) }
    };
    Ok(Shell::new(&document.path).page(&body))
}

/// Where it is, in a sentence.
fn stage(document: &IntakeDocument) -> Markup {
    let (tone, words) = match document.stage.as_str() {
        "waiting" => ("is-delayed", "It waits in the queue."),
        "processing" => ("is-delayed", "It is being processed."),
        "done" => ("is-good", "It is done; PDF and results lie in result."),
        "failed" => ("is-bad", "It was given up; the PDF lies in failed and is not deleted."),
        _ => ("is-bad", "Somebody took the PDF away or replaced it, so nothing more is done."),
    };
    let failure = document.last_failure.as_ref().filter(|_| document.stage != "done");
    let code = failure.and_then(|failure| Code::parse(&failure.code));
    html! {
        p.lead { strong class={ "toned " (tone) } { (words) } }
        @if let (Some(failure), Some(code)) = (failure, code) {
            p { a href={ "/failures/" (failure.code) } { (failure.code) } " " span.why { (failure.message) } }
            (sentences(code, None))
        }
    }
}

fn facts(document: &IntakeDocument) -> Markup {
    html! {
        dl.facts {
            div { dt { "Owner" } dd { bdi { (document.owner) } } }
            div { dt { "Lies at" } dd { bdi { (document.place) } } }
            div { dt { "Size" } dd { (bytes(document.bytes)) } }
            div { dt { "Taken in" } dd { (time(document.created_at)) } }
            div { dt { "Tried again" } dd { (document.retry_count) @if document.max_retries_exceeded { ", as often as it may be" } } }
            @if let Some(report) = &document.report { div { dt { "Report" } dd { bdi { (report) } } } }
            @if let Some(sha256) = &document.sha256 { div { dt { "SHA-256" } dd { code { (sha256) } } } }
        }
    }
}

fn acts(document: &IntakeDocument) -> Markup {
    let id = &document.id;
    html! {
        div.actions {
            @if document.stage == "failed" {
                form method="post" action={ "/jobs/" (id) "/retry" } { button { "Try again" } }
            }
            form method="post" action={ "/intake/documents/" (id) "/report" } { button.quiet { "Write a report" } }
            a href={ "/jobs/" (id) } { "Its attempts" }
        }
    }
}

fn moves(story: &DocumentHistory) -> Markup {
    html! {
        h2 { "Where the PDF went" }
        @if story.moves.is_empty() {
            p.fine { "It was not moved yet." }
        } @else {
            table.plain-table.stacks {
                thead { tr { th scope="col" { "When" } th scope="col" { "From" } th scope="col" { "To" } th scope="col" { "Why" } } }
                tbody { @for one in &story.moves { (moved(one)) } }
            }
        }
    }
}

fn moved(one: &DocumentMove) -> Markup {
    let why = match one.why.as_str() {
        "process" => "to be processed",
        "done" => "it is done",
        "retry" => "to be tried again",
        "failed" => "it was given up",
        "cancelled" => "somebody stopped it",
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

//! The list of batches, and the field to hand in addresses.

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use redrive_api::{FetchBatch, FetchList};

use super::super::banner::banner;
use super::super::layout::{Place, Shell};
use super::super::viewer::Viewer;
use super::super::words::{number, time};
use super::outcome::{Outcome, state};
use crate::app::App;
use crate::fetch::look;
use crate::refusal::Refusal;
use crate::session::Session;

/// The page, or its table.
pub(in crate::pages) async fn page(
    State(app): State<App>,
    session: Session,
    viewer: Viewer,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let list = look::batches(&app, &session, query.as_deref()).await?;
    let first = query.as_deref().unwrap_or_default().is_empty();
    let table = table(&list, query.as_deref().unwrap_or_default());
    if super::super::wants_piece(&headers) {
        return Ok(super::super::html(table));
    }
    let body = html! {
        h1 { "Fetch" }
        p.lead { "Hand in web addresses. Each is downloaded, checked and stored; what could not be fetched is named, with the reason." }
        @if first { (form(None, "")) }
        (table)
        (commands())
    };
    Ok(Shell::new("Fetch", viewer).at(Place::Fetch).live(banner(&app).await, "/live").page(&body))
}

/// The field for addresses, with what was wrong with those that were handed in.
pub(super) fn form(flaw: Option<&str>, typed: &str) -> Markup {
    html! {
        form method="post" action="/fetch" {
            label for="urls" { "Addresses, one a line" }
            textarea #urls name="urls" required spellcheck="false" aria-invalid=[flaw.map(|_| "true")] aria-describedby=[flaw.map(|_| "flaw")] { (typed) }
            @if let Some(flaw) = flaw { p.why #flaw role="alert" { "Nothing was handed in: " (flaw) } }
            div.actions { button.big { "Fetch" } }
        }
    }
}

fn table(list: &FetchList, query: &str) -> Markup {
    let live = list.batches.iter().any(|batch| batch.finished_at.is_none());
    let address = if query.is_empty() { "/fetch".to_owned() } else { format!("/fetch?{query}") };
    html! {
        section #batches hx-get=(address) hx-trigger=[live.then_some("every 2s")] hx-swap="outerMorph" aria-label="Batches" {
            @if list.batches.is_empty() {
                div.empty { p { "Nothing was fetched yet." } }
            } @else {
                table.jobs role="table" {
                    thead role="rowgroup" {
                        tr role="row" {
                            th role="columnheader" scope="col" { "Batch" }
                            th role="columnheader" scope="col" { "How far it is" }
                        }
                    }
                    tbody role="rowgroup" { @for batch in &list.batches { (row(batch)) } }
                }
            }
            nav.pages aria-label="More batches" {
                @if !query.is_empty() { a href="/fetch" { "Newest" } }
                @if let Some(next) = &list.next_cursor { a href={ "/fetch?cursor=" (next) } rel="next" { "Older" } }
            }
        }
    }
}

fn row(batch: &FetchBatch) -> Markup {
    let outcome = Outcome::of(batch);
    html! {
        tr role="row" {
            td.file role="cell" {
                a.name href={ "/fetch/" (batch.job_id) } {
                    (number(batch.resources_total)) @if batch.resources_total == 1 { " resource" } @else { " resources" }
                }
                " " span.fine {
                    (time(batch.created_at))
                    @if let Some(owner) = &batch.owner { " · " bdi { (owner) } }
                }
            }
            td.how role="cell" { (state(&batch.status)) (outcome.bar()) span.fine { (outcome.words()) } }
        }
    }
}

fn commands() -> Markup {
    html! {
        details.commands {
            summary { "On the command line" }
            p.fine { "A manifest names each resource; as NDJSON it may hold a million of them." }
            pre tabindex="0" aria-label="Commands" {
                "redrive fetch --manifest urls.txt\n"
                "curl -b jar -H 'Content-Type: application/x-ndjson' --data-binary @manifest.ndjson …/api/fetch\n"
            }
        }
    }
}

//! Workers: who lives, what they run, and how many jobs they hold.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use redrive_api::Worker;

use super::super::layout::Place;
use super::super::words::{number, time};
use crate::app::App;
use crate::desk::workers;
use crate::operator::Operator;
use crate::refusal::Refusal;

/// The page, or the piece of it that is kept fresh.
pub(in crate::pages) async fn page(
    State(app): State<App>,
    operator: Operator,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let all = workers::all(&app, operator).await?;
    let piece = html! {
        section #workers hx-get="/workers" hx-trigger="every 2s" hx-swap="outerMorph" {
            h1 { "Workers" }
            p.lead { "Processes that run jobs. What one held when it went away is taken back and run by another." }
            @if all.is_empty() {
                div.empty { p { "No worker was seen yet: jobs wait." } }
            } @else {
                table.plain-table.stacks {
                    thead {
                        tr {
                            th scope="col" { "Worker" } th scope="col" { "How it is" } th.num scope="col" { "Jobs it holds" }
                            th.num scope="col" { "At once" } th scope="col" { "Started" } th scope="col" { "Last seen" }
                        }
                    }
                    tbody { @for worker in &all { (row(worker)) } }
                }
            }
        }
    };
    Ok(super::fresh(&app, &headers, "Workers", Place::Workers, piece).await)
}

fn row(worker: &Worker) -> Markup {
    let (tone, word) = match worker.state.as_str() {
        "alive" => ("is-good", "Alive"),
        "draining" => ("is-delayed", "Finishing what it has"),
        _ => ("is-off", "Gone"),
    };
    html! {
        tr {
            th scope="row" { bdi { (worker.name) } " " span.fine { (worker.build) } }
            td { strong.toned.(tone) { (word) } }
            td.num data-of="Jobs it holds" { (number(worker.leases)) }
            td.num data-of="At once" { (worker.concurrency) }
            td { (time(worker.started_at)) }
            td { (time(worker.seen_at)) }
        }
    }
}

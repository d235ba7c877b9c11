//! Workers: who lives, what they run, and how many jobs they hold.

use axum::Form;
use axum::extract::rejection::{FormRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use redrive_api::{DrainWorker, Worker};

use super::super::layout::Place;
use super::super::words::{number, time};
use super::Pressed;
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
                            th.num scope="col" { "At once" } th scope="col" { "Started" } th scope="col" { "Last seen" } th scope="col" { "Acts" }
                        }
                    }
                    tbody { @for worker in &all { (row(worker)) } }
                }
            }
        }
    };
    Ok(super::fresh(&app, &headers, "Workers", Place::Workers, piece).await)
}

/// Wants one to take nothing new, or to take work again.
pub(in crate::pages) async fn change(
    State(app): State<App>,
    operator: Operator,
    id: Result<Path<String>, PathRejection>,
    form: Result<Form<Pressed>, FormRejection>,
) -> Result<Response, Refusal> {
    let (id, pressed) = (workers::named(id)?, super::read(form)?);
    let cancel = match pressed.act.as_str() {
        "drain" => false,
        "back" => true,
        _ => return Err(super::odd()),
    };
    let wish = DrainWorker { cancel, reason: pressed.because().reason };
    workers::drained(&app, operator, id, wish).await?;
    Ok(Redirect::to("/workers").into_response())
}

fn row(worker: &Worker) -> Markup {
    let (act, say) = if worker.drain_wanted { ("back", "Take work again") } else { ("drain", "Drain") };
    let (tone, word) = match worker.state.as_str() {
        "alive" => ("is-good", "Alive"),
        "draining" => ("is-delayed", "Finishing what it has"),
        _ => ("is-off", "Gone"),
    };
    html! {
        tr {
            th scope="row" { bdi { (worker.name) } " " span.fine { (worker.build) } }
            td {
                strong.toned.(tone) { (word) }
                @if worker.drain_wanted && worker.state == "alive" { p.fine { "It will hear that it shall take nothing new." } }
            }
            td.num data-of="Jobs it holds" { (number(worker.leases)) }
            td.num data-of="At once" { (worker.concurrency) }
            td { (time(worker.started_at)) }
            td { (time(worker.seen_at)) }
            td {
                @if worker.state != "gone" {
                    form.inline method="post" action={ "/workers/" (worker.id) } {
                        button.quiet name="act" value=(act) aria-label={ (say) " " (worker.name) } { (say) }
                    }
                }
            }
        }
    }
}

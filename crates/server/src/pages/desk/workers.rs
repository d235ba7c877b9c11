//! Workers: who lives, what they run, and how many jobs they hold.

use axum::Form;
use axum::extract::rejection::{FormRejection, PathRejection};
use axum::extract::{Path, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use redrive_api::{DrainWorker, Worker};
use serde::Deserialize;

use super::super::layout::Place;
use super::super::words::{number, time};
use super::{Pressed, why};
use crate::app::App;
use crate::deadline::to_its_end;
use crate::desk::workers;
use crate::operator::Operator;
use crate::query;
use crate::refusal::Refusal;

/// The page, or the piece of it that is kept fresh.
pub(in crate::pages) async fn page(
    State(app): State<App>,
    operator: Operator,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let asked = query::page(query.as_deref())?;
    let here = query.filter(|query| !query.is_empty()).map(|query| format!("/workers?{query}"));
    let list = workers::page(&app, operator, asked).await?;
    let all = &list.workers;
    let stopped = app.desk().paused(operator).await?;
    let piece = html! {
        section #workers hx-get=(here.as_deref().unwrap_or("/workers")) hx-trigger="every 2s" hx-swap="outerMorph" {
            h1 { "Workers" }
            p.lead { "Processes that run jobs. When one dies, its jobs are taken over by another." }
            @if all.is_empty() {
                div.empty { p { "No worker has been seen yet: jobs wait." } }
            } @else {
                table.plain-table.stacks {
                    thead {
                        tr {
                            th scope="col" { "Worker" } th scope="col" { "How it is" } th.num scope="col" { "Jobs it holds" }
                            th.num scope="col" { "At once" } th scope="col" { "Started" } th scope="col" { "Last seen" } th scope="col" { "Acts" }
                        }
                    }
                    tbody { @for worker in all { (row(worker)) } }
                }
            }
            (paused(&stopped))
            nav.pages aria-label="More workers" {
                @if let Some(next) = &list.next_cursor { a href={ "/workers?cursor=" (next) } rel="next" { "More" } }
            }
        }
    };
    Ok(super::fresh(&app, &headers, "Workers", Place::Workers, piece).await)
}

/// What a person has paused, with the way to end that.
fn paused(names: &[String]) -> Markup {
    html! {
        @if !names.is_empty() {
            h2 #paused { "Paused" }
            p.fine { "No worker starts these jobs until somebody resumes them. They wait and are not lost." }
            table.plain-table.stacks {
                thead { tr { th scope="col" { "Kind of job" } th scope="col" { "Acts" } } }
                tbody {
                    @for name in names {
                        @let shown = if name.is_empty() { "everything" } else { name };
                        tr {
                            th scope="row" { (shown) }
                            td {
                                form.inline method="post" action="/workers" {
                                    input type="hidden" name="workload" value=(name);
                                    button.quiet name="act" value="resume" aria-label={ "Resume " (shown) } { "Resume" } " "
                                    (why(shown))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What the form of a pause says.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(in crate::pages) struct Resuming {
    act: String,
    workload: String,
    reason: String,
}

/// Ends a pause.
pub(in crate::pages) async fn resume(
    State(app): State<App>,
    operator: Operator,
    form: Result<Form<Resuming>, FormRejection>,
) -> Result<Response, Refusal> {
    let Resuming { act, workload, reason } = super::read(form)?;
    if act != "resume" {
        return Err(super::odd());
    }
    let workload = query::workload(Some(workload))?;
    let (desk, reason) = (app.desk().clone(), query::given(Some(reason)));
    to_its_end(async move { desk.resume(operator, workload.as_ref(), reason).await }).await?;
    Ok(Redirect::to("/workers").into_response())
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
        "draining" => ("is-delayed", "Finishing its jobs"),
        _ => ("is-off", "Gone"),
    };
    html! {
        tr #{ "worker-" (worker.id) } {
            th scope="row" { bdi { (worker.name) } " " span.fine { (worker.build) } }
            td {
                strong.toned.(tone) { (word) }
                @if worker.drain_wanted && worker.state == "alive" { p.fine { "It stops taking jobs at its next heartbeat." } }
            }
            td.num data-of="Jobs it holds" {
                @if worker.leases > 0 {
                    a href={ "/jobs?worker=" (worker.id) } aria-label={ (number(worker.leases)) " jobs of " (worker.name) } { (number(worker.leases)) }
                } @else { "0" }
            }
            td.num data-of="At once" { (worker.concurrency) }
            td data-of="Started" { (time(worker.started_at)) }
            td data-of="Last seen" { (time(worker.seen_at)) }
            td {
                @if worker.state != "gone" {
                    form.inline method="post" action={ "/workers/" (worker.id) } {
                        button.quiet name="act" value=(act) aria-label={ (say) " " (worker.name) } { (say) } " "
                        (why(&worker.id))
                    }
                }
            }
        }
    }
}

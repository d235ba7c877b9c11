//! The trail: who did what to what, with what right, why, what became of it, and what it changed.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use maud::{Markup, html};
use redrive_api::Act;

use super::super::layout::{Place, Shell};
use super::super::viewer::Viewer;
use super::super::words::time_exactly;
use crate::app::App;
use crate::desk::acts;
use crate::operator::Operator;
use crate::refusal::Refusal;

/// The page.
pub(in crate::pages) async fn page(
    State(app): State<App>,
    operator: Operator,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let list = acts::page(&app, operator, query.as_deref()).await?;
    let body = html! {
        h1 { "Audit" }
        p.lead { "What people did here, newest first. Nothing is ever taken out of it by hand." }
        @if list.acts.is_empty() {
            div.empty { p { "Nobody did anything yet." } }
        } @else {
            table.plain-table.stacks.trail {
                thead {
                    tr {
                        th scope="col" { "When" } th scope="col" { "Who" } th scope="col" { "What" }
                        th scope="col" { "Why" } th scope="col" { "Outcome" }
                    }
                }
                tbody { @for act in &list.acts { (row(act)) } }
            }
        }
        nav.pages aria-label="Older acts" {
            @if let Some(next) = &list.next_cursor { a href={ "/audit?cursor=" (next) } rel="next" { "Older" } }
        }
    };
    Ok(Shell::new("Audit", Viewer::operator(&app)).at(Place::Audit).page(&body))
}

fn row(act: &Act) -> Markup {
    html! {
        tr {
            th scope="row" { (time_exactly(act.at)) }
            td {
                bdi { (act.actor) }
                @if let Some(scope) = &act.scope { div.fine { "scope " (scope) } }
            }
            td { code { (act.action) } " " bdi { (act.subject) } }
            td { @if let Some(reason) = &act.reason { bdi { (reason) } } }
            td {
                @match &act.outcome {
                    Some(outcome) => { bdi { (outcome) } }
                    None => { span.fine { "not known: it goes on, or the process ended in the middle" } }
                }
                (change(act))
                @if let Some(id) = &act.request_id { div.fine { "request " code { (id) } } }
            }
        }
    }
}

/// What was changed: what was made was nothing before, what was removed is nothing after.
fn change(act: &Act) -> Markup {
    let side = |words: &Option<String>| {
        html! {
            @match words {
                Some(words) => { bdi { (words) } }
                None => { "nothing" }
            }
        }
    };
    html! {
        @if act.before.is_some() || act.after.is_some() {
            div.change { (side(&act.before)) " → " (side(&act.after)) }
        }
    }
}

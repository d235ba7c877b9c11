//! The dead letters of one cause, each with what can be done with it alone.

use axum::Form;
use axum::extract::rejection::{FormRejection, PathRejection};
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use redrive_model::Offset;
use redrive_model::fingerprint::Fingerprint;
use redrive_store::{DeadRow, Page};

use super::super::words::{count, number, time};
use super::{Pressed, why};
use crate::app::App;
use crate::dead;
use crate::desk::letters;
use crate::operator::Operator;
use crate::refusal::Refusal;

/// Starts one again, or marks it as not wanted; and shows the others.
pub(in crate::pages) async fn change(
    State(app): State<App>,
    operator: Operator,
    offset: Result<Path<i64>, PathRejection>,
    form: Result<Form<Pressed>, FormRejection>,
) -> Result<Response, Refusal> {
    let Path(offset) = offset.map_err(|_| dead::missing())?;
    let offset = Offset(offset);
    let pressed = super::read(form)?;
    let row = app.desk().dead_letter(operator, offset).await?.ok_or_else(dead::missing)?;
    match pressed.act.as_str() {
        "replay" => {
            let job = letters::again(&app, operator, offset, pressed.because()).await?;
            Ok(Redirect::to(&format!("/jobs/{job}")).into_response())
        }
        "discard" => {
            letters::drop_it(&app, operator, offset, pressed.because()).await?;
            Ok(Redirect::to(&format!("/dead/{}", row.fingerprint)).into_response())
        }
        _ => Err(super::odd()),
    }
}

pub(super) fn section(group: &Fingerprint, waiting: u64, page: &Page<DeadRow>) -> Markup {
    if page.rows.is_empty() {
        return html! {};
    }
    html! {
        h2 { (number(waiting)) @if waiting == 1 { " job waits" } @else { " jobs wait" } }
        table.plain-table.stacks {
            thead { tr { th scope="col" { "Job" } th scope="col" { "Whose" } th scope="col" { "Given up" } th scope="col" { "Acts" } } }
            tbody { @for row in &page.rows { (line(row)) } }
        }
        nav.pages aria-label="More jobs" {
            @if let Some(next) = &page.next { a href={ "/dead/" (group) "?cursor=" (next) } rel="next" { "Older" } }
        }
    }
}

fn line(row: &DeadRow) -> Markup {
    let button = |act: &str, word: &str| {
        html! { button.quiet name="act" value=(act) aria-label={ (word) " job " (row.job) } { (word) } }
    };
    html! {
        tr {
            th scope="row" { a href={ "/jobs/" (row.job) } { (row.job) } p.fine { bdi { (row.message) } } }
            td { @if let Some(owner) = &row.owner { bdi { (owner) } } @else { span.fine { "no owner" } } }
            td { (time(row.at)) " " span.fine { "after " (count(u64::from(row.attempts), "try", "tries")) } }
            td {
                form method="post" action={ "/letters/" (row.offset.0) } {
                    (button("replay", "Replay")) " " (why(&row.job.to_string())) " "
                    details class={ "because sure-" (row.job) } {
                        summary { "Discard" span.unseen { " job " (row.job) } " …" }
                        p.fine { "It leaves the dead letters and is not run again by a replay." }
                        (button("discard", "Yes, discard"))
                    }
                }
            }
        }
    }
}

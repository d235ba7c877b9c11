//! What is changed while intake runs, and reports that are asked for.

use axum::Form;
use axum::extract::rejection::{FormRejection, PathRejection};
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use redrive_api::IntakeSettings;
use serde::Deserialize;

use super::document::REPORT;
use crate::app::App;
use crate::intake::{checked, documents};
use crate::operator::Operator;
use crate::refusal::Refusal;

/// The fields of the forms: one of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::pages) struct Wanted {
    max_retries: Option<u32>,
    paused: Option<bool>,
}

/// Changes a setting.
pub(in crate::pages) async fn change(
    State(app): State<App>,
    operator: Operator,
    form: Result<Form<Wanted>, FormRejection>,
) -> Result<Response, Refusal> {
    let wrong = |_| Refusal::field("max_retries", "is no number from 0 to 1000");
    let Form(Wanted { max_retries, paused }) = form.map_err(wrong)?;
    let wanted = checked(IntakeSettings { max_retries, paused })?;
    app.desk().change_intake(operator, &wanted).await?;
    Ok(Redirect::to("/intake").into_response())
}

/// Asks for a report.
pub(in crate::pages) async fn report(
    State(app): State<App>,
    operator: Operator,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, Refusal> {
    let id = documents::named(id)?;
    let job = documents::ask_report(&app, operator, id).await?;
    Ok(Redirect::to(&format!("/intake/documents/{id}?{REPORT}={job}")).into_response())
}

//! The folder or bucket of people, for operators: how it is, what can be changed while it runs, and what failed.
//!
//! The server does not know the workload: it reads its rows, and the one setting that ranks above all others.

pub(crate) mod documents;
pub(crate) mod records;
mod status;

pub(crate) use status::last_look;

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{RawQuery, State};
use redrive_api::{
    ClearInFlight, FailureRecordList, InFlightCleared, IntakeSettings, IntakeStatus, Problem, RecordQuery,
};
use redrive_blob::Blobs;
use redrive_model::Code;
use redrive_store::intake::{IntakeStore, MOST_RETRIES};

use crate::app::App;
use crate::body::Said;
use crate::operator::Operator;
use crate::refusal::Refusal;

/// What the server tells about, where there is such a place.
#[derive(Clone)]
pub struct IntakeParts {
    /// Its rows.
    pub store: Arc<dyn IntakeStore>,
    /// The place itself, to hand out the reports that lie there.
    pub place: Arc<dyn Blobs>,
    /// The place, as its rows name it.
    pub root: String,
    /// How often a PDF is tried again, unless somebody has set another number.
    pub max_retries: u32,
    /// PDFs in work at once.
    pub max_in_flight: usize,
    /// Between two looks.
    pub interval: Duration,
}

/// How intake is: what waits, what runs, what was seen last, and what holds it up.
#[utoipa::path(get, path = "/api/intake", tag = "operators", responses(
    (status = 200, body = IntakeStatus),
    (status = 404, description = "NOT_FOUND: this server has no INTAKE_URL", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn one(State(app): State<App>, operator: Operator) -> Result<Json<IntakeStatus>, Refusal> {
    Ok(Json(app.desk().intake_status(operator).await?))
}

/// Changes what is named, from now on and for all processes; what is left out stays.
#[utoipa::path(put, path = "/api/intake/settings", tag = "operators", request_body = IntakeSettings, responses(
    (status = 200, body = IntakeStatus),
    (status = 400, description = "VALIDATION_*, VALIDATION_MISSING_FIELD", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "NOT_FOUND: this server has no INTAKE_URL", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn change(
    State(app): State<App>,
    operator: Operator,
    body: Said,
) -> Result<Json<IntakeStatus>, Refusal> {
    let wanted: IntakeSettings = body.json()?;
    app.desk().change_intake(operator, &checked(wanted)?).await?;
    Ok(Json(app.desk().intake_status(operator).await?))
}

/// Settings that can be meant.
pub(crate) fn checked(wanted: IntakeSettings) -> Result<IntakeSettings, Refusal> {
    if wanted.max_retries.is_some_and(|retries| retries > MOST_RETRIES) {
        return Err(Refusal::field("max_retries", &format!("must not be above {MOST_RETRIES}")));
    }
    if wanted == IntakeSettings::default() {
        return Err(Refusal::new(Code::ValidationMissingField, "Name max_retries, paused or both."));
    }
    Ok(wanted)
}

/// Documents that count as in work though their job has ended or is gone no longer do. Their PDFs stay where they are; what lies in
/// `pdf/` and is nobody's goes back to `queue/` by itself.
#[utoipa::path(post, path = "/api/intake/clear-in-flight", tag = "operators", request_body = Option<ClearInFlight>, responses(
    (status = 200, body = InFlightCleared),
    (status = 400, description = "VALIDATION_*", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "NOT_FOUND: this server has no INTAKE_URL", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn clear(
    State(app): State<App>,
    operator: Operator,
    body: Said,
) -> Result<Json<InFlightCleared>, Refusal> {
    let ClearInFlight { dry_run } = body.json()?;
    let desk = app.desk();
    Ok(Json(if dry_run {
        desk.count_in_flight(operator).await?
    } else {
        desk.clear_in_flight(operator).await?
    }))
}

/// Failed runs of PDFs, newest first.
#[utoipa::path(get, path = "/api/failure-records", tag = "operators", params(RecordQuery), responses(
    (status = 200, body = FailureRecordList),
    (status = 400, description = "VALIDATION_*", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "NOT_FOUND: this server has no INTAKE_URL", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn records(
    State(app): State<App>,
    operator: Operator,
    RawQuery(query): RawQuery,
) -> Result<Json<FailureRecordList>, Refusal> {
    let (filter, page) = records::parse(records::read(query.as_deref())?)?;
    let page = app.desk().failure_records(operator, filter, page).await?;
    let failure_records = page.rows.iter().map(records::view).collect();
    Ok(Json(FailureRecordList { failure_records, next_cursor: page.next }))
}

//! `GET /api/auditor`: every job is in exactly one place, and the counters agree with the rows.

use axum::Json;
use axum::extract::State;
use redrive_api::{Audit, Problem, Violation};
use redrive_engine::{AuditReport, Place};

use crate::app::App;
use crate::operator::Operator;
use crate::refusal::Refusal;

/// Looks at every job and says what must not be. It takes as long as there are jobs, and ends when nobody waits for it.
#[utoipa::path(get, path = "/api/auditor", tag = "operators", security(("operator" = [])), responses(
    (status = 200, body = Audit),
    (status = 401, description = "AUTH_REQUIRED", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "SYSTEM_UNAVAILABLE: the database does not answer; ANSWER_TIMEOUT: it was not done within 120 s and was stopped: `POST /api/doctor` looks without a limit", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn look(State(app): State<App>, operator: Operator) -> Result<Json<Audit>, Refusal> {
    Ok(Json(view(&app.desk().audit(operator).await?)))
}

fn view(report: &AuditReport) -> Audit {
    let violation = |violation: &redrive_engine::Violation| Violation {
        job_id: violation.job.map(|job| job.to_string()),
        what: violation.what.clone(),
    };
    Audit {
        clean: report.is_clean(),
        jobs: report.jobs,
        places: report.places.iter().map(|(place, jobs)| (name(*place).to_owned(), *jobs)).collect(),
        violations: report.violations.iter().map(violation).collect(),
        moved: report.moved,
    }
}

const fn name(place: Place) -> &'static str {
    match place {
        Place::Runnable => "runnable",
        Place::Waiting => "waiting",
        Place::Leased => "leased",
        Place::Held => "held",
        Place::Dead => "dead",
        Place::Done => "done",
    }
}

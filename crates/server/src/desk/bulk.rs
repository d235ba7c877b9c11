//! Waiting jobs cancelled by the many: counted first, of one kind, with a bound.

use axum::Json;
use axum::extract::State;
use redrive_api::{CancelAnswer, CancelJobs, CancelledJobs, ListQuery, MatchingJobs, Problem, WaitingFilter};
use redrive_model::{Code, JobId, Shown};
use redrive_store::{JobFilter, Matching};

use crate::app::App;
use crate::body::Said;
use crate::deadline::to_its_end;
use crate::jobs::filter;
use crate::operator::Operator;
use crate::query;
use crate::refusal::Refusal;

/// The most of one call.
pub(crate) const MOST: u64 = 100_000;

/// Counts waiting jobs, or cancels them: the newest first, of one kind of job. What runs is left alone.
#[utoipa::path(post, path = "/api/jobs/cancel", tag = "operators", request_body = CancelJobs, responses(
    (status = 200, description = "What became of it; with `dry_run` `{matching, upto}`, how many and the newest of them", body = CancelAnswer),
    (status = 400, description = "VALIDATION_*, VALIDATION_FILTER_REQUIRED", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "CONFLICT_STATE: the engine's own jobs are not cancelled so", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "SYSTEM_UNAVAILABLE: the database does not answer; ANSWER_TIMEOUT: it was not done within 120 s and goes on without you: a smaller `limit` is answered sooner", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn cancel(
    State(app): State<App>,
    operator: Operator,
    body: Said,
) -> Result<Json<CancelAnswer>, Refusal> {
    let asked: CancelJobs = body.json()?;
    if asked.dry_run {
        let found = count(&app, operator, asked.filter).await?;
        let upto = found.newest.map(|job| job.to_string());
        return Ok(Json(CancelAnswer::Counted(MatchingJobs { matching: found.count, upto })));
    }
    Ok(Json(CancelAnswer::Cancelled(cancelled(&app, operator, asked).await?)))
}

/// How many match now, and the newest of them.
pub(crate) async fn count(
    app: &App,
    operator: Operator,
    asked: WaitingFilter,
) -> Result<Matching<JobId>, Refusal> {
    app.desk().count_waiting(operator, parse(asked)?).await
}

/// Cancels them. What was begun is done, whether or not the client waits for it.
pub(crate) async fn cancelled(
    app: &App,
    operator: Operator,
    asked: CancelJobs,
) -> Result<CancelledJobs, Refusal> {
    let most = asked.limit.unwrap_or(MOST);
    if !(1..=MOST).contains(&most) {
        return Err(Refusal::field("limit", "is no number from 1 to 100,000"));
    }
    let upto = |id: String| id.parse::<JobId>().map_err(|_| Refusal::field("upto", "is no id of a job"));
    let filter = JobFilter { upto: query::given(asked.upto).map(upto).transpose()?, ..parse(asked.filter)? };
    let most = usize::try_from(most).unwrap_or(0);
    let (desk, reason) = (app.desk().clone(), asked.reason);
    let done = to_its_end(async move { desk.cancel_waiting(operator, filter, most, reason).await }).await?;
    Ok(CancelledJobs { cancelled: done.cancelled, more: done.more })
}

fn parse(asked: WaitingFilter) -> Result<JobFilter, Refusal> {
    let WaitingFilter { workload, status, q, since, batch } = asked;
    let query = ListQuery { workload, status, q, since, batch, ..ListQuery::default() };
    let (filter, _) = filter::parse(query)?;
    if filter.workload.is_none() {
        let text = "Say filter.workload: many jobs are cancelled of one kind only.";
        return Err(Refusal::new(Code::ValidationFilterRequired, text));
    }
    if filter.shown.iter().any(|shown| !is_waiting(*shown)) {
        return Err(Refusal::field("filter.status", "names a state in which jobs do not wait"));
    }
    Ok(filter)
}

const fn is_waiting(shown: Shown) -> bool {
    match shown {
        Shown::Queued | Shown::Scheduled | Shown::WaitingRetry | Shown::WaitingBatch | Shown::Held => true,
        Shown::Processing | Shown::Complete | Shown::Partial | Shown::Failed | Shown::Cancelled => false,
    }
}

//! Starting a job again, and stopping it. What was begun is done, whether or not the client waits for it.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use redrive_api::{JobReply, Problem};
use redrive_model::{Code, State as JobState};

use crate::app::App;
use crate::deadline::to_its_end;
use crate::disk::Incoming;
use crate::own::Owned;
use crate::refusal::Refusal;
use crate::view;

type Accepted = (StatusCode, Json<JobReply>);

/// Starts a failed job again, as a new generation.
#[utoipa::path(post, path = "/api/jobs/{id}/retry", tag = "jobs", params(("id" = String, Path, description = "The job")), responses(
    (status = 202, body = JobReply),
    (status = 403, description = "FORBIDDEN", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "EXPIRED: the source is gone", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "CONFLICT_STATE, CONFLICT_DUPLICATE", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "OVERLOADED: the disk is nearly full", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn retry(State(app): State<App>, job: Owned) -> Result<Accepted, Refusal> {
    accepted(&start_again(&app, job).await?).await
}

/// Starts it again; the job as it is then.
pub(crate) async fn start_again(app: &App, job: Owned) -> Result<Owned, Refusal> {
    let refused = job.pdf().await?.is_some_and(|pdf| pdf.source.is_empty());
    if job.state != JobState::Failed || refused {
        return Err(job.wrong_state());
    }
    app.disk().admit(Incoming::of(&job.workload), 0).await?;
    let id = job.id;
    let done = to_its_end(async move {
        job.retry().await?;
        job.again().await
    })
    .await;
    if let Err(refusal) = &done
        && refusal.code() == Code::Expired.name()
    {
        app.known_sources().note_gone(id);
    }
    done
}

/// Stops a job that has not ended.
#[utoipa::path(post, path = "/api/jobs/{id}/cancel", tag = "jobs", params(("id" = String, Path, description = "The job")), responses(
    (status = 202, body = JobReply),
    (status = 403, description = "FORBIDDEN", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "CONFLICT_STATE", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn cancel(job: Owned) -> Result<Accepted, Refusal> {
    accepted(&stop(job).await?).await
}

/// Stops it; the job as it is then.
pub(crate) async fn stop(job: Owned) -> Result<Owned, Refusal> {
    to_its_end(async move {
        job.cancel().await?;
        job.again().await
    })
    .await
}

async fn accepted(job: &Owned) -> Result<Accepted, Refusal> {
    let job = view::job(job).await?;
    Ok((StatusCode::ACCEPTED, Json(JobReply { job })))
}

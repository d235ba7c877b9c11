//! One dead letter: started again, or not wanted any more.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use redrive_api::{Because, DeadLetter, JobReply, Problem};
use redrive_model::{Code, JobId, Offset};
use redrive_store::{Acted, DeadRow, DeadState};

use crate::app::App;
use crate::body::Said;
use crate::deadline::to_its_end;
use crate::disk::Incoming;
use crate::operator::Operator;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::{dead, view};

/// Starts the job of a dead letter again, as a new generation.
#[utoipa::path(post, path = "/api/dead-letters/{offset}/replay", tag = "operators", params(("offset" = i64, Path, description = "Its place among the dead letters")), request_body = Option<Because>, responses(
    (status = 202, body = JobReply),
    (status = 404, description = "NOT_FOUND; EXPIRED: what the job needs is gone", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "CONFLICT_STATE, CONFLICT_DUPLICATE", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "OVERLOADED: the disk is nearly full", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn replay(
    State(app): State<App>,
    operator: Operator,
    session: Session,
    offset: Result<Path<i64>, PathRejection>,
    body: Said,
) -> Result<(StatusCode, Json<JobReply>), Refusal> {
    let Path(offset) = offset.map_err(|_| dead::missing())?;
    let job = again(&app, operator, Offset(offset), body.json()?).await?;
    let job = app.desk().owned(&session, job).await?;
    Ok((StatusCode::ACCEPTED, Json(JobReply { job: view::job(&job).await? })))
}

/// Starts it again, and answers which job.
pub(crate) async fn again(
    app: &App,
    operator: Operator,
    offset: Offset,
    Because { reason }: Because,
) -> Result<JobId, Refusal> {
    let row = open(app, operator, offset).await?;
    app.disk().admit(Incoming::of(&row.workload), 0).await?;
    let desk = app.desk().clone();
    let acted = to_its_end(async move { desk.replay_letter(operator, row.job, reason).await }).await?;
    match acted {
        Acted::Done => {}
        Acted::NotFound => return Err(dead::missing()),
        Acted::SourceGone => {
            return Err(Refusal::new(Code::Expired, "What the job needs was removed.").job(row.job));
        }
        Acted::WrongState(_) => return Err(not_open(&row)),
        Acted::Duplicate(twin) => {
            let text = format!("Job {twin} does the same already; {} is not needed.", row.job);
            return Err(Refusal::new(Code::ConflictDuplicate, text).job(twin));
        }
    }
    Ok(row.job)
}

/// Marks a dead letter as not wanted. It stays, and can be found by its state.
#[utoipa::path(post, path = "/api/dead-letters/{offset}/discard", tag = "operators", params(("offset" = i64, Path, description = "Its place among the dead letters")), request_body = Option<Because>, responses(
    (status = 200, body = DeadLetter),
    (status = 404, description = "NOT_FOUND", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "CONFLICT_STATE", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn discard(
    State(app): State<App>,
    operator: Operator,
    offset: Result<Path<i64>, PathRejection>,
    body: Said,
) -> Result<Json<DeadLetter>, Refusal> {
    let Path(offset) = offset.map_err(|_| dead::missing())?;
    drop_it(&app, operator, Offset(offset), body.json()?).await?;
    dead::letter(&app, operator, Offset(offset)).await.map(Json)
}

/// Marks it.
pub(crate) async fn drop_it(
    app: &App,
    operator: Operator,
    offset: Offset,
    Because { reason }: Because,
) -> Result<(), Refusal> {
    let row = open(app, operator, offset).await?;
    let desk = app.desk().clone();
    if !to_its_end(async move { desk.discard(operator, offset, reason).await }).await? {
        return Err(not_open(&row));
    }
    Ok(())
}

/// A letter that is still open.
async fn open(app: &App, operator: Operator, offset: Offset) -> Result<DeadRow, Refusal> {
    let row = app.desk().dead_letter(operator, offset).await?.ok_or_else(dead::missing)?;
    match row.state {
        DeadState::Open => Ok(row),
        DeadState::Replayed | DeadState::Discarded => Err(not_open(&row)),
    }
}

fn not_open(row: &DeadRow) -> Refusal {
    let text = format!("Dead letter {} is not open any more: somebody has acted on it.", row.offset);
    Refusal::new(Code::ConflictState, text).job(row.job)
}

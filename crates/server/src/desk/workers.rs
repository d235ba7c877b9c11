//! Workers, as they say of themselves, and the wish that one takes no new work.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use redrive_api::{DrainWorker, Problem, Worker, WorkerList};
use redrive_model::{Code, Timestamp, WorkerId};
use redrive_store::WorkerRow;

use crate::app::App;
use crate::body::Said;
use crate::deadline::to_its_end;
use crate::operator::Operator;
use crate::refusal::Refusal;

/// All workers that are known, those that live first.
#[utoipa::path(get, path = "/api/workers", tag = "operators", responses((status = 200, body = WorkerList)))]
pub(crate) async fn list(State(app): State<App>, operator: Operator) -> Result<Json<WorkerList>, Refusal> {
    Ok(Json(WorkerList { workers: all(&app, operator).await? }))
}

/// The same, not as an answer.
pub(crate) async fn all(app: &App, operator: Operator) -> Result<Vec<Worker>, Refusal> {
    let now = app.desk().now().await?;
    let mut rows = app.desk().workers(operator).await?;
    rows.sort_by_key(|row| (row.alive_until < now, std::cmp::Reverse(row.started_at)));
    Ok(rows.into_iter().map(|row| view(row, now)).collect())
}

/// Wants a worker to take no new work: it hears so with its next heartbeat, finishes what it has, and stays. With `cancel` it takes
/// new work again.
#[utoipa::path(post, path = "/api/workers/{id}/drain", tag = "operators", params(("id" = String, Path, description = "The worker")), request_body = Option<DrainWorker>, responses(
    (status = 200, body = Worker),
    (status = 404, description = "NOT_FOUND", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "CONFLICT_STATE: it is gone", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn drain(
    State(app): State<App>,
    operator: Operator,
    id: Result<Path<String>, PathRejection>,
    body: Said,
) -> Result<Json<Worker>, Refusal> {
    drained(&app, operator, named(id)?, body.json()?).await.map(Json)
}

/// Wants it, and answers how the worker is then.
pub(crate) async fn drained(
    app: &App,
    operator: Operator,
    id: WorkerId,
    DrainWorker { cancel, reason }: DrainWorker,
) -> Result<Worker, Refusal> {
    one(app, operator, id).await?;
    let desk = app.desk().clone();
    to_its_end(async move { desk.drain_worker(operator, id, !cancel, reason).await }).await?;
    one(app, operator, id).await
}

pub(crate) fn named(id: Result<Path<String>, PathRejection>) -> Result<WorkerId, Refusal> {
    id.ok().and_then(|Path(text)| text.parse().ok()).ok_or_else(missing)
}

async fn one(app: &App, operator: Operator, id: WorkerId) -> Result<Worker, Refusal> {
    let now = app.desk().now().await?;
    let row = app.desk().workers(operator).await?.into_iter().find(|row| row.id == id);
    row.map(|row| view(row, now)).ok_or_else(missing)
}

fn missing() -> Refusal {
    Refusal::new(Code::NotFound, "There is no such worker, or it was gone for long and is forgotten.")
}

fn view(row: WorkerRow, now: Timestamp) -> Worker {
    let state = match (row.alive_until < now, row.draining) {
        (true, _) => "gone",
        (false, true) => "draining",
        (false, false) => "alive",
    };
    Worker {
        id: row.id.to_string(),
        name: row.name,
        build: row.build,
        state: state.to_owned(),
        drain_wanted: row.drain_wanted,
        concurrency: row.concurrency,
        leases: row.leases,
        started_at: row.started_at,
        seen_at: row.seen_at,
    }
}

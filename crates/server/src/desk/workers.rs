//! Workers, as they say of themselves.

use axum::Json;
use axum::extract::State;
use redrive_api::{Worker, WorkerList};
use redrive_model::Timestamp;
use redrive_store::WorkerRow;

use crate::app::App;
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
        concurrency: row.concurrency,
        leases: row.leases,
        started_at: row.started_at,
        seen_at: row.seen_at,
    }
}

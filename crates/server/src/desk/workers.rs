//! Workers, as they say of themselves, and the wish that one takes no new work.

use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use redrive_api::{DrainWorker, PageQuery, Problem, Worker, WorkerList};
use redrive_model::{Code, Timestamp, WorkerId, instant};
use redrive_store::WorkerRow;

use crate::app::App;
use crate::body::Said;
use crate::deadline::to_its_end;
use crate::operator::Operator;
use crate::query;
use crate::refusal::Refusal;

/// The workers that are known, those that live first.
#[utoipa::path(get, path = "/api/workers", tag = "operators", params(PageQuery), responses(
    (status = 200, body = WorkerList),
    (status = 400, description = "VALIDATION_*", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(
    State(app): State<App>,
    operator: Operator,
    RawQuery(asked): RawQuery,
) -> Result<Json<WorkerList>, Refusal> {
    Ok(Json(page(&app, operator, query::page(asked.as_deref())?).await?))
}

/// A page of them.
pub(crate) async fn page(app: &App, operator: Operator, asked: PageQuery) -> Result<WorkerList, Refusal> {
    let now = app.desk().now().await?;
    let rows = app.desk().workers(operator).await?;
    let (rows, next_cursor) = query::cut(rows, asked, |row| Cursor {
        gone: row.alive_until < now,
        started: Reverse(instant::to_millis(row.started_at)),
        id: row.id,
    })?;
    Ok(WorkerList { workers: rows.into_iter().map(|row| view(row, now)).collect(), next_cursor })
}

/// All of them, for their sum.
pub(crate) async fn all(app: &App, operator: Operator) -> Result<Vec<Worker>, Refusal> {
    let now = app.desk().now().await?;
    let rows = app.desk().workers(operator).await?;
    Ok(rows.into_iter().map(|row| view(row, now)).collect())
}

/// The place of a worker in the list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Cursor {
    gone: bool,
    started: Reverse<i64>,
    id: WorkerId,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}_{}", u8::from(self.gone), self.started.0, self.id)
    }
}

impl FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (gone, rest) = text.split_once('_').ok_or(())?;
        let (started, id) = rest.split_once('_').ok_or(())?;
        let gone = match gone {
            "0" => false,
            "1" => true,
            _ => return Err(()),
        };
        let started = Reverse(started.parse().map_err(drop)?);
        Ok(Self { gone, started, id: id.parse().map_err(drop)? })
    }
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

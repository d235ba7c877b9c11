//! Replays: counted first, then started, watched, paused, ended.

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use redrive_api::{Because, Matching, NewReplay, Problem, Replay, ReplayFilter, ReplayList, SkippedLetters};
use redrive_engine as engine;
use redrive_model::fingerprint::Fingerprint;
use redrive_model::{Code, Owner, ReplayId, Target, WorkloadName};
use url::form_urlencoded;

use crate::app::App;
use crate::body;
use crate::deadline::to_its_end;
use crate::operator::Operator;
use crate::query;
use crate::refusal::Refusal;

/// Counts the dead letters that a replay would take, or starts it. One per workload goes on at a time.
#[utoipa::path(post, path = "/api/replays", tag = "operators", request_body = NewReplay, responses(
    (status = 200, description = "With `dry_run`: how many", body = Matching),
    (status = 201, description = "Started", body = Replay),
    (status = 400, description = "VALIDATION_*", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "NOT_FOUND: nothing matches", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "CONFLICT_STATE: another one of this workload goes on", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn start(
    State(app): State<App>,
    operator: Operator,
    body: Bytes,
) -> Result<Response, Refusal> {
    let asked: NewReplay = body::json(&body)?;
    let (workload, filter) = parse(&app, operator, asked.filter).await?;
    let usual = engine::NewReplay::of(workload);
    let share = asked.stop_at_failure_share.unwrap_or(usual.stop_share);
    if !(0.0..=1.0).contains(&share) {
        return Err(Refusal::field("stop_at_failure_share", "is no share from 0 to 1"));
    }
    if asked.rate_per_sec == Some(0) {
        return Err(Refusal::field("rate_per_sec", "is no number from 1"));
    }
    let new = engine::NewReplay {
        filter,
        name: query::given(asked.name),
        canary: asked.canary.unwrap_or(usual.canary),
        rate: asked.rate_per_sec.unwrap_or(usual.rate),
        stop_share: share,
        ..usual
    };
    if asked.dry_run {
        let matching = app.desk().count_replay(operator, &new.workload, &new.filter).await?;
        return Ok(Json(Matching { matching }).into_response());
    }
    let (desk, reason) = (app.desk().clone(), asked.reason);
    let id = to_its_end(async move { desk.start_replay(operator, new, reason).await }).await?;
    let replay = look(&app, operator, id).await?;
    let place = format!("/api/replays/{id}");
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Json(replay)).into_response())
}

/// The replays of a workload, or of all.
#[utoipa::path(get, path = "/api/replays", tag = "operators", params(("workload" = Option<String>, Query, description = "Only of this kind of job")), responses(
    (status = 200, body = ReplayList),
    (status = 400, description = "VALIDATION_*", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(
    State(app): State<App>,
    operator: Operator,
    RawQuery(asked): RawQuery,
) -> Result<Json<ReplayList>, Refusal> {
    let mut workload = None;
    for (name, value) in form_urlencoded::parse(asked.unwrap_or_default().as_bytes()) {
        match &*name {
            "workload" => query::once(&mut workload, &name, &value)?,
            _ => return Err(Refusal::new(Code::ValidationUnknownField, "The query can hold workload.")),
        }
    }
    let workload = query::workload(workload)?;
    let replays = app.desk().replays(operator, workload.as_ref()).await?;
    Ok(Json(ReplayList { replays: replays.into_iter().map(view).collect() }))
}

/// How a replay is.
#[utoipa::path(get, path = "/api/replays/{id}", tag = "operators", params(("id" = String, Path, description = "The replay")), responses(
    (status = 200, body = Replay),
    (status = 404, description = "NOT_FOUND", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn one(
    State(app): State<App>,
    operator: Operator,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<Replay>, Refusal> {
    Ok(Json(look(&app, operator, named(id)?).await?))
}

/// Takes no further dead letters until it is resumed. What was started goes on.
#[utoipa::path(post, path = "/api/replays/{id}/pause", tag = "operators", params(("id" = String, Path, description = "The replay")), request_body = Option<Because>, responses(
    (status = 200, body = Replay),
    (status = 404, description = "NOT_FOUND", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "CONFLICT_STATE: it has ended", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn pause(
    State(app): State<App>,
    operator: Operator,
    id: Result<Path<String>, PathRejection>,
    body: Bytes,
) -> Result<Json<Replay>, Refusal> {
    let (id, Because { reason }, desk) = (named(id)?, body::json(&body)?, app.desk().clone());
    to_its_end(async move { desk.pause_replay(operator, id, reason).await }).await?;
    Ok(Json(look(&app, operator, id).await?))
}

/// Goes on.
#[utoipa::path(post, path = "/api/replays/{id}/resume", tag = "operators", params(("id" = String, Path, description = "The replay")), request_body = Option<Because>, responses(
    (status = 200, body = Replay),
    (status = 404, description = "NOT_FOUND", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "CONFLICT_STATE: it has ended", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn resume(
    State(app): State<App>,
    operator: Operator,
    id: Result<Path<String>, PathRejection>,
    body: Bytes,
) -> Result<Json<Replay>, Refusal> {
    let (id, Because { reason }, desk) = (named(id)?, body::json(&body)?, app.desk().clone());
    to_its_end(async move { desk.resume_replay(operator, id, reason).await }).await?;
    Ok(Json(look(&app, operator, id).await?))
}

/// Ends it. What was started goes on; the rest stays among the dead letters.
#[utoipa::path(post, path = "/api/replays/{id}/cancel", tag = "operators", params(("id" = String, Path, description = "The replay")), request_body = Option<Because>, responses(
    (status = 200, body = Replay),
    (status = 404, description = "NOT_FOUND", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "CONFLICT_STATE: it has ended", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn cancel(
    State(app): State<App>,
    operator: Operator,
    id: Result<Path<String>, PathRejection>,
    body: Bytes,
) -> Result<Json<Replay>, Refusal> {
    let (id, Because { reason }, desk) = (named(id)?, body::json(&body)?, app.desk().clone());
    to_its_end(async move { desk.cancel_replay(operator, id, reason).await }).await?;
    Ok(Json(look(&app, operator, id).await?))
}

async fn look(app: &App, operator: Operator, id: ReplayId) -> Result<Replay, Refusal> {
    app.desk().replay(operator, id).await?.map(view).ok_or_else(missing)
}

fn named(id: Result<Path<String>, PathRejection>) -> Result<ReplayId, Refusal> {
    id.ok().and_then(|Path(text)| text.parse().ok()).ok_or_else(missing)
}

fn missing() -> Refusal {
    Refusal::new(Code::NotFound, "There is no such replay, or it is too old and was removed.")
}

/// Which letters, and of which workload: as said, or that of the group.
async fn parse(
    app: &App,
    operator: Operator,
    asked: ReplayFilter,
) -> Result<(WorkloadName, engine::ReplayFilter), Refusal> {
    let group = |text: String| {
        text.parse::<Fingerprint>()
            .map_err(|_| Refusal::field("filter.group", "is no fingerprint of a failure group"))
    };
    let owner =
        |text: String| Owner::new(text).map_err(|_| Refusal::field("filter.owner", "is no name of an owner"));
    let target = |text: String| {
        Target::new(text).map_err(|_| Refusal::field("filter.target", "is no name of a target"))
    };
    let filter = engine::ReplayFilter {
        code: query::code(asked.code)?,
        group: query::given(asked.group).map(group).transpose()?,
        owner: query::given(asked.owner).map(owner).transpose()?,
        since: query::instant("filter.since", asked.since)?,
        until: query::instant("filter.until", asked.until)?,
        target: query::given(asked.target).map(target).transpose()?,
        text: query::given(asked.q),
    };
    if let Some(workload) = query::workload(asked.workload)? {
        return Ok((workload, filter));
    }
    let Some(group) = &filter.group else {
        let text = "Say filter.workload or filter.group: a replay is of one kind of job.";
        return Err(Refusal::new(Code::ValidationFilterRequired, text));
    };
    match app.desk().group(operator, group).await? {
        Some(group) => Ok((group.workload, filter)),
        None => Err(Refusal::new(Code::NotFound, "There is no such failure group.")),
    }
}

fn view(replay: engine::Replay) -> Replay {
    let engine::Skipped { duplicate, gone, changed } = replay.skipped;
    let filter = replay.filter;
    Replay {
        id: replay.id.to_string(),
        name: replay.name,
        filter: ReplayFilter {
            workload: Some(replay.workload.to_string()),
            code: filter.code.map(|code| code.name().to_owned()),
            group: filter.group.map(|group| group.to_string()),
            owner: filter.owner.map(|owner| owner.to_string()),
            target: filter.target.map(|target| target.to_string()),
            q: filter.text,
            since: filter.since.map(|at| at.to_string()),
            until: filter.until.map(|at| at.to_string()),
        },
        workload: replay.workload.to_string(),
        phase: replay.phase.as_str().to_owned(),
        paused: replay.paused,
        total: replay.total,
        live: replay.counts.live,
        complete: replay.counts.complete,
        failed: replay.counts.failed,
        cancelled: replay.counts.cancelled,
        skipped: SkippedLetters { duplicate, gone, changed },
        canary: replay.canary,
        rate_per_sec: replay.rate,
        stop_at_failure_share: replay.stop_share,
        by: replay.by,
        reason: replay.reason,
        started_at: replay.started_at,
        finished_at: replay.finished_at,
    }
}

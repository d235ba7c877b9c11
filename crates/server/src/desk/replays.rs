//! Replays: counted first, then started, watched, paused, ended.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use redrive_api::{
    Because, Matching, MatchingOf, NewReplay, Problem, Replay, ReplayFilter, ReplayList, ReplayQuery,
    SkippedLetters,
};
use redrive_engine as engine;
use redrive_model::fingerprint::Fingerprint;
use redrive_model::{Code, JobId, Offset, Owner, ReplayId, Target, WorkloadName};
use redrive_store::{Matching as Counted, PageRequest};
use url::form_urlencoded;

use crate::app::App;
use crate::body::Said;
use crate::deadline::to_its_end;
use crate::disk::Incoming;
use crate::operator::Operator;
use crate::query;
use crate::refusal::Refusal;

/// Counts the dead letters that a replay would take, or starts it. One per workload goes on at a time.
#[utoipa::path(post, path = "/api/replays", tag = "operators", request_body = NewReplay, responses(
    (status = 200, description = "With `dry_run`: how many, and the newest of them; by kind of job where neither a workload nor a group is said", body = Matching),
    (status = 201, description = "Started", body = Replay),
    (status = 400, description = "VALIDATION_*, VALIDATION_FILTER_REQUIRED", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "NOT_FOUND: nothing matches, or there is no such group", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "CONFLICT_STATE: another one of this workload goes on", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "OVERLOADED: the disk is nearly full", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn start(
    State(app): State<App>,
    operator: Operator,
    body: Said,
) -> Result<Response, Refusal> {
    let asked: NewReplay = body.json()?;
    if asked.dry_run {
        return Ok(Json(counted(&app, operator, asked).await?).into_response());
    }
    let replay = begin(&app, operator, asked).await?;
    let place = format!("/api/replays/{}", replay.id);
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Json(replay)).into_response())
}

/// How many dead letters this would take now; of each kind of job, where none is said.
async fn counted(app: &App, operator: Operator, asked: NewReplay) -> Result<Matching, Refusal> {
    let said = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
    if said(&asked.filter.workload) || said(&asked.filter.group) {
        let found = count(app, operator, asked).await?;
        let upto = found.newest.map(|offset| offset.0);
        return Ok(Matching { matching: found.count, upto, workloads: Vec::new() });
    }
    let workloads = of_each(app, operator, &asked).await?;
    Ok(Matching {
        matching: workloads.iter().map(|one| one.matching).sum(),
        upto: workloads.iter().filter_map(|one| one.upto).max(),
        workloads,
    })
}

/// The kinds of job of which something matches, with how many, sorted by name.
pub(crate) async fn of_each(
    app: &App,
    operator: Operator,
    asked: &NewReplay,
) -> Result<Vec<MatchingOf>, Refusal> {
    let counts = app.desk().dead_counts(operator).await?;
    let names: BTreeSet<WorkloadName> = counts.into_iter().map(|one| one.workload).collect();
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        let filter = ReplayFilter { workload: Some(name.to_string()), ..asked.filter.clone() };
        let one = count(app, operator, NewReplay { filter, ..asked.clone() }).await?;
        let upto = one.newest.map(|offset| offset.0);
        found.push(MatchingOf { workload: name.to_string(), matching: one.count, upto });
    }
    found.retain(|one| one.matching > 0);
    Ok(found)
}

/// How many dead letters this would take now, and the newest of them.
pub(crate) async fn count(
    app: &App,
    operator: Operator,
    asked: NewReplay,
) -> Result<Counted<Offset>, Refusal> {
    let new = plan(app, operator, asked).await?;
    app.desk().count_replay(operator, &new.workload, &new.filter).await
}

/// Starts it.
pub(crate) async fn begin(app: &App, operator: Operator, asked: NewReplay) -> Result<Replay, Refusal> {
    let reason = asked.reason.clone();
    let new = plan(app, operator, asked).await?;
    app.disk().admit(Incoming::of(&new.workload), 0).await?;
    let desk = app.desk().clone();
    let id = to_its_end(async move { desk.start_replay(operator, new, reason).await }).await?;
    look(app, operator, id).await
}

/// What was asked for, checked, with what is usual where nothing is said.
async fn plan(app: &App, operator: Operator, asked: NewReplay) -> Result<engine::NewReplay, Refusal> {
    let (workload, filter) = parse(app, operator, asked.filter).await?;
    let usual = engine::NewReplay::of(workload);
    let share = asked.stop_at_failure_share.unwrap_or(usual.stop_share);
    if !(0.0..=1.0).contains(&share) {
        return Err(Refusal::field("stop_at_failure_share", "is no share from 0 to 1"));
    }
    if asked.rate_per_sec == Some(0) {
        return Err(Refusal::field("rate_per_sec", "is no number from 1"));
    }
    Ok(engine::NewReplay {
        filter,
        upto: asked.upto.map(Offset),
        name: query::given(asked.name),
        canary: asked.canary.unwrap_or(usual.canary),
        rate: asked.rate_per_sec.unwrap_or(usual.rate),
        stop_share: share,
        ..usual
    })
}

/// The replays of a workload, or of all, newest first.
#[utoipa::path(get, path = "/api/replays", tag = "operators", params(ReplayQuery), responses(
    (status = 200, body = ReplayList),
    (status = 400, description = "VALIDATION_*", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(
    State(app): State<App>,
    operator: Operator,
    RawQuery(asked): RawQuery,
) -> Result<Json<ReplayList>, Refusal> {
    Ok(Json(page(&app, operator, read(asked.as_deref())?).await?))
}

/// A page of them.
pub(crate) async fn page(app: &App, operator: Operator, asked: ReplayQuery) -> Result<ReplayList, Refusal> {
    let page =
        PageRequest { limit: query::limit(asked.limit)?, cursor: query::cursor::<JobId>(asked.cursor)? };
    let workload = query::workload(asked.workload)?;
    let page = app.desk().replays(operator, workload.as_ref(), page).await?;
    Ok(ReplayList { replays: page.rows.into_iter().map(view).collect(), next_cursor: page.next })
}

pub(crate) fn read(text: Option<&str>) -> Result<ReplayQuery, Refusal> {
    let mut asked = ReplayQuery::default();
    for (name, value) in form_urlencoded::parse(text.unwrap_or_default().as_bytes()) {
        let place = match &*name {
            "workload" => &mut asked.workload,
            "limit" => &mut asked.limit,
            "cursor" => &mut asked.cursor,
            _ => {
                let known = "The query can hold workload, limit and cursor.";
                return Err(Refusal::new(Code::ValidationUnknownField, known));
            }
        };
        query::once(place, &name, &value)?;
    }
    Ok(asked)
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
    body: Said,
) -> Result<Json<Replay>, Refusal> {
    Ok(Json(change(&app, operator, named(id)?, Turn::Pause, body.json()?).await?))
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
    body: Said,
) -> Result<Json<Replay>, Refusal> {
    Ok(Json(change(&app, operator, named(id)?, Turn::Resume, body.json()?).await?))
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
    body: Said,
) -> Result<Json<Replay>, Refusal> {
    Ok(Json(change(&app, operator, named(id)?, Turn::Cancel, body.json()?).await?))
}

/// What can be done with one that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    Pause,
    Resume,
    Cancel,
}

/// Does it, and answers how the replay is then.
pub(crate) async fn change(
    app: &App,
    operator: Operator,
    id: ReplayId,
    turn: Turn,
    Because { reason }: Because,
) -> Result<Replay, Refusal> {
    let desk = app.desk().clone();
    to_its_end(async move { desk.turn_replay(operator, id, turn, reason).await }).await?;
    look(app, operator, id).await
}

pub(crate) async fn look(app: &App, operator: Operator, id: ReplayId) -> Result<Replay, Refusal> {
    app.desk().replay(operator, id).await?.map(view).ok_or_else(missing)
}

pub(crate) fn named(id: Result<Path<String>, PathRejection>) -> Result<ReplayId, Refusal> {
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
    let (workload, filter) = read_filter(asked)?;
    if let Some(workload) = workload {
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

/// Which letters, as far as it is said.
pub(super) fn read_filter(
    asked: ReplayFilter,
) -> Result<(Option<WorkloadName>, engine::ReplayFilter), Refusal> {
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
        created_since: query::instant("filter.created_since", asked.created_since)?,
        label: query::given(asked.label),
    };
    Ok((query::workload(asked.workload)?, filter))
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
            created_since: filter.created_since.map(|at| at.to_string()),
            label: filter.label,
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
        left: replay.left,
        canary: replay.canary,
        rate_per_sec: replay.rate,
        stop_at_failure_share: replay.stop_share,
        by: replay.by,
        reason: replay.reason,
        started_at: replay.started_at,
        finished_at: replay.finished_at,
    }
}

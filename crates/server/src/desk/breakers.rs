//! Targets: how their breakers are, and a person's hold.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use redrive_api::{Because, BreakerDetail, BreakerList, HoldTarget, Problem, TargetHold};
use redrive_model::{Code, Target};
use redrive_store::BreakerRow;

use crate::app::App;
use crate::body::Said;
use crate::deadline::to_its_end;
use crate::operator::Operator;
use crate::refusal::Refusal;

/// All breakers, those that are not closed first.
#[utoipa::path(get, path = "/api/breakers", tag = "operators", responses((status = 200, body = BreakerList)))]
pub(crate) async fn list(State(app): State<App>, operator: Operator) -> Result<Json<BreakerList>, Refusal> {
    Ok(Json(BreakerList { breakers: all(&app, operator).await? }))
}

/// The same, not as an answer.
pub(crate) async fn all(app: &App, _: Operator) -> Result<Vec<BreakerDetail>, Refusal> {
    let rows = app.desk().breakers().await?;
    let shown = app.pulse().fresh(app.desk(), &rows).await?;
    let mut breakers: Vec<BreakerDetail> =
        rows.iter().zip(shown).map(|(row, shown)| view(row, shown)).collect();
    breakers.sort_by_key(|one| (one.breaker.state == "closed", one.breaker.target.clone()));
    Ok(breakers)
}

/// Holds a target: its jobs wait and lose nothing. A target that nobody has called yet can be held too.
#[utoipa::path(post, path = "/api/breakers/{target}/hold", tag = "operators", params(("target" = String, Path, description = "The target")), request_body = Option<HoldTarget>, responses(
    (status = 200, body = BreakerDetail),
    (status = 400, description = "VALIDATION_*", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn hold(
    State(app): State<App>,
    operator: Operator,
    target: Result<Path<String>, PathRejection>,
    body: Said,
) -> Result<Json<BreakerDetail>, Refusal> {
    Ok(Json(held(&app, operator, named(target)?, body.json()?).await?))
}

/// Holds it, and answers how it is then.
pub(crate) async fn held(
    app: &App,
    operator: Operator,
    target: Target,
    HoldTarget { until, reason }: HoldTarget,
) -> Result<BreakerDetail, Refusal> {
    if let Some(until) = until
        && until <= app.desk().now().await?
    {
        return Err(Refusal::field("until", "is over already"));
    }
    let (desk, held) = (app.desk().clone(), target.clone());
    to_its_end(async move { desk.hold(operator, &held, until, reason).await }).await?;
    one(app, operator, &target).await
}

/// Lets a target go: ends a hold, and closes an open breaker with a ramp.
#[utoipa::path(post, path = "/api/breakers/{target}/release", tag = "operators", params(("target" = String, Path, description = "The target")), request_body = Option<Because>, responses(
    (status = 200, body = BreakerDetail),
    (status = 404, description = "NOT_FOUND: no breaker watches it", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn release(
    State(app): State<App>,
    operator: Operator,
    target: Result<Path<String>, PathRejection>,
    body: Said,
) -> Result<Json<BreakerDetail>, Refusal> {
    let target = named(target).map_err(|_| missing())?;
    Ok(Json(released(&app, operator, target, body.json()?).await?))
}

/// Lets it go, and answers how it is then.
pub(crate) async fn released(
    app: &App,
    operator: Operator,
    target: Target,
    Because { reason }: Because,
) -> Result<BreakerDetail, Refusal> {
    app.desk().breaker(operator, &target).await?.ok_or_else(missing)?;
    let (desk, held) = (app.desk().clone(), target.clone());
    to_its_end(async move { desk.release(operator, &held, reason).await }).await?;
    one(app, operator, &target).await
}

async fn one(app: &App, operator: Operator, target: &Target) -> Result<BreakerDetail, Refusal> {
    let row = app.desk().breaker(operator, target).await?.ok_or_else(missing)?;
    let shown = app.pulse().fresh(app.desk(), std::slice::from_ref(&row)).await?.pop();
    Ok(view(&row, shown.ok_or_else(missing)?))
}

pub(crate) fn named(target: Result<Path<String>, PathRejection>) -> Result<Target, Refusal> {
    let name = target.ok().and_then(|Path(text)| Target::new(text).ok());
    name.ok_or_else(|| Refusal::field("target", "is no name of a target"))
}

fn missing() -> Refusal {
    Refusal::new(Code::NotFound, "No breaker watches such a target.")
}

fn view(row: &BreakerRow, breaker: redrive_api::Breaker) -> BreakerDetail {
    let of = &row.breaker;
    let few = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    BreakerDetail {
        breaker,
        down_since: of.down.map(|down| down.since),
        failed_probes: of.reopened,
        calls: few(of.recent.len()),
        failures: few(of.recent.iter().filter(|(_, failed)| *failed).count()),
        throttled_until: of.throttled_until,
        hold: of.hold.as_ref().map(|hold| TargetHold {
            by: hold.by.clone(),
            reason: hold.reason.clone(),
            since: hold.since,
            until: hold.until,
        }),
    }
}

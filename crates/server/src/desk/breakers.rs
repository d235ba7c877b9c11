//! Targets: how their breakers are, and a person's hold.

use std::fmt;
use std::str::FromStr;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use redrive_api::{Because, BreakerDetail, BreakerList, HoldTarget, PageQuery, Problem, TargetHold};
use redrive_model::{Code, Target, Timestamp};
use redrive_store::BreakerRow;

use crate::app::App;
use crate::body::Said;
use crate::deadline::to_its_end;
use crate::operator::Operator;
use crate::query;
use crate::refusal::Refusal;

/// Breakers, those that are not closed first.
#[utoipa::path(get, path = "/api/breakers", tag = "operators", params(PageQuery), responses(
    (status = 200, body = BreakerList),
    (status = 400, description = "VALIDATION_*", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(
    State(app): State<App>,
    operator: Operator,
    RawQuery(asked): RawQuery,
) -> Result<Json<BreakerList>, Refusal> {
    Ok(Json(page(&app, operator, query::page(asked.as_deref())?).await?))
}

/// A page of them: a crawl of many hosts has thousands.
pub(crate) async fn page(app: &App, _: Operator, asked: PageQuery) -> Result<BreakerList, Refusal> {
    let rows = app.desk().breakers().await?;
    let (shown, now) = (app.pulse().fresh(app.desk(), &rows).await?, app.desk().now().await?);
    let (rows, next_cursor) = query::cut(rows.iter().zip(shown).collect(), asked, |(row, shown)| Cursor {
        closed: shown.state == "closed",
        target: row.target.clone(),
    })?;
    let breakers = rows.into_iter().map(|(row, shown)| view(row, shown, now)).collect();
    Ok(BreakerList { breakers, next_cursor })
}

/// The place of a breaker in the list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Cursor {
    closed: bool,
    target: Target,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", u8::from(self.closed), self.target)
    }
}

impl FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (closed, target) = text.split_once('-').ok_or(())?;
        let closed = match closed {
            "0" => false,
            "1" => true,
            _ => return Err(()),
        };
        Ok(Self { closed, target: Target::new(target).map_err(drop)? })
    }
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
    Ok(view(&row, shown.ok_or_else(missing)?, app.desk().now().await?))
}

pub(crate) fn named(target: Result<Path<String>, PathRejection>) -> Result<Target, Refusal> {
    let name = target.ok().and_then(|Path(text)| Target::new(text).ok());
    name.ok_or_else(|| Refusal::field("target", "is no name of a target"))
}

fn missing() -> Refusal {
    Refusal::new(Code::NotFound, "No breaker watches such a target.")
}

/// A hold whose time is over stays in the row until somebody touches it, and is none any more.
fn view(row: &BreakerRow, breaker: redrive_api::Breaker, now: Timestamp) -> BreakerDetail {
    let of = &row.breaker;
    let few = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    BreakerDetail {
        breaker,
        down_since: of.down.map(|down| down.since),
        failure_code: of.down.and_then(|down| down.code).map(|code| code.name().to_owned()),
        failed_probes: of.reopened,
        calls: few(of.recent.len()),
        failures: few(of.recent.iter().filter(|(_, failed)| *failed).count()),
        throttled_until: of.throttled_until.filter(|until| *until > now),
        hold: of.hold.as_ref().filter(|_| of.is_held(now)).map(|hold| TargetHold {
            by: hold.by.clone(),
            reason: hold.reason.clone(),
            since: hold.since,
            until: hold.until,
        }),
    }
}

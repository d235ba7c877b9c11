//! Failure groups: the same fault in many jobs, and where people are with it.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use redrive_api::{Because, Group, GroupList, GroupQuery, Problem};
use redrive_model::Code;
use redrive_model::fingerprint::Fingerprint;
use redrive_model::group::GroupState;
use redrive_store::{GroupFilter, GroupRow, PageRequest};
use url::form_urlencoded;

use crate::app::App;
use crate::body::Said;
use crate::deadline::to_its_end;
use crate::operator::Operator;
use crate::query;
use crate::refusal::Refusal;

/// Failure groups, last seen first.
#[utoipa::path(get, path = "/api/groups", tag = "operators", params(GroupQuery), responses(
    (status = 200, body = GroupList),
    (status = 400, description = "VALIDATION_*", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(
    State(app): State<App>,
    operator: Operator,
    RawQuery(asked): RawQuery,
) -> Result<Json<GroupList>, Refusal> {
    Ok(Json(page(&app, operator, read(asked.as_deref())?).await?))
}

/// A page of them.
pub(crate) async fn page(app: &App, operator: Operator, asked: GroupQuery) -> Result<GroupList, Refusal> {
    let (filter, page) = parse(asked)?;
    let page = app.desk().groups(operator, filter, page).await?;
    Ok(GroupList { groups: page.rows.into_iter().map(view).collect(), next_cursor: page.next })
}

/// One of them.
#[utoipa::path(get, path = "/api/groups/{fingerprint}", tag = "operators", params(("fingerprint" = String, Path, description = "Its name")), responses(
    (status = 200, body = Group),
    (status = 404, description = "NOT_FOUND", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn one(
    State(app): State<App>,
    operator: Operator,
    group: Result<Path<String>, PathRejection>,
) -> Result<Json<Group>, Refusal> {
    Ok(Json(look(&app, operator, &named(group)?).await?))
}

/// Says that somebody has looked at it.
#[utoipa::path(post, path = "/api/groups/{fingerprint}/ack", tag = "operators", params(("fingerprint" = String, Path, description = "Its name")), request_body = Option<Because>, responses(
    (status = 200, body = Group),
    (status = 404, description = "NOT_FOUND", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "CONFLICT_STATE", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn ack(
    State(app): State<App>,
    operator: Operator,
    group: Result<Path<String>, PathRejection>,
    body: Said,
) -> Result<Json<Group>, Refusal> {
    Ok(Json(become_of(&app, operator, &named(group)?, GroupState::Acknowledged, body.json()?).await?))
}

/// Says that it is mended. When it is seen again it is regressed by itself.
#[utoipa::path(post, path = "/api/groups/{fingerprint}/resolve", tag = "operators", params(("fingerprint" = String, Path, description = "Its name")), request_body = Option<Because>, responses(
    (status = 200, body = Group),
    (status = 404, description = "NOT_FOUND", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "CONFLICT_STATE", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn resolve(
    State(app): State<App>,
    operator: Operator,
    group: Result<Path<String>, PathRejection>,
    body: Said,
) -> Result<Json<Group>, Refusal> {
    Ok(Json(become_of(&app, operator, &named(group)?, GroupState::Resolved, body.json()?).await?))
}

/// Says where people are with it now.
pub(crate) async fn become_of(
    app: &App,
    operator: Operator,
    group: &Fingerprint,
    to: GroupState,
    Because { reason }: Because,
) -> Result<Group, Refusal> {
    look(app, operator, group).await?;
    let (desk, named) = (app.desk().clone(), group.clone());
    to_its_end(async move { desk.move_group(operator, &named, to, reason).await }).await?;
    look(app, operator, group).await
}

pub(crate) async fn look(app: &App, operator: Operator, group: &Fingerprint) -> Result<Group, Refusal> {
    app.desk().group(operator, group).await?.map(view).ok_or_else(missing)
}

pub(crate) fn named(group: Result<Path<String>, PathRejection>) -> Result<Fingerprint, Refusal> {
    group.ok().and_then(|Path(text)| text.parse().ok()).ok_or_else(missing)
}

fn missing() -> Refusal {
    Refusal::new(Code::NotFound, "There is no such failure group.")
}

pub(crate) fn read(text: Option<&str>) -> Result<GroupQuery, Refusal> {
    let mut asked = GroupQuery::default();
    for (name, value) in form_urlencoded::parse(text.unwrap_or_default().as_bytes()) {
        let place = match &*name {
            "state" => &mut asked.state,
            "workload" => &mut asked.workload,
            "code" => &mut asked.code,
            "limit" => &mut asked.limit,
            "cursor" => &mut asked.cursor,
            _ => {
                let known = "The query can hold state, workload, code, limit and cursor.";
                return Err(Refusal::new(Code::ValidationUnknownField, known));
            }
        };
        query::once(place, &name, &value)?;
    }
    Ok(asked)
}

fn parse(asked: GroupQuery) -> Result<(GroupFilter, PageRequest), Refusal> {
    let state = |word: String| {
        GroupState::parse(&word)
            .ok_or_else(|| Refusal::field("state", "is none of new, acknowledged, resolved, regressed"))
    };
    let filter = GroupFilter {
        state: query::given(asked.state).map(state).transpose()?,
        workload: query::workload(asked.workload)?,
        code: query::code(asked.code)?,
        ..GroupFilter::default()
    };
    let cursor = query::cursor::<Cursor>(asked.cursor)?;
    Ok((filter, PageRequest { limit: query::limit(asked.limit)?, cursor }))
}

/// Where a page ended: when the last group was seen, and its name.
struct Cursor;

impl std::str::FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (seen, name) = text.split_once('-').ok_or(())?;
        seen.parse::<i64>().map_err(|_| ())?;
        name.parse::<Fingerprint>().map_err(|_| ())?;
        Ok(Self)
    }
}

pub(crate) fn view(row: GroupRow) -> Group {
    Group {
        fingerprint: row.fingerprint.to_string(),
        workload: row.workload.to_string(),
        code: row.code.name().to_owned(),
        target: row.target.map(|target| target.to_string()),
        message: row.message,
        sample_job_id: row.sample.to_string(),
        state: row.state.as_str().to_owned(),
        first_seen: row.first_seen,
        last_seen: row.last_seen,
        failures: row.failures,
        open: row.open,
    }
}

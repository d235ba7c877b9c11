//! The audit trail: who did what, with what right, by which request, why, what became of it, and what it changed.

use axum::Json;
use axum::extract::{RawQuery, State};
use redrive_api::{Act, ActList, ActQuery, Problem};
use redrive_model::Code;
use redrive_model::limits::MAX_LABEL_BYTES;
use redrive_store::{ActFilter, ActRow, PageRequest};
use url::form_urlencoded;

use crate::app::App;
use crate::operator::Operator;
use crate::query;
use crate::refusal::Refusal;

/// What people did, newest first.
#[utoipa::path(get, path = "/api/audit", tag = "operators", params(ActQuery), responses(
    (status = 200, body = ActList),
    (status = 400, description = "VALIDATION_*", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(
    State(app): State<App>,
    operator: Operator,
    RawQuery(asked): RawQuery,
) -> Result<Json<ActList>, Refusal> {
    Ok(Json(page(&app, operator, read(asked.as_deref())?).await?))
}

/// Reads the question.
pub(crate) fn read(text: Option<&str>) -> Result<ActQuery, Refusal> {
    let mut asked = ActQuery::default();
    for (name, value) in form_urlencoded::parse(text.unwrap_or_default().as_bytes()) {
        let place = match &*name {
            "actor" => &mut asked.actor,
            "action" => &mut asked.action,
            "subject" => &mut asked.subject,
            "since" => &mut asked.since,
            "request_id" => &mut asked.request_id,
            "limit" => &mut asked.limit,
            "cursor" => &mut asked.cursor,
            _ => {
                let known = "The query can hold actor, action, subject, since, request_id, limit and cursor.";
                return Err(Refusal::new(Code::ValidationUnknownField, known));
            }
        };
        query::once(place, &name, &value)?;
    }
    Ok(asked)
}

/// A page of them.
pub(crate) async fn page(app: &App, operator: Operator, asked: ActQuery) -> Result<ActList, Refusal> {
    let filter = ActFilter {
        actor: words("actor", asked.actor)?,
        action: words("action", asked.action)?,
        subject: words("subject", asked.subject)?,
        since: query::instant("since", asked.since)?,
        request_id: words("request_id", asked.request_id)?,
    };
    let page = PageRequest { limit: query::limit(asked.limit)?, cursor: query::cursor::<i64>(asked.cursor)? };
    let page = app.desk().acts(operator, filter, page).await?;
    Ok(ActList { acts: page.rows.into_iter().map(view).collect(), next_cursor: page.next })
}

/// What can stand in a line of the trail.
fn words(name: &str, value: Option<String>) -> Result<Option<String>, Refusal> {
    let value = query::given(value);
    match value
        .as_ref()
        .is_some_and(|text| text.len() > MAX_LABEL_BYTES || text.chars().any(char::is_control))
    {
        true => Err(Refusal::field(name, "has more than 255 bytes, or control characters")),
        false => Ok(value),
    }
}

fn view(row: ActRow) -> Act {
    Act {
        number: row.number,
        at: row.at,
        actor: row.act.actor,
        action: row.act.action,
        subject: row.act.subject,
        reason: row.act.reason,
        outcome: row.outcome,
        before: row.before,
        after: row.after,
        scope: row.act.scope.map(|scope| scope.as_str().to_owned()),
        request_id: row.act.request_id,
    }
}

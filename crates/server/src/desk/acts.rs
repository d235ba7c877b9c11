//! The audit trail: who did what, with what right, by which request, why, what became of it, and what it changed.

use axum::Json;
use axum::extract::{RawQuery, State};
use redrive_api::{Act, ActList, PageQuery, Problem};
use redrive_model::Code;
use redrive_store::{ActRow, PageRequest};
use url::form_urlencoded;

use crate::app::App;
use crate::operator::Operator;
use crate::query;
use crate::refusal::Refusal;

/// What people did, newest first.
#[utoipa::path(get, path = "/api/audit", tag = "operators", params(PageQuery), responses(
    (status = 200, body = ActList),
    (status = 400, description = "VALIDATION_*", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(
    State(app): State<App>,
    operator: Operator,
    RawQuery(asked): RawQuery,
) -> Result<Json<ActList>, Refusal> {
    Ok(Json(page(&app, operator, asked.as_deref()).await?))
}

/// A page of them.
pub(crate) async fn page(app: &App, operator: Operator, asked: Option<&str>) -> Result<ActList, Refusal> {
    let (mut limit, mut cursor) = (None, None);
    for (name, value) in form_urlencoded::parse(asked.unwrap_or_default().as_bytes()) {
        match &*name {
            "limit" => query::once(&mut limit, &name, &value)?,
            "cursor" => query::once(&mut cursor, &name, &value)?,
            _ => {
                let known = "The query can hold limit and cursor.";
                return Err(Refusal::new(Code::ValidationUnknownField, known));
            }
        }
    }
    let page = PageRequest { limit: query::limit(limit)?, cursor: query::cursor::<i64>(cursor)? };
    let page = app.desk().acts(operator, page).await?;
    Ok(ActList { acts: page.rows.into_iter().map(view).collect(), next_cursor: page.next })
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

//! What breakers did: opened, looked, closed; and what people did with their targets.

use axum::Json;
use axum::extract::{RawQuery, State};
use redrive_api::{BreakerTurn, Problem, TurnList, TurnQuery};
use redrive_model::{Code, Target};
use redrive_store::{PageRequest, TurnRow};
use url::form_urlencoded;

use crate::app::App;
use crate::operator::Operator;
use crate::query;
use crate::refusal::Refusal;

/// What breakers did, newest first.
#[utoipa::path(get, path = "/api/breakers/history", tag = "operators", params(TurnQuery), responses(
    (status = 200, body = TurnList),
    (status = 400, description = "VALIDATION_*", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(
    State(app): State<App>,
    operator: Operator,
    RawQuery(asked): RawQuery,
) -> Result<Json<TurnList>, Refusal> {
    Ok(Json(page(&app, operator, read(asked.as_deref())?).await?))
}

/// Reads the question.
pub(crate) fn read(text: Option<&str>) -> Result<TurnQuery, Refusal> {
    let mut asked = TurnQuery::default();
    for (name, value) in form_urlencoded::parse(text.unwrap_or_default().as_bytes()) {
        let place = match &*name {
            "target" => &mut asked.target,
            "limit" => &mut asked.limit,
            "cursor" => &mut asked.cursor,
            _ => {
                let known = "The query can hold target, limit and cursor.";
                return Err(Refusal::new(Code::ValidationUnknownField, known));
            }
        };
        query::once(place, &name, &value)?;
    }
    Ok(asked)
}

/// A page of them.
pub(crate) async fn page(app: &App, operator: Operator, asked: TurnQuery) -> Result<TurnList, Refusal> {
    let target = |name| Target::new(name).map_err(|_| Refusal::field("target", "is no name of a target"));
    let target = query::given(asked.target).map(target).transpose()?;
    let page = PageRequest { limit: query::limit(asked.limit)?, cursor: query::cursor::<i64>(asked.cursor)? };
    let page = app.desk().turns(operator, target.as_ref(), page).await?;
    Ok(TurnList { turns: page.rows.into_iter().map(view).collect(), next_cursor: page.next })
}

fn view(row: TurnRow) -> BreakerTurn {
    BreakerTurn {
        number: row.number,
        target: row.target.to_string(),
        at: row.at,
        what: row.turn.deed.as_str().to_owned(),
        why: row.turn.why,
        by: row.turn.by,
    }
}

//! Lists of batches, one batch, and its resources.

use axum::Json;
use axum::extract::{RawQuery, State};
use redrive_api::{FetchList, FetchResources, FetchSnapshot, ListQuery, PageQuery, Problem, ResourceQuery};
use redrive_engine::BatchId;
use redrive_engine::store::Behind;
use redrive_model::Code;

use crate::app::App;
use crate::jobs::filter;
use crate::own::OwnedBatch;
use crate::refusal::Refusal;
use crate::session::Session;

/// Own batches, newest first; for operators all.
#[utoipa::path(get, path = "/api/fetch", tag = "fetch", params(PageQuery), responses(
    (status = 200, body = FetchList),
    (status = 400, description = "VALIDATION_*", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "NOT_FOUND: this server does not fetch", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(
    State(app): State<App>,
    session: Session,
    RawQuery(query): RawQuery,
) -> Result<Json<FetchList>, Refusal> {
    batches(&app, &session, query.as_deref()).await.map(Json)
}

/// The same for a page.
pub(crate) async fn batches(app: &App, session: &Session, query: Option<&str>) -> Result<FetchList, Refusal> {
    let mut asked = only(query, false, "The query can hold limit and cursor.")?;
    let cursor = asked.cursor.take().filter(|cursor| !cursor.is_empty());
    if cursor.as_ref().is_some_and(|cursor| cursor.parse::<Behind<BatchId>>().is_err()) {
        let text = "The cursor is not one of ours: start from the first page.";
        return Err(Refusal::new(Code::ValidationCursor, text));
    }
    let (_, mut page) = filter::parse(asked)?;
    page.cursor = cursor;
    let page = app.desk().batches(session, page).await?;
    Ok(FetchList { batches: page.batches, next_cursor: page.next })
}

/// How a batch is: exact, also while it runs.
#[utoipa::path(get, path = "/api/fetch/{id}", tag = "fetch", params(("id" = String, Path, description = "The batch")), responses(
    (status = 200, body = FetchSnapshot),
    (status = 403, description = "FORBIDDEN: not yours, or not there", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn one(batch: OwnedBatch) -> Result<Json<FetchSnapshot>, Refusal> {
    Ok(Json(batch.snapshot().await?))
}

/// Its resources, without their secrets. While a large manifest is being unpacked, its last ones are not there yet.
#[utoipa::path(get, path = "/api/fetch/{id}/resources", tag = "fetch",
    params(("id" = String, Path, description = "The batch"), ResourceQuery), responses(
    (status = 200, body = FetchResources),
    (status = 400, description = "VALIDATION_*", body = Problem, content_type = "application/problem+json"),
    (status = 403, description = "FORBIDDEN", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn resources(
    batch: OwnedBatch,
    RawQuery(query): RawQuery,
) -> Result<Json<FetchResources>, Refusal> {
    let asked = only(query.as_deref(), true, "The query can hold status, limit and cursor.")?;
    let (filter, page) = filter::parse(asked)?;
    Ok(Json(batch.resources(filter, page).await?))
}

/// A question that can hold a page, and perhaps states.
fn only(query: Option<&str>, states: bool, unknown: &str) -> Result<ListQuery, Refusal> {
    let asked = filter::read(query, unknown)?;
    let page = ListQuery { limit: asked.limit.clone(), cursor: asked.cursor.clone(), ..ListQuery::default() };
    let known = if states { ListQuery { status: asked.status.clone(), ..page } } else { page };
    if asked != known {
        return Err(Refusal::new(Code::ValidationUnknownField, unknown));
    }
    Ok(asked)
}

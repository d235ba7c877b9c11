//! What a button on a page does: by a plain form it leads to the job's page, by script it answers the piece that changes.

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};

use super::{job, row};
use crate::app::App;
use crate::jobs::acts;
use crate::own::Owned;
use crate::refusal::Refusal;

/// Starts a failed job again.
pub(super) async fn retry(
    State(app): State<App>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    job: Owned,
) -> Result<Response, Refusal> {
    let job = acts::start_again(&app, job).await?;
    answer(&app, &job, query.as_deref(), &headers).await
}

/// Stops a job that has not ended.
pub(super) async fn cancel(
    State(app): State<App>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    job: Owned,
) -> Result<Response, Refusal> {
    let job = acts::stop(job).await?;
    answer(&app, &job, query.as_deref(), &headers).await
}

async fn answer(
    app: &App,
    job: &Owned,
    query: Option<&str>,
    headers: &HeaderMap,
) -> Result<Response, Refusal> {
    if !super::wants_piece(headers) {
        return Ok(Redirect::to(&format!("/jobs/{}", job.id)).into_response());
    }
    if query == Some("row=1") {
        let now = app.desk().now().await?;
        return Ok(super::html(row::line(app, job, now).await?.row()));
    }
    Ok(super::html(job::piece(app, job, headers).await?))
}

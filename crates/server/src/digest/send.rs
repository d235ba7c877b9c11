//! `POST /api/digest` and `GET /api/deliveries`.

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use redrive_api::{Delivery, DeliveryList, DigestReply, DigestRequest, PageQuery, Problem};
use redrive_store::{Behind, PageRequest};

use super::{digests, shape};
use crate::app::App;
use crate::body::Said;
use crate::deadline::to_its_end;
use crate::operator::Operator;
use crate::query;
use crate::refusal::Refusal;

/// Sends a digest now, beside those of the schedule; with `dry_run` it only tells what would be sent. Nothing is sent when nothing changed.
#[utoipa::path(post, path = "/api/digest", tag = "operators",
    request_body(content = DigestRequest, description = "Nothing is the same as {}"), responses(
    (status = 200, description = "What would be sent; or nothing changed, and nothing is sent", body = DigestReply),
    (status = 202, description = "It is being sent: see /api/deliveries", body = DigestReply),
    (status = 400, description = "VALIDATION_*", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "NOT_FOUND: this server has no INTAKE_URL", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn post(
    State(app): State<App>,
    operator: Operator,
    body: Said,
) -> Result<(StatusCode, Json<DigestReply>), Refusal> {
    let digests = digests(&app)?.clone();
    let DigestRequest { dry_run } = body.json()?;
    let mail = digests.mails();
    let previews = digests.preview().await?;
    let owners: Vec<_> = previews.iter().map(|preview| shape::owner(preview, mail)).collect();
    if dry_run || owners.is_empty() {
        return Ok((StatusCode::OK, Json(DigestReply { dry_run, job_id: None, mail, owners })));
    }
    let job = to_its_end(async move { Ok(digests.open(&operator.by(None)).await?) }).await?;
    let job_id = Some(job.to_string());
    Ok((StatusCode::ACCEPTED, Json(DigestReply { dry_run, job_id, mail, owners })))
}

/// How digests went, newest first: also those that are tried again, and those that were given up.
#[utoipa::path(get, path = "/api/deliveries", tag = "operators", params(PageQuery), responses(
    (status = 200, body = DeliveryList),
    (status = 400, description = "VALIDATION_*", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "NOT_FOUND: this server has no INTAKE_URL", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn deliveries(
    State(app): State<App>,
    _: Operator,
    RawQuery(query): RawQuery,
) -> Result<Json<DeliveryList>, Refusal> {
    page(&app, query.as_deref()).await.map(Json)
}

/// The same for a page.
pub(crate) async fn page(app: &App, query: Option<&str>) -> Result<DeliveryList, Refusal> {
    let asked = query::page(query)?;
    let (limit, cursor) = (query::limit(asked.limit)?, query::cursor::<Behind<String>>(asked.cursor)?);
    let page = digests(app)?.deliveries(PageRequest { limit, cursor }).await?;
    let deliveries = page.rows.into_iter().map(|row| Delivery {
        key: row.key,
        owner: row.owner,
        address: row.address,
        state: row.state.as_str().to_owned(),
        tries: row.tries,
        error: row.error,
        documents: row.documents,
        at: row.at,
    });
    Ok(DeliveryList { deliveries: deliveries.collect(), next_cursor: page.next })
}

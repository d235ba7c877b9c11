//! `POST /api/fetch/{id}/cancel`: the wish is durable at once; a job stops the members.

use axum::Json;
use axum::http::StatusCode;
use redrive_api::{FetchSnapshot, Problem};

use crate::deadline::to_its_end;
use crate::own::OwnedBatch;
use crate::refusal::Refusal;

/// Stops what has not ended of a batch. It ends soon after.
#[utoipa::path(post, path = "/api/fetch/{id}/cancel", tag = "fetch", params(("id" = String, Path, description = "The batch")), responses(
    (status = 202, description = "Asked for; the batch ends soon", body = FetchSnapshot),
    (status = 403, description = "FORBIDDEN", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "CONFLICT_STATE: it has ended", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn cancel(batch: OwnedBatch) -> Result<(StatusCode, Json<FetchSnapshot>), Refusal> {
    let snapshot = to_its_end(async move {
        batch.cancel().await?;
        batch.again().await?.snapshot().await
    })
    .await?;
    Ok((StatusCode::ACCEPTED, Json(snapshot)))
}

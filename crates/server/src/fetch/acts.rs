//! `POST /api/fetch/{id}/cancel` and `…/retry`: the wish is durable at once; a job does it.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use redrive_api::{FetchSnapshot, Problem};

use crate::app::App;
use crate::deadline::to_its_end;
use crate::disk::Incoming;
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

/// Tries everything again that failed of a batch. It begins soon after.
#[utoipa::path(post, path = "/api/fetch/{id}/retry", tag = "fetch", params(("id" = String, Path, description = "The batch")), responses(
    (status = 202, description = "Asked for; what failed starts again soon", body = FetchSnapshot),
    (status = 403, description = "FORBIDDEN", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "CONFLICT_STATE: nothing failed", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "OVERLOADED: the disk is nearly full", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn retry(
    State(app): State<App>,
    batch: OwnedBatch,
) -> Result<(StatusCode, Json<FetchSnapshot>), Refusal> {
    app.disk().admit(Incoming::Manifest, 0).await?;
    let snapshot = to_its_end(async move {
        batch.start_again().await?;
        batch.again().await?.snapshot().await
    })
    .await?;
    Ok((StatusCode::ACCEPTED, Json(snapshot)))
}

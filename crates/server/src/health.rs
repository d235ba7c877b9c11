//! Whether the process lives, and whether it can take work. Neither answer tells anything else.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::app::App;

/// The process answers.
#[utoipa::path(get, path = "/healthz", tag = "health", responses((status = 200, description = "The process answers")))]
pub(crate) async fn healthz() -> StatusCode {
    StatusCode::OK
}

/// The store answers too, and the server goes on. One that takes no uploads just now is ready all the same: everything else goes on, and
/// nobody would be told why.
#[utoipa::path(get, path = "/readyz", tag = "health", responses(
    (status = 200, description = "The store answers too"), (status = 503, description = "It does not, or the server is about to stop")))]
pub(crate) async fn readyz(State(app): State<App>) -> Response {
    let stops = *app.stopping().borrow();
    match app.desk().queue().await {
        Ok(_) if !stops => StatusCode::OK.into_response(),
        Ok(_) | Err(_) => (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "5")]).into_response(),
    }
}

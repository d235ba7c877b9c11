//! Whether the process lives, and whether it can take work. Neither answer tells anything else.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use redrive_store::Store;

/// The process answers.
pub(crate) async fn healthz() -> StatusCode {
    StatusCode::OK
}

/// The store answers too.
pub(crate) async fn readyz(State(store): State<Arc<dyn Store>>) -> StatusCode {
    match store.queue().await {
        Ok(_) => StatusCode::OK,
        Err(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

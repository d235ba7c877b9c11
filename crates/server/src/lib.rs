//! Redrive's HTTP side: health, and the failure registry that every problem answer points into.

mod failures;
mod health;
mod problem;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use redrive_store::Store;

/// All routes, on a store.
pub fn router(store: Arc<dyn Store>) -> Router {
    Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/api/failures", get(failures::list))
        .route("/api/failures/{code}", get(failures::one))
        .fallback(problem::not_found)
        .method_not_allowed_fallback(problem::method_not_allowed)
        .with_state(store)
}

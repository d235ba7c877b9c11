//! The registry, for people and programs that want to know what a code means.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use redrive_api::{FailureEntry, Problem};
use redrive_model::failure::REGISTRY;
use redrive_model::{Code, text};

use crate::refusal::Refusal;

/// Every failure code there is.
#[utoipa::path(get, path = "/api/failures", tag = "failures", responses((status = 200, body = Vec<FailureEntry>)))]
pub(crate) async fn list() -> Json<Vec<FailureEntry>> {
    Json(REGISTRY.iter().map(FailureEntry::from).collect())
}

/// One failure code.
#[utoipa::path(get, path = "/api/failures/{code}", tag = "failures", params(("code" = String, Path, description = "The code")),
    responses((status = 200, body = FailureEntry),
        (status = 404, description = "NOT_FOUND", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn one(name: Result<Path<String>, PathRejection>) -> Result<Json<FailureEntry>, Refusal> {
    let name = name.map(|Path(name)| name).unwrap_or_default();
    match Code::parse(&name.to_ascii_uppercase()) {
        Some(code) => Ok(Json(code.entry().into())),
        None => {
            let name = text::one_line(&name, 64, false);
            Err(Refusal::new(Code::NotFound, format!("No failure code is called {name:?}.")))
        }
    }
}

//! Failure answers: `application/problem+json` (RFC 9457) with a code from the registry.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use redrive_model::Code;
use serde::Serialize;

/// One failure answer. Its sentences come from the registry.
#[derive(Debug, Serialize)]
pub(crate) struct Problem {
    r#type: String,
    title: &'static str,
    status: u16,
    detail: String,
    code: &'static str,
    retryable: bool,
}

impl Problem {
    /// The answer for a code, with a detail of its own.
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        let entry = code.public().entry();
        Self {
            r#type: format!("/api/failures/{}", entry.name),
            title: entry.what_happened,
            status: entry.http_status,
            detail: detail.into(),
            code: entry.name,
            retryable: code.is_retryable(),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, axum::Json(self)).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    }
}

/// There is nothing at this address.
pub(crate) async fn not_found() -> Problem {
    Problem::new(Code::NotFound, "There is nothing at this address.")
}

/// There is something, but not for this method.
pub(crate) async fn method_not_allowed() -> Problem {
    Problem::new(Code::MethodNotAllowed, "This address does not take that method.")
}

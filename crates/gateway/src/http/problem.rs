//! Failure answers: `application/problem+json` with an inner code, a title from this table and a sentence.
//!
//! Nothing of the machine is in them: no path, no version, no message of the system.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::convert::{Refusal, RefusalCode};

/// Why a request is not answered with what it asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// No `mapping`.
    MissingMapping,
    /// A mapping that we do not have.
    UnknownMapping,
    /// `Accept` leaves out XML.
    NotAcceptable,
    /// The file itself is at fault.
    File(RefusalCode),
    /// The request is not as the contract says.
    InvalidRequest,
    /// The file is larger than allowed.
    TooLarge,
    /// Not multipart, or encoded.
    UnsupportedMediaType,
    /// The body came too slowly.
    RequestTimeout,
    /// There is nothing at this address.
    NotFound,
    /// There is something, but not for this method.
    MethodNotAllowed,
    /// All children are busy and the line is full.
    Busy,
    /// The server is about to stop.
    Stopping,
    /// Our own fault.
    Internal,
}

/// One failure answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    code: Code,
    detail: String,
}

impl Problem {
    pub(crate) fn new(code: Code, detail: &str) -> Self {
        Self { code, detail: cleaned(detail) }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self::new(Code::File(refusal.code), &refusal.detail)
    }
}

impl Code {
    /// Status, inner code, title, and the seconds after which to try again.
    fn row(self) -> (StatusCode, &'static str, &'static str, Option<u32>) {
        let bad = StatusCode::BAD_REQUEST;
        let unavailable = StatusCode::SERVICE_UNAVAILABLE;
        match self {
            Self::MissingMapping => (bad, "missing_mapping", "The request names no mapping", None),
            Self::UnknownMapping => {
                (StatusCode::NOT_ACCEPTABLE, "unknown_mapping", "There is no such mapping", None)
            }
            Self::NotAcceptable => {
                (StatusCode::NOT_ACCEPTABLE, "not_acceptable", "The answer would be XML", None)
            }
            Self::File(code) => {
                let title = match code {
                    RefusalCode::InvalidPdf => "The file is not a PDF that can be read",
                    RefusalCode::PasswordRequired => "The PDF needs a password",
                    RefusalCode::UnsupportedEncryption => "The PDF is encrypted in an unknown way",
                    RefusalCode::TooManyPages => "The PDF has too many pages",
                    RefusalCode::LimitExceeded => "The PDF takes more than one file may use",
                };
                (bad, code.as_str(), title, None)
            }
            Self::InvalidRequest => (bad, "invalid_request", "The request cannot be understood", None),
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "too_large", "The file is too large", None),
            Self::UnsupportedMediaType => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                "The body must be plain multipart/form-data",
                None,
            ),
            Self::RequestTimeout => {
                (StatusCode::REQUEST_TIMEOUT, "request_timeout", "The request came too slowly", None)
            }
            Self::NotFound => (StatusCode::NOT_FOUND, "not_found", "There is nothing at this address", None),
            Self::MethodNotAllowed => (
                StatusCode::METHOD_NOT_ALLOWED,
                "method_not_allowed",
                "This address does not take that method",
                None,
            ),
            Self::Busy => (unavailable, "busy", "The converter is busy", Some(2)),
            Self::Stopping => (unavailable, "stopping", "The converter is about to stop", Some(10)),
            Self::Internal => {
                (StatusCode::INTERNAL_SERVER_ERROR, "internal", "The converter made a mistake", None)
            }
        }
    }
}

/// The answer as it travels.
#[derive(Serialize)]
struct Wire<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
    code: &'a str,
    retryable: bool,
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, code, title, retry_after) = self.code.row();
        let wire = Wire {
            r#type: format!("urn:redrive:gateway:{code}"),
            title,
            status: status.as_u16(),
            detail: &self.detail,
            code,
            retryable: status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT,
        };
        let mut response = (status, axum::Json(wire)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// One line of at most 200 characters without control characters.
fn cleaned(detail: &str) -> String {
    let line = detail.lines().next().unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detail_is_one_short_clean_line() {
        assert_eq!(cleaned("a\u{1b}[31mb\nc"), "a[31mb");
        assert_eq!(cleaned(&"ä".repeat(500)).chars().count(), 200);
    }

    #[test]
    fn what_may_be_tried_again_says_when() {
        for (code, status, after) in [
            (Code::Busy, 503, Some("2")),
            (Code::Stopping, 503, Some("10")),
            (Code::Internal, 500, None),
            (Code::File(RefusalCode::LimitExceeded), 400, None),
            (Code::UnknownMapping, 406, None),
        ] {
            let response = Problem::new(code, "x").into_response();
            assert_eq!(response.status().as_u16(), status);
            let found = response.headers().get(header::RETRY_AFTER).map(|value| value.to_str().unwrap());
            assert_eq!(found, after);
        }
    }
}

//! What a handler answers when it cannot do what it was asked: a problem document, and nothing of what is inside.
//!
//! Errors from below are logged as they are and answered by their code: their texts may hold paths and statements.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use redrive_api::{PROBLEM_JSON, Problem, ProblemError};
use redrive_blob::BlobError;
use redrive_engine::EngineError;
use redrive_model::{Code, JobId};
use redrive_store::StoreError;

/// When nobody knows better.
const SOON: Duration = Duration::from_secs(5);

/// A refusal. Boxed, because it travels in every result.
#[derive(Debug, Clone)]
pub(crate) struct Refusal(Box<Problem>, Option<(HeaderName, HeaderValue)>);

impl Refusal {
    /// A refusal with this code, and what is special about it.
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        let problem = Problem::new(code, detail);
        let temporary = matches!(problem.status, 429 | 503);
        Self(Box::new(if temporary { problem.retry_after(SOON) } else { problem }), None)
    }

    /// The one answer for what is not yours and for what is not there.
    pub(crate) fn forbidden() -> Self {
        Self::new(Code::Forbidden, "There is no such job of yours.")
    }

    /// A field of the request cannot be used.
    pub(crate) fn field(name: &str, why: &str) -> Self {
        Self::new(Code::ValidationInvalidField, format!("{name}: {why}"))
    }

    /// About this job.
    pub(crate) fn job(mut self, id: JobId) -> Self {
        self.0.job_id = Some(id.to_string());
        self
    }

    /// Trying again makes sense after this, at least a second.
    pub(crate) fn retry_after(mut self, wait: Duration) -> Self {
        let ms = wait.as_millis().clamp(1_000, 3_600_000);
        self.0.retry_after_ms = u64::try_from(ms).ok();
        self
    }

    /// Another status than the code's own.
    pub(crate) fn status(mut self, status: StatusCode) -> Self {
        self.0.status = status.as_u16();
        self
    }

    /// With one header more. A value that cannot be one is left out.
    pub(crate) fn header(mut self, name: HeaderName, value: &str) -> Self {
        self.1 = HeaderValue::from_str(value).ok().map(|value| (name, value));
        self
    }

    /// With what is wrong with each part of the request.
    pub(crate) fn errors(mut self, errors: Vec<ProblemError>) -> Self {
        self.0.errors = errors;
        self
    }

    /// What operators find in the log under this id.
    pub(crate) fn request_id(mut self, id: &str) -> Self {
        self.0.request_id = Some(id.to_owned());
        self
    }

    /// Its code's name.
    pub(crate) fn code(&self) -> &str {
        &self.0.code
    }

    /// The document it answers with.
    pub(crate) fn problem(&self) -> &Problem {
        &self.0
    }

    fn of(code: Code, error: &dyn std::fmt::Display) -> Self {
        tracing::warn!(event = "request.failed", error_code = code.name(), "{error}");
        Self::new(code, code.public().entry().what_we_do)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match error {
            // These words are ours and about the request alone.
            StoreError::Invalid(text) => Self::new(Code::ValidationInvalidField, text),
            StoreError::IdempotencyMismatch => {
                let text = "This idempotency key was used for another request.";
                Self::new(Code::IdempotencyMismatch, text)
            }
            // A full database takes nothing new; for whoever asks it is like one that is away.
            StoreError::Full => Self::of(Code::SystemUnavailable, &error),
            error => Self::of(error.code(), &error),
        }
    }
}

impl From<EngineError> for Refusal {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            // Why something cannot be done as things are is said in words of ours; of other codes a handler may have said them.
            EngineError::Refused { code: Code::ConflictState, reason } => {
                Self::new(Code::ConflictState, sentence(&reason))
            }
            error => Self::of(error.code(), &error),
        }
    }
}

/// Words as a sentence.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

impl From<BlobError> for Refusal {
    fn from(error: BlobError) -> Self {
        Self::of(error.code(), &error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, axum::Json(&*self.0)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(ms) = self.0.retry_after_ms {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(ms.div_ceil(1_000)));
        }
        if let Some((name, value)) = &self.1 {
            headers.insert(name, value.clone());
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"redrive\""));
        }
        response.extensions_mut().insert(self);
        response
    }
}

/// There is nothing at this address.
pub(crate) async fn not_found() -> Refusal {
    Refusal::new(Code::NotFound, "There is nothing at this address.")
}

/// There is something, but not for this method.
pub(crate) async fn method_not_allowed() -> Refusal {
    Refusal::new(Code::MethodNotAllowed, "This address does not take that method.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_inside_stays_inside() {
        let store = StoreError::Unavailable { reason: "SELECT * FROM /srv/secret.db".into() };
        let blob = BlobError::Unavailable {
            act: redrive_blob::Act::Put,
            timeout: false,
            retry_after: None,
            reason: "open /srv/secret".into(),
        };
        for refusal in [Refusal::from(store), Refusal::from(blob)] {
            assert!(!format!("{:?}", refusal.0).contains("secret"), "{refusal:?}");
        }
    }

    #[test]
    fn a_conflict_says_with_what_and_other_words_of_handlers_stay_inside() {
        let refused =
            |code| Refusal::from(EngineError::Refused { code, reason: "replay 7 has ended".into() });
        assert_eq!(refused(Code::ConflictState).problem().detail, "Replay 7 has ended.");
        assert!(!refused(Code::Expired).problem().detail.contains("has ended"));
    }

    #[test]
    fn what_passes_says_when() {
        let response = Refusal::new(Code::Overloaded, "").into_response();
        assert_eq!(response.status(), 503);
        assert_eq!(response.headers()[header::RETRY_AFTER], "5");
        let response = Refusal::new(Code::RateLimited, "").retry_after(Duration::from_millis(1_500));
        assert_eq!(response.into_response().headers()[header::RETRY_AFTER], "2");
    }
}

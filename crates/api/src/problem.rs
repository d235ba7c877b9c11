//! Failure answers: `application/problem+json` (RFC 9457) with a code from the registry.

use std::time::Duration;

use redrive_model::Code;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The media type of a problem.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// One failure answer. Its title comes from the registry; the detail says what is special about this one, and never a path, a
/// statement or a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// The page of the code.
    pub r#type: String,
    /// What happened, in one short sentence.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What is special about this one.
    pub detail: String,
    /// The code from the registry.
    pub code: String,
    /// Whether trying again could help.
    pub retryable: bool,
    /// The job it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<String>,
    /// When trying again makes sense.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// What is wrong with the parts of the request, where there are such; the first one decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ProblemError>,
    /// What to tell the operator; also in the header `X-Request-Id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// What is wrong with one part of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProblemError {
    /// The code from the registry.
    pub code: String,
    /// The line of the body, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The resource of a JSON document, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<u64>,
    /// The field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Why.
    pub detail: String,
}

impl Problem {
    /// The answer for a code, with a detail of its own. An inner code shows as its public one.
    #[must_use]
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let entry = code.public().entry();
        Self {
            r#type: format!("/api/failures/{}", entry.name),
            title: entry.what_happened.to_owned(),
            status: entry.http_status,
            detail: detail.into(),
            code: entry.name.to_owned(),
            // Too many and too much are no failures of a job, and both pass.
            retryable: code.is_retryable() || matches!(entry.http_status, 408 | 429 | 503),
            job_id: None,
            retry_after_ms: None,
            errors: Vec::new(),
            request_id: None,
        }
    }

    /// About this job.
    #[must_use]
    pub fn job(mut self, id: impl ToString) -> Self {
        self.job_id = Some(id.to_string());
        self
    }

    /// Trying again makes sense after this.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after_ms = Some(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inner_code_shows_as_its_public_one_and_empty_fields_are_left_out() {
        let problem = Problem::new(Code::DiskFull, "There is no room.");
        assert_eq!((problem.code.as_str(), problem.status), ("IO_ERROR", 500));
        let json = serde_json::to_value(&problem).unwrap();
        assert_eq!(json["type"], "/api/failures/IO_ERROR");
        assert!(json.get("job_id").is_none() && json.get("retry_after_ms").is_none());
    }

    #[test]
    fn what_passes_by_itself_is_retryable() {
        for code in [Code::RateLimited, Code::Overloaded, Code::GwTimeout, Code::SystemUnavailable] {
            assert!(Problem::new(code, "").retryable, "{code}");
        }
        for code in [Code::Forbidden, Code::NotPdf, Code::ConflictState] {
            assert!(!Problem::new(code, "").retryable, "{code}");
        }
    }
}

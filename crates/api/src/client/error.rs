//! Why a call did not give what was asked for.

use std::time::Duration;

use reqwest::Response;

use super::body;
use crate::Problem;

/// What went wrong. None of them holds a URL.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// Nobody answered, or the answer broke off.
    #[error("the server does not answer: {0}")]
    Unreachable(String),
    /// The server said no, and why.
    #[error("{}: {} {}", .0.code, .0.title, .0.detail)]
    Refused(Box<Problem>),
    /// Whatever answered does not speak this API.
    #[error("that is no answer of a redrive server: {0}")]
    Answer(String),
    /// A token that no header can carry.
    #[error("the token has characters that no header can carry")]
    Token,
    /// A file that is sent could not be read.
    #[error("the file cannot be read: {0}")]
    File(#[from] std::io::Error),
}

impl ClientError {
    pub(super) fn unreachable(error: reqwest::Error) -> Self {
        let error = error.without_url();
        let mut text = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(next) = cause {
            text = format!("{text}: {next}");
            cause = next.source();
        }
        Self::Unreachable(text)
    }

    /// How long to wait before the same call makes sense again; nothing when it does not.
    #[must_use]
    pub fn again_after(&self) -> Option<Duration> {
        match self {
            Self::Refused(problem) if matches!(problem.status, 429 | 503) => {
                Some(Duration::from_millis(problem.retry_after_ms.unwrap_or(1_000).max(50)))
            }
            Self::Refused(_) | Self::Unreachable(_) | Self::Answer(_) | Self::Token | Self::File(_) => None,
        }
    }
}

/// What the server said instead.
pub(super) async fn refused(response: Response) -> ClientError {
    let status = response.status();
    let said = match body(response).await {
        Ok(said) => said,
        Err(error) => return error,
    };
    match serde_json::from_slice::<Problem>(&said) {
        Ok(problem) => ClientError::Refused(Box::new(problem)),
        Err(_) => ClientError::Answer(format!("status {status}")),
    }
}

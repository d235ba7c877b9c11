//! Small JSON bodies. What cannot be read is refused in words; nothing at all is as good as an empty object.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use redrive_door::TooSlow;
use redrive_model::Code;
use serde::de::DeserializeOwned;

use crate::refusal::Refusal;

/// What a client said, all of it.
#[derive(Debug)]
pub(crate) struct Said(Bytes);

impl Said {
    /// As it was sent.
    pub(crate) const fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// Reads it.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        let text: &[u8] = if self.0.iter().all(u8::is_ascii_whitespace) { b"{}" } else { &self.0 };
        serde_json::from_slice(text).map_err(|error| {
            let code = if error.is_data() { Code::ValidationInvalidField } else { Code::ValidationMalformed };
            Refusal::new(code, format!("The body: {error}."))
        })
    }
}

impl<S: Send + Sync> FromRequest<S> for Said {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        Bytes::from_request(request, state).await.map(Self).map_err(|rejection| refused(&rejection))
    }
}

fn refused(rejection: &BytesRejection) -> Refusal {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return Refusal::new(Code::ValidationTooLarge, "The body is too large for this address.");
    }
    if TooSlow::is_cause_of(rejection) {
        return Refusal::new(Code::RequestTimeout, "The body came too slowly.");
    }
    Refusal::new(Code::ValidationMalformed, "The body ended before it was whole.")
}

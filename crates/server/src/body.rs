//! Small JSON bodies. What cannot be read is refused in words; nothing at all is as good as an empty object.

use axum::body::Bytes;
use redrive_model::Code;
use serde::de::DeserializeOwned;

use crate::refusal::Refusal;

/// Reads it.
pub(crate) fn json<T: DeserializeOwned>(body: &Bytes) -> Result<T, Refusal> {
    let text: &[u8] = if body.iter().all(u8::is_ascii_whitespace) { b"{}" } else { body };
    serde_json::from_slice(text).map_err(|error| {
        let code = if error.is_data() { Code::ValidationInvalidField } else { Code::ValidationMalformed };
        Refusal::new(code, format!("The body: {error}."))
    })
}

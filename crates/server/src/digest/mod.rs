//! Digests, for operators: what would be told, telling it now, who is told, and how that went.

pub(crate) mod notifications;
pub(crate) mod send;
mod shape;

pub(crate) use notifications::{add, list, remove, replace};
pub(crate) use send::{deliveries, post};
pub(crate) use shape::goes_to;

use redrive_intake::digest::Digests;
use redrive_model::Code;

use crate::app::App;
use crate::refusal::Refusal;

/// The digests of this server.
pub(crate) fn digests(app: &App) -> Result<&Digests, Refusal> {
    let none =
        || Refusal::new(Code::NotFound, "This server has no intake: set INTAKE_URL, and it sends digests.");
    app.digests().ok_or_else(none)
}

/// Reads a body as JSON; an empty one where that has a meaning.
fn read<T: serde::de::DeserializeOwned>(body: &[u8], empty: Option<T>) -> Result<T, Refusal> {
    match empty {
        Some(usual) if body.trim_ascii().is_empty() => Ok(usual),
        Some(_) | None => serde_json::from_slice(body).map_err(|error| {
            Refusal::new(Code::ValidationMalformed, format!("The body cannot be used: {error}"))
        }),
    }
}

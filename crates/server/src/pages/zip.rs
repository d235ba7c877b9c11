//! The chosen results as one ZIP: a form sends each id for itself, the API takes them in one.

use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Redirect, Response};
use redrive_model::{Code, JobId};
use url::form_urlencoded;

use crate::app::App;
use crate::refusal::Refusal;
use crate::session::Session;

/// Goes on to the API with the ids that can be ids; whose they are is asked there.
pub(super) async fn chosen(
    State(app): State<App>,
    _: Session,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let query = query.unwrap_or_default();
    let ids: Vec<String> = form_urlencoded::parse(query.as_bytes())
        .filter(|(name, _)| name == "ids")
        .filter_map(|(_, id)| id.parse::<JobId>().ok())
        .map(|id| id.to_string())
        .take(app.limits().zip_entries.saturating_add(1))
        .collect();
    if ids.is_empty() {
        return Err(Refusal::new(Code::ValidationMissingField, "No job was chosen: tick the ones you want."));
    }
    Ok(Redirect::to(&format!("/api/download.zip?ids={}", ids.join(","))).into_response())
}

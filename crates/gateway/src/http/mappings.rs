//! `GET /mappings` and `GET /mappings/{name}/schema`.

use axum::Json;
use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::problem::{Code, Problem};
use crate::write::{Mapping, Schema};

/// One mapping as it travels.
#[derive(Serialize)]
pub(super) struct Wire {
    name: &'static str,
    title: &'static str,
    schema: String,
    media_type: &'static str,
}

/// All of them; the first is the default.
pub(super) async fn list() -> Json<Vec<Wire>> {
    let wire = |mapping: Mapping| Wire {
        name: mapping.name(),
        title: mapping.title(),
        schema: format!("/mappings/{}/schema", mapping.name()),
        media_type: mapping.media_type(),
    };
    Json(Mapping::ALL.into_iter().map(wire).collect())
}

/// The schema, or where those keep it who made the format.
pub(super) async fn schema(Path(name): Path<String>) -> Response {
    match Mapping::from_name(&name).map(Mapping::schema) {
        Some(Schema::Own(text)) => ([(header::CONTENT_TYPE, "application/xml")], text).into_response(),
        Some(Schema::Elsewhere(url)) => (StatusCode::FOUND, [(header::LOCATION, url)]).into_response(),
        None => Problem::new(Code::NotFound, "There is no such mapping.").into_response(),
    }
}

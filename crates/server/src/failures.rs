//! The registry, for people and programs that want to know what a code means.

use axum::Json;
use axum::extract::Path;
use redrive_model::failure::{Category, Class, Entry, REGISTRY};
use redrive_model::{Code, text};
use serde::Serialize;

use crate::problem::Problem;

/// One row of the registry on the wire.
#[derive(Debug, Serialize)]
pub(crate) struct FailureCode {
    code: &'static str,
    category: Category,
    class: Class,
    http_status: u16,
    public_code: &'static str,
    message: &'static str,
    what_we_do: &'static str,
    what_you_can_do: &'static str,
}

impl From<&Entry> for FailureCode {
    fn from(entry: &Entry) -> Self {
        Self {
            code: entry.name,
            category: entry.category,
            class: entry.class,
            http_status: entry.http_status,
            public_code: entry.public.name(),
            message: entry.what_happened,
            what_we_do: entry.what_we_do,
            what_you_can_do: entry.what_you_can_do,
        }
    }
}

/// All of it.
pub(crate) async fn list() -> Json<Vec<FailureCode>> {
    Json(REGISTRY.iter().map(FailureCode::from).collect())
}

/// One code.
pub(crate) async fn one(Path(name): Path<String>) -> Result<Json<FailureCode>, Problem> {
    match Code::parse(&name.to_ascii_uppercase()) {
        Some(code) => Ok(Json(code.entry().into())),
        None => {
            let name = text::one_line(&name, 64, false);
            Err(Problem::new(Code::NotFound, format!("No failure code is called {name:?}.")))
        }
    }
}

//! The OpenAPI 3.1 document, made from the handlers and the wire types.

use axum::Json;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Redrive",
        description = "Durable jobs: upload a PDF, follow it, fetch the XML.",
        license(name = "MIT OR Apache-2.0")
    ),
    paths(
        crate::upload::upload,
        crate::jobs::look::list,
        crate::jobs::look::one,
        crate::jobs::look::attempts,
        crate::jobs::look::events,
        crate::jobs::look::explain,
        crate::download::download,
        crate::jobs::acts::retry,
        crate::jobs::acts::cancel,
        crate::zip::download,
        crate::mappings::list,
        crate::pulse::status,
        crate::feed::stream::stream,
        crate::failures::list,
        crate::failures::one,
        crate::jobs::forget::forget_me,
        crate::audit::audit,
        crate::operator::sign_in::page,
        crate::operator::sign_in::enter,
        crate::operator::sign_in::leave,
        crate::health::healthz,
        crate::health::readyz,
        document,
    ),
    modifiers(&Bearer)
)]
struct Document;

/// How operators say who they are.
struct Bearer;

impl Modify for Bearer {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        document.components.get_or_insert_default().add_security_scheme("operator", scheme);
    }
}

/// The document.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    Document::openapi()
}

/// This document.
#[utoipa::path(get, path = "/api/openapi.json", tag = "openapi", responses((status = 200, description = "OpenAPI 3.1")))]
pub(crate) async fn document() -> Json<utoipa::openapi::OpenApi> {
    Json(openapi())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_in_the_document_and_nothing_else() {
        let json = serde_json::to_value(openapi()).unwrap();
        assert!(json["openapi"].as_str().unwrap().starts_with("3.1"));
        let paths = json["paths"].as_object().unwrap();
        let mut documented: Vec<String> = Vec::new();
        for (path, methods) in paths {
            documented
                .extend(methods.as_object().unwrap().keys().map(|m| format!("{} {path}", m.to_uppercase())));
        }
        let mut routes: Vec<String> =
            crate::routes().iter().map(|route| format!("{} {}", route.method, route.path)).collect();
        documented.sort();
        routes.sort();
        assert_eq!(documented, routes);
    }
}

//! The OpenAPI 3.1 document, made from the handlers and the wire types.

mod examples;
mod headers;
mod problems;
mod success;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::Json;
use axum::http::Method;
use redrive_api::PROBLEM_JSON;
use serde_json::Value;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{Modify, OpenApi};

use crate::routes::{Access, RouteInfo};
use redrive_store::Scope;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Redrive",
        // The API's own: which build answers is nobody's business.
        version = "1",
        description = "Durable jobs: upload a PDF, follow it, take the XML; or send a manifest of URLs, and hear exactly what is missing. \
                       An address that is not here is 404 NOT_FOUND, a method that an address does not take is 405 METHOD_NOT_ALLOWED.",
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
        crate::fetch::post::post,
        crate::fetch::look::list,
        crate::fetch::look::one,
        crate::fetch::look::resources,
        crate::fetch::missing::missing,
        crate::fetch::acts::cancel,
        crate::fetch::acts::retry,
        crate::zip::download,
        crate::mappings::list,
        crate::pulse::status,
        crate::feed::stream::stream,
        crate::failures::list,
        crate::failures::one,
        crate::jobs::forget::forget_me,
        crate::auditor::look,
        crate::desk::acts::list,
        crate::desk::breakers::hold,
        crate::desk::bulk::cancel,
        crate::desk::discards::discard,
        crate::desk::breakers::list,
        crate::desk::breakers::release,
        crate::desk::groups::ack,
        crate::desk::groups::list,
        crate::desk::groups::one,
        crate::desk::groups::resolve,
        crate::desk::letters::discard,
        crate::desk::letters::replay,
        crate::desk::overview::one,
        crate::desk::replays::cancel,
        crate::desk::replays::list,
        crate::desk::replays::one,
        crate::desk::replays::pause,
        crate::desk::replays::resume,
        crate::desk::replays::start,
        crate::desk::simulate::simulate,
        crate::desk::turns::list,
        crate::desk::workers::drain,
        crate::desk::workers::list,
        crate::dead::list,
        crate::dead::one,
        crate::digest::send::post,
        crate::digest::send::deliveries,
        crate::digest::notifications::list,
        crate::digest::notifications::replace,
        crate::digest::notifications::add,
        crate::digest::notifications::remove,
        crate::intake::one,
        crate::intake::change,
        crate::intake::clear,
        crate::intake::records,
        crate::intake::documents::list,
        crate::intake::documents::one,
        crate::intake::documents::report,
        crate::intake::documents::newest_report,
        crate::tokens::list,
        crate::tokens::make,
        crate::tokens::revoke,
        crate::settings::list,
        crate::settings::findings,
        crate::settings::examine,
        crate::operator::sign_in::page,
        crate::operator::sign_in::enter,
        crate::operator::sign_in::leave,
        crate::health::healthz,
        crate::health::readyz,
        document,
    ),
    modifiers(&Bearer, &Whose)
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

/// What follows from who may use a route, said in one place for all of them.
struct Whose;

impl Modify for Whose {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        for route in crate::routes() {
            let Some(operation) = operation(document, &route) else { continue };
            let answers = &mut operation.responses.responses;
            if route.access == Access::Everybody {
                continue;
            }
            add(answers, "401", "AUTH_REQUIRED: an operator's token that is wrong");
            if route.scope != Scope::Read {
                add(
                    answers,
                    "403",
                    &format!("AUTH_SCOPE: an operator's token without the scope {}", route.scope),
                );
            }
            operation.security = Some(match route.access {
                Access::Operator => vec![operator()],
                // Without a token it is the session's cookie that counts.
                Access::Everybody | Access::Session | Access::Owner => {
                    vec![SecurityRequirement::default(), operator()]
                }
            });
            if route.access == Access::Owner {
                add(answers, "404", missing(route.path));
            }
        }
    }
}

/// What is not there, where a path names something of somebody's.
fn missing(path: &str) -> &'static str {
    match path.starts_with("/api/fetch") {
        true => "NOT_FOUND: said to operators alone, there is no such batch; or this server does not fetch",
        false => "NOT_FOUND: said to operators alone, there is no such job",
    }
}

fn operator() -> SecurityRequirement {
    SecurityRequirement::new("operator", Vec::<String>::new())
}

fn operation<'a>(document: &'a mut utoipa::openapi::OpenApi, route: &RouteInfo) -> Option<&'a mut Operation> {
    let item = document.paths.paths.get_mut(route.path)?;
    match route.method {
        Method::GET => item.get.as_mut(),
        Method::POST => item.post.as_mut(),
        Method::PUT => item.put.as_mut(),
        Method::DELETE => item.delete.as_mut(),
        _ => None,
    }
}

/// Adds an answer, or what it means also.
fn add(answers: &mut BTreeMap<String, RefOr<Response>>, status: &str, means: &str) {
    match answers.get_mut(status) {
        Some(RefOr::T(response)) if response.description.starts_with(code(means)) => {}
        Some(RefOr::T(response)) => {
            response.description.push_str("; ");
            response.description.push_str(means);
        }
        Some(RefOr::Ref(_)) => {}
        None => {
            let problem = Ref::from_schema_name("Problem");
            let content = ContentBuilder::new().schema(Some(problem)).build();
            let response = ResponseBuilder::new().description(means).content(PROBLEM_JSON, content);
            answers.insert(status.to_owned(), RefOr::T(response.build()));
        }
    }
}

/// The code that an answer begins with.
fn code(means: &str) -> &str {
    means.split_once(':').map_or(means, |(code, _)| code)
}

/// The document. It is the same for everybody and as long as the program runs, so it is made once.
static WHOLE: LazyLock<Value> = LazyLock::new(|| {
    // What the derive has made is always JSON.
    let mut document = serde_json::to_value(Document::openapi()).unwrap_or_default();
    problems::complete(&mut document);
    success::complete(&mut document);
    headers::complete(&mut document);
    examples::fill(&mut document);
    document
});

/// The document: every operation with its problems, and an example of everything.
#[must_use]
pub fn openapi() -> &'static Value {
    &WHOLE
}

/// This document.
#[utoipa::path(get, path = "/api/openapi.json", tag = "openapi",
    responses((status = 200, description = "OpenAPI 3.1", body = Object, example = json!({"openapi": "3.1.0", "paths": {}}))))]
pub(crate) async fn document() -> Json<&'static Value> {
    Json(openapi())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_in_the_document_and_nothing_else() {
        let json = openapi();
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

    #[test]
    fn who_may_use_a_route_is_told_by_its_answers() {
        let json = openapi();
        for route in crate::routes() {
            let operation = &json["paths"][route.path][route.method.as_str().to_lowercase()];
            let says = |status: &str, code: &str| {
                let answer = &operation["responses"][status];
                answer["description"].as_str().is_some_and(|words| words.contains(code))
                    && answer["content"]["application/problem+json"]["schema"]["$ref"]
                        == "#/components/schemas/Problem"
            };
            let (method, path) = (&route.method, route.path);
            let own = route.access == Access::Owner;
            let anybody = route.access == Access::Everybody;
            assert_eq!(
                says("401", "AUTH_REQUIRED") && operation["security"].is_array(),
                !anybody,
                "{method} {path}"
            );
            // Ids in the question are somebody's too.
            let asks = ["/api/download.zip", "/api/jobs"].contains(&path);
            assert_eq!(says("403", "FORBIDDEN"), own || asks, "{method} {path}");
            // What an operator names may not be there; a target may be held before anybody has called it.
            let of_operators = route.access == Access::Operator && path.contains('{');
            // A server may have no folder or bucket of people, and so nobody to tell.
            let place = path.starts_with("/api/intake")
                || ["/api/failure-records", "/api/digest", "/api/deliveries", "/api/notifications"]
                    .contains(&path);
            // Or no place for what it would fetch.
            let fetch = path.starts_with("/api/fetch");
            // Or no doctor.
            let doctor = path == "/api/doctor";
            let named = own
                || place
                || doctor
                || fetch
                || asks
                || of_operators && !path.ends_with("/hold")
                || path == "/api/failures/{code}"
                || (method, path) == (&Method::POST, "/api/replays");
            assert_eq!(says("404", "NOT_FOUND"), named, "{method} {path}");
        }
        let download = &json["paths"]["/api/jobs/{id}/download"]["get"]["responses"]["404"]["description"];
        assert_eq!(download, "EXPIRED; NOT_FOUND: said to operators alone, there is no such job");
    }

    /// Which build answers is told nowhere; the document has the version of what it describes.
    #[test]
    fn the_document_tells_the_version_of_the_api_and_not_that_of_the_program() {
        let info = &openapi()["info"];
        assert_eq!(info["version"], "1", "{info}");
        assert!(!info.to_string().contains(env!("CARGO_PKG_VERSION")), "{info}");
    }

    #[test]
    fn a_parameter_of_the_path_stands_in_it() {
        for (path, methods) in openapi()["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let parameters = operation["parameters"].as_array().into_iter().flatten();
                let named = parameters.filter(|parameter| parameter["in"] == "path");
                let mut named: Vec<&str> =
                    named.map(|parameter| parameter["name"].as_str().unwrap()).collect();
                let mut there: Vec<&str> =
                    path.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect();
                named.sort_unstable();
                there.sort_unstable();
                assert_eq!(named, there, "{method} {path}");
            }
        }
    }

    #[test]
    fn several_states_are_one_parameter_with_commas() {
        let json = openapi();
        let parameters = json["paths"]["/api/jobs"]["get"]["parameters"].as_array().unwrap().clone();
        let status = parameters.into_iter().find(|parameter| parameter["name"] == "status").unwrap();
        assert_eq!((&status["style"], &status["explode"]), (&"form".into(), &false.into()), "{status}");
        assert!(status["schema"]["type"].to_string().contains("array"), "{status}");
    }
}

//! The OpenAPI document as a page: made from the document, so that it cannot say anything else.

use axum::response::Response;
use maud::{Markup, html};
use serde_json::{Map, Value};

use super::layout::{Place, Shell};
use super::viewer::Viewer;
use crate::openapi::openapi;

/// The page.
pub(super) async fn page(viewer: Viewer) -> Response {
    let document = serde_json::to_value(openapi()).unwrap_or_default();
    let none = Map::new();
    let paths = document.pointer("/paths").and_then(Value::as_object).unwrap_or(&none);
    let schemas = document.pointer("/components/schemas").and_then(Value::as_object).unwrap_or(&none);
    let body = html! {
        h1 { "API" }
        p.lead {
            (text(&document, "/info/description"))
            " The same for programs: " a href="/api/openapi.json" { "OpenAPI 3.1" } "."
        }
        p {
            "Your session is a cookie. A program keeps it in a file: "
            code { "curl -c jar -b jar -F file=@report.pdf …/api/upload" }
            ". A failure is a problem document with a " a href="/failures" { "code" } "."
        }
        @for (path, methods) in paths {
            @for (method, operation) in methods.as_object().unwrap_or(&none) { (one(path, method, operation)) }
        }
        h2 #schemas { "What the answers hold" }
        @for (name, schema) in schemas { (described(name, schema)) }
    };
    Shell::new("API", viewer).at(Place::Docs).page(&body)
}

fn one(path: &str, method: &str, operation: &Value) -> Markup {
    let empty = Vec::new();
    let parameters = operation.pointer("/parameters").and_then(Value::as_array).unwrap_or(&empty);
    let none = Map::new();
    let responses = operation.pointer("/responses").and_then(Value::as_object).unwrap_or(&none);
    html! {
        section.operation {
            h2 { code { (method.to_uppercase()) " " (path) } }
            p {
                (text(operation, "/summary"))
                @let more = text(operation, "/description");
                @if !more.is_empty() { " " (more) }
            }
            @if !parameters.is_empty() {
                h3 { "Takes" }
                dl.codes {
                    @for parameter in parameters {
                        div {
                            dt { code { (text(parameter, "/name")) } " " span.fine { (text(parameter, "/in")) } }
                            dd { (text(parameter, "/description")) }
                        }
                    }
                }
            }
            @for (kind, _) in operation.pointer("/requestBody/content").and_then(Value::as_object).unwrap_or(&none) {
                p { "Body: " code { (kind) } }
            }
            h3 { "Answers" }
            dl.codes {
                @for (status, response) in responses {
                    div {
                        dt { code { (status) } }
                        dd { (text(response, "/description")) " " (content(response)) }
                    }
                }
            }
        }
    }
}

/// What an answer's body is.
fn content(response: &Value) -> Markup {
    let none = Map::new();
    let kinds = response.pointer("/content").and_then(Value::as_object).unwrap_or(&none);
    html! {
        @for (kind, body) in kinds {
            span.fine { (kind) " " (kind_of(body.get("schema").unwrap_or(&Value::Null))) }
        }
    }
}

fn described(name: &str, schema: &Value) -> Markup {
    let none = Map::new();
    let fields = schema.pointer("/properties").and_then(Value::as_object).unwrap_or(&none);
    html! {
        section.operation #{ "schema-" (name) } {
            h3 { (name) }
            p { (text(schema, "/description")) }
            dl.codes {
                @for (field, about) in fields {
                    div {
                        dt { code { (field) } " " span.fine { (kind_of(about)) } }
                        dd { (text(about, "/description")) }
                    }
                }
            }
        }
    }
}

/// The kind of a value: a word, or the name of what it is made of.
fn kind_of(schema: &Value) -> Markup {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return html! { a href={ "#schema-" (name) } { (name) } };
    }
    if let Some(items) = schema.get("items") {
        return html! { "list of " (kind_of(items)) };
    }
    let one_of = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array);
    if let Some(kinds) = one_of {
        return html! { @for kind in kinds { (kind_of(kind)) " " } };
    }
    match schema.get("type") {
        Some(Value::String(word)) => html! { (word) },
        Some(Value::Array(words)) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            html! { (words.join(" or ")) }
        }
        _ => html! {},
    }
}

fn text<'a>(value: &'a Value, at: &str) -> &'a str {
    value.pointer(at).and_then(Value::as_str).unwrap_or_default()
}
